"""The iron law of a kernel or a step: data moved, operations done, latency waited for.

The additive form T = D/BW + O/(R η) + L assumes that nothing overlaps; the overlapped form max(D/BW, O/(R
η)) + L assumes that everything does. Every real time lies between them, and they differ by at most a factor
of two without latency. Source: J. Hennessy and D. Patterson, "Computer Architecture: A Quantitative
Approach" (time as the sum of its parts); the overlapped form is the roofline of Williams et al. 2009
written as a time.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require


def _terms(
    bytes_moved: Array, bandwidth: Array, operations: Array, peak_flops: Array, efficiency: Array
) -> tuple[Array, Array]:
    require((np.asarray(efficiency) > 0) & (np.asarray(efficiency) <= 1), "efficiency must lie in (0, 1]")
    return np.divide(bytes_moved, bandwidth), np.divide(operations, np.multiply(peak_flops, efficiency))


def additive_time(
    bytes_moved: Array,
    bandwidth: Array,
    operations: Array,
    peak_flops: Array,
    efficiency: Array = 1.0,
    latency: Array = 0.0,
) -> Array:
    """Seconds without any overlap: D/BW + O/(R η) + L, the upper bound.

    `bytes_moved` in bytes, `bandwidth` in byte/s, `operations` in FLOP, `peak_flops` in FLOP/s,
    `efficiency` in (0, 1], `latency` in s.
    """
    movement, arithmetic = _terms(bytes_moved, bandwidth, operations, peak_flops, efficiency)
    return plain(movement + arithmetic + latency)


def overlapped_time(
    bytes_moved: Array,
    bandwidth: Array,
    operations: Array,
    peak_flops: Array,
    efficiency: Array = 1.0,
    latency: Array = 0.0,
) -> Array:
    """Seconds with movement and arithmetic fully overlapped: max(D/BW, O/(R η)) + L, the lower bound; units
    as `additive_time`.
    """
    movement, arithmetic = _terms(bytes_moved, bandwidth, operations, peak_flops, efficiency)
    return plain(np.maximum(movement, arithmetic) + latency)


def overlap_gain(
    bytes_moved: Array, bandwidth: Array, operations: Array, peak_flops: Array, efficiency: Array = 1.0
) -> Array:
    """Additive over overlapped time without latency: 1 when one term vanishes, exactly 2 at the ridge."""
    arguments = (bytes_moved, bandwidth, operations, peak_flops, efficiency)
    return additive_time(*arguments) / overlapped_time(*arguments)
