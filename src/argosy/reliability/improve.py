"""What to fix first: goodput gained by one change at a time, under the same luck; and how many spares, how often to save."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy.reliability.checkpoints import CheckpointCost
from argosy.reliability.events import EventLives, event_lives
from argosy.reliability.goodput import Goodput, goodput
from argosy.reliability.hazards import Hazards
from argosy.reliability.rates import FailureRates
from argosy.reliability.recovery import Maintenance, Recovery, spares_needed


@dataclass(frozen=True, slots=True)
class System:
    """A job and its fleet, as `event_lives` takes them; `interval_s` None is the best one, chosen again for each change."""

    work_s: float
    nodes: int
    rates: FailureRates
    cost: CheckpointCost
    recovery: Recovery
    maintenance: Maintenance
    interval_s: float | None = None
    hazards: Hazards | None = None

    def lives(self, draws: int, seed: int, executor: Executor | None = None) -> EventLives:
        """`draws` lives; see `event_lives`."""
        return event_lives(
            self.work_s, self.nodes, self.rates, self.cost, self.recovery, self.maintenance, self.interval_s,
            self.hazards, draws, seed, executor,
        )  # fmt: skip

    def closed_form(self) -> Goodput:
        """The closed form; see `goodput`."""
        return goodput(self.rates, self.cost, self.recovery, self.maintenance, self.interval_s)


def improvements(system: System) -> dict[str, System]:
    """The usual changes, each alone: what it is called, and the system that has it."""
    recovery, cost = system.recovery, system.cost
    fewer = tuple(replace(c, rate_per_s=c.rate_per_s / 1.5) for c in system.rates.categories)
    return {
        "mean time to failure ×1.5": replace(system, rates=replace(system.rates, categories=fewer)),
        "detection −50 %": replace(system, recovery=replace(recovery, detection_s=recovery.detection_s / 2)),
        "restart −50 %": replace(system, recovery=replace(recovery, restart_s=recovery.restart_s / 2)),
        "spares +8": replace(system, recovery=replace(recovery, spare_nodes=recovery.spare_nodes + 8)),
        "repair −50 %": replace(system, recovery=replace(recovery, repair_s=recovery.repair_s / 2)),
        "checkpoint pause −50 %": replace(system, cost=replace(cost, blocking_s=cost.blocking_s / 2)),
    }


def fix_first(
    system: System,
    changes: Mapping[str, System],
    draws: int = 300,
    seed: int = 0,
    executor: Executor | None = None,
) -> list[dict[str, Any]]:
    """Goodput gained by each of `changes`, largest first: mean and standard error of the paired differences.

    Life i of every system has the same luck (common random numbers), so that the difference between two lives is far
    less noisy than either. Keys: name, gain, stderr (both shares of wall-clock time), goodput, days_saved.
    """
    base = system.lives(draws, seed, executor)
    found = []
    for name, changed in changes.items():
        lives = changed.lives(draws, seed, executor)
        gain, saved = lives.ettr - base.ettr, (base.wall_s - lives.wall_s) / 86400.0
        found.append(
            {
                "name": name,
                "gain": float(gain.mean()),
                "stderr": float(gain.std(ddof=1) / np.sqrt(draws)),
                "goodput": float(lives.ettr.mean()),
                "days_saved": float(saved.mean()),
            }
        )
    return sorted(found, key=lambda each: -float(each["gain"]))


def spares_curve(
    system: System, draws: int = 100, seed: int = 0, executor: Executor | None = None
) -> dict[str, Any]:
    """Goodput over the number of spares, and the fewest that come within 0.1 % of plenty.

    Keys: recommended, suffice_99_9 (Poisson quantile of the nodes in repair), curve of {spares, goodput, closed_form}.
    The engine's goodput recommends; the closed form (Erlang) stands beside it.
    """
    plenty = int(np.max(spares_needed(system.rates, system.recovery.repair_s, 0.9999))) + 1
    numbers = sorted({0, *(round(plenty * share) for share in (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0))})
    curve = []
    for number in numbers:
        tried = replace(system, recovery=replace(system.recovery, spare_nodes=number))
        lives = tried.lives(draws, seed, executor)
        curve.append(
            {
                "spares": number,
                "goodput": float(lives.ettr.mean()),
                "closed_form": float(tried.closed_form().ettr),
            }
        )
    best = max(point["goodput"] for point in curve)
    enough = next(point["spares"] for point in curve if point["goodput"] >= best - 1e-3)
    suffice = int(np.max(spares_needed(system.rates, system.recovery.repair_s)))
    return {"recommended": enough, "suffice_99_9": suffice, "curve": curve}


def interval_curve(
    system: System, draws: int = 100, seed: int = 0, executor: Executor | None = None
) -> dict[str, Any]:
    """Goodput over the checkpoint interval, around the closed form's optimum.

    Keys: recommended_s (the optimum of the closed form), curve of {interval_s, goodput, closed_form}; both are equal
    within the noise where failures are memoryless, and the engine's tells where they are not.
    """
    best = float(replace(system, interval_s=None).closed_form().interval_s)
    curve = []
    for factor in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0):
        tried = replace(system, interval_s=best * factor)
        form = tried.closed_form()
        lives = tried.lives(draws, seed, executor)
        curve.append(
            {
                "interval_s": float(form.interval_s),
                "goodput": float(lives.ettr.mean()),
                "closed_form": float(form.ettr),
            }
        )
    return {"recommended_s": best, "curve": curve}
