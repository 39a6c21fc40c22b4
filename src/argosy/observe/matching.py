"""Which collectives of several ranks are the same one: by group and sequence number, else by order, operation and size.

Where no metadata tells who is in a group, ranks whose ends lie together are one: by the scatter of many ends, else by the
ends themselves on clocks that other groups have tied. Two ranks whose sends and receives end together are neighbours.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from argosy.observe.records import Floats, RankTrace, Whole

POINT_TO_POINT = frozenset({"send", "recv", "send_recv"})
_HANDED_OVER_NS = 20_000.0  # the two sides of a send end within this, clocks aligned
_TELLING = 4  # collectives from which their scatter tells groups apart
_MOST_UNKNOWN = 256  # ranks among which partners are sought where no group names them
LOCKSTEP_NS = (
    20_000.0  # ends of one collective on its ranks differ by up to this: launch, polling, whole microseconds
)


def listed(ranks: Sequence[object], most: int = 8) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:most])
    return shown + (f" and {len(ranks) - most} more" if len(ranks) > most else "")


@dataclass
class Row:
    """Collectives of one key on one rank: parallel arrays and the ordinals by which they match."""

    who: int
    entry: Whole
    start: Floats
    end: Floats
    ordinal: Whole


# group, its ranks (None unknown), operation, bytes (−1: may differ), place in the step from its end (−1: all of them)
Key = tuple[str, tuple[int, ...] | None, str, int, int]


def entries_of(traces: Sequence[RankTrace], starts: Sequence[int]) -> dict[Key, list[Row]]:
    """Every rank's collectives by key: group, its ranks (None unknown), operation, bytes (−1 where they may differ)."""
    rows: dict[Key, list[Row]] = defaultdict(list)
    for who, trace in enumerate(traces):
        each = trace.collectives
        if not len(each.start_ns):
            continue
        size = np.where(np.isin(each.operation, _numbers(each.operations, {"all_to_all"})), -1, each.bytes)
        told = each.sequence >= 0
        size = np.where(told, -1, size)
        code, index = np.unique(np.stack([each.group, each.operation, size]), axis=1, return_inverse=True)
        index = index.ravel()
        order = np.argsort(index, kind="stable")
        bounds = np.searchsorted(index[order], np.arange(code.shape[1] + 1))
        for k in range(code.shape[1]):
            group, operation, size_of = (int(value) for value in code[:, k])
            if each.operations[operation] in POINT_TO_POINT:
                continue
            entry = order[bounds[k] : bounds[k + 1]]
            name = each.groups[group]
            key = (name, _members(name, trace), each.operations[operation], size_of, -1)
            sequence = each.sequence[entry]
            ordinal = sequence if (sequence >= 0).all() else np.arange(len(entry))
            if len(np.unique(ordinal)) < len(ordinal):
                ordinal = np.arange(len(entry))
            start = (each.start_ns[entry] - starts[who]).astype(np.float64)
            end = (each.end_ns[entry] - starts[who]).astype(np.float64)
            rows[key].append(Row(who, entry, start, end, ordinal))
    out: dict[Key, list[Row]] = {}
    for key, found in rows.items():
        if len(found) > 1:
            out |= _in_step(key, found, traces)
    return out


def _numbers(names: Sequence[str], wanted: set[str]) -> list[int]:
    return [number for number, name in enumerate(names) if name in wanted]


def _members(name: str, trace: RankTrace) -> tuple[int, ...] | None:
    """A group's ranks: from the trace's metadata, or its name where that lists them."""
    if name in trace.groups:
        return tuple(trace.groups[name])
    if re.fullmatch(r"[\[(]?\s*\d+(\s*,\s*\d+)+\s*,?[\])]?", name):
        return tuple(int(number) for number in re.findall(r"\d+", name))
    return None


