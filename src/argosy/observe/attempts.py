"""A run as a sequence of attempts: what training logs and Slurm's accounting say of when each began, stepped and ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from argosy.observe.records import Floats, LogEvent, TrainingLog, Whole
from argosy.scheduling.traces.sacct import SacctRow

NEAR_S = 600.0  # a job's end and its log's last line may differ by what the epilogue and buffers take
_ENDS = (
    "exit",
    "error",
    "oom",
    "timeout",
    "cancelled",
    "time-limit",
    "node-fail",
    "preempted",
)  # events of an end
_UNKNOWN = math.nan
_HELD = 0.9  # of an attempt's stepping time that its job must hold, clocks apart
_ROUNDING = 1e-6  # of a row's time: what float64 leaves of differences of stamps since 1970


@dataclass(frozen=True)
class Steps:
    """Rows of an attempt, arrays of one length: each covers `count` iterations up to `iteration`, ends at `end_s`, and had
    since the row before `window_s` seconds: `step_s` of steps, `checkpoint_s`, `evaluation_s`; the rest is unattributed.
    """

    iteration: Whole
    count: Whole
    end_s: Floats
    window_s: Floats
    step_s: Floats
    checkpoint_s: Floats
    evaluation_s: Floats


@dataclass(frozen=True)
class Attempt:
    """One try of the job. Times are seconds since the epoch (`clocked`) or since the run began; `submit_s` NaN unknown.

    `begin_s`: the process started; `stop_s`: it was gone; steps lie between. `job`: Slurm's row, where there is one;
    `events` of the log in it, `last_line` of its last row; `loaded`: the iteration that it went on from, −1 unknown;
    `saved_s`: checkpoints after the last row.
    """

    path: str
    gpus: float
    submit_s: float
    begin_s: float
    stop_s: float
    steps: Steps
    events: tuple[LogEvent, ...]
    loaded: int
    clocked: bool
    last_line: int = 0
    saved_s: float = 0.0
    job: SacctRow | None = None

    @property
    def first_s(self) -> float:
        """When stepping began; the attempt's end where it never did."""
        return float(self.steps.end_s[0] - self.steps.window_s[0]) if len(self.steps.count) else self.stop_s

    @property
    def last_s(self) -> float:
        """When the last reported step ended; where there is none, the attempt's end."""
        return float(self.steps.end_s[-1]) if len(self.steps.count) else self.stop_s

    @property
    def reached(self) -> int:
        """The last reported iteration, −1 for none."""
        return int(self.steps.iteration[-1]) if len(self.steps.count) else -1

    @property
    def nodes(self) -> tuple[str, ...]:
        """Its nodes, where accounting tells."""
        return self.job.nodes if self.job else ()


def attempts_of_log(log: TrainingLog, gpus: float) -> list[Attempt]:
    """The log cut at its starts. `gpus` where the log does not say how many ranks ran."""
    events = sorted(log.events, key=lambda event: event.line)
    cuts = [event.line for event in events if event.kind == "start"]
    bounds = [0, *cuts, int(max([*log.line[-1:], *(e.line for e in events[-1:])], default=0)) + 1]
    made: list[Attempt] = []
    for low, high in pairwise(bounds):
        rows = np.flatnonzero((log.line >= low) & (log.line < high))
        own = tuple(event for event in events if low <= event.line < high)
        if len(rows) or any(event.kind == "start" for event in own):
            made.append(_attempt(log, rows, own, gpus, first=not made, last=high == bounds[-1]))
    return made


def _attempt(
    log: TrainingLog, rows: Whole, events: tuple[LogEvent, ...], gpus: float, first: bool, last: bool
) -> Attempt:
    loaded = next(
        (event.iteration for event in reversed(events) if event.kind == "load" and event.iteration >= 0), -1
    )
    steps, clocked, saved = _steps(log, rows, events, loaded)
    stamped = [event.time_s for event in events if math.isfinite(event.time_s)]
    began = [*stamped[:1], *_setting(log, "first_stamp_s", first)]
    told = [event.time_s for event in events if event.kind in _ENDS and math.isfinite(event.time_s)]
    ended = told or [
        *stamped,
        *_setting(log, "last_stamp_s", last),
    ]  # what follows an error may be the next launch's
    if not clocked and not len(rows) and stamped:
        clocked = True
    begin = stop = 0.0
    if len(rows):
        begin, stop = float(steps.end_s[0] - steps.window_s[0]), float(steps.end_s[-1])
    if clocked:
        begin = min([begin, *began]) if len(rows) else min(began, default=0.0)
        stop = max([stop, *ended]) if len(rows) else max(ended, default=begin)
    line = int(log.line[rows[-1]]) if len(rows) else 0
    world = log.settings.get("world_size")
    ranks = float(world) if isinstance(world, int) and world > 0 else gpus
    return Attempt(
        log.path, ranks, _UNKNOWN, begin, max(stop, begin), steps, events, loaded, clocked, line, saved
    )


def _setting(log: TrainingLog, name: str, wanted: bool) -> list[float]:
    value = log.settings.get(name)
    return [float(value)] if wanted and isinstance(value, float) and math.isfinite(value) else []


