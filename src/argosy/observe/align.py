"""Ranks of a job brought to one clock: who is who, which collectives are the same one, how far the clocks lie apart.

The k-th collective of a group is matched over its ranks by its recorded sequence number, else by its order among those
of one operation and size. A barrier-like collective ends on all its ranks at once, so that the ends give the clocks:
θ_r = median_k(e_rk − median_r e_rk), repeated over overlapping groups until it stands. What remains are the residuals,
and no lateness below them blames anybody. Sends and receives tie two ranks only and are left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from argosy.observe.records import Floats, RankTrace, Whole

BARRIER_LIKE = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
POINT_TO_POINT = frozenset({"send", "recv", "send_recv"})
KINETO_BASE_S = 7_889_238  # Kineto floors baseTimeNanoseconds to a multiple of a quarter of a year
_ROUNDS = 60  # of aligning overlapping groups
_STANDS_NS = 1.0
_HANDED_OVER_NS = 20_000.0  # the two sides of a send end within this, clocks aligned
_TELLING = 4  # collectives from which their scatter tells groups apart
_MOST_UNKNOWN = 256  # ranks among which partners are sought where no group names them
_LOCKSTEP_NS = (
    20_000.0  # ends of one collective on its ranks differ by up to this: launch, polling, whole microseconds
)


@dataclass(frozen=True)
class Matched:
    """The collectives that several ranks share: flat arrays over (collective, member), collectives in order of time.

    `instance` (E,): index of the collective, ascending; `who`: index of the trace; `entry`: index into its collectives;
    `start_ns`, `end_ns`: float ns on the common clock; `exposed_ns`; `step`: the rank's step number, −1 outside. Per
    collective (C,): `operation`, `group`, `bytes`, `first` (of its members, with a closing entry), `barrier`.
    """

    instance: Whole
    who: Whole
    entry: Whole
    start_ns: Floats
    end_ns: Floats
    exposed_ns: Floats
    step: Whole
    operation: np.ndarray
    group: np.ndarray
    bytes: Whole
    first: Whole
    barrier: np.ndarray

    @property
    def last_ns(self) -> Floats:
        """When the last rank of each collective came (C,)."""
        return np.maximum.reduceat(self.start_ns, self.first[:-1]) if len(self.operation) else np.zeros(0)

    def wait_ns(self) -> Floats:
        """Per member (E,): the part of its kernel before the last rank came; the rest is transfer."""
        took = self.end_ns - self.start_ns
        return np.clip(self.last_ns[self.instance] - self.start_ns, 0.0, took)


@dataclass(frozen=True)
class Alignment:
    """`traces`: one a rank, in order of `ranks`; `offset_ns` (R,): each clock less the median clock; `residual_ns` (R,):
    median distance of its collectives' ends from their group's, NaN where no barrier-like collective ties it; `part`
    (R,): ranks with the same number are tied to each other; `groups`: members (ranks) by name; `missing`: ranks
    that the job has and no file; `notes`: what was assumed.
    """

    traces: tuple[RankTrace, ...]
    ranks: tuple[int, ...]
    offset_ns: Floats
    base_ns: Whole
    residual_ns: Floats
    part: Whole
    groups: dict[str, tuple[int, ...]]
    matched: Matched
    missing: tuple[int, ...]
    notes: tuple[str, ...]

    def common(self, index: int, time_ns: Whole) -> Floats:
        """Times of trace `index` on the common clock, ns from the start of the observation."""
        return np.asarray(np.asarray(time_ns, np.int64) - self.base_ns[index], np.float64)

    def uncertainty_ns(self, index: int) -> float:
        """What a lateness of this rank must exceed before it blames: its own or the job's median residual."""
        known = self.residual_ns[np.isfinite(self.residual_ns)]
        middle = float(np.median(known)) if known.size else 0.0
        own = float(self.residual_ns[index])
        return max(own if np.isfinite(own) else 0.0, middle)


