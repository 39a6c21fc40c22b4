"""Links: rate from lanes, and ratios between links that refuse to mix directions.

A link's bandwidth is a number per direction ("one-way") or the sum of both ("two-way"): a factor of two
that tables often leave unsaid. Every comparison here states it.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require

DIRECTIONS = ("one-way", "two-way")
PCIE_ENCODING = 128.0 / 130.0  # PCI Express base specification 3.0 to 5.0: 128b/130b line code


class DirectionError(ValueError):
    """Two bandwidths were compared that do not count the same directions."""


def port_rate(lanes: Array, lane_rate: Array) -> Array:
    """Rate of a port in bit/s per direction: lanes × `lane_rate` (bit/s of data, line code already taken
    off).
    """
    return lanes * lane_rate


def pcie_bandwidth(transfers_per_s: Array, lanes: Array) -> Array:
    """PCI Express bandwidth in byte/s per direction after line coding (128b/130b), before packet headers;
    `transfers_per_s` per lane (one bit each).
    """
    return transfers_per_s * lanes / 8.0 * PCIE_ENCODING


def per_direction(bandwidth: Array, direction: str) -> Array:
    """The bandwidth of one direction, in the unit of `bandwidth`; `direction` says what `bandwidth`
    counts.
    """
    if direction not in DIRECTIONS:
        raise DirectionError(f"direction {direction!r} is not known: write 'one-way' or 'two-way'")
    return bandwidth if direction == "one-way" else bandwidth / 2.0


def bandwidth_gap(fast: Array, fast_direction: str, slow: Array, slow_direction: str) -> Array:
    """Ratio of two links' bandwidths (same unit). Raises DirectionError when one counts one way and the
    other both.
    """
    if fast_direction != slow_direction:
        raise DirectionError(
            f"one bandwidth counts {fast_direction}, the other {slow_direction}: "
            "convert with per_direction() first"
        )
    per_direction(fast, fast_direction)  # refuses an unknown direction
    require(np.asarray(slow) > 0, "the slower link must have a bandwidth")
    return plain(np.divide(fast, slow))


PLACEMENT_THRESHOLD = 4.0  # assumption: below this gap the node's edge no longer decides the layout


def placement_advice(gap: float, threshold: float = PLACEMENT_THRESHOLD) -> str:
    """What a bandwidth gap at the node's edge (ratio, same direction) says about the layout.

    `threshold` is a labelled assumption: a tensor-parallel collective crosses the edge several times per
    layer, a gradient once per step.
    """
    if gap >= threshold:
        return f"{gap:.3g}x: keep tensor parallelism inside; let data and pipeline parallelism cross the edge"
    return f"{gap:.3g}x: below {threshold:g}x the edge does not decide; compute both placements"