def _steps(
    log: TrainingLog, rows: Whole, events: tuple[LogEvent, ...], loaded: int
) -> tuple[Steps, bool, float]:
    """The rows as Steps, whether their times are of a clock (else they are laid end to end from 0), and the seconds of
    checkpoints after the last row.
    """
    iteration, stamps = log.iteration[rows], log.time_s[rows]
    count = _counts(iteration, loaded, log.settings.get("log_interval"))
    each = _step_seconds(log.step_time_s[rows], stamps, count)
    worked = count * each
    pauses, evaluated = _pauses(log.line[rows], events)
    checkpoint, saved = pauses[:-1], float(pauses[-1])
    anchor = next((event.time_s for event in events if event.kind == "phase" and "training" in event.text
                   and math.isfinite(event.time_s)), _UNKNOWN)  # fmt: skip
    clocked = bool(len(rows)) and (bool(np.isfinite(stamps).all()) or math.isfinite(anchor))
    if len(rows) and not np.isfinite(stamps).all():
        stamps = (anchor if math.isfinite(anchor) else 0.0) + np.cumsum(worked + checkpoint)
    stamps = np.maximum.accumulate(stamps) if len(rows) else stamps
    window = np.diff(stamps, prepend=stamps[:1] - worked[:1] - checkpoint[:1])
    checkpoint = np.minimum(checkpoint, window)
    worked = np.minimum(worked, window - checkpoint)
    left = window - checkpoint - worked
    worked, left = np.where(left < _ROUNDING * window, worked + left, worked), np.maximum(left, 0.0)
    evaluation = np.where(evaluated, left, 0.0)
    return Steps(iteration, count, stamps, window, worked, checkpoint, evaluation), clocked, saved


def _counts(iteration: Whole, loaded: int, interval: object) -> Whole:
    """How many iterations each row stands for: the distance to the row before, or to what was loaded."""
    if not len(iteration):
        return np.zeros(0, dtype=np.int64)
    gaps = np.diff(iteration)
    usual = int(np.median(gaps)) if len(gaps) else interval if isinstance(interval, int) else 1
    first = (
        int(iteration[0]) - loaded if 0 <= loaded < iteration[0] else min(usual, max(int(iteration[0]), 1))
    )
    return np.asarray(np.maximum(np.concatenate([[first], gaps]), 1), dtype=np.int64)


def _step_seconds(step: Floats, stamps: Floats, count: Whole) -> Floats:
    """Seconds of one iteration: as printed, else from the stamps, else the median of the others."""
    by_clock = np.diff(stamps, prepend=np.nan) / count
    step = np.where(np.isfinite(step), step, by_clock)
    known = step[np.isfinite(step) & (step >= 0)]
    return np.where(np.isfinite(step) & (step >= 0), step, np.median(known) if len(known) else 0.0)


def _pauses(lines: Whole, events: tuple[LogEvent, ...]) -> tuple[Floats, np.ndarray]:
    """Seconds of checkpoints between a row and the one before (and, last, after all rows), and whether an evaluation was there.

    A checkpoint that ends in another stretch than it began in was written beside the training, and held nothing up.
    """
    checkpoint, evaluated = np.zeros(len(lines) + 1), np.zeros(len(lines), dtype=bool)
    begun: dict[int, float] = {}
    for event in events:
        row = int(np.searchsorted(lines, event.line))
        if event.kind == "checkpoint-begin":
            begun[row] = event.time_s
        elif event.kind == "checkpoint-end":
            seconds = event.seconds
            if math.isnan(seconds):
                seconds = event.time_s - begun.get(row, math.nan)
            if math.isfinite(seconds) and seconds > 0:
                checkpoint[row] += seconds
            begun.pop(row, None)
        elif event.kind == "evaluation" and row < len(lines):
            evaluated[row] = True
    return checkpoint, evaluated


def with_accounting(attempts: Sequence[Attempt], jobs: Sequence[SacctRow]) -> list[Attempt]:
    """Attempts with Slurm's times: of the job that overlaps each most; and jobs of the same name that no log tells of."""
    rows = [job for job in jobs if not job.is_step and job.start_s is not None and job.end_s is not None]
    clocked = [each for each in attempts if each.clocked]
    starts, ends = (
        np.array([getattr(job, name) for job in rows], dtype=float) for name in ("start_s", "end_s")
    )
    sizes = np.array([float(job.accelerators or 0) for job in rows])
    taken: dict[int, SacctRow] = {}
    for i, attempt in enumerate(clocked):
        place = _match(attempt, starts, ends, sizes)
        if place >= 0:
            taken[i] = rows[place]
    out = [_joined(each, taken[i], i, taken) if i in taken else each for i, each in enumerate(clocked)]
    names = {job.cells.get("JobName", "") for job in taken.values()}
    used = {job.line for job in taken.values()}
    if not attempts and len({job.cells.get("JobName", "") for job in rows}) == 1:
        names = {rows[0].cells.get("JobName", "")}
    for job in rows:
        if job.line not in used and job.cells.get("JobName", "") in names - {""}:
            out.append(_silent(job))
    return sorted([*out, *(each for each in attempts if not each.clocked)], key=lambda each: each.begin_s)


