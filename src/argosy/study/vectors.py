"""Many points at once: all numbers of a group in one vectorised run of the plan.

Axes are of two kinds. *Structure* (counts, names, layouts, batches, whole numbers) changes what is planned, or what the
planner settles: layouts, spares, the fabric's parts. Its points are planned one by one. *Numbers* (facts, prices, times
of the reliability section, storage bandwidth) only change what a planned run takes and costs: points that differ in
nothing else are one run over arrays.

What is settled before the run, and what has limits judged by words, is never vectorised (`Vectors.of`). Beyond that the
run is checked: the first, the middle and the last point, and those with the least and the largest value of each axis,
are also planned alone, and where one disagrees beyond rounding the whole group is planned one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy.fabric import plan_fabric
from argosy.facts import Fact, FactError, Values
from argosy.planning import LONGEST_S
from argosy.planning.closed import closed_run
from argosy.planning.context import Context, context
from argosy.planning.job import JobPlan
from argosy.planning.run import FleetRun
from argosy.planning.site import NetworkAccount, network_account
from argosy.spec import Hall, PowerTree, Scenario, ScenarioError, load
from argosy.spec.changes import steps_of
from argosy.study.axes import plain
from argosy.study.points import Chunk, Row, alone, layouts, output, quick, row_of

OVERRIDE = "assumptions.overrides."
_NUMBERS = ("reliability.", "prices.", "facility.", "fleet.storage.")
_CLOCK = "facility.power_cap"  # changes the step, and with it the layout
# Fields from which the planner settles how many spares suffice, where the scenario leaves that to it.
_SETTLE_SPARES = (
    "reliability.repair.",
    "reliability.overrides.",
    "reliability.domains.",
    "reliability.lemons.",
)
_INTERRUPTIONS = "prices.spot_interruptions"  # becomes a failure rate before the run
_FIT = ("memory.", "memory_capacity")  # facts that decide what fits
_LEAST_GROUP = 24  # points; of fewer, the check alone would plan as many
_AGREE = 1e-9
_ENVELOPE = "power envelope of the site"


def run_chunk(chunk: Chunk) -> list[Row]:
    """The rows of a chunk, in its order; see `points.alone`."""
    vectors = Vectors.of(chunk) if len(chunk.points) >= _LEAST_GROUP else None
    rows = vectors.rows() if vectors is not None else None
    return [alone(chunk, *point) for point in chunk.points] if rows is None else rows


@dataclass(frozen=True)
class Vectors:
    """A chunk whose points differ in numbers alone: one plan, and arrays (n,) of the numbers by axis."""

    chunk: Chunk
    setting: Context
    jobs: list[JobPlan]
    network: NetworkAccount
    numbers: dict[str, np.ndarray]

    @classmethod
    def of(cls, chunk: Chunk) -> Vectors | None:
        """None where an axis that varies is structure, or an output needs draws, or limits are judged beyond the envelope."""
        columns = {axis: [values[i] for _, values in chunk.points] for i, axis in enumerate(chunk.axes)}
        varying = [axis for axis, values in columns.items() if len(set(values)) > 1]
        if not varying or not all(quick(path) for path in chunk.outputs) or not all(map(is_number, varying)):
            return None
        base = dict(zip(chunk.axes, chunk.points[0][1], strict=True))
        try:
            scenario = load(chunk.scenario, changes=base)
            if (
                scenario.serving
                or _other_limits(scenario)
                or any(_settles_spares(scenario, axis) for axis in varying)
            ):
                return None
            numbers = {}
            for axis in varying:
                column = _numbers(chunk.scenario, base, axis, columns[axis])
                if column is None:
                    return None
                numbers[axis] = column
            setting = context(scenario)
            fabric_values = Values(setting.values.facts)
            fabrics = plan_fabric(setting.fleet, fabric_values)
            settled = {**setting.values.used, **fabric_values.used}
            jobs = layouts(setting)
        except (FactError, ScenarioError):
            return None
        if any(fabric.get("problems") for fabric in fabrics) or not _as_planned(
            jobs, setting, varying, settled
        ):
            return None
        return cls(chunk, setting, jobs, network_account(fabrics), numbers)

    def rows(self) -> list[Row] | None:
        """The rows, or None where the vectorised run does not agree with points planned alone."""
        count = len(self.chunk.points)
        try:
            run = self._run(count)
            columns = {path: _column(output(run, path), count) for path in self.chunk.outputs}
            simulated = any(job.reliability.beyond for job in run.jobs)
        except (TypeError, ValueError, AttributeError, KeyError):
            return None  # some law does not take arrays of this number: one by one then
        if simulated or run.facility["problems"]:
            return None
        wall = _column(run.wall_s, count)
        margin = run.facility["envelope_margin"]
        left = _column(np.inf if margin is None else margin, count)
        if not np.all(wall < LONGEST_S):
            return None
        rows = []
        for i, (number, _) in enumerate(self.chunk.points):
            found = {path: None if column is None else float(column[i]) for path, column in columns.items()}
            status, reason = ("feasible", "") if left[i] >= 0 else ("violates", _ENVELOPE)
            rows.append(row_of(self.chunk, number, found, status, reason))
        if all(_agree(rows[i], alone(self.chunk, *self.chunk.points[i])) for i in self._checked()):
            return rows
        return None

    def _checked(self) -> list[int]:
        """Points that are also planned alone: first, middle, last, and the ends of each axis."""
        last = len(self.chunk.points) - 1
        ends = [int(end(column)) for column in self.numbers.values() for end in (np.argmin, np.argmax)]
        return sorted({0, last // 2, last, *ends})

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


def _column(value: Any, count: int) -> Any:
    """An output as (count,); None for what does not apply."""
    return None if value is None else np.broadcast_to(np.asarray(value, float), (count,))


def is_number(axis: str) -> bool:
    """Whether an axis may only change numbers of a planned run."""
    return axis.startswith((OVERRIDE, *_NUMBERS)) and axis not in (_CLOCK, _INTERRUPTIONS)


def _other_limits(scenario: Scenario) -> bool:
    """Whether the scenario limits more than the site's envelope: those verdicts are words about one plan."""
    facility = scenario.facility
    return (
        facility.power_tree != PowerTree()
        or facility.hall != Hall()
        or facility.ramp_limit is not None
        or scenario.fleet.storage.capacity is not None
    )