def _in_step(key: Key, rows: list[Row], traces: Sequence[RankTrace]) -> dict[Key, list[Row]]:
    """Rows by step, where ranks have unlike numbers of a key and no sequence numbers: they recorded other spans, or take part
    in more than one group. Places in a step count from its end, where all ranks meet; of unknown groups each place is a key.
    """
    counts = Counter(len(row.entry) for row in rows)
    recorded = any((traces[row.who].collectives.sequence[row.entry] >= 0).all() for row in rows)
    if len(counts) == 1 or recorded:
        return {key: rows}
    out: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        trace = traces[row.who]
        step = trace.collectives.step[row.entry]
        inside = step >= 0
        number = np.where(inside, trace.step_number[np.maximum(step, 0)] if len(trace.step_number) else 0, -1)
        place = np.zeros(len(step), np.int64)
        for value in np.unique(step):
            own = step == value
            place[own] = np.arange(own.sum())[::-1]
        if key[1] is not None:
            ordinal = np.where(inside, number * 1_000_000 - place, -1)
            out[key].append(_taken(row, inside, ordinal))
            continue
        for k in np.unique(place[inside]):
            own = inside & (place == k)
            out[(*key[:4], int(k))].append(_taken(row, own, number))
    return {each: found for each, found in out.items() if len(found) > 1}


def _taken(row: Row, own: np.ndarray, ordinal: Whole) -> Row:
    """The entries of a row that `own` picks, with these ordinals."""
    return Row(row.who, row.entry[own], row.start[own], row.end[own], ordinal[own])


Distance = Callable[["Row", "Row"], float]


def enough(rows: list[Row]) -> bool:
    """Whether ranks have so many collectives of a key that the scatter of their ends tells who belongs together."""
    return sum(len(row.entry) >= _TELLING for row in rows) > len(rows) // 2


def split_unknown(
    rows: dict[Key, list[Row]],
    ranks: Sequence[int],
    distance: Distance,
    known: Sequence[Sequence[tuple[int, ...]]] = (),
) -> tuple[dict[Key, list[Row]], dict[str, tuple[int, ...]]]:
    """Groups whose ranks no metadata tells, divided into those whose ends coincide; and the members of every group.

    `known`: divisions of the ranks into groups that the job has (`divisions`), of which collectives without a name are.
    """
    out: dict[Key, list[Row]] = {}
    groups: dict[str, tuple[int, ...]] = {}
    for key, found in rows.items():
        name, members, operation, size, place = key
        if members is not None:
            mine = [row for row in found if ranks[row.who] in members] or found
            if len(mine) > 1:
                out[key] = mine
                groups[name or "world"] = members
            continue
        for together in _of_known(found, ranks, distance, known) or _coinciding(found, distance):
            if len(together) < 2:
                continue
            inferred = tuple(ranks[row.who] for row in together)
            label = (
                name or "world" if len(together) == len(ranks) else f"{name or 'group'} {listed(inferred, 4)}"
            )
            out[label, inferred, operation, size, place] = together
            groups[label] = inferred
    return out, groups


def divisions(groups: Iterable[tuple[int, ...]], ranks: Sequence[int]) -> list[list[tuple[int, ...]]]:
    """Groups (ranks each) of which a job tells, by their pattern (ranks less the first), where those of one pattern hold every
    rank of the traces exactly once: the groups of a dimension of its layout, or all ranks.
    """
    alike: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    for group in groups:
        if len(group) > 1:
            alike[tuple(rank - group[0] for rank in group)].add(group)
    whole = sorted(ranks)
    return [sorted(each) for each in alike.values() if sorted(rank for one in each for rank in one) == whole]


def _of_known(
    rows: list[Row], ranks: Sequence[int], distance: Distance, known: Sequence[Sequence[tuple[int, ...]]]
) -> list[list[Row]]:
    """Rows of all ranks by the largest groups whose ends coincide: no further apart, in the median, than three times the
    closest division's, and a launch; [] where no division is known.
    """
    if len(rows) != len(ranks) or not known:
        return []
    of = {ranks[row.who]: row for row in rows}
    divided = [[[of[rank] for rank in group] for group in one] for one in known]
    apart = [
        float(np.median([max(distance(group[0], row) for row in group[1:]) for group in one]))
        for one in divided
    ]
    if not np.isfinite(apart).any():
        return []
    limit = 3.0 * min(apart) + LOCKSTEP_NS
    near = [
        (len(one[0]), -value, at)
        for at, (one, value) in enumerate(zip(divided, apart, strict=True))
        if value <= limit
    ]
    return divided[max(near)[2]]  # the largest groups, of those the closest


