"""A study: a scenario, axes over its fields, and the points at which it is planned.

scenario: llama3-405b.yaml
axes:
  fleet.count: [8192, 16384, 32768]
  reliability.detection: {from: 30 s, to: 10 min, steps: 5, log: true}
sampling: grid            # grid | list | random | latin-hypercube
points: 1000              # of random and latin-hypercube
outputs: [training.0.schedule.days.nominal, cost.total_usd]
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from argosy import __version__, units
from argosy.spec.problems import Problem, ScenarioError, suggest
from argosy.spec.yaml_tree import Node, read_file

SAMPLINGS = ("grid", "list", "random", "latin-hypercube")
MOST_POINTS = 10_000_000
OUTPUTS = (
    "training.0.schedule.days.nominal",
    "cost.total_usd",
    "training.0.mfu.parameters_only",
    "training.0.goodput.ettr.nominal",
    "training.0.step_time_s.nominal",
    "facility.facility_peak_w",
)
_KEYS = ("scenario", "axes", "sampling", "points", "seed", "outputs", "draws")
_RANGE = ("from", "to", "steps", "log")


@dataclass(frozen=True)
class Axis:
    """One field that varies: listed `values`, or a range from `start` to `end` in `unit` (log-spaced where `log`).

    `whole`: both ends are whole numbers, and so is everything between them.
    """

    path: str
    values: tuple[Any, ...] = ()
    start: float = 0.0
    end: float = 0.0
    steps: int = 0
    unit: str = ""
    log: bool = False
    whole: bool = False

    def at(self, shares: np.ndarray) -> list[Any]:
        """Values at `shares` (0–1) of the axis: the listed value that the share falls on, or a point of the range."""
        if self.values:
            index = np.minimum((shares * len(self.values)).astype(int), len(self.values) - 1)
            return [self.values[i] for i in index]
        if self.log:
            numbers = np.exp(np.log(self.start) + shares * (np.log(self.end) - np.log(self.start)))
        else:
            numbers = self.start + shares * (self.end - self.start)
        return [self._shown(number) for number in numbers.tolist()]

    def grid(self) -> list[Any]:
        """All listed values, or `steps` points of the range with both ends."""
        return (
            list(self.values) if self.values else list(dict.fromkeys(self.at(np.linspace(0, 1, self.steps))))
        )

    def _shown(self, number: float) -> Any:
        if self.whole:
            return round(number)
        return f"{number:.12g} {self.unit}" if self.unit else float(f"{number:.12g}")

    @property
    def shown_unit(self) -> str | None:
        """The unit that all values share (empty for bare numbers); None where some are no numbers, or differ."""
        if not self.values:
            return self.unit
        found = {plain(value) for value in self.values}
        units_of = {unit for _, unit in found}
        return (
            units_of.pop() if len(units_of) == 1 and all(number is not None for number, _ in found) else None
        )

    def number(self, value: Any) -> Any:
        """A value as results keep it: its number in the shared unit, else as it is written."""
        return value if self.shown_unit is None else plain(value)[0]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for the study's hash."""
        return {key: getattr(self, key) for key in self.__dataclass_fields__}


def plain(value: Any) -> tuple[float | int | None, str]:
    """The number and the unit of a value as they are written; None for what is no number."""
    if isinstance(value, bool) or value is None:
        return None, ""
    if isinstance(value, int | float):
        return (value, "") if math.isfinite(value) else (None, "")
    text, _, unit = str(value).partition(" ")
    try:
        number = float(text)
    except ValueError:
        return None, ""
    return (number, unit.strip()) if math.isfinite(number) else (None, "")


