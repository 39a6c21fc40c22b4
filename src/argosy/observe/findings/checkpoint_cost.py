"""Checkpoints that take too much of the time, or come too often or too rarely for how often the job fails."""

from __future__ import annotations

import math

import numpy as np

from argosy.laws.checkpoint import optimal_interval
from argosy.observe import thresholds
from argosy.observe.findings.finding import Bound, Finding, span
from argosy.observe.findings.pauses import pauses
from argosy.observe.observed import Observed
from argosy.observe.records import LogEvent, Place, TrainingLog

ID = "checkpoint-cost"
_FAILURES = 3  # from which their mean time is told
_ADVICE = "write asynchronously from host memory (two stages), to local or peer memory first, sharded over all ranks"


def find(observed: Observed) -> list[Finding]:
    """Checkpoints of logs against elapsed time and the best interval; marks in traces where no log tells."""
    found = [finding for log in observed.distinct_logs for finding in _of_log(log)]
    return found or _of_run(observed) or _of_traces(observed)


def saves(log: TrainingLog) -> list[tuple[LogEvent, float]]:
    """Every checkpoint with its seconds: as timed, or from its beginning to its end."""
    begun: LogEvent | None = None
    found = []
    for event in log.events:
        if event.kind == "checkpoint-begin":
            begun = event
        elif event.kind in ("checkpoint-end", "checkpoint"):
            seconds = event.seconds
            if not math.isfinite(seconds) and begun is not None:
                seconds = event.time_s - begun.time_s
            if math.isfinite(seconds) and 0 <= seconds < 86400:
                found.append((event, seconds))
            begun = None
    return found


def _of_log(log: TrainingLog) -> list[Finding]:
    saved = saves(log)
    training = float(np.nansum(log.step_time_s))
    if not saved or not training or len(log.iteration) < 2 * thresholds.ENOUGH_STEPS:
        return []
    seconds = float(sum(each for _, each in saved))
    elapsed = training + seconds
    known = log.time_s[np.isfinite(log.time_s)]
    if known.size > 1:
        elapsed = max(float(known[-1] - known[0]), seconds)
    share = seconds / elapsed
    places = tuple(Place(log.path, event.line) for event, _ in saved)
    each = float(np.median([value for _, value in saved]))
    if len(saved) > 1 and share >= thresholds.CHECKPOINT_SHARE:
        return [
            Finding(
                ID,
                f"{len(saved)} checkpoints of {each:.3g} s take {share:.1%} of the time",
                _ADVICE,
                thresholds.confidence(thresholds.DIRECT, (share / thresholds.CHECKPOINT_SHARE,)),
                share,
                seconds / max(len(log.iteration), 1),
                evidence=places,
            )
        ]
    return []


def _iteration(log: TrainingLog, event: LogEvent) -> int:
    """The iteration that a checkpoint holds: as its line says, else of the last line before it; −1 unknown."""
    if event.iteration >= 0 or not len(log.line):
        return event.iteration
    before = np.searchsorted(log.line, event.line) - 1
    return int(log.iteration[before]) if before >= 0 else -1


def _of_run(observed: Observed) -> list[Finding]:
    """The interval against Daly's best for how often the run failed, where it failed often enough for a mean."""
    run = observed.run
    if run is None or run.failures < _FAILURES or not math.isfinite(run.mtbf_s[0]):
        return []
    saved = [(log, event, seconds) for log in observed.distinct_logs for event, seconds in saves(log)]
    iterations = np.unique([at for log, event, _ in saved if (at := _iteration(log, event)) >= 0])
    step = observed.step_s
    if len(iterations) < 3 or not step:
        return []
    interval = float(np.median(np.diff(iterations))) * step
    each, mtbf = max(float(np.median([seconds for _, _, seconds in saved])), 1e-3), run.mtbf_s[0]
    best = float(optimal_interval(each, mtbf))
    rework = run.record.ledger.find("rework")
    again = rework.amount / run.record.ledger.amount if rework is not None else 0.0
    apart = interval / best
    if 1.0 / thresholds.INTERVAL_FACTOR < apart < thresholds.INTERVAL_FACTOR:
        return []
    best_cost = each / best + best / (2.0 * mtbf)
    cost = each / interval + (again if apart > 1 else interval / (2.0 * mtbf))
    share = max(cost - best_cost, 0.0)
    if share < thresholds.CHECKPOINT_SHARE:
        return []
    rare = "rare" if apart > 1 else "frequent"
    return [
        Finding(
            ID,
            f"checkpoints are too {rare}: one every {interval / 60:.3g} min, where one every {best / 60:.3g} min loses least "
            f"with a failure every {mtbf / 3600:.3g} h; {again:.0%} of the time went into steps done again",
            "change the interval; " + _ADVICE,
            thresholds.confidence(
                thresholds.INFERRED, (max(apart, 1.0 / apart) / thresholds.INTERVAL_FACTOR,)
            ),
            share,
            evidence=tuple(Place(log.path, event.line) for log, event, _ in saved),
            bound=Bound(
                best, interval, "s", "Daly 2006: best interval for the observed mean time between failures"
            ),
        )
    ]


def _of_traces(observed: Observed) -> list[Finding]:
    found, step = pauses(observed, "checkpoint"), observed.step_s
    if found is None or not step or found.cost_s < thresholds.LEAST_SHARE * step:
        return []
    share = found.cost_s / step
    return [
        Finding(
            ID,
            f"checkpoints stop the recorded steps for {span(found.cost_s)} a step",
            _ADVICE,
            thresholds.confidence(thresholds.INFERRED, (share / thresholds.LEAST_SHARE,)),
            share,
            found.cost_s,
            evidence=found.places,
        )
    ]
