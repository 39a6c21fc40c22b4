"""When accelerators come free by estimate: each node's row of times, and the first moment at which a request fits.

`until` (nodes, accelerators of the largest node): sorted per node, -inf for a free accelerator, +inf for one that is not
there; other entries are the estimated ends of the jobs on it.
"""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import compiled
from argosy.kernels.placement import ANY, COUNT, LEAF, LEAVES, LEVEL, TYPE, WORKER, WORKERS, by_group


@compiled()
def hold(until, nodes, amounts, end):  # type: ignore[no-untyped-def]
    """`amounts` free accelerators of `nodes` are taken until `end`."""
    for at in range(len(nodes)):
        row, count = until[nodes[at]], amounts[at]
        place = count
        while place < len(row) and row[place] < end:
            row[place - count] = row[place]
            place += 1
        row[place - count : place] = end


@compiled()
def give_back(until, nodes, amounts, end):  # type: ignore[no-untyped-def]
    """`amounts` accelerators of `nodes` that were taken until `end` are free again."""
    for at in range(len(nodes)):
        row, count = until[nodes[at]], amounts[at]
        first = 0
        while row[first] != end:
            first += 1
        for place in range(first - 1, -1, -1):
            row[place + count] = row[place]
        row[:count] = -np.inf


@compiled()
def by_then(until, opened, then):  # type: ignore[no-untyped-def]
    """Accelerators that each open node has free at `then` (nodes,)."""
    free = np.zeros(len(opened), dtype=np.int64)
    for node in range(len(opened)):
        if opened[node]:
            count = 0
            while count < until.shape[1] and until[node, count] <= then:
                count += 1
            free[node] = count
    return free


@compiled()
def earliest(until, opened, types, groups, request, now):  # type: ignore[no-untyped-def]
    """The first moment from `now` on at which the request fits, if nothing else starts; inf for never."""
    size, wanted = request[WORKER], request[WORKERS]
    per_node = until.shape[1] // size
    times = np.empty((len(opened), per_node))
    for node in range(len(opened)):
        for worker in range(per_node):
            usable = opened[node] and types[node] == request[TYPE]
            times[node, worker] = until[node, (worker + 1) * size - 1] if usable else np.inf
    if request[LEVEL] == ANY:
        return max(now, _nth(times.ravel(), wanted))
    if request[LEVEL] == LEAVES:
        return _leaves(times, groups[LEAF], wanted, request[COUNT], now)
    return max(now, _in_one_group(times, groups[request[LEVEL]], wanted))


@compiled()
def _nth(times, wanted):  # type: ignore[no-untyped-def]
    if len(times) < wanted:
        return np.inf
    return np.partition(times, wanted - 1)[wanted - 1]


@compiled()
def _in_one_group(times, group, wanted):  # type: ignore[no-untyped-def]
    """The first moment at which one group holds all workers."""
    count = by_group(np.ones(len(group), dtype=np.int64), group)
    start = np.zeros(len(count) + 1, dtype=np.int64)
    start[1:] = np.cumsum(count)
    members, filled = np.empty(len(group), dtype=np.int64), start[:-1].copy()
    for node in range(len(group)):
        members[filled[group[node]]] = node
        filled[group[node]] += 1
    best = np.inf
    for at in range(len(count)):
        best = min(best, _nth(times[members[start[at] : start[at + 1]]].ravel(), wanted))
    return best


@compiled()
def _leaves(times, leaf, wanted, at_most, now):  # type: ignore[no-untyped-def]
    """The first moment at which the `at_most` best leaves hold all workers: by bisection, since room only grows."""
    known = np.unique(times.ravel())
    known = known[known < np.inf]
    low, high = 0, len(known)
    while low < high:
        middle = (low + high) // 2
        held = np.zeros(len(leaf), dtype=np.int64)
        for node in range(len(leaf)):
            held[node] = (times[node] <= known[middle]).sum()
        total = np.sort(by_group(held, leaf))
        if total[max(0, len(total) - at_most) :].sum() >= wanted:
            high = middle
        else:
            low = middle + 1
    return max(now, known[low]) if low < len(known) else np.inf
