"""Which pipeline stage a rank is: by its position, by the order of ranks in its pipeline's group, or by who sends to whom."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from argosy.observe.align import Alignment
from argosy.observe.matching import LOCKSTEP_NS, POINT_TO_POINT


def stages(alignment: Alignment) -> list[int | None]:
    """The stage of every trace, None where nothing tells it; all None for a job without a pipeline."""
    told = [trace.position.pipeline for trace in alignment.traces]
    if any(stage is not None for stage in told):
        return told
    named = _of_groups(alignment)
    if named is None and not _exchanges(alignment):
        named = _of_pairs(alignment)
    return named or [None] * len(told)


def _exchanges(alignment: Alignment) -> bool:
    """Whether sends and receives are one exchange of many, as of embeddings or experts, and no pipeline's: all ranks have the
    same kernels of the same operations in the same order, and each ends on all of them together.

    A pipeline's first and last stage have fewer neighbours, and a hand-over ends on two ranks alone.
    """
    each = [trace.collectives for trace in alignment.traces]
    kinds = [tuple(one.operations[k] for k in one.operation) for one in each]
    if len(each) < 3 or not POINT_TO_POINT & set(kinds[0]) or any(kind != kinds[0] for kind in kinds):
        return False
    own = np.isin(kinds[0], list(POINT_TO_POINT))
    end = np.sort([alignment.common(i, one.end_ns)[own] for i, one in enumerate(each)], axis=0)
    return bool(np.median(end[-1] - end[0]) <= LOCKSTEP_NS)


def _of_groups(alignment: Alignment) -> list[int | None] | None:
    """A group in which ranks send is a pipeline; its ranks stand in the order of its stages (Megatron, DeepSpeed)."""
    found: list[int | None] = []
    for rank, trace in zip(alignment.ranks, alignment.traces, strict=True):
        each = trace.collectives
        numbers = [i for i, name in enumerate(each.operations) if name in POINT_TO_POINT]
        own = np.isin(each.operation, numbers)
        names = {each.groups[k] for k in np.unique(each.group[own])} if own.any() else set()
        members = {tuple(sorted(trace.groups[name])) for name in names if name in trace.groups}
        if len(members) != 1:
            return None
        line = members.pop()
        if rank not in line or (len(line) == len(alignment.ranks) and _exchanges(alignment)):
            return None
        found.append(line.index(rank))
    return found if len(set(found)) > 1 else None


def _of_pairs(alignment: Alignment) -> list[int | None] | None:
    """Without groups: ranks that hand over to each other form chains of one length; of a step's first hand-over the later
    side is the sender, which stands before the receiver.
    """
    matched, count = alignment.matched, len(alignment.traces)
    own = (
        np.flatnonzero(np.isin(matched.operation, list(POINT_TO_POINT)))
        if len(matched.operation)
        else np.zeros(0, np.int64)
    )
    if not len(own):
        return None
    pairs = Counter((int(matched.who[matched.first[i]]), int(matched.who[matched.first[i] + 1])) for i in own)
    strength: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (a, b), times in pairs.items():
        strength[a].append((times, b))
        strength[b].append((times, a))
    # A partner hands over as often as the best one; chance coincidences are rarer.
    near = {who: {b for times, b in each if 2 * times >= max(each)[0]} for who, each in strength.items()}
    near = {who: {b for b in others if who in near.get(b, ())} for who, others in near.items()}
    ends = [who for who, others in near.items() if len(others) == 1]
    if len(near) != count or any(len(others) > 2 or not others for others in near.values()):
        return None
    found: list[int | None] = [None] * count
    for first in ends:
        if found[first] is not None:
            continue
        line, before = [first], None
        while step := [each for each in near[line[-1]] if each != before]:
            before = line[-1]
            line.append(step[0])
        if _sends_first(alignment, own, line[0], line[1]) is False:
            line.reverse()
        for stage, who in enumerate(line):
            found[who] = stage
    lengths = Counter(stage for stage in found if stage is not None)
    return found if None not in found and len(set(lengths.values())) == 1 and len(lengths) > 1 else None


def _sends_first(alignment: Alignment, own: np.ndarray, a: int, b: int) -> bool | None:
    """Whether `a` comes later than `b` to their first hand-over of most steps, as the sender of a full pipeline does."""
    matched, votes, seen = alignment.matched, 0, set()
    for i in own.tolist():
        one, two = int(matched.first[i]), int(matched.first[i]) + 1
        if {int(matched.who[one]), int(matched.who[two])} != {a, b}:
            continue
        step = int(max(matched.step[one], matched.step[two]))
        if step in seen:
            continue
        seen.add(step)
        later = one if matched.start_ns[one] > matched.start_ns[two] else two
        votes += 1 if int(matched.who[later]) == a else -1
    return None if votes == 0 else votes > 0
