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
        """The closed form, shocks counted; see `goodput`."""
        hazards = self.hazards or Hazards()
        joint = hazards.joint_rates(self.rates, self.nodes + self.recovery.spare_nodes)
        return goodput(joint, self.cost, self.recovery, self.maintenance, self.interval_s)


def improvements(system: System) -> dict[str, System]:
    """The usual changes, each alone: what it is called, and the system that has it; those without effect here are left out.

    Times are halved, failures made 1.5 times as rare; spares grow by eight nodes, or by a rack where spares are racks.
    """
    recovery, cost, hazards = system.recovery, system.cost, system.hazards or Hazards()

    def recover(**changed: Any) -> System:
        return replace(system, recovery=replace(recovery, **changed))

    def hazard(**changed: Any) -> System:
        return replace(system, hazards=replace(hazards, **changed))

    more, unit = (8, "spares +8") if hazards.racks is None else (hazards.racks.nodes, "one spare rack more")
    found = {
        "mean time to failure ×1.5": _rarer(system, hazards),
        "detection −50 %": recover(detection_s=recovery.detection_s / 2),
        "restart −50 %": recover(restart_s=recovery.restart_s / 2),
        unit: recover(spare_nodes=recovery.spare_nodes + more),
        "repair −50 %": recover(repair_s=recovery.repair_s / 2),
        "checkpoint pause −50 %": replace(system, cost=replace(cost, blocking_s=cost.blocking_s / 2)),
    }
    if system.interval_s is not None:
        found["checkpoint interval at its best"] = replace(system, interval_s=None)
    if recovery.queue_s > 0:
        found["queue −50 %"] = recover(queue_s=recovery.queue_s / 2)
    if system.maintenance.per_day > 0:
        planned = replace(system.maintenance, duration_s=system.maintenance.duration_s / 2)
        found["maintenance −50 %"] = replace(system, maintenance=planned)
    if hazards.slowdowns:
        shorter = tuple(replace(each, lasts_s=each.lasts_s / 2) for each in hazards.slowdowns)
        found["slow episodes found twice as fast"] = hazard(slowdowns=shorter)
    if hazards.silent_latency_s > 0:
        found["silent corruption found twice as fast"] = hazard(silent_latency_s=hazards.silent_latency_s / 2)
    if hazards.shocks:
        rarer = tuple(replace(each, rate_per_s=each.rate_per_s / 2) for each in hazards.shocks)
        found["shared failures half as often"] = hazard(shocks=rarer)
    if hazards.lemon_share > 0 and hazards.evict_after == 0:
        found["lemon nodes exchanged at their third failure"] = hazard(evict_after=3)
    if hazards.misdiagnosed > 0:
        found["misdiagnosis −50 %"] = hazard(misdiagnosed=hazards.misdiagnosed / 2)
    if recovery.policy in ("restart", "spare-swap") and recovery.replicas >= 2:
        found["elastic instead of stopping"] = recover(policy="elastic")
    return found


def _rarer(system: System, hazards: Hazards) -> System:
    """Everything that fails, fails 1.5 times less often."""
    rates = replace(
        system.rates,
        categories=tuple(replace(c, rate_per_s=c.rate_per_s / 1.5) for c in system.rates.categories),
    )
    shocks = tuple(replace(each, rate_per_s=each.rate_per_s / 1.5) for each in hazards.shocks)
    return replace(system, rates=rates, hazards=replace(hazards, shocks=shocks))


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
        gain, error = _paired(lives, base)
        saved = (base.wall_s - lives.wall_s) / 86400.0
        found.append(
            {
                "name": name,
                "gain": gain,
                "stderr": error,
                "goodput": float(lives.ettr.mean()),
                "days_saved": float(saved.mean()),
            }
        )
    return sorted(found, key=lambda each: -float(each["gain"]))


def _paired(lives: EventLives, base: EventLives) -> tuple[float, float]:
    """Mean gain of goodput over `base` under the same luck, and its standard error."""
    gain = lives.ettr - base.ettr
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))


NEAR = 1e-3
"""Spares are enough when goodput comes this close to that with plenty of them."""


def spares_curve(
    system: System, draws: int = 100, seed: int = 0, executor: Executor | None = None
) -> dict[str, Any]:
    """Goodput over the number of spares, and the fewest that come within 0.1 % of plenty.

    Keys: recommended, suffice_99_9 (Poisson quantile of the nodes in repair, single failures alone), curve of {spares,
    goodput, stderr, closed_form}. The engine's goodput recommends, by bisection under the same luck; the closed form (Erlang)
    stands beside it. Where spares are racks, numbers are nodes in whole racks.
    """
    hazards, repair = system.hazards or Hazards(), system.recovery.repair_s
    step = hazards.racks.nodes if hazards.racks else 1
    suffice = int(np.max(spares_needed(system.rates, repair)))
    most = int(np.max(spares_needed(system.rates, repair, 0.9999))) + 1
    most = -(-(most + max((s.nodes for s in hazards.shocks), default=0)) // step)
    tried: dict[int, EventLives] = {}

    def at(number: int) -> EventLives:
        if number not in tried:
            recovery = replace(system.recovery, spare_nodes=number * step)
            tried[number] = replace(system, recovery=recovery).lives(draws, seed, executor)
        return tried[number]

    while most * step < system.nodes and at(2 * most).ettr.mean() > at(most).ettr.mean() + NEAR:
        most *= 2  # ages, lemons and crews keep more nodes away than the Poisson quantile knows
    plenty = float(at(most).ettr.mean())
    low, high = -1, most  # the fewest that suffice lie above `low`, at most at `high`
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at(middle).ettr.mean() >= plenty - NEAR else (middle, high)
    for share in (0.0, 0.125, 0.25, 0.375, 0.5, 0.75):
        at(round(most * share))
    curve = [
        {
            "spares": number * step,
            "goodput": float(lives.ettr.mean()),
            "stderr": float(lives.ettr.std(ddof=1) / np.sqrt(draws)),
            "closed_form": float(lives.closed_form.ettr),
        }
        for number, lives in sorted(tried.items())
    ]
    return {"recommended": high * step, "suffice_99_9": suffice, "curve": curve}


def interval_curve(
    system: System, draws: int = 100, seed: int = 0, executor: Executor | None = None
) -> dict[str, Any]:
    """Goodput over the checkpoint interval, and the best one: that of the closed form unless simulation beats it.

    Keys: recommended_s, closed_form_s, by (`closed form`, or `simulation` where another interval is better by more than two
    standard errors of the paired difference), curve of {interval_s, goodput, stderr, closed_form}, where `stderr` is that of
    the difference from the closed form's optimum, under the same luck.
    """
    best = float(replace(system, interval_s=None).closed_form().interval_s)
    base = replace(system, interval_s=best).lives(draws, seed, executor)
    curve, gains = [], {}
    for factor in (0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0):
        lives = (
            replace(system, interval_s=best * factor).lives(draws, seed, executor) if factor != 1.0 else base
        )
        gain, error = _paired(lives, base)
        interval = float(lives.closed_form.interval_s)
        gains[interval] = gain - 2.0 * error
        curve.append(
            {
                "interval_s": interval,
                "goodput": float(lives.ettr.mean()),
                "stderr": error,
                "closed_form": float(lives.closed_form.ettr),
            }
        )
    found = max(gains, key=lambda interval: gains[interval])
    simulated = gains[found] > 0.0
    return {
        "recommended_s": found if simulated else best,
        "closed_form_s": best,
        "by": "simulation" if simulated else "closed form",
        "curve": curve,
    }
