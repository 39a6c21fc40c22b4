"""What-if replay of aligned traces: the time saved, had some ranks worked as fast as their peers.

Each rank is a chain of own work and communication. A collective (or the two sides of a send) ends on all its ranks a
transfer after the last of them came. A rank's next kernel starts after its own work and after what it waited for:
start = max(end of the kernels that it waited for, start of the kernel before + work hidden behind them) + work after.
Time saved is the replay as measured less the replay as changed, so that what the chains leave out counts in neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argosy.observe.align import Alignment
from argosy.observe.intervals import union
from argosy.observe.matching import POINT_TO_POINT
from argosy.observe.records import Floats, Whole

_EPSILON = 500.0  # ns by which a kernel may start before the end that it waited for: the clock's grain


@dataclass(frozen=True)
class Chains:
    """Communication of all ranks as a graph. Entries (E,) are kernels of a rank, sorted by their depth in the graph:

    `who`; `hidden_ns`, `tail_ns`: the rank's own work before it, behind what it waited for and after that; `target`: the
    entry that waits for it (E: nobody); `depth`: first entry of each depth (closing entry). Collectives (C,), sorted by the
    depth at which the last member is known: `members` (flat, entries) from `first` (closing entry), `transfer_ns`, `closes`:
    first collective of each depth (closing entry). `start_ns` (R,) of each rank's chain; `steps` replayed.
    """

    who: Whole
    hidden_ns: Floats
    tail_ns: Floats
    target: Whole
    depth: Whole
    members: Whole
    first: Whole
    transfer_ns: Floats
    closes: Whole
    start_ns: Floats
    steps: int

    def finish_ns(self, scale: Floats) -> float:
        """When the last rank is done, ns, with the ranks' own work times `scale` (R,)."""
        count = len(self.who)
        issue, ready, start = self.start_ns.copy(), np.full(count + 1, -np.inf), np.zeros(count)
        last = -np.inf if count else 0.0
        for level in range(len(self.depth) - 1):
            own = slice(self.depth[level], self.depth[level + 1])
            who = self.who[own]  # each rank at most once in a depth
            factor = scale[who]
            begun = (
                np.maximum(ready[own], issue[who] + factor * self.hidden_ns[own]) + factor * self.tail_ns[own]
            )
            start[own] = issue[who] = begun
            a, b = self.closes[level], self.closes[level + 1]
            if a == b:
                continue
            member = self.members[self.first[a] : self.first[b]]
            done = np.maximum.reduceat(start[member], self.first[a:b] - self.first[a]) + self.transfer_ns[a:b]
            np.maximum.at(ready, self.target[member], np.repeat(done, np.diff(self.first[a : b + 1])))
            last = max(last, float(done.max()))
        return last

    def saved_s(self, factors: Mapping[int, float]) -> float:
        """Seconds a step saved, had the traces of these indices done their own work in these shares of its time."""
        if not len(self.who):
            return 0.0
        measured = np.ones(len(self.start_ns))
        changed = measured.copy()
        for index, factor in factors.items():
            changed[index] = min(max(factor, 0.0), 1.0)
        return max(self.finish_ns(measured) - self.finish_ns(changed), 0.0) * 1e-9 / self.steps


def chains(alignment: Alignment) -> Chains:
    """The aligned ranks' barrier-like collectives, sends and receives as chains of work."""
    from argosy.kernels.depths import depths

    matched = alignment.matched
    pairs = np.isin(matched.operation, list(POINT_TO_POINT))
    own = (matched.barrier | pairs)[matched.instance] if len(matched.operation) else np.zeros(0, bool)
    kept = np.flatnonzero(own)
    kept = kept[
        np.argsort(matched.start_ns[kept], kind="stable")
    ]  # in order of time: nothing depends on what is later
    _, instance = np.unique(matched.instance[kept], return_inverse=True)
    who, start, end = matched.who[kept], matched.start_ns[kept], matched.end_ns[kept]
    hidden, tail, target, begin = _work(alignment, who, start, end, matched.exposed_ns[kept])
    level, closes = depths(who, np.ascontiguousarray(instance), target, len(alignment.traces))
    order = np.argsort(level, kind="stable")
    place = np.full(len(order) + 1, len(order))
    place[order] = np.arange(len(order))
    count = len(closes)
    by_close = np.argsort(closes, kind="stable")
    rank_of = np.empty(count, np.int64)
    rank_of[by_close] = np.arange(count)
    members = np.argsort(rank_of[instance], kind="stable") if count else np.zeros(0, np.int64)
    first = (
        np.searchsorted(rank_of[instance][members], np.arange(count + 1)) if count else np.zeros(1, np.int64)
    )
    transfer = np.zeros(0)
    if count:
        last = np.maximum.reduceat(start[members], first[:-1])
        transfer = np.maximum(np.minimum.reduceat(end[members], first[:-1]) - last, 0.0)
    depths = np.arange((int(level.max()) if count else -1) + 2)
    steps = np.unique(matched.step[kept][matched.step[kept] >= 0])
    return Chains(
        who[order],
        hidden[order],
        tail[order],
        place[target[order]],
        np.searchsorted(level[order], depths),
        place[members],
        first,
        transfer,
        np.searchsorted(closes[by_close], depths),
        begin,
        max(len(steps), 1),
    )


def _work(
    alignment: Alignment, who: Whole, start: Floats, end: Floats, exposed: Floats
) -> tuple[Floats, Floats, Whole, Floats]:
    """Own work of each entry, hidden and after (ns), the entry that waits for it, and where each rank's chain starts.

    The exposed part of a kernel is taken at its end; what a rank waits for is blocked by all its communication kernels,
    matched or not, so that waiting never counts as work.
    """
    count = len(who)
    hidden, tail, target = np.zeros(count), np.zeros(count), np.full(count, count)
    begin = np.zeros(len(alignment.traces))
    by_rank = np.argsort(who, kind="stable")  # keeps the order of time
    bounds = np.searchsorted(who[by_rank], np.arange(len(alignment.traces) + 1))
    for rank, trace in enumerate(alignment.traces):
        own = by_rank[bounds[rank] : bounds[rank + 1]]
        if not len(own):
            continue
        begin[rank] = start[own[0]]
        each = trace.collectives
        ends = alignment.common(rank, each.end_ns)
        shown = np.minimum(each.exposed_ns, each.end_ns - each.start_ns)
        blocked = union(np.rint(ends - shown).astype(np.int64), np.rint(ends).astype(np.int64))
        before, now = start[own][:-1], start[own][1:]
        at = np.rint(now).astype(np.int64)
        work = np.maximum(now - before - blocked.within(np.rint(before).astype(np.int64), at), 0.0)
        # The last end of a blocking kernel in the gap divides its work into what was hidden and what came after.
        reach = np.full(len(now), -np.inf)
        if len(blocked.end):
            k = np.searchsorted(blocked.end, at + int(_EPSILON), "right") - 1
            reach = np.where(k >= 0, blocked.end[np.maximum(k, 0)], -np.inf)
        after = np.where(reach > before, np.clip(now - reach, 0.0, work), 0.0)
        tail[own[1:]], hidden[own[1:]] = after, work - after
        waiting = np.searchsorted(start[own], end[own] - _EPSILON, "left")
        waits = (exposed[own] > 0) & (waiting < len(own)) & (waiting > np.arange(len(own)))
        target[own[waits]] = own[waiting[waits]]
    return hidden, tail, target, begin
