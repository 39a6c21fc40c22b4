"""Planning many points of a study: one by one, or all numbers of a group in one vectorised run.

Axes are of two kinds. *Structure* (counts, names, layouts, batches) changes what is planned: its points are planned one
by one. *Numbers* (facts, prices, times of the reliability section, storage bandwidth) only change what a planned run
takes and costs: points that differ in nothing else are one run over arrays. The first and the last point of such a
run are also planned alone; where they disagree beyond rounding, the whole group is planned one by one, so that the
short cut can be taken but never trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy.fabric import plan_fabric
from argosy.facts import FactError, Values
from argosy.planning import LONGEST_S, plan
from argosy.planning.closed import closed_run
from argosy.planning.context import Context, context
from argosy.planning.job import JobPlan, laid_out
from argosy.planning.run import DAY, FleetRun, JobRun, nominal_run
from argosy.planning.site import HOUR, NetworkAccount, network_account
from argosy.spec import Scenario, ScenarioError, load
from argosy.spec.assertions import value_at
from argosy.spec.changes import steps_of
from argosy.study.axes import plain

Row = dict[str, Any]
OVERRIDE = "assumptions.overrides."
# Facts by which the step model chooses layouts: with a layout to search, these are structure.
_STEP_FACTS = ("accelerators.", "training.", "stacks.", "memory.", "transports.", "routing.", "switches.")
_NUMBERS = ("reliability.", "prices.", "facility.", "fleet.storage.")
_LEAST_GROUP = (
    8  # points; fewer are planned one by one: two of them would be planned alone for the check anyway
)
_AGREE = 1e-9


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
    """A quick output of a run, a float or draws (n,). LookupError for what it does not have."""
    steps = path.split(".", 2)
    if steps[0] == "training":
        jobs = {job.job.training.name: job for job in run.jobs}
        job = jobs.get(steps[1]) or (
            run.jobs[int(steps[1])] if steps[1].isdecimal() and int(steps[1]) < len(run.jobs) else None
        )
        if job is None:
            raise LookupError(f"no job {steps[1]!r}; write one of {', '.join(jobs)}")
        return _OF_JOB[steps[2]](run, job)
    section = run.facility if steps[0] == "facility" else run.cost
    if steps[1] not in section or isinstance(section[steps[1]], str | list | dict | tuple):
        raise LookupError(f"{path} is no number of the plan")
    return section[steps[1]]


def run_chunk(chunk: Chunk) -> list[Row]:
    """The rows of a chunk, in its order: `point`, the outputs, `status` and `reason`.

    Points that cannot run, or that no scenario can have, have no outputs and say why.
    """
    vectors = _Vectors.of(chunk) if len(chunk.points) >= _LEAST_GROUP else None
    if vectors is not None:
        rows = vectors.rows()
        if rows is not None:
            return rows
    return [_alone(chunk, number, values) for number, values in chunk.points]


def _alone(chunk: Chunk, number: int, values: Sequence[Any]) -> Row:
    try:
        scenario = load(chunk.scenario, changes=dict(zip(chunk.axes, values, strict=True)))
    except ScenarioError as error:
        first = error.problems[0]
        return _row(chunk, number, None, "invalid", f"{first.path}: {first.message}")
    if not all(quick(path) for path in chunk.outputs):
        return _whole_plan(scenario, chunk, number)
    try:
        setting = context(scenario)
        jobs, network = _planned(setting)
        run = nominal_run(setting, jobs, network)
    except FactError as error:
        return _row(chunk, number, None, "infeasible", str(error))
    return _judged(chunk, number, run, {path: float(output(run, path)) for path in chunk.outputs})


def _planned(setting: Context) -> tuple[list[JobPlan], NetworkAccount]:
    """Layouts of all jobs and the fabric's account. FactError where no layout divides or fits."""
    jobs = [laid_out(setting, given) for given in setting.scenario.training]
    for job in jobs:
        if not job.fits:
            raise FactError(f"{job.training.name}: no layout fits in memory")
    return jobs, network_account(plan_fabric(setting.fleet, setting.values))


def _whole_plan(scenario: Scenario, chunk: Chunk, number: int) -> Row:
    """Outputs that need draws: from the whole plan."""
    payload = plan(scenario, draws=chunk.draws).to_dict()
    if not payload["training"]:
        return _row(chunk, number, None, "infeasible", "; ".join(payload["verdict"]["reasons"]))
    found = {path: value_at(payload, path) for path in chunk.outputs}
    return _row(chunk, number, found, payload["verdict"]["status"], "")


def _judged(chunk: Chunk, number: int, run: FleetRun, found: dict[str, float]) -> Row:
    if not float(np.max(np.asarray(run.wall_s))) < LONGEST_S:
        return _row(chunk, number, None, "infeasible", "never finishes")
    margin = run.facility.get("envelope_margin")
    broken = margin is not None and float(np.min(np.asarray(margin))) < 0
    return _row(
        chunk, number, found, "violates" if broken else "feasible", "power envelope" if broken else ""
    )


def _row(chunk: Chunk, number: int, found: dict[str, Any] | None, status: str, reason: str) -> Row:
    values: dict[str, Any] = found or dict.fromkeys(chunk.outputs)
    return {"point": number, **values, "status": status, "reason": reason}


