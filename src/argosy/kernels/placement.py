"""Where a job's workers go: how many of them a cluster can hold, and on which nodes they are put.

A request is one row of integers (REQUEST): accelerators per worker, workers, the level that all must share, the type of
accelerator, and the leaves of `LEAVES`. `avail` (nodes,) are accelerators to be had per node, `types` (nodes,) their type,
`groups` (4, nodes) each node's place at a level (ANY is one group), `limit` (nodes,) the workers that anything else on a
node (processors, memory) leaves room for, empty where nothing else binds.
"""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import compiled

ANY, DOMAIN, LEAF, POD, LEAVES = range(5)
FIRST_FIT, PACK, SPREAD, FRAGMENTATION, TOPOLOGY = range(5)
REQUEST = 5
WORKER, WORKERS, LEVEL, TYPE, COUNT = range(REQUEST)


@compiled()
def room(avail, types, limit, request):  # type: ignore[no-untyped-def]
    """Workers that each node can hold (nodes,)."""
    held, size, kind = np.zeros(len(avail), dtype=np.int64), request[WORKER], request[TYPE]
    for node in range(len(avail)):
        if (
            avail[node] >= size and types[node] == kind
        ):  # few nodes of a busy cluster: division is what takes time
            held[node] = avail[node] // size
            if len(limit) > 0 and limit[node] < held[node]:
                held[node] = limit[node]
    return held


@compiled()
def by_group(held, group):  # type: ignore[no-untyped-def]
    """Workers that each group can hold."""
    total = np.zeros(group.max() + 1, dtype=np.int64)
    for node in range(len(held)):
        total[group[node]] += held[node]
    return total


@compiled()
def most(avail, types, groups, limit, request):  # type: ignore[no-untyped-def]
    """How many workers can be placed at once under the request's topology."""
    held = room(avail, types, limit, request)
    if request[LEVEL] == ANY:
        return held.sum()
    if request[LEVEL] == LEAVES:
        total = np.sort(by_group(held, groups[LEAF]))
        return total[max(0, len(total) - request[COUNT]) :].sum()
    return by_group(held, groups[request[LEVEL]]).max()


