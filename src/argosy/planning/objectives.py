"""What a layout may have least of: time, money, energy. The same facility and prices as the plan's, per step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from argosy.fabric import plan_fabric
from argosy.facility import PowerPhases
from argosy.planning.context import Context
from argosy.planning.site import NetworkAccount, network_account, power_and_money
from argosy.training import BREAKDOWN, Steps

Array = Any  # (L,), or (n,) draws of one layout
HOUR = 3600.0
OBJECTIVES = ("time", "cost", "energy")


def phases(steps: Steps) -> dict[str, Array]:
    """Seconds of a step by what an accelerator does, (L,): compute, memory, communication, idle. They sum to the step."""
    parts, breakdown = steps.compute_parts, steps.breakdown
    exposed = sum(breakdown[key] for key in BREAKDOWN if key.endswith("_exposed"))
    return {
        "compute_s": breakdown["compute"] - parts["memory_bound"],
        "memory_s": parts["memory_bound"] + breakdown["optimizer"],
        "communication_s": exposed,
        "idle_s": breakdown["bubble"] + breakdown["straggler"] + breakdown["other"],
    }


@dataclass(frozen=True)
class Scores:
    """Seconds, dollars and joules of one step at each of L layouts, (L,); joules at the facility's meter."""

    time: np.ndarray
    cost: np.ndarray
    energy: np.ndarray

    def of(self, objective: str) -> np.ndarray:
        """One of OBJECTIVES."""
        return {"time": self.time, "cost": self.cost, "energy": self.energy}[objective]

    def front(self) -> np.ndarray:
        """Which layouts no other beats in all three, a mask (L,); see `pareto`."""
        return pareto(np.stack([self.time, self.cost, self.energy], axis=1))


@dataclass(frozen=True)
class Scorer:
    """Scores steps by a scenario's own facility and prices, while nothing fails.

    A bought fleet costs its share of capital for the seconds that the step takes, and the energy that it
    draws meanwhile; a rented one costs its rent. Peak power and the fabric are those of the whole fleet.
    """

    context: Context

    @cached_property
    def _network(self) -> NetworkAccount:
        """The account of the fleet's fabrics."""
        return network_account(plan_fabric(self.context.fleet, self.context.values))

    def __call__(self, steps: Steps) -> Scores:
        """The scores of L layouts."""
        seconds = np.asarray(steps.step_s, float)
        activity = PowerPhases(**phases(steps))
        power, money = power_and_money(self.context, self._network, activity, seconds, np.ones_like(seconds))
        joules = np.asarray(power["energy_kwh"], float) * 3.6e6
        return Scores(seconds, np.broadcast_to(money["total_usd"], seconds.shape), joules)


def ranked_by(context: Context, objective: str) -> Callable[[Steps], Array]:
    """What `training.search` minimises for one of OBJECTIVES."""
    if objective == "time":
        return lambda steps: steps.step_s
    scorer = Scorer(context)
    return lambda steps: scorer(steps).of(objective)


def pareto(points: Array) -> np.ndarray:
    """Which of n points (n, k), less being better, no other point dominates; equal points stand together.

    A point is dominated where another is at most as large in every coordinate and smaller in one.
    """
    points = np.asarray(points, float)
    order = np.lexsort(points.T[::-1])
    kept: list[int] = []
    for index in order:  # whoever dominates a point comes before it
        front = points[kept]
        below = (front <= points[index]).all(axis=1) & (front < points[index]).any(axis=1)
        if not below.any():
            kept.append(int(index))
    mask = np.zeros(len(points), bool)
    mask[kept] = True
    return mask