def _settles_spares(scenario: Scenario, axis: str) -> bool:
    return scenario.fleet.spares.nodes is None and axis.startswith(_SETTLE_SPARES)


def _as_planned(
    jobs: Sequence[JobPlan], setting: Context, varying: Sequence[str], settled: Mapping[str, Fact]
) -> bool:
    """Whether spares, fabric and layouts stay what they are at every value of the axes.

    `settled`: facts behind spares and fabric. Layouts stay where only one may run, or where the search, by time, reads
    none of the facts that vary.
    """
    facts = [axis.removeprefix(OVERRIDE) for axis in varying if axis.startswith(OVERRIDE)]
    if any(fact in settled or fact.startswith(_FIT) or fact.endswith(_FIT) for fact in facts):
        return False
    if all(stage.search.feasible == 1 for job in jobs for stage in job.stages):
        return True
    by_time = all(job.training.search.objective == "time" for job in jobs)
    return by_time and not any(fact in setting.values.used for fact in facts)


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
    return here if isinstance(here, float) else None  # a whole number counts things: structure


def _with(section: Any, steps: Sequence[str], value: np.ndarray) -> Any:
    """A frozen section with the field at `steps` replaced; nothing is validated, arrays are let through."""
    if isinstance(section, dict):
        return {**section, steps[0]: value if len(steps) == 1 else _with(section[steps[0]], steps[1:], value)}
    inner = value if len(steps) == 1 else _with(getattr(section, steps[0]), steps[1:], value)
    return section.model_copy(update={steps[0]: inner})
