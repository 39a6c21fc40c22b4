"""What-if replay of a pipelined job's operation table: how much faster, had one stage or worker been like its peers.

The step is run again from its dependencies alone: operations of one stage in the order they ran, a forward after the
forward of the stage before it, a backward after the backward of the stage behind it, what synchronises ranks when the
last of them has come. Definitions (ByteDance, "Understanding Stragglers in Large Model Training Using What-if
Analysis", arXiv:2505.05713): the ideal time of a compute operation is its mean over all ranks, stages and steps, of
a transfer its median from the last arrival to the end; slowdown S = T(all as measured) / T(all ideal). The part of
one stage (or worker, or operation) is T(its own times as measured, all others ideal) / T(all ideal).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argosy.observe.records import Floats, OperationTable

FORWARD, BACKWARD = "forward-compute", "backward-compute"
_ANCHOR = (FORWARD, BACKWARD)
_PAIRS = {FORWARD: ("forward-send", "forward-recv"), BACKWARD: ("backward-send", "backward-recv")}
_POINT_TO_POINT = {name for pair in _PAIRS.values() for name in pair}
_EVERYBODY = ("clip", "norm", "barrier")  # words of an operation that waits for all ranks of the job


@dataclass(frozen=True)
class Durations:
    """Seconds by operation: `compute` (steps, data, stage, chunk, micro-batch) for the two passes, `others`
    (steps, data, stage) for what is once a step, NaN where a stage has none; `hop` seconds from stage to stage.
    """

    compute: Mapping[str, Floats]
    others: Mapping[str, Floats]
    hop: Mapping[str, float]

    @cached_property
    def ideal(self) -> Durations:
        """The same operations at their peers' times: mean of compute, median of transfers."""
        compute = {name: np.where(np.isnan(t), np.nan, np.nanmean(t)) for name, t in self.compute.items()}
        middle = {name: np.nanmean(t) if local(name) else np.nanmedian(t) for name, t in self.others.items()}
        others = {name: np.where(np.isnan(t), np.nan, middle[name]) for name, t in self.others.items()}
        return Durations(compute, others, self.hop)


def local(operation: str) -> bool:
    """Whether an operation is a rank's own work, waiting for nobody."""
    words = ("reduce", "gather", "sync", "broadcast", "all-to-all", *_EVERYBODY)
    return not any(word in operation for word in words)