@dataclass(frozen=True)
class _Vectors:
    """A chunk whose points differ in numbers alone: one plan, and arrays (n,) of the numbers by axis."""

    chunk: Chunk
    setting: Context
    jobs: list[JobPlan]
    network: NetworkAccount
    numbers: dict[str, np.ndarray]

    @classmethod
    def of(cls, chunk: Chunk) -> _Vectors | None:
        """None where some axis that varies is structure, or an output needs draws."""
        columns = {axis: [values[i] for _, values in chunk.points] for i, axis in enumerate(chunk.axes)}
        varying = [axis for axis, values in columns.items() if len(set(values)) > 1]
        if not varying or not all(quick(path) for path in chunk.outputs):
            return None
        base = dict(zip(chunk.axes, chunk.points[0][1], strict=True))
        try:
            scenario = load(chunk.scenario, changes=base)
        except ScenarioError:
            return None
        fixed = all(_is_fixed(job.layout) for job in scenario.training)
        if not all(is_number(axis, fixed) for axis in varying):
            return None
        numbers = {}
        try:
            for axis in varying:
                column = _numbers(chunk.scenario, base, axis, columns[axis])
                if column is None:
                    return None
                numbers[axis] = column
            setting = context(scenario)
            jobs, network = _planned(setting)
        except (FactError, ScenarioError):
            return None
        return cls(chunk, setting, jobs, network, numbers)

    def rows(self) -> list[Row] | None:
        """The rows, or None where the vectorised run does not agree with points planned alone."""
        count = len(self.chunk.points)
        try:
            run = self._run(count)
            columns = {
                path: np.broadcast_to(np.asarray(output(run, path), float), (count,))
                for path in self.chunk.outputs
            }
        except (TypeError, ValueError, AttributeError, KeyError):
            return None  # some law does not take arrays of this number: one by one then
        wall = np.broadcast_to(np.asarray(run.wall_s, float), (count,))
        margin = run.facility.get("envelope_margin")
        left = np.broadcast_to(np.asarray(np.inf if margin is None else margin, float), (count,))
        rows = []
        for i, (number, _) in enumerate(self.chunk.points):
            if not wall[i] < LONGEST_S:
                rows.append(_row(self.chunk, number, None, "infeasible", "never finishes"))
                continue
            found = {path: float(column[i]) for path, column in columns.items()}
            status, reason = ("feasible", "") if left[i] >= 0 else ("violates", "power envelope")
            rows.append(_row(self.chunk, number, found, status, reason))
        for i in (0, count - 1):
            if not _agree(rows[i], _alone(self.chunk, *self.chunk.points[i])):
                return None
        return rows

    def _run(self, count: int) -> FleetRun:
        facts, draws = dict(self.setting.values.facts), {}
        scenario = self.setting.scenario
        for axis, column in self.numbers.items():
            if axis.startswith(OVERRIDE):
                draws[axis.removeprefix(OVERRIDE)] = column
            else:
                scenario = _with(scenario, steps_of(axis), column)
        setting = replace(self.setting, scenario=scenario, values=Values(facts, draws, count))
        return closed_run(setting, self.jobs, self.network)


def is_number(axis: str, fixed_layout: bool) -> bool:
    """Whether an axis only changes numbers of a planned run; facts of the step model do so at a given layout alone."""
    if axis.startswith(OVERRIDE):
        return fixed_layout or not axis.removeprefix(OVERRIDE).startswith(_STEP_FACTS)
    return axis.startswith(_NUMBERS)


def _is_fixed(layout: Any) -> bool:
    return all(
        getattr(layout, field) is not None for field in ("tp", "pp", "micro_batch", "zero", "recompute")
    )


def _agree(a: Row, b: Row) -> bool:
    for key, value in a.items():
        other = b[key]
        if isinstance(value, float) and isinstance(other, float):
            if not np.isclose(value, other, rtol=_AGREE, atol=0.0):
                return False
        elif value != other:
            return False
    return True


def _numbers(scenario: str, base: dict[str, Any], axis: str, values: list[Any]) -> np.ndarray | None:
    """The SI numbers of an axis' values; None where one is no single number.

    Units are linear: of many distinct values the two ends are read from scenarios, and the others lie between.
    """
    distinct = list(dict.fromkeys(values))
    written = [plain(value) for value in distinct]
    same_unit = len({unit for _, unit in written}) == 1
    if len(distinct) <= 16 or not same_unit or any(number is None for number, _ in written):
        read = {
            value: _read(load(scenario, changes={**base, axis: value}), axis) for value in distinct[:4097]
        }
        found = [read.get(value) for value in values]
        return None if any(each is None for each in found) else np.array(found, float)
    order = sorted(range(len(written)), key=lambda i: written[i][0] or 0.0)
    low, high = distinct[order[0]], distinct[order[-1]]
    ends = [_read(load(scenario, changes={**base, axis: end}), axis) for end in (low, high)]
    if None in ends:
        return None
    raw = dict(zip(distinct, (number for number, _ in written), strict=True))
    x = np.array([raw[value] for value in values], float)
    slope = (ends[1] - ends[0]) / (raw[high] - raw[low])  # type: ignore[operator]
    return np.asarray(ends[0] + slope * (x - raw[low]), float)


def _read(scenario: Scenario, axis: str) -> float | None:
    """The SI number of a field or of a fact of a scenario; None for what is no single number."""
    if axis.startswith(OVERRIDE):
        fact = context(scenario).values.facts.get(axis.removeprefix(OVERRIDE))
        return None if fact is None else fact.value
    here: Any = scenario
    for step in steps_of(axis):
        here = here.get(step) if isinstance(here, dict) else getattr(here, step, None)
    return float(here) if isinstance(here, int | float) and not isinstance(here, bool) else None


def _with(section: Any, steps: Sequence[str], value: np.ndarray) -> Any:
    """A frozen section with the field at `steps` replaced; nothing is validated, arrays are let through."""
    if isinstance(section, dict):
        return {**section, steps[0]: value if len(steps) == 1 else _with(section[steps[0]], steps[1:], value)}
    inner = value if len(steps) == 1 else _with(getattr(section, steps[0]), steps[1:], value)
    return section.model_copy(update={steps[0]: inner})