def align(traces: Sequence[RankTrace]) -> Alignment | None:
    """Traces on one clock; None for none."""
    if not traces:
        return None
    kept, ranks, notes = _ranks(traces)
    starts = [_beginning(trace) for trace in kept]
    entries = _entries(kept, starts)
    often = {key: rows for key, rows in entries.items() if key[1] is not None or _enough(rows)}
    rows, groups = _split_unknown(often, ranks, _scatter)
    offset, _, part = _clocks(_flatten(rows), len(kept))
    # Collectives too few to tell groups apart by their scatter are divided by their ends on the clocks that others gave.
    few, more = _split_unknown(
        {key: rows for key, rows in entries.items() if key not in often}, ranks, _apart(offset, part)
    )
    rows, groups = rows | few, groups | more
    flat = _flatten(rows)
    offset, residual, part = _clocks(flat, len(kept))
    flat = _with_pairs(flat, kept, starts, offset, residual)
    base = np.array(starts, np.int64) + np.rint(offset).astype(np.int64)
    notes += _straddling(base, ranks)
    matched = _matched(flat, offset, kept)
    relative = base - np.int64(np.sort(base)[len(base) // 2])
    world = max([trace.position.world or 0 for trace in kept] + [max(ranks) + 1])
    missing = tuple(sorted(set(range(world)) - set(ranks))) if world > len(ranks) else ()
    if missing:
        notes.append(f"{len(missing)} of {world} ranks have no trace: {_listed(missing)}")
    return Alignment(
        tuple(kept),
        tuple(ranks),
        relative.astype(np.float64),
        base,
        residual,
        part,
        groups,
        matched,
        missing,
        tuple(notes),
    )


def _listed(ranks: Sequence[int], most: int = 8) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:most])
    return shown + (f" and {len(ranks) - most} more" if len(ranks) > most else "")


def _ranks(traces: Sequence[RankTrace]) -> tuple[list[RankTrace], list[int], list[str]]:
    """One trace a rank: by metadata, else the number in the file's name, else the order of the files."""
    notes: list[str] = []
    told = [trace.position.rank for trace in traces]
    if None in told:
        named = [_named(trace.path) for trace in traces]
        unknown = [i for i, rank in enumerate(told) if rank is None]
        guess = [named[i] for i in unknown]
        taken = {rank for rank in told if rank is not None}
        if None not in guess and len(set(guess)) == len(guess) and not taken & set(guess):
            told = [named[i] if rank is None else rank for i, rank in enumerate(told)]
            notes.append(f"{len(unknown)} traces name no rank: taken from the files' names")
        else:
            free = (rank for rank in range(len(traces) + len(taken)) if rank not in taken)
            told = [next(free) if rank is None else rank for rank in told]
            notes.append(f"{len(unknown)} traces name no rank: numbered in the order of the files")
    best: dict[int, RankTrace] = {}
    for rank, trace in zip(told, traces, strict=True):
        assert rank is not None
        other = best.get(rank)
        if other is not None:
            notes.append(f"rank {rank} has several traces: the longest is taken")
        if other is None or len(trace.step_number) > len(other.step_number):
            best[rank] = trace
    ranks = sorted(best)
    return [best[rank] for rank in ranks], ranks, list(dict.fromkeys(notes))


def _named(path: str) -> int | None:
    """The rank that a file's name tells (`rank3`, `worker-3`, `rank_003`)."""
    found = re.findall(
        r"(?:rank|worker)[-_ ]?(\d+)", path.replace("\\", "/").rpartition("/")[2], re.IGNORECASE
    )
    return int(found[-1]) if found else None


def _beginning(trace: RankTrace) -> int:
    """The first time that a trace knows, ns."""
    firsts = [int(each[0]) for each in (trace.step_start_ns, trace.collectives.start_ns) if len(each)]
    return min(firsts, default=0)


@dataclass
class _Row:
    """Collectives of one key on one rank: parallel arrays and the ordinals by which they match."""

    who: int
    entry: Whole
    start: Floats
    end: Floats
    ordinal: Whole


# group, its ranks (None unknown), operation, bytes (−1: may differ), place in the step from its end (−1: all of them)
Key = tuple[str, tuple[int, ...] | None, str, int, int]


def _entries(traces: Sequence[RankTrace], starts: Sequence[int]) -> dict[Key, list[_Row]]:
    """Every rank's collectives by key: group, its ranks (None unknown), operation, bytes (−1 where they may differ)."""
    rows: dict[Key, list[_Row]] = defaultdict(list)
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
            rows[key].append(_Row(who, entry, start, end, ordinal))
    out: dict[Key, list[_Row]] = {}
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


def _in_step(key: Key, rows: list[_Row], traces: Sequence[RankTrace]) -> dict[Key, list[_Row]]:
    """Rows by step, where ranks have unlike numbers of a key and no sequence numbers: they recorded other spans, or take part
    in more than one group. Places in a step count from its end, where all ranks meet; of unknown groups each place is a key.
    """
    counts = Counter(len(row.entry) for row in rows)
    recorded = any((traces[row.who].collectives.sequence[row.entry] >= 0).all() for row in rows)
    if len(counts) == 1 or recorded:
        return {key: rows}
    out: dict[Key, list[_Row]] = defaultdict(list)
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