@compiled()
def which_fit(avail, types, groups, requests, largest):  # type: ignore[no-untyped-def]
    """Whether each of `requests` (rows) fits, one by one; `largest`: accelerators of the largest node."""
    fits = np.zeros(len(requests), dtype=np.bool_)
    of_type = np.zeros((types.max() + 1, largest + 1), dtype=np.int64)
    for node in range(len(avail)):
        of_type[types[node], avail[node]] += 1
    none = np.zeros(0, dtype=np.int64)
    for at in range(len(requests)):
        request, total = requests[at], 0
        for free in range(request[WORKER], largest + 1):
            total += of_type[request[TYPE], free] * (free // request[WORKER])
        fits[at] = total >= request[WORKERS]
        if fits[at] and request[LEVEL] != ANY:
            fits[at] = most(avail, types, groups, none, request) >= request[WORKERS]
    return fits


@compiled()
def place(avail, types, groups, limit, request, mode, waste, nodes, workers):  # type: ignore[no-untyped-def]
    """Puts all workers of a request on nodes, or none; returns how many nodes, -1 where they do not fit.

    Fills `nodes` and `workers` (both as long as the cluster has nodes). Among groups: the first that fits (FIRST_FIT), else
    the one that is filled best. `waste` (free + 1,): accelerators that jobs of the mix cannot use on a node with
    so many free (FRAGMENTATION puts each worker where that grows least). Ties go to the lower node.
    """
    held = room(avail, types, limit, request)
    if held.sum() < request[WORKERS]:
        return -1
    if request[LEVEL] == LEAVES:
        if not _few_leaves(held, groups[LEAF], request[WORKERS], request[COUNT]):
            return -1
    elif request[LEVEL] != ANY:
        if not _one_group(held, groups[request[LEVEL]], request[WORKERS], mode):
            return -1
    elif mode == TOPOLOGY:
        _closest(held, groups, request[WORKERS])
    if mode == FIRST_FIT:
        return _first_fit(held, request[WORKERS], nodes, workers)
    if mode == SPREAD:
        return _spread(held, avail, request[WORKERS], nodes, workers)
    if mode == FRAGMENTATION and len(limit) == 0:
        return _least_waste(held, avail, request, waste, nodes, workers)
    return _pack(held, avail, request[WORKERS], nodes, workers)


@compiled()
def _one_group(held, group, wanted, mode):  # type: ignore[no-untyped-def]
    """Leaves room on one group that holds all workers; False where none does."""
    total = by_group(held, group)
    best = -1
    for at in range(len(total)):
        if total[at] >= wanted and (best < 0 or total[at] < total[best]):
            best = at
            if mode == FIRST_FIT:
                break
    if best < 0:
        return False
    for node in range(len(held)):
        if group[node] != best:
            held[node] = 0
    return True


@compiled()
def _few_leaves(held, leaf, wanted, at_most):  # type: ignore[no-untyped-def]
    """Leaves room on the fewest leaves, fullest of room first, the last one the least that suffices; False where they are more
    than `at_most`."""
    total = by_group(held, leaf)
    chosen = np.zeros(len(total), dtype=np.bool_)
    left = wanted
    for _ in range(min(at_most, len(total))):
        best = -1
        for at in range(len(total)):
            if not chosen[at] and (best < 0 or total[at] > total[best]):
                best = at
        if total[best] >= left:
            for at in range(len(total)):
                if not chosen[at] and left <= total[at] < total[best]:
                    best = at
        if total[best] == 0:
            return False
        chosen[best] = True
        left -= total[best]
        if left <= 0:
            for node in range(len(held)):
                if not chosen[leaf[node]]:
                    held[node] = 0
            return True
    return False


@compiled()
def _closest(held, groups, wanted):  # type: ignore[no-untyped-def]
    """Leaves room on the closest nodes: one NVLink domain, one leaf, one pod, or else the fewest leaves."""
    for level in range(DOMAIN, POD + 1):
        if _one_group(held, groups[level], wanted, PACK):
            if level == POD:
                _few_leaves(held, groups[LEAF], wanted, len(held))
            return
    _few_leaves(held, groups[LEAF], wanted, len(held))


@compiled()
def _first_fit(held, wanted, nodes, workers):  # type: ignore[no-untyped-def]
    left, at = wanted, 0
    for node in range(len(held)):
        if held[node] > 0:
            nodes[at], workers[at] = node, min(held[node], left)
            left -= workers[at]
            at += 1
            if left == 0:
                break
    return at


@compiled()
def _fullest(held, avail):  # type: ignore[no-untyped-def]
    """Nodes with room, those with most accelerators to be had first, then the lower ones."""
    start = np.zeros(avail.max() + 2, dtype=np.int64)
    for node in range(len(held)):
        if held[node] > 0:
            start[avail[node]] += 1
    before = 0
    for free in range(len(start) - 1, -1, -1):
        before, start[free] = before + start[free], before
    order = np.empty(before, dtype=np.int64)
    for node in range(len(held)):
        if held[node] > 0:
            order[start[avail[node]]] = node
            start[avail[node]] += 1
    return order


@compiled()
def _pack(held, avail, wanted, nodes, workers):  # type: ignore[no-untyped-def]
    """Fewest nodes: the emptiest are filled, the rest goes where least is left over."""
    order, left, at = _fullest(held, avail), wanted, 0
    for place in range(len(order)):
        node = order[place]
        if held[node] >= left:
            for later in range(place + 1, len(order)):
                if held[order[later]] >= left and avail[order[later]] < avail[node]:
                    node = order[later]
            nodes[at], workers[at] = node, left
            return at + 1
        nodes[at], workers[at] = node, held[node]
        left -= held[node]
        at += 1
    return at


@compiled()
def _spread(held, avail, wanted, nodes, workers):  # type: ignore[no-untyped-def]
    """One worker after the other on the emptiest nodes, round and round."""
    order, left = _fullest(held, avail), wanted
    used = min(wanted, len(order))
    for at in range(used):
        nodes[at], workers[at] = order[at], 0
    while left > 0:
        for at in range(used):
            if left > 0 and workers[at] < held[order[at]]:
                workers[at] += 1
                left -= 1
        if left > 0 and used < len(order):  # the emptiest are full already: others join
            nodes[used], workers[used] = order[used], 0
            used += 1
    return used


@compiled()
def _least_waste(held, avail, request, waste, nodes, workers):  # type: ignore[no-untyped-def]
    """Worker by worker where the waste grows least, then where less is free, then on the lower node."""
    size = request[WORKER]
    first = np.full(avail.max() + 1, -1, dtype=np.int64)  # of nodes by what they have free, as linked lists
    after = np.full(len(held), -1, dtype=np.int64)
    free = avail.copy()
    given = np.zeros(len(held), dtype=np.int64)
    for node in range(len(held) - 1, -1, -1):
        if held[node] > 0:
            after[node] = first[free[node]]
            first[free[node]] = node
    for _ in range(request[WORKERS]):
        best, least = -1, np.inf
        for level in range(size, len(first)):
            if first[level] >= 0 and waste[level - size] - waste[level] < least - 1e-12:
                best, least = level, waste[level - size] - waste[level]
        node = first[best]
        first[best] = after[node]
        given[node] += 1
        free[node] -= size
        after[node] = first[free[node]]
        first[free[node]] = node
    at = 0
    for node in range(len(held)):
        if given[node] > 0:
            nodes[at], workers[at] = node, given[node]
            at += 1
    return at
