"""How much of a job's wall-clock time is productive, in closed form, and where the rest goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.laws import checkpoint as law
from argosy.reliability.checkpoints import Cadence, CheckpointCost, cadence
from argosy.reliability.rates import FailureRates
from argosy.reliability.recovery import Maintenance, Recovery, spares_needed
from argosy.reliability.states import STATES

Array = Any  # float or numpy array (n,): one entry per draw


@dataclass(frozen=True, slots=True)
class Goodput:
    """The closed-form account of a failing job: shares of wall-clock time by state, which sum to one."""

    shares: dict[str, Array]
    cadence: Cadence
    failures_per_s: Array
    notes: tuple[str, ...] = ()

    @property
    def ettr(self) -> Array:
        """Productive share of the wall-clock time of the run, queueing and maintenance included (Meta's
        ETTR)."""
        return self.shares["productive"]

    @property
    def interval_s(self) -> Array:
        """Seconds of compute between checkpoints (of the fastest tier)."""
        return self.cadence.interval_s

    def wall_s(self, work_s: Array) -> Array:
        """Mean wall-clock seconds for `work_s` productive seconds; ∞ where the job never finishes."""
        with np.errstate(divide="ignore", invalid="ignore"):
            wall = np.divide(work_s, np.maximum(self.ettr, 0.0))
        return np.where(np.isnan(wall), 0.0, wall)[()]  # no work takes no time, even on a job that never runs

    def failures_expected(self, work_s: Array) -> Array:
        """Mean number of failures in a run of `work_s` productive seconds, counted per second of wall-clock
        time."""
        rate, wall = np.asarray(self.failures_per_s), self.wall_s(work_s)
        with np.errstate(invalid="ignore"):
            return np.where(rate > 0, rate * wall, 0.0)[()]


def goodput(
    rates: FailureRates,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance | None = None,
    interval_s: Array | None = None,
) -> Goodput:
    """Shares of wall-clock time by state, for a long run; `interval_s` None takes the optimum.

    The job's active clock runs while it computes, saves, detects and restarts; there Daly's exact form holds
    (see `laws.checkpoint.time_shares`). Waiting for spares, queueing and the pauses of tolerant policies are
    inserted into it and do not fail; maintenance takes its share of the calendar. Exact for Poisson failures
    and deterministic times, but for: maintenance's effect on the phase of the interval, and failures of
    several replicas at once.
    """
    stopping = stopping_per_s(rates, recovery)
    with np.errstate(divide="ignore"):
        mtbf = np.divide(1.0, np.asarray(stopping, dtype=float))
    plan = cadence(cost, mtbf, interval_s)
    active = _active_shares(cost, plan, recovery, mtbf)
    slowed = degraded_share(rates, recovery)
    inserted = _inserted(rates, recovery, stopping)
    planned = (maintenance or Maintenance()).share(cost.blocking_s + cost.persist_s, recovery.restart_s)
    with np.errstate(divide="ignore"):
        wall_per_active = np.divide(1.0 + sum(inserted.values(), start=0.0), 1.0 - np.asarray(planned))
    shares = {name: np.asarray(getattr(active, name, 0.0) / wall_per_active)[()] for name in STATES}
    for name, amount in inserted.items():
        shares[name] = shares[name] + amount / wall_per_active
    shares["degraded"] = shares["productive"] * slowed
    shares["productive"] = shares["productive"] * (1.0 - slowed)
    shares["maintenance"] = shares["maintenance"] + planned
    happening = rates.per_s * (1.0 - shares["spare_wait"] - shares["queue"] - shares["maintenance"])
    return Goodput(shares, plan, happening, _notes(plan, cost, recovery, rates, shares))


def stopping_per_s(rates: FailureRates, recovery: Recovery) -> Array:
    """Failures per second that stop the whole job: all of them, or those that a tolerant policy cannot
    absorb."""
    if not recovery.tolerant:
        return rates.per_s
    whole_job: Array = sum((c.system_per_s for c in rates.categories if c.scope != "node"), start=0.0)
    return whole_job + recovery.groups_lost_per_s(rates.node_per_s)


def degraded_share(rates: FailureRates, recovery: Recovery) -> Array:
    """Share of the speed lost to running on fewer replicas: λ·D/replicas, at most all of it."""
    return np.minimum(rates.node_per_s * recovery.degraded_s(rates.node_per_s), 1.0)


def _active_shares(cost: CheckpointCost, plan: Cadence, recovery: Recovery, mtbf: Array) -> law.TimeShares:
    """Shares of the active clock; with a fast tier, of the two-tier renewal."""
    if not cost.fast:
        return law.time_shares(
            plan.interval_s,
            cost.blocking_s,
            recovery.detection_s,
            recovery.restart_s,
            mtbf,
            cost.persist_s,
            cost.interference,
        )
    slow_write = cost.interference * cost.persist_s
    base = law.time_shares(plan.interval_s, cost.blocking_s, recovery.detection_s, recovery.restart_s, mtbf)
    slowdown = law.two_tier_slowdown(
        plan.interval_s,
        cost.blocking_s,
        plan.storage_every,
        slow_write,
        recovery.detection_s + recovery.restart_s,
        mtbf,
        cost.loss_share,
    )
    # A copy on its way to storage does not count yet: first-order in persist time over time between such
    # failures.
    productive = np.exp(-cost.loss_share * cost.persist_s / mtbf) / slowdown
    written = productive * (cost.blocking_s + slow_write / plan.storage_every) / plan.interval_s
    rework = 1.0 - productive - written - base.detection - base.restart
    return law.TimeShares(productive, written, rework, base.detection, base.restart)


def _inserted(rates: FailureRates, recovery: Recovery, stopping: Array) -> dict[str, Array]:
    """Seconds inserted per second of the active clock, by state."""
    if recovery.tolerant:
        copies = recovery.copies if recovery.policy == "redundancy" else 1
        return {"restart": copies * rates.node_per_s * recovery.stall_s}
    waiting = np.asarray(recovery.wait_share(rates.node_per_s))
    with np.errstate(divide="ignore"):
        return {"spare_wait": waiting / (1.0 - waiting), "queue": stopping * recovery.queue_s}


def _notes(
    plan: Cadence, cost: CheckpointCost, recovery: Recovery, rates: FailureRates, shares: dict[str, Array]
) -> tuple[str, ...]:
    """What a reader must know, in words, at the median of the draws."""
    notes = []
    if np.any(plan.limited_by_persist):
        notes.append("the checkpoint interval is as short as writing one takes: faster storage would help")
    if np.median(cost.load_s) > np.median(recovery.restart_s):
        notes.append(
            f"reading the checkpoint alone takes {np.median(cost.load_s):.0f} s, longer than the restart of "
            f"{np.median(recovery.restart_s):.0f} s"
        )
    if np.median(stopping_per_s(rates, recovery)) == 0 and np.median(rates.per_s) > 0:
        notes.append(
            f"under the policy {recovery.policy} these rates hold no failure that stops the whole job, "
            "so that the checkpoint interval has no meaning: give a rate for software"
        )
    waiting = float(np.median(shares["spare_wait"]))
    if waiting > 0.01:
        enough = float(np.median(spares_needed(rates, recovery.repair_s)))
        notes.append(
            f"the job waits for a spare node {waiting:.0%} of the time with {recovery.spare_nodes} of them; "
            f"{enough:.0f} would suffice at 99.9 % of moments"
        )
    if np.median(shares["productive"]) < 1e-6:
        planned = float(np.median(shares["maintenance"])) > 0.5
        why = "maintenance takes all of its time" if planned else "failures come faster than it can save work"
        notes.append(f"the job will never finish: {why}")
    return tuple(notes)