def _taken(row: _Row, own: np.ndarray, ordinal: Whole) -> _Row:
    """The entries of a row that `own` picks, with these ordinals."""
    return _Row(row.who, row.entry[own], row.start[own], row.end[own], ordinal[own])


Distance = Callable[["_Row", "_Row"], float]


def _enough(rows: list[_Row]) -> bool:
    """Whether ranks have so many collectives of a key that the scatter of their ends tells who belongs together."""
    return sum(len(row.entry) >= _TELLING for row in rows) > len(rows) // 2


def _split_unknown(
    rows: dict[Key, list[_Row]], ranks: Sequence[int], distance: Distance
) -> tuple[dict[Key, list[_Row]], dict[str, tuple[int, ...]]]:
    """Groups whose ranks no metadata tells, divided into those whose ends coincide; and the members of every group."""
    out: dict[Key, list[_Row]] = {}
    groups: dict[str, tuple[int, ...]] = {}
    for key, found in rows.items():
        name, members, operation, size, place = key
        if members is not None:
            mine = [row for row in found if ranks[row.who] in members] or found
            if len(mine) > 1:
                out[key] = mine
                groups[name or "world"] = members
            continue
        for together in _coinciding(found, distance):
            if len(together) < 2:
                continue
            inferred = tuple(ranks[row.who] for row in together)
            label = (
                name or "world"
                if len(together) == len(ranks)
                else f"{name or 'group'} {_listed(inferred, 4)}"
            )
            out[label, inferred, operation, size, place] = together
            groups[label] = inferred
    return out, groups


def _coinciding(rows: list[_Row], distance: Distance) -> list[list[_Row]]:
    """Ranks divided into groups whose ends lie together: no further apart than three times the closest, and a launch."""
    left, found = list(rows), []
    while left:
        leader, others = left[0], left[1:]
        spread = [distance(leader, row) for row in others]
        finite = [value for value in spread if np.isfinite(value)]
        limit = 3.0 * min(finite, default=0.0) + _LOCKSTEP_NS
        chosen = [value <= limit for value in spread]
        found.append([leader, *(row for row, own in zip(others, chosen, strict=True) if own)])
        left = [row for row, own in zip(others, chosen, strict=True) if not own]
    return found


def _scatter(a: _Row, b: _Row) -> float:
    """MAD (ns) of the differences of two ranks' ends over the collectives that both have; infinite where there are none."""
    _, i, j = np.intersect1d(a.ordinal, b.ordinal, return_indices=True)
    if not len(i):
        return float("inf")
    apart = a.end[i] - b.end[j]
    return float(np.median(np.abs(apart - np.median(apart))))


def _apart(offset: Floats, part: Whole) -> Distance:
    """Median distance (ns) of two ranks' ends on clocks that are tied; their scatter where they are not."""

    def distance(a: _Row, b: _Row) -> float:
        if part[a.who] != part[b.who]:
            return _scatter(a, b)
        _, i, j = np.intersect1d(a.ordinal, b.ordinal, return_indices=True)
        if not len(i):
            return float("inf")
        return float(np.median(np.abs((a.end[i] - offset[a.who]) - (b.end[j] - offset[b.who]))))

    return distance


@dataclass
class _Flat:
    """All matched entries: instance numbers, traces, times on each rank's own clock."""

    instance: Whole
    who: Whole
    entry: Whole
    start: Floats
    end: Floats
    keys: list[Key]
    key: Whole  # per instance
    count: int


def _flatten(rows: dict[Key, list[_Row]]) -> _Flat:
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
        return _Flat(empty, empty, empty, np.zeros(0), np.zeros(0), keys, empty, 0)
    columns = [np.concatenate([part[i] for part in parts]) for i in range(5)]
    order = np.lexsort((columns[1], columns[0]))
    instance, who, entry, start, end = (column[order] for column in columns)
    return _Flat(instance, who, entry, start, end, keys, np.concatenate(owner), total)


def _with_pairs(
    flat: _Flat,
    traces: Sequence[RankTrace],
    starts: Sequence[int],
    offset: Floats,
    residual: Floats,
) -> _Flat:
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
        keys.append((name if isinstance(name, str) else _listed(name, 4), None, "send_recv", nbytes, -1))
        count += len(pair)
    merged = [np.concatenate(column) for column in columns]
    return _Flat(merged[0], merged[1], merged[2], merged[3], merged[4], keys, np.concatenate(owner), count)


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


