"""What is gathered while a training log streams by: rows of iterations, timers, settings and events; then TrainingLogs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argosy.observe.records import LogEvent, TrainingLog

MOST_ROWS = 5_000_000  # iterations of one file: a run of a year with steps of 6 s
MOST_EVENTS = 50_000
MOST_OF_A_KIND = 5_000  # events of one kind: a warning of every step and rank fills no memory
MOST_SETTINGS = 4_000
LARGEST_ITERATION = 2**53
_COLUMNS = (
    "time_s",
    "step_time_s",
    "tokens_per_s",
    "tokens_per_gpu_s",
    "flops_per_gpu",
    "mfu",
    "loss",
    "batch",
)
# A change of one of these makes another job of what follows in the same file.
_IDENTITY = ("world_size", "layers", "hidden", "sequence_length", "parameters")


@dataclass
class _Job:
    """One job of the file: its columns (lists that grow together), and what was said of it."""

    framework: str = ""
    iteration: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    columns: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})
    timers: dict[str, dict[int, float]] = field(default_factory=dict)  # by name: row → seconds
    rank_timers: dict[str, dict[int, dict[int, float]]] = field(
        default_factory=dict
    )  # name → rank → row → seconds
    settings: dict[str, Any] = field(default_factory=dict)
    events: list[LogEvent] = field(default_factory=list)


class Collector:
    """Takes what the frameworks' readers recognise. One file may hold several jobs and several starts of each."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.jobs = [_Job()]
        self.dropped = 0
        self._pending: dict[str, float] = {}  # of the row to come
        self._pending_timers: dict[str, float] = {}
        self._told: dict[str, int] = {}
        self._starting = False
        self._exited = False
        self._stamped = (-1, math.nan)

    @property
    def job(self) -> _Job:
        """The job that lines now belong to."""
        return self.jobs[-1]

    @property
    def rows(self) -> int:
        """Iterations so far, of all jobs."""
        return sum(len(job.iteration) for job in self.jobs)

    @property
    def last(self) -> int:
        """The latest iteration of the job, −1 before the first."""
        return self.job.iteration[-1] if self.job.iteration else -1

    def row(self, framework: str, line: int, iteration: int, values: Mapping[str, float]) -> bool:
        """An iteration, or more of the latest one (its number again without a start in between); whether it is new."""
        job = self.job
        if not 0 <= iteration < LARGEST_ITERATION:
            return False
        if job.iteration and iteration == job.iteration[-1] and not self._starting:
            if job.framework == "deepspeed":  # Megatron-DeepSpeed: both print of the same step
                job.framework = framework
            for name, value in values.items():
                if math.isnan(job.columns[name][-1]):
                    job.columns[name][-1] = value
            return False
        if self.rows >= MOST_ROWS:
            self.dropped += 1
            return False
        if not job.framework or job.framework == "huggingface":
            job.framework = framework
        if job.iteration and iteration < job.iteration[-1] and not self._starting:
            self.event("start", line, text="the iterations begin again at an earlier one")
        self._starting = self._exited = False
        job.iteration.append(iteration)
        job.line.append(line)
        for name in _COLUMNS:
            job.columns[name].append(values.get(name, self._pending.get(name, math.nan)))
        self._pending = {}
        for name, seconds in self._pending_timers.items():
            self.timer(name, seconds)
        self._pending_timers = {}
        return True

    def seen(self, time_s: float, line: int) -> None:
        """A stamp (s since the epoch; NaN none) of any line: the first and the last bound the file's time."""
        if math.isnan(time_s):
            return
        self._stamped = (line, time_s)
        self.jobs[0].settings.setdefault("first_stamp_s", time_s)
        self.job.settings["last_stamp_s"] = time_s

    def amend(self, name: str, value: float) -> None:
        """More of the latest row (a loss on a line of its own)."""
        if self.job.iteration:
            self.job.columns[name][-1] = value

    def ahead(self, values: Mapping[str, float]) -> None:
        """Values of the row that comes next."""
        self._pending.update(values)

    def timer(self, name: str, seconds: float) -> None:
        """A framework's timer (s) of the latest row, or of the next where there is none yet."""
        if not self.job.iteration:
            if len(self._pending_timers) < MOST_SETTINGS:
                self._pending_timers[name] = seconds
            return
        if name in self.job.timers or len(self.job.timers) < MOST_SETTINGS:
            self.job.timers.setdefault(name, {})[len(self.job.iteration) - 1] = seconds

    def rank_timer(self, name: str, rank: int, seconds: float) -> None:
        """A timer (s) of one rank in the latest row."""
        if self.job.iteration and (name in self.job.rank_timers or len(self.job.rank_timers) < MOST_SETTINGS):
            by_rank = self.job.rank_timers.setdefault(name, {})
            by_rank.setdefault(rank, {})[len(self.job.iteration) - 1] = seconds

    def setting(self, name: str, value: Any) -> None:
        """What the log says of the job. Another value of what makes a job another begins a new one."""
        job = self.job
        if name in _IDENTITY and job.iteration and job.settings.get(name, value) != value:
            self.jobs.append(_Job(job.framework))
            self._starting = True
            job = self.job
        if name in job.settings or len(job.settings) < MOST_SETTINGS:
            job.settings[name] = value

    def argument(self, name: str, value: Any) -> None:
        """One of the framework's own arguments, as it names them."""
        arguments = self.job.settings.setdefault("arguments", {})
        if name in arguments or len(arguments) < MOST_SETTINGS:
            arguments[name] = value

    def start(self, line: int, time_s: float, text: str) -> None:
        """A line that only a job that begins prints; the first of several counts."""
        if not self._starting:
            if self.job.iteration and self.job.line[-1] < self._stamped[0] < line:
                self.event("phase", *self._stamped, text="last stamp before the next start")
            self._starting, self._exited = True, False
            self.event("start", line, time_s, text=text)

    def event(
        self,
        kind: str,
        line: int,
        time_s: float = math.nan,
        seconds: float = math.nan,
        text: str = "",
        iteration: int = -1,
    ) -> None:
        """A line that matters and is no iteration."""
        count = self._told.get(kind, 0)
        if len(self.job.events) >= MOST_EVENTS or count >= MOST_OF_A_KIND:
            self.dropped += 1
            return
        if kind == "exit":  # every rank may say so
            if self._exited:
                return
            self._exited = True
        self._told[kind] = count + 1
        if kind in ("exit", "error", "oom", "timeout", "cancelled"):
            self._starting = (
                False  # what begins after this is another start, whether or not there was an iteration
            )
        iteration = iteration if iteration < LARGEST_ITERATION else -1
        self.job.events.append(LogEvent(kind, time_s, seconds, line, text.strip()[:300], iteration))

    def lasted(self, kind: str, seconds: float) -> None:
        """How long the latest event of a kind took, where a timer tells it afterwards."""
        for k in range(len(self.job.events) - 1, max(len(self.job.events) - 50, -1), -1):
            event = self.job.events[k]
            if event.kind == kind:
                if math.isnan(event.seconds):
                    self.job.events[k] = LogEvent(
                        kind, event.time_s, seconds, event.line, event.text, event.iteration
                    )
                return

    def logs(self) -> tuple[TrainingLog, ...]:
        """The jobs that have an iteration or an event, as records."""
        return tuple(_record(self.path, job) for job in self.jobs if job.iteration or job.events)


