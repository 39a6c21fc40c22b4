"""Points of a study planned one by one: what a row holds, and why a point has none.

A row is what `argosy plan` says of the point's scenario: figures at central facts, the verdict's status, its reason.
Figures that are quantiles take the whole plan with its draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.fabric import plan_fabric
from argosy.facts import FactError
from argosy.planning import Verdict, central_run, plan, verdict_of
from argosy.planning.context import Context, context
from argosy.planning.job import JobPlan, laid_out
from argosy.planning.run import DAY, FleetRun, JobRun
from argosy.planning.site import HOUR, network_account
from argosy.spec import Scenario, ScenarioError, load
from argosy.spec.assertions import value_at
from argosy.spec.problems import suggest

Row = dict[str, Any]


@dataclass(frozen=True)
class Chunk:
    """Points of one study that are planned together; small, and picklable for any executor.

    `points`: their numbers in the study and their values, one per axis.
    """

    scenario: str
    axes: tuple[str, ...]
    outputs: tuple[str, ...]
    draws: int
    points: tuple[tuple[int, tuple[Any, ...]], ...]


# The outputs that every run has without draws: path in the plan's JSON below a job, or at the top.
_OF_JOB: dict[str, Callable[[FleetRun, JobRun], Any]] = {
    "schedule.days.nominal": lambda run, job: job.wall_s / DAY,
    "schedule.gpu_hours.nominal": lambda run, job: job.wall_s * (run.accelerators + run.spares) / HOUR,
    "schedule.tokens": lambda run, job: job.tokens,
    "mfu.parameters_only": lambda run, job: job.mfu,
    "goodput.ettr.nominal": lambda run, job: job.ettr,
    "goodput.failures_expected": lambda run, job: job.failures,
    "goodput.checkpoint_interval_s": lambda run, job: job.interval_s,
    "step_time_s.nominal": lambda run, job: job.step_s,
    "tokens_per_s": lambda run, job: job.tokens_per_s,
    "usd_per_million_tokens": lambda run, job: (
        run.cost["total_usd"] * job.wall_s / run.wall_s / job.tokens * 1e6
    ),
}


def quick(path: str) -> bool:
    """Whether an output needs no draws: a central figure of the run, its facility or its cost."""
    steps = path.split(".", 2)
    if steps[0] == "training":
        return len(steps) == 3 and steps[2] in _OF_JOB
    return len(steps) == 2 and steps[0] in ("facility", "cost")


def output(run: FleetRun, path: str) -> Any:
    """A quick output of a run, a float or draws (n,); None for what does not apply. FactError for what no run has."""
    steps = path.split(".", 2)
    if steps[0] == "training":
        jobs = {job.job.training.name: job for job in run.jobs}
        job = jobs.get(steps[1]) or (
            run.jobs[int(steps[1])] if steps[1].isdecimal() and int(steps[1]) < len(run.jobs) else None
        )
        if job is None:
            raise FactError(f"outputs: {path}: no job {steps[1]!r}; write one of {', '.join(jobs)}")
        return _OF_JOB[steps[2]](run, job)
    section = run.facility if steps[0] == "facility" else run.cost
    numbers = [name for name, value in section.items() if value is None or _is_number(value)]
    if steps[1] not in numbers:
        raise FactError(f"outputs: {path} is no number of the plan; {suggest(steps[1], numbers)}")
    return section[steps[1]]


def _is_number(value: Any) -> bool:
    """One number, or one for each draw."""
    return isinstance(value, int | float | np.ndarray) and not isinstance(value, bool) and np.ndim(value) < 2


def alone(chunk: Chunk, number: int, values: Sequence[Any]) -> Row:
    """The row of one point: `point`, the outputs, `status` and `reason`.

    Points that cannot run, or that no scenario can have, have no outputs and say why. FactError for an output that the
    plan does not have.
    """
    try:
        scenario = load(chunk.scenario, changes=dict(zip(chunk.axes, values, strict=True)))
    except ScenarioError as error:
        first = error.problems[0]
        return row_of(chunk, number, None, "invalid", f"{first.path}: {first.message}")
    if scenario.serving or not all(quick(path) for path in chunk.outputs):
        return _whole_plan(scenario, chunk, number)
    try:
        setting = context(scenario)
        jobs = layouts(setting)
        fabrics = plan_fabric(setting.fleet, setting.values)
        run = central_run(setting, jobs, network_account(fabrics))
        if isinstance(run, Verdict):
            return row_of(chunk, number, None, run.status, run.reasons[0])
        verdict = verdict_of(setting, run, fabrics)
    except FactError as error:
        return row_of(chunk, number, None, "infeasible", str(error))
    found = {path: _one(path, output(run, path)) for path in chunk.outputs}
    return row_of(chunk, number, found, verdict.status, broken(verdict))


def _one(path: str, value: Any) -> float | None:
    """The number of one run."""
    if np.ndim(value):
        raise FactError(f"outputs: {path} is no number of the plan, but {np.size(value)}")
    return None if value is None else float(value)


def layouts(setting: Context) -> list[JobPlan]:
    """All jobs with their layouts. FactError where no layout divides or fits."""
    jobs = [laid_out(setting, given) for given in setting.scenario.training]
    for job in jobs:
        if not job.fits:
            raise FactError(f"{job.training.name}: no layout fits in memory")
    return jobs


def broken(verdict: Verdict) -> str:
    """The limit that a verdict says is broken, by name; empty where it is feasible."""
    if verdict.status == "feasible":
        return ""
    if verdict.margin is not None and verdict.margin < 0:
        return str(verdict.binding)
    return verdict.reasons[0]


def _whole_plan(scenario: Scenario, chunk: Chunk, number: int) -> Row:
    """Outputs that need draws, and those of scenarios with services: from the whole plan."""
    try:
        found = plan(scenario, draws=chunk.draws)
    except (FactError, ScenarioError) as error:
        return row_of(chunk, number, None, "infeasible", str(error))
    status = found.verdict.status
    if status == "infeasible":
        return row_of(chunk, number, None, status, found.verdict.reasons[0])
    try:
        values = {path: value_at(found.payload, path) for path in chunk.outputs}
    except LookupError as error:
        raise FactError(f"outputs: {error.args[0]}") from None
    return row_of(chunk, number, values, status, broken(found.verdict))


def row_of(chunk: Chunk, number: int, found: Mapping[str, Any] | None, status: str, reason: str) -> Row:
    """A row from its parts; None as `found` where there are no outputs."""
    values: Mapping[str, Any] = dict.fromkeys(chunk.outputs) if found is None else found
    return {"point": number, **values, "status": status, "reason": reason}