def _match(attempt: Attempt, starts: Floats, ends: Floats, sizes: Floats) -> int:
    """The job (its place) in which most of the attempt's steps lie, of those with as many accelerators as far as both are
    known; of equals the one that ends nearest to the attempt. −1 where none holds them.
    """
    near = (starts - NEAR_S <= attempt.last_s) & (attempt.last_s <= ends + NEAR_S)
    near &= (sizes == 0) | (sizes == attempt.gpus) | (attempt.gpus == 0)
    shared = np.maximum(np.minimum(ends, attempt.last_s) - np.maximum(starts, attempt.begin_s), 0.0)
    near &= shared >= _HELD * (attempt.last_s - attempt.begin_s) - NEAR_S
    places = np.flatnonzero(near)
    if not len(places):
        return -1
    order = np.lexsort((np.abs(ends[places] - attempt.stop_s), -shared[places]))
    return int(places[order[0]])


def _joined(attempt: Attempt, job: SacctRow, place: int, taken: dict[int, SacctRow]) -> Attempt:
    """Times of the job where the log has none: a job that restarts inside itself queues and ends only once."""
    same = [i for i, other in taken.items() if other is job]
    begin, stop, submit = attempt.begin_s, attempt.stop_s, _UNKNOWN
    if place == same[0]:
        begin = min(begin, job.start_s if job.start_s is not None else begin)
        submit = job.submit_s if job.submit_s is not None else _UNKNOWN
    if place == same[-1]:
        stop = max(attempt.last_s, job.end_s if job.end_s is not None else stop)
    gpus = float(job.accelerators) if job.accelerators else attempt.gpus
    return replace(attempt, begin_s=begin, stop_s=stop, submit_s=submit, gpus=attempt.gpus or gpus, job=job)


def _silent(job: SacctRow) -> Attempt:
    """A job that no log tells of: it began and ended without a step."""
    none = np.zeros(0)
    steps = Steps(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), none, none, none, none, none)
    start, end = float(job.start_s or 0.0), float(job.end_s or 0.0)
    submit = job.submit_s if job.submit_s is not None else _UNKNOWN
    return Attempt(
        "", float(job.accelerators or 0), submit, start, max(start, end), steps, (), -1, True, 0, 0.0, job
    )


def distinct(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[str]]:
    """Attempts of one run in order of time, one at a time; and what was left out.

    Logs of several ranks tell of the same attempt: of two that overlap, the one with more rows stays.
    """
    told: list[str] = []
    kept: list[Attempt] = []
    for attempt in sorted(attempts, key=lambda each: (each.begin_s, -len(each.steps.count))):
        before = kept[-1] if kept else None
        if (
            before is not None
            and attempt.clocked
            and before.clocked
            and attempt.begin_s < before.last_s - 1.0
        ):
            longer, other = (
                (attempt, before) if len(attempt.steps.count) > len(before.steps.count) else (before, attempt)
            )
            kept[-1] = longer
            told.append(
                f"{other.path or 'a job'}: ran at the same time as {longer.path or 'another'}; it is left out"
            )
        else:
            kept.append(attempt)
    for i in range(len(kept) - 1):
        if kept[i].stop_s > kept[i + 1].begin_s:
            cut = max(kept[i].last_s, kept[i + 1].begin_s)
            kept[i] = replace(kept[i], stop_s=cut)
            kept[i + 1] = _begun_at(kept[i + 1], cut)
    return kept, list(dict.fromkeys(told))


def _begun_at(attempt: Attempt, begin_s: float) -> Attempt:
    """The attempt with a later beginning: stamps of whole seconds let a first row reach back into the attempt before."""
    steps = attempt.steps
    if len(steps.count) and attempt.first_s < begin_s:
        window, worked, saved = steps.window_s.copy(), steps.step_s.copy(), steps.checkpoint_s.copy()
        window[0] = max(float(steps.end_s[0]) - begin_s, 0.0)
        saved[0] = min(saved[0], window[0])
        worked[0] = min(worked[0], window[0] - saved[0])
        steps = replace(steps, window_s=window, step_s=worked, checkpoint_s=saved)
    return replace(attempt, begin_s=begin_s, stop_s=max(attempt.stop_s, begin_s), steps=steps)


def laid_out(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[str]]:
    """Attempts without a clock one after the other, in their order; those with one as they are."""
    without = [each for each in attempts if not each.clocked]
    if not without:
        return list(attempts), []
    told = [
        "no stamps in the log: attempts are laid end to end, so that neither starts nor pauses between them show"
    ]
    if len(without) < len(attempts):
        told = [f"{each.path}: no stamps, beside logs that have them; it is left out" for each in without]
        return [each for each in attempts if each.clocked], list(dict.fromkeys(told))
    out, at = [], 0.0
    for each in without:
        steps = replace(each.steps, end_s=each.steps.end_s - each.begin_s + at)
        length = each.stop_s - each.begin_s
        out.append(replace(each, steps=steps, begin_s=at, stop_s=at + length))
        at += length
    return out, told
