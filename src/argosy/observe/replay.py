"""What-if replay of aligned traces: the time saved, had some ranks worked as fast as their peers.

Each rank's step is a chain of own work and collectives; a collective ends on all its ranks a transfer after the last
of them came. The replay runs the chains again with changed own work: start = clock + work; end = last start + transfer;
the rank's clock then stands at start + what of the collective is not hidden behind its compute. Time saved is the
replay as measured less the replay as changed, so that what the chain leaves out counts in neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from argosy.observe.align import Alignment
from argosy.observe.records import Floats, Whole


@dataclass(frozen=True)
class Chains:
    """Collectives of all ranks as a graph in levels. Per member entry (E,), sorted by level and collective:

    `who`; `work_ns` before it; `hidden_ns` behind compute; `ordinal`: of the collective; per level the slices of entries
    and where each collective begins; `transfer_ns` per collective; `start_ns` (R,) of each rank's chain; `steps` replayed.
    """

    who: Whole
    work_ns: Floats
    hidden_ns: Floats
    first: Whole  # of each collective's members
    levels: Whole  # first collective of each level, with a closing entry
    transfer_ns: Floats
    start_ns: Floats
    steps: int

    def finish_ns(self, work_ns: Floats) -> float:
        """When the last rank is done, ns, with this work before each entry."""
        clock = self.start_ns.copy()
        for level in range(len(self.levels) - 1):
            a, b = self.levels[level], self.levels[level + 1]
            low, high = self.first[a], self.first[b]
            own = slice(low, high)
            start = clock[self.who[own]] + work_ns[own]
            done = np.maximum.reduceat(start, self.first[a:b] - low) + self.transfer_ns[a:b]
            size = np.diff(self.first[a : b + 1])
            shown = np.maximum(np.repeat(done, size) - start - self.hidden_ns[own], 0.0)
            clock[self.who[own]] = start + shown
        return float(clock.max()) if len(clock) else 0.0

    def saved_s(self, ranks: Iterable[int]) -> float:
        """Seconds a step saved, had the traces of these indices worked like the median of the other members, never slower."""
        if not len(self.who):
            return 0.0
        blamed = np.isin(self.who, list(ranks))
        size = np.diff(self.first)
        instance = np.repeat(np.arange(len(size)), size)
        others = np.where(blamed, np.nan, self.work_ns)
        middle = _medians(others, instance, len(size))[instance]
        changed = np.where(blamed & np.isfinite(middle), np.minimum(self.work_ns, middle), self.work_ns)
        return max(self.finish_ns(self.work_ns) - self.finish_ns(changed), 0.0) * 1e-9 / max(self.steps, 1)


def _medians(values: Floats, index: Whole, count: int) -> Floats:
    from argosy.observe.align import _medians as medians

    known = np.isfinite(values)
    return medians(values[known], index[known], count)


def chains(alignment: Alignment) -> Chains:
    """The aligned ranks' collectives as chains of work; those of no barrier count as work of nobody (their exposed part)."""
    matched = alignment.matched
    own = matched.barrier[matched.instance] if len(matched.operation) else np.zeros(0, bool)
    kept = np.flatnonzero(own)
    who, start = matched.who[kept], matched.start_ns[kept]
    exposed = np.minimum(matched.exposed_ns[kept], matched.end_ns[kept] - start)
    hidden = matched.end_ns[kept] - start - exposed
    _, instance = np.unique(matched.instance[kept], return_inverse=True)
    count = int(instance.max()) + 1 if len(instance) else 0
    first = np.searchsorted(instance, np.arange(count + 1))
    work, begin = _work(alignment, who, start, exposed, matched.entry[kept])
    last = np.maximum.reduceat(start, first[:-1]) if count else np.zeros(0)
    end = matched.end_ns[kept]
    transfer = np.maximum(
        (np.minimum.reduceat(end, first[:-1]) if count else np.zeros(0)) - last,
        0.0,
    )
    level = _levels(who, first, len(alignment.traces))
    order = np.argsort(level, kind="stable")
    size = np.diff(first)[order] if count else np.zeros(0, np.int64)
    entries = (
        np.concatenate([np.arange(first[i], first[i + 1]) for i in order]) if count else np.zeros(0, np.int64)
    )
    ordered = level[order]
    bounds = np.searchsorted(ordered, np.arange((int(ordered[-1]) if count else -1) + 2))
    steps = np.unique(matched.step[kept][matched.step[kept] >= 0])
    return Chains(
        who[entries],
        work[entries],
        hidden[entries],
        np.concatenate([[0], np.cumsum(size)]),
        bounds,
        transfer[order],
        begin,
        max(len(steps), 1),
    )


def _work(
    alignment: Alignment, who: Whole, start: Floats, exposed: Floats, entry: Whole
) -> tuple[Floats, Floats]:
    """Own work before each entry (ns): the gap since the rank's entry before it, less all exposed communication in it."""
    work = np.zeros(len(who))
    begin = np.zeros(len(alignment.traces))
    order = np.lexsort((start, who))
    bounds = np.searchsorted(who[order], np.arange(len(alignment.traces) + 1))
    for rank, trace in enumerate(alignment.traces):
        own = order[bounds[rank] : bounds[rank + 1]]
        if not len(own):
            continue
        begin[rank] = start[own[0]]
        each = trace.collectives
        shown = np.concatenate([[0.0], np.cumsum(each.exposed_ns.astype(np.float64))])
        between = shown[entry[own][1:]] - shown[entry[own][:-1] + 1]  # of kernels that no collective matched
        gap = np.diff(start[own]) - exposed[own][:-1] - np.maximum(between, 0.0)
        work[own[1:]] = np.maximum(gap, 0.0)
    return work, begin


def _levels(who: Whole, first: Whole, ranks: int) -> Whole:
    """Depth of each collective in the graph: one more than the deepest that its members were in before it."""
    depth = [0] * ranks
    members = who.tolist()
    out = []
    for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        own = members[a:b]
        level = max(depth[rank] for rank in own)
        for rank in own:
            depth[rank] = level + 1
        out.append(level)
    return np.array(out, np.int64)