def _coinciding(rows: list[Row], distance: Distance) -> list[list[Row]]:
    """Ranks divided into groups whose ends lie together: no further apart than three times the closest, and a launch."""
    left, found = list(rows), []
    while left:
        leader, others = left[0], left[1:]
        spread = [distance(leader, row) for row in others]
        finite = [value for value in spread if np.isfinite(value)]
        limit = 3.0 * min(finite, default=0.0) + LOCKSTEP_NS
        chosen = [value <= limit for value in spread]
        found.append([leader, *(row for row, own in zip(others, chosen, strict=True) if own)])
        left = [row for row, own in zip(others, chosen, strict=True) if not own]
    return found


def scatter(a: Row, b: Row) -> float:
    """MAD (ns) of the differences of two ranks' ends over the collectives that both have; infinite where there are none."""
    _, i, j = np.intersect1d(a.ordinal, b.ordinal, return_indices=True)
    if not len(i):
        return float("inf")
    apart = a.end[i] - b.end[j]
    return float(np.median(np.abs(apart - np.median(apart))))


def apart_on(offset: Floats, part: Whole) -> Distance:
    """Median distance (ns) of two ranks' ends on clocks that are tied; their scatter where they are not."""

    def distance(a: Row, b: Row) -> float:
        if part[a.who] != part[b.who]:
            return scatter(a, b)
        _, i, j = np.intersect1d(a.ordinal, b.ordinal, return_indices=True)
        if not len(i):
            return float("inf")
        return float(np.median(np.abs((a.end[i] - offset[a.who]) - (b.end[j] - offset[b.who]))))

    return distance


@dataclass
class Flat:
    """All matched entries: instance numbers, traces, times on each rank's own clock."""

    instance: Whole
    who: Whole
    entry: Whole
    start: Floats
    end: Floats
    keys: list[Key]
    key: Whole  # per instance
    count: int


def flatten(rows: dict[Key, list[Row]]) -> Flat:
    """Entries with one ordinal of one key as one collective; those of a single rank are left out."""
    parts: list[tuple[np.ndarray, ...]] = []
    keys, owner, total = list(rows), [], 0
    for number, key in enumerate(keys):
        found = rows[key]
        ordinal = np.concatenate([row.ordinal for row in found])
        who = np.concatenate([np.full(len(row.entry), row.who) for row in found])
        entry = np.concatenate([row.entry for row in found])
        start = np.concatenate([row.start for row in found])
        end = np.concatenate([row.end for row in found])
        _, index, counts = np.unique(ordinal, return_inverse=True, return_counts=True)
        index = index.ravel()
        keep = counts[index] > 1
        fresh = np.cumsum(counts > 1) - 1
        parts.append((fresh[index[keep]] + total, who[keep], entry[keep], start[keep], end[keep]))
        more = int((counts > 1).sum())
        owner.append(np.full(more, number))
        total += more
    if not parts:
        empty = np.zeros(0, np.int64)
        return Flat(empty, empty, empty, np.zeros(0), np.zeros(0), keys, empty, 0)
    columns = [np.concatenate([part[i] for part in parts]) for i in range(5)]
    order = np.lexsort((columns[1], columns[0]))
    instance, who, entry, start, end = (column[order] for column in columns)
    return Flat(instance, who, entry, start, end, keys, np.concatenate(owner), total)


