"""Ranks of a job brought to one clock: who is who, which collectives are the same one, how far the clocks lie apart.

The k-th collective of a group is matched over its ranks by its recorded sequence number, else by its order among those
of one operation and size. A barrier-like collective ends on all its ranks at once, so that the ends give the clocks:
θ_r = median_k(e_rk − median_r e_rk), repeated over overlapping groups until it stands, and groups that then contradict each other
are heard by one voice each. What remains are the residuals,
and no lateness below them blames anybody. Sends and receives tie two ranks only and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from argosy.observe.jobs import one_job, one_window
from argosy.observe.matching import (
    LOCKSTEP_NS,
    Flat,
    Key,
    Row,
    apart_on,
    divisions,
    enough,
    entries_of,
    flatten,
    listed,
    scatter,
    split_unknown,
    with_pairs,
)
from argosy.observe.records import Floats, RankTrace, Whole

BARRIER_LIKE = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
KINETO_BASE_S = 7_889_238  # Kineto floors baseTimeNanoseconds to a multiple of a quarter of a year
_ROUNDS = 60  # of aligning overlapping groups
_STANDS_NS = 1.0


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
    that the job has and no file; `notes`: what was assumed; `others`: traces of other jobs, left out.
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
    others: tuple[str, ...] = ()

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
    traces, others, why = one_job(traces, [_beginning(trace) for trace in traces])
    kept, ranks, notes = _ranks(traces)
    if others:
        names = listed([trace.path.rpartition("/")[2] for trace in others], 4)
        notes.insert(
            0, f"{_traces(len(others))} of other jobs left out ({why}): {names}; diagnose them alone"
        )
    starts = [_beginning(trace) for trace in kept]
    entries = entries_of(kept, starts)
    often = {key: rows for key, rows in entries.items() if key[1] is not None or enough(rows)}
    known = divisions((group for trace in kept for group in trace.groups.values()), ranks)
    if known and any(key[1] is None for key in entries):
        often = entries
        rows, groups = _one_by_one(entries, ranks, known)
    else:
        rows, groups = split_unknown(often, ranks, scatter)
    offset, _, part = _clocks(flatten(rows), len(kept))
    # Collectives too few to tell groups apart by their scatter: those that all ranks end together tie the groups' clocks,
    # and on tied clocks the others are divided by their ends.
    rest = {key: each for key, each in entries.items() if key not in often}
    split, named = split_unknown(rest, ranks, apart_on(offset, part))
    whole = {key: each for key, each in split.items() if len(each) == len(kept)}
    if whole:
        rows |= whole
        groups |= {label: members for label, members in named.items() if len(members) == len(kept)}
        offset, _, part = _clocks(flatten(rows), len(kept))
        done = {(key[2], key[3], key[4]) for key in whole}
        rest = {key: each for key, each in rest.items() if (key[2], key[3], key[4]) not in done}
        split, named = split_unknown(rest, ranks, apart_on(offset, part))
    rows, groups = rows | split, groups | named
    flat = flatten(rows)
    offset, residual, part = _clocks(flat, len(kept))
    flat = with_pairs(flat, kept, starts, offset, residual)
    base = np.array(starts, np.int64) + np.rint(offset).astype(np.int64)
    notes += _straddling(base, ranks)
    matched = _matched(flat, offset, kept)
    relative = base - np.int64(np.sort(base)[len(base) // 2])
    world = max([trace.position.world or 0 for trace in kept] + [max(ranks) + 1])
    missing = tuple(sorted(set(range(world)) - set(ranks))) if world > len(ranks) else ()
    if missing:
        notes.append(f"{len(missing)} of {world} ranks have no trace: {listed(missing)}")
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
        tuple(trace.path for trace in others),
    )


def _one_by_one(
    entries: dict[Key, list[Row]], ranks: Sequence[int], known: Sequence[Sequence[tuple[int, ...]]]
) -> tuple[dict[Key, list[Row]], dict[str, tuple[int, ...]]]:
    """Collectives by groups, where the job's divisions are known and kernels do not name theirs: those of which there are most
    first, since their scatter tells most. They tie clocks, on which the ends themselves tell the next ones apart.
    """
    rows: dict[Key, list[Row]] = {}
    groups: dict[str, tuple[int, ...]] = {}
    offset, part = np.zeros(len(ranks)), np.arange(len(ranks))
    for key in sorted(
        entries, key=lambda each: (each[1] is None, -sum(len(row.entry) for row in entries[each]))
    ):
        split, named = split_unknown({key: entries[key]}, ranks, apart_on(offset, part), known)
        rows, groups = rows | split, groups | named
        offset, _, part = _clocks(flatten(rows), len(ranks))
    return rows, groups


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
            notes.append(f"{_traces(len(unknown))} without a rank: taken from the name of the file")
        else:
            free = (rank for rank in range(len(traces) + len(taken)) if rank not in taken)
            told = [next(free) if rank is None else rank for rank in told]
            notes.append(f"{_traces(len(unknown))} without a rank: numbered in the order of the files")
    candidates: dict[int, list[int]] = {}
    for i, rank in enumerate(told):
        assert rank is not None
        candidates.setdefault(rank, []).append(i)
    doubled = sorted(rank for rank, every in candidates.items() if len(every) > 1)
    if doubled:
        plural = len(doubled) > 1
        notes.append(
            f"rank{'s' * plural} {listed(doubled)} {'have' if plural else 'has'} several traces: those of the window that "
            "most ranks recorded are taken"
        )
    best = one_window(
        candidates,
        [_beginning(trace) for trace in traces],
        [frozenset(trace.step_number.tolist()) for trace in traces],
    )
    ranks = sorted(best)
    return [traces[best[rank]] for rank in ranks], ranks, notes


def _traces(count: int) -> str:
    return f"{count} trace{'s' * (count > 1)}"


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


def _clocks(flat: Flat, traces: int) -> tuple[Floats, Floats, Whole]:
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
    offset += _between(flat, own, end - offset[who], traces)
    left = end - offset[who]
    apart = left - _medians(left, instance, flat.count)[instance]
    residual = _medians(np.abs(apart), who, traces)
    return offset, residual, tied(instance, who, traces)


def _between(flat: Flat, own: np.ndarray, left: Floats, traces: int) -> Floats:
    """What the clocks (R,) still lack where groups contradict each other. `left`: ends on the clocks so far, of the entries that
    `own` picks.

    The median over all of a rank's collectives hears its busiest group alone: parts of a job that few collectives tie (nodes by
    their data-parallel groups, beside hundreds inside them) are left as far apart as their clocks began. So every group gets one
    voice: d_gr, the median of rank r's ends less their collectives', and x_r − c_g = d_gr is solved by least squares, a group
    by the root of how often it spoke. Nothing is changed where all d are within three residuals and a launch.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import lsqr

    instance, who = flat.instance[own], flat.who[own]
    apart = left - _medians(left, instance, flat.count)[instance]
    names = {each: number for number, each in enumerate(dict.fromkeys(key[:2] for key in flat.keys))}
    group = np.array([names[key[:2]] for key in flat.keys], np.int64)[flat.key[instance]]
    code, place, often = np.unique(group * traces + who, return_inverse=True, return_counts=True)
    said = _medians(apart, place.ravel(), len(code))
    if np.abs(said).max() <= 3.0 * float(np.median(np.abs(apart))) + LOCKSTEP_NS:
        return np.zeros(traces)
    rows, weight = np.arange(len(code)), np.sqrt(often)
    column = np.concatenate([code % traces, traces + code // traces])
    matrix = coo_matrix(
        (np.concatenate([weight, -weight]), (np.tile(rows, 2), column)),
        shape=(len(code), traces + len(names)),
    )
    return np.asarray(lsqr(matrix.tocsr(), said * weight, atol=1e-12, btol=1e-12)[0][:traces], np.float64)


def tied(instance: Whole, who: Whole, traces: int) -> Whole:
    """Numbers of the connected parts of ranks that share collectives."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    both = coo_matrix(
        (np.ones(len(who)), (who, instance + traces)), shape=(traces + int(instance.max()) + 1,) * 2
    )
    return np.asarray(connected_components(both, directed=False)[1][:traces], np.int64)


def _matched(flat: Flat, offset: Floats, traces: Sequence[RankTrace]) -> Matched:
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
        f"the clocks of ranks {listed(odd)} lie a base time of Kineto apart: aligned by their collectives"
    ]
