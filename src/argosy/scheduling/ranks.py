"""Who comes first: keys of jobs by a policy's order, levels of attained service, and the Gittins index of each level."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf

import numpy as np

from argosy.scheduling.life import Life
from argosy.scheduling.policy import Policy


class Ranks:
    """Keys of a policy's order; `services`: accelerator-seconds of the jobs, which the Gittins index is computed from."""

    def __init__(self, policy: Policy, services: Sequence[float]) -> None:
        self.order = policy.order
        self.thresholds: tuple[float, ...] = ()
        self.values: list[float] = []
        if self.order in ("least-attained", "gittins"):
            self.thresholds = policy.thresholds_gpu_s
            self.values = [float(level) for level in range(len(self.thresholds) + 1)]
        if self.order == "gittins":
            sample = np.asarray(policy.services_gpu_s or services, dtype=float)
            upto = np.array([*self.thresholds, inf])  # looked at when a job changes its level, and at its end
            self.values = [-gittins_index(sample, age, upto[upto > age]) for age in (0.0, *self.thresholds)]

    def level(self, life: Life) -> int:
        """The level of its attained service."""
        return bisect_right(self.thresholds, life.attained * (1.0 + 1e-12))

    def next_level_s(self, life: Life) -> float:
        """Accelerator-seconds until the next level; inf at the last."""
        level = self.level(life)
        return self.thresholds[level] - life.attained if level < len(self.thresholds) else inf

    def coarse(self, life: Life) -> float:
        """What preemption by order compares: never between jobs that only came at different times to the same level."""
        if self.order == "shortest-remaining":
            return life.estimate_left
        if self.values:
            return self.values[self.level(life)]
        if self.order == "priority":
            return -life.job.priority
        if self.order == "deadline":
            return life.job.deadline_s
        return life.job.submit_s if self.order == "fifo" else 0.0

    def standing(self, life: Life, now: float) -> float:
        """`coarse` of a running job at `now`, without booking."""
        if self.order == "shortest-remaining":
            return life.left_at(now)
        return self.values[life.level] if self.values else self.coarse(life)

    def key(self, life: Life) -> tuple[float, ...]:
        """The key of a waiting job: smaller is first."""
        return (self.coarse(life), life.job.submit_s)


def gittins_index(services: np.ndarray, age: float, upto: np.ndarray | None = None) -> float:
    """The Gittins index 1/accelerator-second of a job that has attained `age`, for known services (n,) of equal weight.

    G(a) = sup over Δ > 0 of P(S − a ≤ Δ | S > a) ÷ E[min(S − a, Δ) | S > a] (J. Gittins 1979; Aalto, Ayesta, Righter 2009),
    over all Δ, or those at which a + Δ is one of `upto` (the quanta of service in which it is decided: Tiresias). 0 where
    nothing is longer than `age`. A small sample overstates the index of small Δ: fewer quanta smooth it.
    """
    left = np.sort(services[services > age] - age)
    if len(left) == 0:
        return 0.0
    quanta = left if upto is None else np.minimum(upto - age, left[-1])
    finished = np.searchsorted(left, quanta, side="right")
    below = np.concatenate([[0.0], np.cumsum(left)])
    spent = below[finished] + quanta * (len(left) - finished)
    return float((finished / spent).max())
