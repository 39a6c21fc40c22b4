"""The goodput ledger over a whole run, from training logs, Slurm's accounting and hardware messages.

Every GPU-second of the window from the first start to the last end is in one line: productive (steps whose work was kept),
rework (steps done again after a restart), checkpoint, evaluation, restart (from a process's start to its first step),
detection (from the last step to the process's end), queue, idle (nothing ran and nothing waited), unattributed. What an
interruption cost stands under its cause. Replayed steps are charged where they are done again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.ledger import Interval, Ledger, Record, observation
from argosy.observe.attempts import Attempt, attempts_of_log, distinct, laid_out, with_accounting
from argosy.observe.causes import Cause, cause_of
from argosy.observe.observed import Observed
from argosy.observe.records import FaultEvent, TrainingLog
from argosy.reliability.fit import rate_interval
from argosy.scheduling.traces.sacct import SacctRow

STATES = (
    "productive",
    "rework",
    "checkpoint",
    "evaluation",
    "restart",
    "detection",
    "queue",
    "idle",
    "unattributed",
)
FIRST = "first start"  # the cause under which what comes before the first step stands
_PIECES = 400  # of one attempt's timeline: a picture has no more pixels
_LAW = "observed: training logs, accounting, hardware messages"


@dataclass(frozen=True)
class Interruption:
    """The end of an attempt that another followed, or that a failure made: `at_s` (of the last step, or the message),
    `lost_iterations` done again, `down_s` from the last step until stepping went on (NaN: it never did).
    """

    attempt: int
    cause: Cause
    at_s: float
    lost_iterations: int
    down_s: float


@dataclass(frozen=True)
class Goodput:
    """A whole run. `record`: timeline (seconds since `begin_s`) and ledger in GPU-seconds, which close over `elapsed_s`;
    `clocked`: whether times are of a clock; `mtbf_s`: value, low, high (central 90 %) over `running_s` with `failures`.
    """

    record: Record
    attempts: tuple[Attempt, ...]
    interruptions: tuple[Interruption, ...]
    begin_s: float
    elapsed_s: float
    running_s: float
    failures: int
    mtbf_s: tuple[float, float, float]
    clocked: bool
    warnings: tuple[str, ...]

    @property
    def share(self) -> float:
        """Productive ÷ all GPU-seconds, 0 to 1."""
        return self._amount("productive") / max(self.record.ledger.amount, 1e-300)

    @property
    def ettr(self) -> float:
        """Productive ÷ available GPU-seconds (Meta's effective training time ratio): waiting in the queue is not available."""
        return self._amount("productive") / max(self.record.ledger.amount - self._amount("queue"), 1e-300)

    def _amount(self, name: str) -> float:
        node = self.record.ledger.find(name)
        return node.amount if node else 0.0

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what `argosy diagnose` prints as `goodput`."""
        value, low, high = self.mtbf_s
        return {
            "goodput": self.share,
            "ettr": self.ettr,
            "elapsed_s": self.elapsed_s,
            "running_s": self.running_s,
            "gpus": max((each.gpus for each in self.attempts), default=0.0),
            "clocked": self.clocked,
            "ledger": self.record.ledger.to_dict(),
            "timeline": [[part.start_s, part.end_s, part.state] for part in self.record.timeline],
            "mtbf_s": {
                "value": _finite(value),
                "low": _finite(low),
                "high": _finite(high),
                "failures": self.failures,
            },
            "interruptions": [_told(each, self.begin_s) for each in self.interruptions],
            "attempts": len(self.attempts),
            "warnings": list(self.warnings),
        }


def goodput(
    logs: Iterable[TrainingLog],
    jobs: Sequence[SacctRow] = (),
    faults: Sequence[FaultEvent] = (),
    gpus: float = 0.0,
) -> Goodput | None:
    """The ledger of the run that the logs tell of; None where they tell of no attempt.

    `jobs`: rows of sacct, `faults`: hardware messages of its nodes; `gpus`: of the job, where no log says (0: one, told).
    Logs of other jobs beside the one with most steps are left out, and told.
    """
    chosen, warnings = _one_job([log for log in logs if len(log.iteration) or log.events])
    attempts = [each for log in chosen for each in attempts_of_log(log, gpus)]
    attempts, told = laid_out(with_accounting(attempts, jobs))
    warnings += told
    attempts, told = distinct(attempts)
    warnings += told
    if not attempts or attempts[-1].stop_s <= attempts[0].begin_s:
        return None
    if not any(each.gpus for each in attempts):
        warnings.append("how many accelerators ran is not in the logs: the ledger is that of one")
    attempts = _counted(attempts, gpus)
    if not any(len(each.steps.count) for each in attempts):
        warnings.append("no log tells of steps: what ran is unattributed")
    return _account(attempts, faults, warnings)


def of_observed(observed: Observed) -> Goodput | None:
    """The run of everything that was read; None without a training log or a job of accounting."""
    if not observed.logs and not observed.jobs:
        return None
    return goodput(observed.logs, observed.jobs, observed.faults)


def _one_job(logs: list[TrainingLog]) -> tuple[list[TrainingLog], list[str]]:
    """The logs of the job with most iterations: jobs differ in what makes the model."""
    groups: dict[tuple[Any, ...], list[TrainingLog]] = defaultdict(list)
    for log in logs:
        key = tuple(
            log.settings.get(name) for name in ("layers", "hidden", "sequence_length", "parameters_in_all")
        )
        groups[key].append(log)
    if not groups:
        return [], []
    best = max(groups, key=lambda key: sum(len(log.iteration) for log in groups[key]))
    others = sorted(
        {log.path for key, each in groups.items() if key != best for log in each if len(log.iteration)}
    )
    return groups[best], [f"{path}: another job; it is not in the goodput ledger" for path in others[:20]]


def _counted(attempts: list[Attempt], gpus: float) -> list[Attempt]:
    """Every attempt with a number of accelerators: its own, else that of the others."""
    from dataclasses import replace

    usual = gpus or max((each.gpus for each in attempts), default=0.0) or 1.0
    return [each if each.gpus else replace(each, gpus=usual) for each in attempts]


def _account(attempts: list[Attempt], faults: Sequence[FaultEvent], warnings: list[str]) -> Goodput:
    begin = min(attempts[0].begin_s, _submitted(attempts[0]))
    amounts: dict[tuple[str, str], float] = defaultdict(float)
    timeline: list[Interval] = []
    interruptions: list[Interruption] = []
    reached, before, before_stop = -1, FIRST, begin
    for i, attempt in enumerate(attempts):
        queued = min(max(before_stop, _submitted(attempt)), attempt.begin_s)
        _book(timeline, amounts, "idle", before, before_stop - begin, queued - begin, attempt.gpus)
        _book(timeline, amounts, "queue", before, queued - begin, attempt.begin_s - begin, attempt.gpus)
        _book(
            timeline,
            amounts,
            "restart",
            before,
            attempt.begin_s - begin,
            attempt.first_s - begin,
            attempt.gpus,
        )
        _book_steps(timeline, amounts, attempt, reached, before, begin)
        cause = cause_of(attempt, faults, i + 1 < len(attempts))
        state = "detection" if cause.failure else "unattributed"
        start = attempt.last_s if len(attempt.steps.count) else attempt.stop_s
        saved = min(start + attempt.saved_s, attempt.stop_s)
        _book(timeline, amounts, "checkpoint", "", start - begin, saved - begin, attempt.gpus)
        _book(timeline, amounts, state, cause.name, saved - begin, attempt.stop_s - begin, attempt.gpus)
        reached = max(reached, attempt.reached)
        if cause.failure or i + 1 < len(attempts):
            after = attempts[i + 1 :]
            interruptions.append(_interruption(i, attempt, cause, reached, after))
        before, before_stop = cause.name, attempt.stop_s
    if len(attempts) > 1 and any(_from_scratch(each) for each in attempts[1:] if len(each.steps.count)):
        warnings.append(
            "a later attempt began at the first step again: all that went before counts as done again"
        )
    running = sum(each.stop_s - each.begin_s for each in attempts)
    failures = sum(each.cause.failure for each in interruptions)
    return Goodput(
        observation(tuple(timeline), _ledger(amounts)), tuple(attempts), tuple(interruptions), begin,
        attempts[-1].stop_s - begin, running, failures, _mtbf(failures, running), attempts[0].clocked, tuple(warnings),
    )  # fmt: skip


def _submitted(attempt: Attempt) -> float:
    return attempt.submit_s if math.isfinite(attempt.submit_s) else attempt.begin_s


def _book(
    timeline: list[Interval],
    amounts: dict[tuple[str, str], float],
    state: str,
    cause: str,
    start: float,
    end: float,
    gpus: float,
) -> None:
    """A stretch into the timeline (joined to the one before where it goes on) and the ledger."""
    if end <= start:
        return
    amounts[state, cause] += (end - start) * gpus
    if timeline and timeline[-1].state == state and timeline[-1].end_s == start:
        timeline[-1] = Interval(timeline[-1].start_s, end, state, "job")
    else:
        timeline.append(Interval(start, end, state, "job"))


def _book_steps(
    timeline: list[Interval],
    amounts: dict[tuple[str, str], float],
    attempt: Attempt,
    reached: int,
    before: str,
    begin: float,
) -> None:
    """The attempt's rows: steps up to what had been reached earlier are done again."""
    steps = attempt.steps
    if not len(steps.count):
        return
    again = np.clip(reached - (steps.iteration - steps.count), 0, steps.count) / steps.count
    parts = {
        "rework": steps.step_s * again,
        "productive": steps.step_s * (1.0 - again),
        "checkpoint": steps.checkpoint_s,
        "evaluation": steps.evaluation_s,
    }
    left = steps.window_s - sum(parts.values())
    parts["unattributed"] = np.where(left > 1e-9 * steps.window_s, left, 0.0)  # what is less is rounding
    at = attempt.first_s - begin
    ends = np.cumsum(steps.window_s) + at
    for rows in np.array_split(np.arange(len(steps.count)), min(_PIECES, len(steps.count))):
        for state, seconds in parts.items():
            length = float(seconds[rows].sum())
            cause = before if state == "rework" else ""
            # the last part of a piece ends where the piece does, so that rounding leaves no gap
            end = float(ends[rows[-1]]) if state == "unattributed" and length > 0 else at + length
            _book(timeline, amounts, state, cause, at, end, attempt.gpus)
            at = max(at, end)


def _interruption(
    place: int, attempt: Attempt, cause: Cause, reached: int, after: Sequence[Attempt]
) -> Interruption:
    stepping = next((each for each in after if len(each.steps.count)), None)
    at = cause.time_s if math.isfinite(cause.time_s) else attempt.last_s
    if stepping is None:
        return Interruption(place, cause, at, 0, math.nan)
    resumed = int(stepping.steps.iteration[0] - stepping.steps.count[0])
    return Interruption(place, cause, at, max(reached - resumed, 0), stepping.first_s - attempt.last_s)


def _from_scratch(attempt: Attempt) -> bool:
    return attempt.loaded < 0 and int(attempt.steps.iteration[0] - attempt.steps.count[0]) <= 0


def _ledger(amounts: dict[tuple[str, str], float]) -> Ledger:
    """The tree: states, and below those that an interruption costs, its causes."""
    lines = []
    for state in STATES:
        causes = {cause: amount for (each, cause), amount in amounts.items() if each == state}
        if not causes and state != "productive":
            continue
        total = sum(causes.values())
        named = tuple(Ledger(cause, amount, law=_LAW) for cause, amount in sorted(causes.items()) if cause)
        unnamed = causes.get("", 0.0)
        if named and unnamed:
            named = (*named, Ledger("other", unnamed, law=_LAW))
        lines.append(Ledger.parent(state, named, _LAW) if named else Ledger(state, total, law=_LAW))
    return Ledger.parent("run", tuple(lines), "productive + every loss = elapsed × accelerators")


def _mtbf(failures: int, running_s: float) -> tuple[float, float, float]:
    """Mean time between failures (s) while running, and its central 90 % interval; infinite where none was seen."""
    if running_s <= 0:
        return math.nan, math.nan, math.nan
    rate, low, high = rate_interval(failures, running_s)
    return (1 / rate if rate else math.inf, 1 / high, 1 / low if low else math.inf)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _told(each: Interruption, begin_s: float) -> dict[str, Any]:
    return {
        "attempt": each.attempt,
        "cause": each.cause.name,
        "category": each.cause.category,
        "failure": each.cause.failure,
        "node": each.cause.node,
        "at_s": _finite(each.at_s - begin_s),
        "lost_iterations": each.lost_iterations,
        "down_s": _finite(each.down_s),
        "evidence": [{"path": place.path, "line": place.line} for place in each.cause.evidence],
    }