def with_pairs(
    flat: Flat,
    traces: Sequence[RankTrace],
    starts: Sequence[int],
    offset: Floats,
    residual: Floats,
) -> Flat:
    """The collectives with sends and receives beside them: two of a group whose ends coincide are the two sides of one.

    They never blame and never set a clock; the replay alone needs them, to carry a lateness from stage to stage.
    """
    known = residual[np.isfinite(residual)]
    if not known.size:
        return flat  # clocks that nothing ties cannot tell what coincides
    within = max(_HANDED_OVER_NS, 6.0 * float(np.median(known)))
    buckets: dict[tuple[str | tuple[int, ...], int], list[tuple[np.ndarray, ...]]] = defaultdict(list)
    for who, trace in enumerate(traces):
        each = trace.collectives
        own = np.flatnonzero(np.isin(each.operation, _numbers(each.operations, set(POINT_TO_POINT))))
        for code in np.unique(each.group[own] if len(own) else own):
            entry = own[each.group[own] == code]
            members = _members(each.groups[code], trace)
            for size in np.unique(each.bytes[entry]):
                some = entry[each.bytes[entry] == size]
                start, end = (
                    (times[some] - starts[who]).astype(np.float64) for times in (each.start_ns, each.end_ns)
                )
                key = (members or each.groups[code], int(size))
                buckets[key].append((np.full(len(some), who), some, start, end))
    columns: list[list[np.ndarray]] = [[flat.instance], [flat.who], [flat.entry], [flat.start], [flat.end]]
    keys, owner, count = list(flat.keys), [flat.key], flat.count
    for (name, nbytes), parts in buckets.items():
        owner_of, entries, starting, ending = (np.concatenate([part[i] for part in parts]) for i in range(4))
        pair = _coincide(owner_of, ending - offset[owner_of], within)
        if not len(pair):
            continue
        both = pair.ravel()
        numbers = np.repeat(np.arange(len(pair)), 2) + count
        fresh = (numbers, owner_of[both], entries[both], starting[both], ending[both])
        for column, values in zip(columns, fresh, strict=True):
            column.append(values)
        owner.append(np.full(len(pair), len(keys)))
        keys.append((name if isinstance(name, str) else listed(name, 4), None, "send_recv", nbytes, -1))
        count += len(pair)
    merged = [np.concatenate(column) for column in columns]
    return Flat(merged[0], merged[1], merged[2], merged[3], merged[4], keys, np.concatenate(owner), count)


def _coincide(who: Whole, end: Floats, within: float) -> Whole:
    """Pairs (P, 2) of entries of two ranks that end within `within` ns of each other, each entry in one pair at most.

    First who hands over to whom: ranks whose ends coincide at least half as often as with the best partner, both ways.
    """
    ranks = np.unique(who)
    if len(ranks) > _MOST_UNKNOWN:
        return np.zeros((0, 2), np.int64)
    own = {int(rank): np.flatnonzero(who == rank) for rank in ranks}
    own = {rank: entry[np.argsort(end[entry], kind="stable")] for rank, entry in own.items()}
    near: dict[tuple[int, int], Whole] = {}
    for a in own:
        for b in own:
            if a < b:
                found = _nearest(end[own[a]], end[own[b]], within)
                if len(found):
                    near[a, b] = found
    best: dict[int, int] = defaultdict(int)
    for (a, b), found in near.items():
        best[a], best[b] = max(best[a], len(found)), max(best[b], len(found))
    pairs, taken = [], np.zeros(len(who), bool)
    for (a, b), found in sorted(near.items(), key=lambda item: -len(item[1])):
        if 2 * len(found) < max(best[a], best[b]):
            continue
        both = np.stack([own[a][found[:, 0]], own[b][found[:, 1]]], axis=1)
        both = both[~taken[both].any(axis=1)]
        taken[both] = True
        pairs.append(both)
    return np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)


def _nearest(a: Floats, b: Floats, within: float) -> Whole:
    """Index pairs (P, 2) of two ascending arrays whose values lie within `within` of each other, in order, each once."""
    if not len(a) or not len(b):
        return np.zeros((0, 2), np.int64)
    i = j = 0
    found = []
    close = np.searchsorted(b, a - within) < np.searchsorted(b, a + within)
    if not close.any():
        return np.zeros((0, 2), np.int64)
    left, right = a.tolist(), b.tolist()
    while i < len(left) and j < len(right):
        if abs(left[i] - right[j]) <= within:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return np.array(found, np.int64).reshape(-1, 2)