@dataclass(frozen=True)
class Study:
    """The study of a file. `draws`: joint draws behind outputs that are quantiles."""

    scenario: Path
    axes: tuple[Axis, ...]
    sampling: str
    points: int
    seed: int
    outputs: tuple[str, ...]
    draws: int

    def combinations(self) -> list[tuple[Any, ...]]:
        """The points: one value per axis, in a fixed order; identical ones once."""
        if self.sampling == "grid":
            found = list(itertools.product(*(axis.grid() for axis in self.axes)))
        elif self.sampling == "list":
            found = list(zip(*(axis.values for axis in self.axes), strict=True))
        else:
            shares = self._shares()
            found = list(
                zip(*(axis.at(column) for axis, column in zip(self.axes, shares.T, strict=True)), strict=True)
            )
        return list(dict.fromkeys(found))

    def _shares(self) -> np.ndarray:
        """Coordinates in the unit cube, (points, axes)."""
        if self.sampling == "random":
            return np.random.default_rng(self.seed).random((self.points, len(self.axes)))
        from scipy.stats import qmc

        sampler = qmc.LatinHypercube(len(self.axes), rng=np.random.default_rng(self.seed))
        shares: np.ndarray = sampler.random(self.points)
        return shares

    def key(self, scenario_hash: str) -> str:
        """What the results stand for: scenario, axes, sampling, outputs, version; 16 hexadecimal digits."""
        data = {
            "version": __version__,
            "scenario": scenario_hash,
            "axes": [axis.to_dict() for axis in self.axes],
            "sampling": [self.sampling, self.points, self.seed],
            "outputs": self.outputs,
            "draws": self.draws,
        }
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def read_study(path: Path) -> Study:
    """The study of a YAML file. ScenarioError with every fault and its place."""
    root = read_file(path)
    if not isinstance(root.value, dict):
        raise ScenarioError([root.problem((), "is not a mapping", "write scenario: …, axes: …")])
    problems: list[Problem] = []
    for key, node in root.value.items():
        if key not in _KEYS:
            problems.append(node.problem((key,), "unknown key", suggest(str(key), _KEYS), at_key=True))
    for key in ("scenario", "axes"):
        if root.get(key) is None:
            problems.append(root.problem((key,), "is missing", f"write {key}: …"))
    scenario, axes = root.get("scenario"), read_axes(root.get("axes"), problems)
    sampling = _word(root.get("sampling"), problems)
    points = _whole(root, "points", 1000, 1, MOST_POINTS, problems)
    if sampling == "list" and len({len(axis.values) for axis in axes}) > 1:
        lengths = ", ".join(f"{axis.path} {len(axis.values)}" for axis in axes)
        node = root.value["axes"]
        problems.append(
            node.problem(
                ("axes",), f"lists of unequal length: {lengths}", "give every axis one value per point"
            )
        )
    if sampling == "list" and any(not axis.values for axis in axes):
        problems.append(
            root.value["axes"].problem(("axes",), "a range has no place in a list", "list its values")
        )
    for axis in axes if sampling == "grid" else ():
        if not axis.values and not axis.steps:
            node = root.value["axes"].value[axis.path]
            problems.append(node.problem(("axes", axis.path, "steps"), "is missing", "write steps: 5"))
    if sampling == "grid" and axes:
        size = math.prod(len(axis.values) or axis.steps for axis in axes)
        if size > MOST_POINTS:
            node = root.value["axes"]
            problems.append(
                node.problem(
                    ("axes",),
                    f"{size:,} points of the grid are too many",
                    "use fewer steps, or sampling: latin-hypercube",
                )
            )
    if scenario is not None and not isinstance(scenario.value, str):
        problems.append(scenario.problem(("scenario",), "is no file's name", "write scenario: fleet.yaml"))
        scenario = None
    study = Study(
        scenario=path.parent / str(scenario.value if scenario else ""),
        axes=tuple(axes),
        sampling=sampling,
        points=points,
        seed=_whole(root, "seed", 0, 0, 2**31, problems),
        outputs=_outputs(root.get("outputs"), problems),
        draws=_whole(root, "draws", 2000, 100, 100_000, problems),
    )
    if scenario is not None and not study.scenario.is_file():
        problems.append(
            scenario.problem(("scenario",), f"there is no file {str(study.scenario)!r}", "check the path")
        )
    if problems:
        raise ScenarioError(problems)
    return study


