"""The run without luck: failures by the closed form, at one set of numbers or over draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy import training
from argosy.planning.context import Context
from argosy.planning.job import JobPlan, machine
from argosy.planning.objectives import phases
from argosy.planning.run import FleetRun, JobRun, fleet_account, job_life
from argosy.planning.site import NetworkAccount
from argosy.reliability import STATES
from argosy.training import Steps

Array = Any  # float, or draws (n,)


def closed_run(
    context: Context, jobs: list[JobPlan], network: NetworkAccount, residual_z: Array = 0.0
) -> FleetRun:
    """The run at the numbers of `context` (scalars or draws (n,)), its failures by the closed form: no luck in it.

    `residual_z`: the step model's error in standard deviations of its grade, a float or (n,).
    """
    return fleet_account(context, [_closed_job(context, job, residual_z) for job in jobs], network)


def _closed_job(context: Context, job: JobPlan, residual_z: Array) -> JobRun:
    on = machine(context, job.stack)
    residual = np.exp(training.residual_sigma(job.grade) * residual_z)
    steps = {stage.label: stage.drawn(on) for stage in job.stages}
    factors = {label: training.bounded_residual(residual, on.device, each) for label, each in steps.items()}
    work = sum(stage.steps * steps[stage.label].step_s * factors[stage.label] for stage in job.stages)
    main, off = steps[job.main.label], factors[job.main.label]
    life = job_life(context, job)
    form = life.goodput()
    wall = form.wall_s(work)
    return JobRun(
        job,
        work,
        {state: form.shares[state] * wall for state in STATES},
        main.step_s * off,
        main.tokens_per_s / off,
        main.mfu["parameters_only"] / off,
        life,
        form.interval_s,
        form.failures_expected(work),
        phases_of(steps, job),
    )


def phases_of(steps: dict[str, Steps], job: JobPlan) -> dict[str, Array]:
    """Seconds of the whole job by what an accelerator does, from the steps of its stages by label."""
    sums: dict[str, Array] = {}
    for stage in job.stages:
        for key, seconds in phases(steps[stage.label]).items():
            sums[key] = sums.get(key, 0.0) + seconds * stage.steps
    return sums
