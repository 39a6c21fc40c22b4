"""What is asked of a recommendation: a goal, limits, and the fields that are free.

    scenario: llama3-405b.yaml
    goal: cheapest                    # soonest | cheapest | cheapest-tokens | least-carbon | least-energy | lowest-loss
    within: {finish: 90 days, budget: 60e6 USD, envelope: 30 MW, carbon: 20 kt}
    free:
      fleet.count: {from: 4096, to: 32768}
      facility.site: [us-texas, sweden]

A scenario alone is a question too: what is its cheapest fleet, from a quarter to four times its count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from argosy import units
from argosy.facts import FactError
from argosy.spec import load
from argosy.spec.problems import Problem, ScenarioError, suggest
from argosy.spec.yaml_tree import Node, read_file
from argosy.study.axes import Axis, read_axes

GOALS = {
    "soonest": "days",
    "cheapest": "usd",
    "cheapest-tokens": "usd_per_million_tokens",
    "least-carbon": "carbon_kg",
    "least-energy": "energy_kwh",
    "lowest-loss": "loss",
}
# name: what it limits, the SI unit, how many of it one unit of the shadow price are, and that unit
LIMITS = {
    "finish": ("days", "s", 86400.0, "day"),
    "budget": ("usd", "USD", 1e6, "million USD"),
    "envelope": ("facility_peak_w", "W", 1e6, "MW"),
    "carbon": ("carbon_kg", "kg", 1e6, "kt"),
}
_KEYS = ("scenario", "goal", "within", "free")
COUNT = "fleet.count"
RUNGS = 17  # fleet sizes of a range that is not listed


@dataclass(frozen=True)
class Limit:
    """One limit: its `name`, the figure of a plan that it bounds, and the bound in that figure's own unit."""

    name: str
    figure: str
    most: float

    def excess(self, figures: dict[str, float]) -> float:
        """By what share of itself the limit is exceeded; negative where something is left."""
        return figures[self.figure] / self.most - 1.0


@dataclass(frozen=True)
class Question:
    """A question read: the scenario's file, the goal, the limits, and the free fields."""

    scenario: Path
    goal: str
    limits: tuple[Limit, ...]
    free: tuple[Axis, ...]


def read_question(path: Path, goal: str | None = None, within: tuple[str, ...] = ()) -> Question:
    """The question of a file, or of a scenario; `goal` and `within` (`finish=90 days`) take the place of the file's.

    ScenarioError with every fault of the file; FactError for the words given beside it.
    """
    root = read_file(path)
    problems: list[Problem] = []
    if isinstance(root.value, dict) and "scenario" in root.value:
        question = _of_file(path, root, problems)
    else:
        question = Question(path, "cheapest", (), (_counts(load(path).fleet.count),))
    if problems:
        raise ScenarioError(problems)
    if goal is not None and goal not in GOALS:
        raise FactError(f"no goal {goal!r}; write one of {', '.join(GOALS)}")
    limits = tuple(_given(each) for each in within)
    named = {limit.name for limit in limits}
    kept = tuple(limit for limit in question.limits if limit.name not in named)
    return Question(question.scenario, goal or question.goal, (*kept, *limits), question.free)


def _of_file(path: Path, root: Node, problems: list[Problem]) -> Question:
    for key, node in root.value.items():
        if key not in _KEYS:
            problems.append(node.problem((key,), "unknown key", suggest(str(key), _KEYS), at_key=True))
    named = root.value["scenario"]
    scenario = path.parent / str(named.value)
    if not isinstance(named.value, str):
        problems.append(named.problem(("scenario",), "is no file's name", "write scenario: fleet.yaml"))
    elif not scenario.is_file():
        problems.append(named.problem(("scenario",), f"there is no file {str(scenario)!r}", "check the path"))
    goal = root.get("goal")
    if goal is not None and (not isinstance(goal.value, str) or goal.value not in GOALS):
        problems.append(
            goal.problem(
                ("goal",), f"{goal.value!r} is not one of the choices", f"write one of {', '.join(GOALS)}"
            )
        )
    limits = []
    within = root.get("within")
    if within is not None and not isinstance(within.value, dict):
        problems.append(
            within.problem(("within",), "is no mapping", "write {finish: 90 days, envelope: 30 MW}")
        )
    for name, node in within.value.items() if within is not None and isinstance(within.value, dict) else ():
        try:
            limits.append(_limit(str(name), node.value))
        except FactError as error:
            problems.append(node.problem(("within", name), str(error)))
    free = read_axes(root.get("free"), problems, "free") if root.get("free") is not None else []
    problems += [
        root.value["free"].value[axis.path].problem(("free", axis.path), *fault)
        for axis in free
        if axis.path == COUNT and (fault := _faulty_counts(axis))
    ]
    if problems:
        raise ScenarioError(problems)
    if root.get("free") is None and not problems:
        free = [_counts(load(scenario).fleet.count)]
    chosen = str(goal.value) if goal is not None else "cheapest"
    return Question(scenario, chosen, tuple(limits), tuple(_laddered(axis) for axis in free))


def _counts(count: int) -> Axis:
    return _laddered(Axis(COUNT, (), max(count / 4, 1), count * 4, RUNGS, "", True, True))


def _faulty_counts(axis: Axis) -> tuple[str, str] | None:
    """What is wrong with fleet sizes, and what to write instead; None where nothing is."""
    if any(not isinstance(each, int) or isinstance(each, bool) for each in axis.values):
        return "fleet sizes are whole numbers", "write [8192, 16384]"
    if not axis.values and not (axis.whole and 0 < axis.start <= axis.end):
        return "a range of fleet sizes goes from a whole number up", "write {from: 1024, to: 8192}"
    return None


def _laddered(axis: Axis) -> Axis:
    """A range of fleet sizes as rungs that many layouts divide; any other range with five steps where it says none."""
    if axis.values or (axis.steps and axis.path != COUNT):
        return axis
    if axis.path != COUNT:
        return replace(axis, steps=5)
    return Axis(axis.path, rungs(axis.start, axis.end, axis.steps or RUNGS))


def rungs(low: float, high: float, steps: int) -> tuple[int, ...]:
    """`steps` fleet sizes from `low` to `high`, evenly spaced in their logarithm, each moved by less than half a step to
    the number there that two divides most often: batches and layouts are made of powers of two.
    """
    ratio = (high / low) ** (1 / max(steps - 1, 1))
    reach = (ratio - 1) / 2.01
    found = []
    for i in range(steps):
        rung = low * ratio**i
        power = 2 ** int(rung).bit_length()
        while power > 1 and abs(round(rung / power) * power / rung - 1) > reach:
            power //= 2
        found.append(max(1, round(rung / power) * power))
    return tuple(dict.fromkeys(each for each in found if low <= each <= high))


def _given(text: str) -> Limit:
    name, separator, quantity = text.partition("=")
    if not separator:
        raise FactError(f"--within {text!r}: write for example finish='90 days'")
    return _limit(name.strip(), quantity.strip())


def _limit(name: str, quantity: Any) -> Limit:
    if name not in LIMITS:
        raise FactError(f"no limit {name!r}; {suggest(name, LIMITS)}")
    figure, unit, one, _ = LIMITS[name]
    try:
        value = units.parse(str(quantity), unit, where=name)
    except units.UnitError as error:
        raise FactError(str(error)) from None
    if value <= 0:
        raise FactError(f"{name}: {quantity} leaves nothing; write a quantity above zero")
    return Limit(name, figure, value / one if figure == "days" else value)