def read_axes(node: Node | None, problems: list[Problem], key: str = "axes") -> list[Axis]:
    """The axes below a key of a file; faults are added to `problems`."""
    if node is None:
        return []
    if not isinstance(node.value, dict) or not node.value:
        problems.append(node.problem((key,), "is no mapping of fields", "write fleet.count: [8192, 16384]"))
        return []
    found = []
    for path, each in node.value.items():
        where = (key, path)
        if isinstance(each.value, list) and each.value:
            if nested := [v for v in each.value if isinstance(v.value, dict | list)]:
                problems.append(
                    nested[0].problem(where, "is no single value", "write one axis for each field")
                )
            else:
                found.append(Axis(str(path), values=tuple(each.data)))
        elif isinstance(each.value, dict):
            axis = _range(str(path), each, problems, key)
            if axis is not None:
                found.append(axis)
        else:
            problems.append(
                each.problem(
                    where,
                    "is an empty list" if each.value == [] else "is neither a list nor a range",
                    "write [1, 2] or {from: 1, to: 8, steps: 4}",
                )
            )
    return found


def _range(path: str, node: Node, problems: list[Problem], under: str) -> Axis | None:
    where = (under, path)
    for key, each in node.value.items():
        if key not in _RANGE:
            problems.append(
                each.problem((*where, key), "unknown key", suggest(str(key), _RANGE), at_key=True)
            )
    ends = [_end(node, key, where, problems) for key in ("from", "to")]
    steps = _whole(node, "steps", 0, 2, 100_000, problems, where)
    log = node.get("log")
    if log is not None and not isinstance(log.value, bool):
        problems.append(log.problem((*where, "log"), "is neither true nor false", "write true"))
    if None in ends:
        return None
    (start, unit), (end, other) = (each for each in ends if each is not None)
    if unit != other:
        try:
            end = units.convert(end, other, unit) if unit and other else math.nan
        except units.UnitError:
            end = math.nan
        if math.isnan(end):
            problems.append(
                node.problem(
                    where,
                    f"{unit or 'a bare number'} and {other or 'a bare number'} are not one unit",
                    "write both ends in one unit",
                )
            )
            return None
    spaced = bool(log and log.value)
    if spaced and min(start, end) <= 0:
        problems.append(node.problem(where, "a logarithmic range needs ends above zero", "write log: false"))
        return None
    whole = not unit and all(isinstance(node.get(key).value, int) for key in ("from", "to"))  # type: ignore[union-attr]
    return Axis(path, (), start, end, steps, unit, spaced, whole)


def _end(node: Node, key: str, where: tuple[str, ...], problems: list[Problem]) -> tuple[float, str] | None:
    """Number and unit of one end."""
    each = node.get(key)
    if each is None:
        problems.append(node.problem((*where, key), "is missing", f"write {key}: 1"))
        return None
    number, unit = plain(each.value)
    if number is None:
        problems.append(each.problem((*where, key), f"{each.value!r} is no number", "write for example 30 s"))
        return None
    return float(number), unit


def _whole(
    node: Node,
    key: str,
    default: int,
    least: int,
    most: int,
    problems: list[Problem],
    where: tuple[str, ...] = (),
) -> int:
    each = node.get(key)
    if each is None:
        return default
    if not isinstance(each.value, int) or isinstance(each.value, bool) or not least <= each.value <= most:
        problems.append(
            each.problem(
                (*where, key),
                f"{each.value!r} is no whole number from {least} to {most:,}",
                f"write {key}: {max(least, 5)}",
            )
        )
        return default
    return each.value


def _word(node: Node | None, problems: list[Problem]) -> str:
    if node is None:
        return SAMPLINGS[0]
    if node.value not in SAMPLINGS:
        problems.append(
            node.problem(
                ("sampling",),
                f"{node.value!r} is not one of the choices",
                f"write one of {', '.join(SAMPLINGS)}",
            )
        )
        return SAMPLINGS[0]
    return str(node.value)


def _outputs(node: Node | None, problems: list[Problem]) -> tuple[str, ...]:
    if node is None:
        return OUTPUTS
    if not isinstance(node.value, list) or not all(isinstance(each.value, str) for each in node.value):
        problems.append(node.problem(("outputs",), "is no list of paths", f"write [{OUTPUTS[0]}]"))
        return OUTPUTS
    return tuple(str(each.value) for each in node.value)