@dataclass(frozen=True)
class TableReplay:
    """A table as arrays, and its replay. `steps`, `data`, `stages`: the values along the axes; `order`: per stage the
    compute operations in the order they ran, as (pass, chunk, micro-batch); `before`, `after`: the operations of a step's
    two ends, in order; `measured`: the durations.
    """

    table: OperationTable
    steps: np.ndarray
    data: np.ndarray
    stages: np.ndarray
    order: tuple[tuple[tuple[str, int, int], ...], ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    measured: Durations

    def run(self, durations: Durations) -> Floats:
        """Seconds of every step (S,) with these durations."""
        shape = (len(self.steps), len(self.data))
        clocks = [np.zeros(shape) for _ in self.stages]
        for name in self.before:
            clocks = self._synchronised(name, durations, clocks)
        clocks = self._pipeline(durations, clocks)
        for name in self.after:
            clocks = self._synchronised(name, durations, clocks)
        return np.asarray(np.max(np.stack(clocks), axis=(0, 2)))

    @cached_property
    def actual_s(self) -> Floats:
        """Replayed seconds per step, all as measured."""
        return self.run(self.measured)

    @cached_property
    def ideal_s(self) -> Floats:
        """Replayed seconds per step, all at their peers' times."""
        return self.run(self.measured.ideal)

    @property
    def slowdown(self) -> float:
        """T(measured) / T(ideal), mean over the steps."""
        return float(self.actual_s.mean() / self.ideal_s.mean())

    @cached_property
    def by_stage(self) -> dict[int, float]:
        """T(this stage as measured, all others ideal) / T(ideal), by stage."""
        return {int(stage): self._kept(stage=i) for i, stage in enumerate(self.stages)}

    @cached_property
    def by_data(self) -> dict[int, float]:
        """The same by data-parallel replica."""
        return {int(rank): self._kept(data=i) for i, rank in enumerate(self.data)}

    @cached_property
    def by_operation(self) -> dict[str, float]:
        """The same by operation."""
        names = [*self.measured.compute, *self.measured.others]
        return {name: self._kept(operation=name) for name in names}

    def without(self, stage: int, data: int | None = None) -> float:
        """Seconds a step saved, had this stage (of one replica, or of all) its peers' median compute times.

        Peers of one replica's stage are the same stage of the others; peers of a stage are the other stages.
        """
        at = int(np.flatnonzero(self.stages == stage)[0])
        who: int | slice = slice(None)
        compute = {}
        for name, times in self.measured.compute.items():
            changed = times.copy()
            if data is None:
                others = np.delete(times, at, axis=2)
                middle = np.nanmedian(others) if others.size else np.nan
            else:
                who = int(np.flatnonzero(self.data == data)[0])
                others = np.delete(times[:, :, at], who, axis=1)
                middle = np.nanmedian(others) if others.size else np.nan
            if np.isfinite(middle):
                part = changed[:, who, at]
                changed[:, who, at] = np.where(np.isnan(part), np.nan, np.minimum(part, middle))
            compute[name] = changed
        faster = self.run(Durations(compute, self.measured.others, self.measured.hop))
        return float(self.actual_s.mean() - faster.mean())

    def _kept(self, stage: int | None = None, data: int | None = None, operation: str | None = None) -> float:
        """The slowdown with only this part of the job as measured."""
        ideal = self.measured.ideal

        def mixed(name: str, times: Floats, peers: Floats) -> Floats:
            if operation is not None:
                return times if name == operation else peers
            out = peers.copy()
            where = (slice(None), slice(None), stage) if stage is not None else (slice(None), data)
            out[where] = times[where]
            return out

        compute = {n: mixed(n, t, ideal.compute[n]) for n, t in self.measured.compute.items()}
        others = {n: mixed(n, t, ideal.others[n]) for n, t in self.measured.others.items()}
        return float(self.run(Durations(compute, others, self.measured.hop)).mean() / self.ideal_s.mean())

    def _pipeline(self, durations: Durations, clocks: list[Floats]) -> list[Floats]:
        """Every stage's clock after its last compute operation; a schedule that cannot proceed stops where it hangs."""
        ends: dict[tuple[str, int, int, int], Floats] = {}
        at = [0] * len(self.stages)
        moved = True
        while moved:
            moved = False
            for stage, operations in enumerate(self.order):
                while at[stage] < len(operations):
                    name, chunk, batch = operations[at[stage]]
                    ready = self._ready(name, stage, chunk, batch, ends)
                    if ready is None:
                        break
                    start = np.maximum(clocks[stage], ready)
                    took = np.nan_to_num(durations.compute[name][:, :, stage, chunk, batch])
                    clocks[stage] = ends[name, stage, chunk, batch] = start + took
                    at[stage] += 1
                    moved = True
        return clocks

    def _ready(
        self, name: str, stage: int, chunk: int, batch: int, ends: Mapping[tuple[str, int, int, int], Floats]
    ) -> Floats | float | None:
        """When the inputs of an operation are there; None: not yet."""
        last, chunks = len(self.stages) - 1, self.measured.compute[FORWARD].shape[3]
        if name == FORWARD:
            source = (stage - 1, chunk) if stage else (last, chunk - 1)
            first = stage == 0 and chunk == 0
        else:
            source = (stage + 1, chunk) if stage < last else (0, chunk + 1)
            first = stage == last and chunk == chunks - 1
        if first:
            own = ends.get((FORWARD, stage, chunk, batch))
            return 0.0 if name == FORWARD else own
        came = ends.get((name, source[0], source[1], batch))
        return None if came is None else came + (self.measured.hop[name] if source[0] != stage else 0.0)

    def _synchronised(self, name: str, durations: Durations, clocks: list[Floats]) -> list[Floats]:
        """Clocks after an operation that is once a step: its group starts when the last of it has come."""
        took = durations.others[name]
        members = [i for i in range(len(self.stages)) if np.isfinite(took[:, :, i]).any()]
        out = list(clocks)
        together = np.stack([clocks[i] for i in members])
        for i in members:
            if local(name):
                start = clocks[i]
            elif any(word in name for word in _EVERYBODY):
                start = np.broadcast_to(together.max(axis=(0, 2))[:, None], clocks[i].shape)
            elif "embedding" in name:
                start = together.max(axis=0)
            else:
                start = np.broadcast_to(clocks[i].max(axis=1)[:, None], clocks[i].shape)
            out[i] = start + np.nan_to_num(took[:, :, i])
        return out


def table_replay(table: OperationTable) -> TableReplay | None:
    """The table ready for replay; None for one without forward and backward compute, or too few stages."""
    names = list(table.operations)
    if FORWARD not in names or BACKWARD not in names or not len(table.operation):
        return None
    axes = [np.unique(each, return_inverse=True) for each in (table.step, table.data, table.stage)]
    (steps, _), (data, _), (stages, _) = axes
    where = tuple(index for _, index in axes)
    chunk, batch = np.maximum(table.chunk, 0), np.maximum(table.microbatch, 0)
    wanted = np.isin(table.operation, [names.index(name) for name in _ANCHOR])
    if not wanted.any():
        return None
    size = (len(steps), len(data), len(stages), int(chunk[wanted].max()) + 1, int(batch[wanted].max()) + 1)
    compute, started = {}, {}
    for name in _ANCHOR:
        own = table.operation == names.index(name)
        index = tuple(each[own] for each in (*where, chunk, batch))
        compute[name] = _filled(size, index, table.duration_s[own])
        started[name] = _filled(size, index, table.start_s[own])
    hop = {name: _hop(table, names, name, where) for name in _ANCHOR}
    others, before, after = _others(table, names, where, size[:3], started)
    return TableReplay(
        table,
        steps,
        data,
        stages,
        _order(started, len(stages)),
        before,
        after,
        Durations(compute, others, hop),
    )


def _filled(size: tuple[int, ...], index: tuple[np.ndarray, ...], values: Floats) -> Floats:
    """Values by index, the largest where several ranks share one (tensor-parallel ranks), NaN where there is none."""
    out = np.full(size, -np.inf)
    np.maximum.at(out, index, values.astype(np.float64))
    return np.where(np.isinf(out), np.nan, out)


def _order(started: Mapping[str, Floats], stages: int) -> tuple[tuple[tuple[str, int, int], ...], ...]:
    """Per stage the compute operations by their median start over steps and replicas."""
    found = []
    for stage in range(stages):
        rows = []
        for name, times in started.items():
            for chunk in range(times.shape[3]):
                for batch in range(times.shape[4]):
                    own = times[:, :, stage, chunk, batch]
                    if np.isfinite(own).any():
                        rows.append((float(np.nanmedian(own)), (name, chunk, batch)))
        found.append(tuple(row for _, row in sorted(rows)))
    return tuple(found)


def _hop(table: OperationTable, names: list[str], name: str, where: tuple[np.ndarray, ...]) -> float:
    """Median seconds of a transfer between neighbours, from the later of the two sides' starts to its end; 0 unknown."""
    if any(side not in names for side in _PAIRS[name]):
        return 0.0
    sides = [table.operation == names.index(side) for side in _PAIRS[name]]
    chunk, order = np.maximum(table.chunk, 0), np.maximum(table.sequence, 0)
    used = sides[0] | sides[1]
    counts = [int(each[used].max()) + 1 if used.any() else 0 for each in (*where, chunk, order)]
    if not all(counts) or not all(side.any() for side in sides):
        return 0.0
    starts, ends = [], []
    for side in sides:
        index = tuple(each[side] for each in (*where, chunk, order))
        starts.append(_filled(tuple(counts), index, table.start_s[side]))
        ends.append(_filled(tuple(counts), index, (table.start_s + table.duration_s)[side]))
    to, source = slice(1, None), slice(None, -1)
    if name == BACKWARD:
        to, source = source, to
    took = ends[1][:, :, to] - np.maximum(starts[0][:, :, source], starts[1][:, :, to])
    known = took[np.isfinite(took)]
    return float(max(np.median(known), 0.0)) if known.size else 0.0


def _others(
    table: OperationTable,
    names: list[str],
    where: tuple[np.ndarray, ...],
    size: tuple[int, ...],
    started: Mapping[str, Floats],
) -> tuple[dict[str, Floats], tuple[str, ...], tuple[str, ...]]:
    """Operations that are once a step: seconds (of a collective from its last arrival), and their order at each end."""
    first = np.nanmedian(started[FORWARD])
    found: dict[str, Floats] = {}
    middle: dict[str, float] = {}
    for number, name in enumerate(names):
        own = table.operation == number
        if name in _ANCHOR or name in _POINT_TO_POINT or not own.any():
            continue
        index = tuple(each[own] for each in where)
        start = _filled(size, index, table.start_s[own])
        took = _filled(size, index, table.duration_s[own])
        if not local(name):
            took = _transfer(name, start, took)
        found[name], middle[name] = took, float(np.nanmedian(start))
    ordered = sorted(found, key=lambda name: middle[name])
    before = tuple(name for name in ordered if middle[name] < first and name != "first-op")
    return found, before, tuple(name for name in ordered if middle[name] >= first and name != "first-op")


def _transfer(name: str, start: Floats, took: Floats) -> Floats:
    """Seconds from the last arrival of a collective's group to each member's end."""
    if any(word in name for word in _EVERYBODY):
        last = np.nanmax(start, axis=(1, 2), keepdims=True)
    elif "embedding" in name:
        last = np.nanmax(start, axis=2, keepdims=True)
    else:
        last = np.fmax.reduce(start, axis=1, keepdims=True)
    return np.where(np.isnan(took), np.nan, np.maximum(start + took - last, 0.0))
