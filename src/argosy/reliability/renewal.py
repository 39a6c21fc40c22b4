"""Lives of a job: Monte Carlo over its failures, one vector of draws at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.reliability.checkpoints import CheckpointCost
from argosy.reliability.goodput import Goodput, goodput, stopping_per_s
from argosy.reliability.rates import FailureRates
from argosy.reliability.recovery import Maintenance, Recovery
from argosy.reliability.states import STATES

Array = Any  # float or numpy array (n,): one entry per draw
_FOREVER = 1e18  # seconds: a gap that no run outlives, finite so that arithmetic on it stays defined

MOST_FAILURES = 20_000
"""Beyond this many failures in a life its spread is under one percent: the closed form stands for it."""


@dataclass(frozen=True, slots=True)
class Lives:
    """Draws of a job's life: seconds by state, arrays (n,); `wall_s` is their sum, ∞ where it never
    finishes."""

    seconds: dict[str, np.ndarray]
    failures: np.ndarray
    closed_form: Goodput

    @property
    def wall_s(self) -> np.ndarray:
        """Wall-clock seconds of each life (n,)."""
        return np.asarray(np.sum(list(self.seconds.values()), axis=0))

    @property
    def ettr(self) -> np.ndarray:
        """Productive ÷ wall-clock time of each life (n,)."""
        return np.asarray(self.seconds["productive"] / self.wall_s)


def lives(
    work_s: Array,
    rates: FailureRates,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance | None = None,
    interval_s: Array | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Lives:
    """`draws` lives of a job that needs `work_s` productive seconds; every argument may be an array (draws,).

    Each failure is drawn (exponential gaps), with its rollback to the last checkpoint that was safe, its
    recovery (which may fail too), its wait for a spare (repairs take exactly `repair_s`), and for tolerant
    policies the number of nodes lost while running. Maintenance takes its share of the calendar. The last
    stretch ends with the work, not with a checkpoint, so short runs do a little better than the closed form,
    which holds for long ones.
    """
    form = goodput(rates, cost, recovery, maintenance, interval_s)
    seconds, failures = _Job(work_s, rates, cost, recovery, form, draws, seed).run()
    planned = (maintenance or Maintenance()).share(cost.blocking_s + cost.persist_s, recovery.restart_s)
    held = np.asarray(sum(seconds.values()))
    with np.errstate(divide="ignore", invalid="ignore"):
        stopped = np.where(held > 0, held * planned / (1.0 - np.asarray(planned)), 0.0)
    seconds["maintenance"] = seconds["maintenance"] + stopped
    return Lives(seconds, failures, form)


class _Job:
    """The job's constants as arrays (n,), and the pass over failures that brings all draws forward
    together."""

    def __init__(
        self,
        work_s: Array,
        rates: FailureRates,
        cost: CheckpointCost,
        recovery: Recovery,
        form: Goodput,
        draws: int,
        seed: int,
    ) -> None:
        def wide(value: Array) -> np.ndarray:
            return np.broadcast_to(np.asarray(value, dtype=float), (draws,))

        self.random = np.random.default_rng([seed, draws])
        self.recovery, self.form = recovery, form
        with np.errstate(divide="ignore"):
            self.mtbf = wide(np.divide(1.0, np.asarray(stopping_per_s(rates, recovery), dtype=float)))
        self.node_share, self.node_per_s = wide(rates.node_share), wide(rates.node_per_s)
        self.useful = wide(work_s)
        self.detection, self.restart = wide(recovery.detection_s), wide(recovery.restart_s)
        self.tau, self.every = wide(form.cadence.interval_s), wide(form.cadence.storage_every)
        self.fast, self.loss, self.persist = bool(cost.fast), wide(cost.loss_share), wide(cost.persist_s)
        # Seconds after a period's compute until its checkpoint counts: in the fast tier as soon as it is
        # copied.
        self.lag = wide(cost.blocking_s + (0.0 if self.fast else cost.persist_s))
        self.overhead = wide(
            cost.blocking_s + cost.interference * cost.persist_s / form.cadence.storage_every
        )
        self.period = self.tau + self.overhead
        self.seconds = {name: np.zeros(draws) for name in STATES}
        self.failures = np.zeros(draws)

    def run(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Seconds by state, arrays (n,), and the number of failures (n,); maintenance is left to the
        caller."""
        wall = np.broadcast_to(self.form.wall_s(self.useful), self.useful.shape)
        expected = np.broadcast_to(self.form.failures_expected(self.useful), self.useful.shape)
        drawn = (expected <= MOST_FAILURES) & np.isfinite(wall)
        lost = self._tolerated(drawn)
        self.seconds["degraded"] += lost * self.recovery.degraded_s(self.node_per_s)
        self._pass_failures(self.useful + self.seconds["degraded"], drawn.copy())
        if self.recovery.tolerant:
            idle = np.sum([self.seconds[s] for s in ("checkpoint", "rework", "detection", "restart")], axis=0)
            lost = lost + self.random.poisson(np.where(drawn, self.node_per_s * idle, 0.0))
            self.seconds["restart"] += lost * self.recovery.stall_s
            self.failures += lost
        self.seconds["productive"] += np.where(drawn, self.useful, 0.0)
        for name in STATES:
            if name != "maintenance":
                share = np.broadcast_to(self.form.shares[name], drawn.shape)
                with np.errstate(invalid="ignore"):
                    mean = np.where(share > 0, share * wall, 0.0)
                self.seconds[name] = np.where(drawn, self.seconds[name], mean)
        self.seconds["productive"] = np.where(np.isinf(wall), np.inf, self.seconds["productive"])
        self.failures = np.where(drawn, self.failures, expected)
        return self.seconds, self.failures

    def _tolerated(self, drawn: np.ndarray) -> np.ndarray:
        """Nodes lost without stopping the job (n,), while it computes: more of them where they slow it.

        N losses slow the job by N·D/replicas seconds, in which it loses more: N = N₀ + (N₀ − mean)·g/(1 − g)
        for Poisson N₀ of the mean over the lengthened time and g = λ·D/replicas, which has N's mean and
        variance.
        """
        if not self.recovery.tolerant:
            return np.zeros_like(self.useful)
        slowed = np.minimum(self.node_per_s * self.recovery.degraded_s(self.node_per_s), 1.0 - 1e-9)
        mean = np.where(drawn, self.node_per_s * self.useful / (1.0 - slowed), 0.0)
        lost = mean + (self.random.poisson(mean) - mean) / (1.0 - slowed)
        return np.asarray(np.maximum(lost, 0.0))

    def _pass_failures(self, need: np.ndarray, running: np.ndarray) -> None:
        """One pass per failure until every draw has done `need` productive seconds.

        Whole periods between failures are saved (`periods`); of all time up, what is not in them is rework, but for the
        last stretch, which ends with the work.
        """
        books, draws = self.seconds, need.size
        periods, clock, up_before = np.zeros(draws), np.zeros(draws), np.zeros(draws)
        spares, recovering = _Spares(self.recovery, draws), False
        while running.any():
            gap = self.random.standard_exponential(draws)
            gap *= self.mtbf
            np.minimum(gap, _FOREVER, out=gap)
            up = self._recover(gap, running) if recovering else gap
            done = self._finish(up, need - periods * self.tau, running)
            if done is not None:
                writes = _writes(need - periods * self.tau, self.tau)
                books["checkpoint"] += np.where(done, (periods + writes) * self.overhead, 0.0)
                books["rework"] += np.where(done, up_before - periods * self.period, 0.0)
                running = running & ~done
            kept = np.maximum(np.floor((up - (self.tau + self.lag)) / self.period) + 1.0, 0.0)
            kept *= running
            periods += kept
            up_before += up * running
            if self.fast:
                periods -= self._lose_fast_tier(running, periods, up - kept * self.period)
            clock += gap
            clock += self._wait(running, clock, spares)
            self.failures += running
            recovering = True

    def _recover(self, gap: np.ndarray, running: np.ndarray) -> np.ndarray:
        """Books detection and restart at the start of a gap between failures; returns what is left of it (n,)."""
        left = gap
        for state, seconds in (("detection", self.detection), ("restart", self.restart)):
            spent = np.minimum(left, seconds)
            left = left - spent
            self.seconds[state] += spent * running
        return left

    def _finish(self, up: np.ndarray, left: np.ndarray, running: np.ndarray) -> np.ndarray | None:
        """Which draws get their `left` seconds of work done within `up`, writes included; None where none does."""
        done = running & (up >= left)
        if done.any():
            done &= up >= left + _writes(left, self.tau) * self.overhead
        return done if done.any() else None

    def _lose_fast_tier(self, failed: np.ndarray, periods: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """Periods lost by draws whose failure destroyed the fast tier: back to the last copy safe in
        storage."""
        destroyed = failed & (self.random.random(failed.size) < self.loss)
        stored = np.floor(periods / self.every) * self.every
        on_its_way = (periods - stored) * self.period + beyond < self.persist
        stored = np.where(on_its_way, np.maximum(stored - self.every, 0.0), stored)
        return np.where(destroyed, periods - stored, 0.0)

    def _wait(self, failed: np.ndarray, clock: np.ndarray, spares: _Spares) -> np.ndarray | float:
        """Seconds until the job has its nodes again (n,): for a spare, then in the queue."""
        if self.recovery.tolerant:
            return 0.0
        waited: np.ndarray | float = 0.0
        if spares.matter:
            node = failed
            if np.any(self.node_share < 1.0):
                node = failed & (self.random.random(failed.size) < self.node_share)
            waited = spares.take(node, clock)
            self.seconds["spare_wait"] += waited
        queued = failed * self.recovery.queue_s
        self.seconds["queue"] += queued
        return np.asarray(waited + queued)


def _writes(left: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Checkpoints before `left` seconds of work are done: the last stretch ends with the work, not with one."""
    return np.asarray(np.maximum(np.ceil(left / tau * (1.0 - 1e-12)) - 1.0, 0.0))


class _Spares:
    """When each spare of each draw is free: a ring of return times (n · spares,), oldest first, repairs being
    equal."""

    def __init__(self, recovery: Recovery, draws: int) -> None:
        self.count = recovery.spare_nodes
        self.repair = np.broadcast_to(np.asarray(recovery.repair_s, dtype=float), (draws,))
        self.free_at = np.full(draws * max(self.count, 1), -np.inf)
        self.first = np.arange(draws) * max(self.count, 1)
        self.next = np.zeros(draws, dtype=np.int64)
        self.matter = bool(np.any(self.repair > 0.0))

    def take(self, failed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """Seconds that the draws in `failed` wait at `clock` for the next free spare; their nodes go to
        repair."""
        if self.count == 0:
            return np.where(failed, self.repair, 0.0)
        place = self.first + self.next
        free_at = self.free_at[place]
        self.free_at[place] = np.where(failed, clock + self.repair, free_at)
        self.next += failed
        self.next[self.next == self.count] = 0
        return np.asarray(np.maximum(free_at - clock, 0.0) * failed)