def _record(path: str, job: _Job) -> TrainingLog:
    count = len(job.iteration)
    columns = {name: np.array(values, dtype=np.float64) for name, values in job.columns.items()}
    _complete(columns, job)
    return TrainingLog(
        path=path,
        framework=job.framework,
        iteration=np.array(job.iteration, dtype=np.int64),
        line=np.array(job.line, dtype=np.int64),
        timers_s={name: _column(values, count) for name, values in job.timers.items()},
        rank_timers_s={
            name: {rank: _column(values, count) for rank, values in by_rank.items()}
            for name, by_rank in job.rank_timers.items()
        },
        settings=job.settings,
        events=tuple(job.events),
        **columns,
    )


def _column(values: Mapping[int, float], count: int) -> np.ndarray:
    column = np.full(count, np.nan)
    for row, value in values.items():
        column[row] = value
    return column


def _complete(columns: dict[str, np.ndarray], job: _Job) -> None:
    """Tokens per second and step times from each other, where the log says batch, length and ranks; NaN stays NaN."""
    batch = columns.pop("batch")
    settings = job.settings
    batch = np.where(np.isnan(batch), _number(settings.get("global_batch")), batch)
    tokens = batch * _number(settings.get("sequence_length"))
    ranks = _number(settings.get("world_size"))
    with np.errstate(divide="ignore", invalid="ignore"):
        step, rate, each = columns["step_time_s"], columns["tokens_per_s"], columns["tokens_per_gpu_s"]
        rate = np.where(np.isnan(rate), each * ranks, rate)
        step = np.where(np.isnan(step), tokens / rate, step)
        rate = np.where(np.isnan(rate), tokens / step, rate)
        each = np.where(np.isnan(each), rate / ranks, each)
    for name, values in (("step_time_s", step), ("tokens_per_s", rate), ("tokens_per_gpu_s", each)):
        columns[name] = np.where(np.isfinite(values) & (values >= 0), values, np.nan)


def _number(value: Any) -> float:
    """A positive setting as a number; NaN for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) and number > 0 else math.nan
