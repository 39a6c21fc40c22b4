"""The life of a fleet's training: jobs one after another, failing, drawing power, costing money.

One function for central numbers and for draws: `Context.values` decides which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy import training
from argosy.facility import PowerPhases
from argosy.planning.context import Context
from argosy.planning.job import JobPlan, checkpoint_bytes, machine
from argosy.planning.life import JobReliability, fleet_life
from argosy.planning.site import HOUR, NetworkAccount, power_and_money

Array = Any  # float, or draws (n,)
DAY = 86400.0
_RUNNING = ("productive", "rework", "checkpoint", "degraded")  # states in which the accelerators compute


@dataclass(frozen=True)
class JobRun:
    """One job's life: productive seconds, seconds by state (which sum to the wall clock), throughput and utilisation."""

    job: JobPlan
    work_s: Array
    seconds: dict[str, Array]
    step_s: Array
    tokens_per_s: Array
    mfu: Array
    reliability: JobReliability
    interval_s: Array
    failures: Array
    phases: dict[str, Array] | None = (
        None  # seconds by activity at these numbers; None: those at central facts
    )

    @property
    def wall_s(self) -> Array:
        """Wall-clock seconds of the job."""
        return sum(self.seconds.values())

    @property
    def ettr(self) -> Array:
        """Productive ÷ wall-clock time."""
        return self.work_s / self.wall_s

    @property
    def tokens(self) -> float:
        """Tokens that the job trains on."""
        return self.job.training.tokens


@dataclass(frozen=True)
class FleetRun:
    """All jobs, and what the fleet drew and cost meanwhile; `facility` and `cost` have the contract's keys."""

    jobs: tuple[JobRun, ...]
    accelerators: int
    spares: int
    facility: dict[str, Any]
    cost: dict[str, Any]

    @property
    def wall_s(self) -> Array:
        """Wall-clock seconds: the jobs run one after another on the whole fleet."""
        return sum(job.wall_s for job in self.jobs)

    @property
    def gpu_hours(self) -> Array:
        """Accelerator-hours paid for, spares and idle time included."""
        return self.wall_s * (self.accelerators + self.spares) / HOUR


def nominal_run(context: Context, jobs: list[JobPlan], network: NetworkAccount) -> FleetRun:
    """The run at central facts: failures by the closed form, or by the mean of simulated lives where it does not hold."""
    return fleet_account(context, [_nominal_job(context, job) for job in jobs], network)


def drawn_run(
    context: Context, jobs: list[JobPlan], network: NetworkAccount, draws: int, seed: int
) -> FleetRun:
    """`draws` runs: facts and the step model's residual drawn together, one life of failures each."""
    drawn = context.drawn(draws, seed)
    return fleet_account(drawn, [_drawn_job(drawn, job, draws, seed) for job in jobs], network)


def job_life(context: Context, job: JobPlan) -> JobReliability:
    """The job's reliability on this fleet, at the numbers of `context`."""
    return fleet_life(context, checkpoint_bytes(job), int(job.main.layouts.dp[0])).within(job.work_s)


def _nominal_job(context: Context, job: JobPlan) -> JobRun:
    life = job_life(context, job)
    account = life.nominal(job.work_s)
    main = job.main.nominal
    return JobRun(
        job,
        job.work_s,
        account.seconds,
        float(main.step_s[0]),
        float(main.tokens_per_s[0]),
        float(main.mfu["parameters_only"][0]),
        life,
        account.interval_s,
        account.failures,
    )


def _drawn_job(context: Context, job: JobPlan, draws: int, seed: int) -> JobRun:
    on = machine(context, job.stack)
    residual = training.residual_draws(job.grade, draws, seed)
    work: Array = 0.0
    main = None
    for stage in job.stages:
        steps = stage.drawn(on)
        factor = training.bounded_residual(residual, on.device, steps)
        work = work + stage.steps * steps.step_s * factor
        main = (steps, factor) if stage is job.main else main
    assert main is not None  # job.main is one of job.stages
    step, off = main
    life = job_life(context, job)
    work = np.broadcast_to(work, (draws,))
    lived = life.lives(work, draws, seed)
    return JobRun(
        job,
        work,
        lived.seconds,
        step.step_s * off,
        step.tokens_per_s / off,
        step.mfu["parameters_only"] / off,
        life,
        lived.closed_form.interval_s,
        lived.failures,
    )


def fleet_account(context: Context, jobs: list[JobRun], network: NetworkAccount) -> FleetRun:
    """Power, energy, carbon and money of the jobs together, at the numbers of `context`."""
    wall = sum(job.wall_s for job in jobs)
    busy = sum(job.seconds[state] for job in jobs for state in _RUNNING) / wall
    phases = [job.phases or job.job.phases() for job in jobs]
    activity = PowerPhases(**{key: sum(each[key] for each in phases) for key in phases[0]})
    power, money = power_and_money(context, network, activity, wall, busy)
    return FleetRun(tuple(jobs), context.fleet.count, context.spare_accelerators, power, money)