def _medians(values: Floats, index: Whole, count: int) -> Floats:
    """Median of `values` by `index` (count,), NaN where an index has none."""
    order = np.lexsort((values, index))
    sorted_values, counts = values[order], np.bincount(index, minlength=count)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    out = np.full(count, np.nan)
    some = counts > 0
    low, high = first + (counts - 1) // 2, first + counts // 2
    out[some] = 0.5 * (sorted_values[low[some]] + sorted_values[high[some]])
    return out


def _clocks(flat: _Flat, traces: int) -> tuple[Floats, Floats, Whole]:
    """Offsets of the traces' clocks, residuals, and which are tied: repeated medians over collectives and ranks."""
    barrier = np.array([key[2] in BARRIER_LIKE for key in flat.keys], bool)
    offset, residual = np.zeros(traces), np.full(traces, np.nan)
    if not flat.count:
        return offset, residual, np.arange(traces)
    own = barrier[flat.key[flat.instance]]
    instance, who, end = flat.instance[own], flat.who[own], flat.end[own]
    if not own.any():
        return offset, residual, np.arange(traces)
    for _ in range(_ROUNDS):
        left = end - offset[who]
        apart = left - _medians(left, instance, flat.count)[instance]
        change = np.nan_to_num(_medians(apart, who, traces))
        offset += change
        if np.abs(change).max() < _STANDS_NS:
            break
    left = end - offset[who]
    apart = left - _medians(left, instance, flat.count)[instance]
    residual = _medians(np.abs(apart), who, traces)
    return offset, residual, _parts(instance, who, traces)


def _parts(instance: Whole, who: Whole, traces: int) -> Whole:
    """Numbers of the connected parts of ranks that share collectives."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    both = coo_matrix(
        (np.ones(len(who)), (who, instance + traces)), shape=(traces + int(instance.max()) + 1,) * 2
    )
    return np.asarray(connected_components(both, directed=False)[1][:traces], np.int64)


def _matched(flat: _Flat, offset: Floats, traces: Sequence[RankTrace]) -> Matched:
    """The flat entries on the common clock, collectives in order of their first member's start."""
    start, end = flat.start - offset[flat.who], flat.end - offset[flat.who]
    if not flat.count:
        empty = np.zeros(0, np.int64)
        return Matched(
            empty, empty, empty, start, end, start, empty, np.zeros(0, str), np.zeros(0, str), empty,
            np.zeros(1, np.int64), np.zeros(0, bool),
        )  # fmt: skip
    begin = _medians(start, flat.instance, flat.count)
    rank = np.empty(flat.count, np.int64)
    rank[np.argsort(begin, kind="stable")] = np.arange(flat.count)
    instance = rank[flat.instance]
    order = np.lexsort((flat.who, instance))
    instance = instance[order]
    key = np.empty(flat.count, np.int64)
    key[rank] = flat.key
    names = np.array([each[0] or "world" for each in flat.keys])
    collectives = [trace.collectives for trace in traces]
    place = np.cumsum([0, *(len(each.start_ns) for each in collectives)])[flat.who[order]] + flat.entry[order]
    step = [
        np.where(each.step >= 0, trace.step_number[np.maximum(each.step, 0)], -1)
        if len(trace.step_number)
        else np.full(len(each.step), -1)
        for trace, each in zip(traces, collectives, strict=True)
    ]
    size = np.concatenate([each.bytes for each in collectives])[place]
    first = np.searchsorted(instance, np.arange(flat.count + 1))
    operations = np.array([each[2] for each in flat.keys])
    return Matched(
        instance=instance,
        who=flat.who[order],
        entry=flat.entry[order],
        start_ns=start[order],
        end_ns=end[order],
        exposed_ns=np.concatenate([each.exposed_ns for each in collectives])[place].astype(np.float64),
        step=np.concatenate(step)[place].astype(np.int64),
        operation=operations[key],
        group=names[key],
        bytes=np.maximum.reduceat(size, first[:-1]),
        first=first,
        barrier=np.array([name in BARRIER_LIKE for name in operations])[key],
    )


def _straddling(base: Whole, ranks: Sequence[int]) -> list[str]:
    """Clocks that lie a whole step of Kineto's base time apart: said, and taken out by the alignment."""
    step = KINETO_BASE_S * 1_000_000_000
    apart = base - np.sort(base)[len(base) // 2]
    odd = [rank for rank, value in zip(ranks, apart, strict=True) if abs(value) > step // 2]
    if not odd:
        return []
    return [
        f"the clocks of ranks {_listed(odd)} lie a base time of Kineto apart: aligned by their collectives"
    ]
