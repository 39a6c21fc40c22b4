"""Which all-reduce algorithm is fastest for a message, and whether latency or bandwidth rules it.

Closed forms of `collectives`, compared on one α and one bandwidth: a textbook's choice, for reasoning. Real
libraries choose by measured tables with protocols and channels (`argosy.fabric` has those).
"""

from __future__ import annotations

import numpy as np

from argosy.laws import collectives
from argosy.laws.arrays import Array, plain

ALGORITHMS = {
    "ring": collectives.ring_all_reduce,
    "tree": collectives.tree_all_reduce,
    "pipelined tree": collectives.pipelined_tree_all_reduce,
    "double tree": collectives.double_tree_all_reduce,
    "halving-doubling": collectives.halving_doubling_all_reduce,
}


def all_reduce_times(
    message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array
) -> dict[str, Array]:
    """Seconds of an all-reduce by each algorithm; bytes, count, byte/s one way per rank, s per round."""
    return {name: cost(message_bytes, ranks, bandwidth, latency) for name, cost in ALGORITHMS.items()}


def fastest_all_reduce(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """The name of the fastest algorithm (a string, or an array of them); arguments as in
    `all_reduce_times`.
    """
    times = all_reduce_times(message_bytes, ranks, bandwidth, latency)
    stacked = np.stack(np.broadcast_arrays(*times.values()))
    names = np.array(list(times))[stacked.argmin(axis=0)]
    return str(names) if names.ndim == 0 else names


def latency_share(
    message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array, algorithm: str = "ring"
) -> Array:
    """Share (0–1) of an all-reduce's time that would remain without bytes: above one half, latency
    rules.
    """
    cost = ALGORITHMS[algorithm]
    return plain(
        np.divide(cost(0.0, ranks, bandwidth, latency), cost(message_bytes, ranks, bandwidth, latency))
    )


def crossover_bytes(first: str, second: str, ranks: float, bandwidth: float, latency: float) -> float:
    """Message (bytes) at which two algorithms take equally long, from their straight lines in M; scalars.

    Infinite where the lines do not cross for a positive message: one algorithm is then faster for all.
    """
    lines = []
    for name in (first, second):
        cost = ALGORITHMS[name]
        start = float(cost(0.0, ranks, bandwidth, latency))
        lines.append((start, float(cost(1e9, ranks, bandwidth, latency)) / 1e9 - start / 1e9))
    (start_1, slope_1), (start_2, slope_2) = lines
    if slope_1 == slope_2:
        return float("inf")
    crossing = (start_2 - start_1) / (slope_1 - slope_2)
    return crossing if crossing > 0 else float("inf")
