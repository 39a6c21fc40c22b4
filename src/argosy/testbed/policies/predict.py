"""What the simulator says of a job under failures, given times that were measured on other runs of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from argosy.reliability import CheckpointCost, EventLives, FailureRates, Recovery, event_lives
from argosy.reliability.rates import CategoryRate
from argosy.reliability.states import STATES
from argosy.testbed.policies.settings import ELASTIC, RESTART, Settings

DRAWS = 20_000
INTERVAL = (0.025, 0.975)
FEWEST = 200  # lives with as many failures, or nearly


@dataclass(frozen=True)
class Times:
    """Measured on calibration runs: seconds of a step on all ranks, of a checkpoint's pause, of detection, of restart (from
    knowing to computing, queue and wait apart), from a failure until its host can be used again; for elastic jobs the pauses
    that a failure costs (detection, the step that is lost, both regroupings).
    """

    step_s: float
    blocking_s: float
    detection_s: float
    restart_s: float
    repair_s: float
    pause_s: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """As JSON."""
        return asdict(self)


def times(policy: str, step_s: float, blocking_s: float, found: Mapping[str, Any]) -> Times:
    """`step_s`, `blocking_s`: medians of a run without failures; `found`: of one with some: `book`, `failures` (their number),
    `detection_s` (mean), `repair_s` (mean, until usable).
    """
    count, book = found["failures"], found["book"]
    pause = 0.0
    if policy == ELASTIC:
        pause = (book["detection"] + book["restart"] + book["rework"]) / count
    return Times(step_s, blocking_s, found["detection_s"], book["restart"] / count, found["repair_s"], pause)


def lives(settings: Settings, measured: Times, draws: int = DRAWS, seed: int = 0) -> EventLives:
    """The event engine's lives of this job: the one behind `argosy simulate`."""
    s, each = settings, 1.0 / (settings.mtbf_s * settings.ranks)
    rates = FailureRates("testbed", (CategoryRate("host", "host", "node", "node", s.ranks, each),))
    cost = CheckpointCost(0.0, measured.blocking_s, 0.0, 0.0, 0.0)
    recovery = Recovery(
        measured.detection_s,
        measured.restart_s,
        s.policy,
        s.spares,
        measured.repair_s,
        s.queue_s if s.policy == RESTART else 0.0,
        s.ranks if s.policy == ELASTIC else 1.0,
        measured.pause_s,
    )
    work_s, interval_s = s.steps * measured.step_s, s.interval * measured.step_s
    return event_lives(work_s, s.ranks, rates, cost, recovery, None, interval_s, draws=draws, seed=seed)


def as_told(book: Mapping[str, float], policy: str) -> dict[str, float]:
    """A measured book in the simulator's terms: what a failure costs an elastic job at once (detection, the step that was
    cut, regrouping) is one pause there, and stands under restart.
    """
    told = dict(book)
    if policy == ELASTIC:
        told["restart"] += told["detection"] + told["rework"]
        told["detection"] = told["rework"] = 0.0
    return told


def summary(found: EventLives, failures: int) -> dict[str, Any]:
    """Goodput (mean, P10, P90, the interval it is held against), failures, seconds by state (mean and interval); and the
    goodput of those lives that had as many `failures`, which luck has less to do with.
    """
    low, p10, p90, high = np.quantile(found.ettr, [INTERVAL[0], 0.1, 0.9, INTERVAL[1]])
    seconds = {state: found.seconds[state] for state in STATES}
    counts = next(iter(found.failures.values()))
    nearest = np.argsort(np.abs(counts - failures), kind="stable")
    within = np.abs(counts - failures) <= max(1, int(np.abs(counts - failures)[nearest[FEWEST - 1]]))
    alike = found.ettr[within]
    return {
        "lives": len(found.wall_s),
        "goodput": {
            "mean": float(found.seconds["productive"].mean() / found.wall_s.mean()),
            "low": float(low),
            "p10": float(p10),
            "p90": float(p90),
            "high": float(high),
        },
        "as_many_failures": {
            "lives": int(within.sum()),
            "mean": float(alike.mean()),
            "low": float(np.quantile(alike, INTERVAL[0])),
            "high": float(np.quantile(alike, INTERVAL[1])),
        },
        "closed_form": float(found.closed_form.ettr),
        "failures": {
            "mean": float(counts.mean()),
            "low": float(np.quantile(counts, INTERVAL[0])),
            "high": float(np.quantile(counts, INTERVAL[1])),
        },
        "wall_s": float(found.wall_s.mean()),
        "seconds": {
            state: {
                "mean": float(each.mean()),
                "low": float(np.quantile(each, INTERVAL[0])),
                "high": float(np.quantile(each, INTERVAL[1])),
            }
            for state, each in seconds.items()
        },
    }
