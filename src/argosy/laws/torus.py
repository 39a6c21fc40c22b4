"""Collectives over a torus: ranks joined to their neighbours, by axis, with or without wrap-around.

Per axis a group has `members` (m) at equal distances `spacing`; a ring has two ways round, a line (part of an
axis) one way each way. All groups of a layout talk at once, so `spacing` groups interleave on one line of
chips. Arguments broadcast; sequences run over the axes.

Sources: N. Jain, Y. Sabharwal, Optimal bucket algorithms for large MPI collectives on torus interconnects
(ICS 2010); N. Jouppi et al., TPU v4 (ISCA 2023, arXiv:2304.01433).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from argosy.laws.arrays import Array


def axis_rate(link: Array, spacing: Array, ring: Array) -> Array:
    """Byte/s that one member sends along an axis: link·(2 on a ring, else 1)/spacing.

    `link`: byte/s of one link one way; `spacing`: links between two members of a group, which as many groups
    share; `ring`: whether the axis closes (bool). A line of members carries a logical ring there and back
    again, which takes both ways of each link: one link's rate.
    """
    return link * np.where(ring, 2.0, 1.0) / spacing


def pass_seconds(message_bytes: Array, members: Sequence[Array], rates: Sequence[Array]) -> Array:
    """Seconds (bandwidth alone) of a reduce-scatter or an all-gather of `message_bytes` over all axes at once.

    The message is cut in proportion to the axes' rates r; part p runs over the axes in the order p, p+1, …,
    cyclically, so that no two parts share an axis in a phase; what a part carries shrinks by m at each axis:
    Σ_phases max_p (M·r_p/Σr ÷ Π m before)·(m−1)/m ÷ r. `members`: m per axis (1: not crossed); `rates`:
    byte/s per member and axis. At least `pass_bound`.
    """
    axes = len(members)
    used = [np.where(np.asarray(m) > 1, r, 0.0) for m, r in zip(members, rates, strict=True)]
    total = np.maximum(sum(used), np.finfo(float).tiny)
    left = [message_bytes * rate / total for rate in used]
    seconds: Array = 0.0
    for phase in range(axes):
        slowest: Array = 0.0
        for part in range(axes):
            m, rate = members[(part + phase) % axes], used[(part + phase) % axes]
            share = np.where(rate > 0, (m - 1) / m, 0.0)
            slowest = np.maximum(slowest, left[part] * share / np.where(rate > 0, rate, 1.0))
            left[part] = left[part] / m
        seconds = seconds + slowest
    return seconds


def pass_bound(message_bytes: Array, members: Sequence[Array], rates: Sequence[Array]) -> Array:
    """Seconds that no reduce-scatter or all-gather can beat: (N−1)/N·M over all links of a member together."""
    ranks: Array = 1.0
    for m in members:
        ranks = ranks * m
    total = sum(np.where(np.asarray(m) > 1, r, 0.0) for m, r in zip(members, rates, strict=True))
    return np.where(ranks > 1, (ranks - 1) / ranks * message_bytes / np.where(total > 0, total, 1.0), 0.0)


def all_to_all_seconds(
    bytes_per_rank: Array,
    members: Sequence[Array],
    spacings: Sequence[Array],
    rings: Sequence[Array],
    link: Array,
) -> Array:
    """Seconds (bandwidth alone) of an all-to-all: the bisection of the axis that is cut narrowest.

    max over axes of M·⌊m/2⌋⌈m/2⌉/m·spacing/(w·link), w = 2 wires of a ring's cut, 1 of a line's; for an even m
    M·m·spacing/(4·w·link). Shortest paths, one axis after the other, reach it: on the middle link of a line,
    and on every link of a ring. `bytes_per_rank` M: the send buffer, own share included.
    """
    slowest: Array = 0.0
    for m, spacing, ring in zip(members, spacings, rings, strict=True):
        m = np.asarray(m, dtype=float)
        crossing = m / 4 - np.where(m % 2 == 1, 1 / (4 * m), 0.0)
        slowest = np.maximum(slowest, bytes_per_rank * crossing * spacing / (np.where(ring, 2.0, 1.0) * link))
    return slowest


def hops(members: Array, spacing: Array, ring: Array) -> Array:
    """Links to the furthest member of an axis: (m−1)·spacing on a line, ⌊m/2⌋·spacing on a ring."""
    return np.where(ring, np.floor(np.asarray(members) / 2), np.asarray(members) - 1) * spacing
