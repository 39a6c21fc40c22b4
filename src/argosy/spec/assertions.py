"""The `assert:` lines of a scenario: read, and compared with a plan. Nothing is evaluated as code."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argosy import units
from argosy.spec.problems import suggest

if TYPE_CHECKING:
    from argosy.spec.scenario import Assertion, Scenario

_LINE = re.compile(r"\s*(?P<path>[^\s<>=]+)\s*(?P<comparison><=|>=|==|<|>)\s*(?P<quantity>[^<>=]+?)\s*")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": lambda a, b: math.isclose(a, b, rel_tol=1e-9),
}
_EXAMPLE = "write for example training.pretrain.schedule.days.p90 <= 90"
# Keys that say their unit by their whole name, then by how they end; the longer ending wins.
_NAMED = {
    "usd": "USD",
    "w": "W",
    "days": "d",
    "gpu_hours": "h",
    "tokens_per_gpu_hour": "1",
    "tokens_per_s": "1",
    "tokens_per_gpu_s": "1",
}
_ENDINGS = {
    "_bytes_per_s": "byte/s",
    "_bps_per_direction": "bit/s",
    "_usd_per_gpu_hour": "USD/h",
    "_bytes": "byte",
    "_bps": "bit/s",
    "_flops": "FLOP/s",
    "_kwh": "kWh",
    "_usd": "USD",
    "_kg": "kg",
    "_ms": "ms",
    "_w": "W",
    "_j": "J",
    "_s": "s",
}


@dataclass(frozen=True)
class AssertionResult:
    """One assertion against one plan: whether it holds, both values in `unit`, and a sentence about it."""

    assertion: Assertion
    holds: bool
    actual: float | str | None
    limit: float | str
    unit: str
    message: str


def parse(line: str) -> dict[str, str]:
    """Path, comparison and quantity of a line; ValueError with what to write instead."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError(f"{line!r} is not `path comparison quantity`; {_EXAMPLE}")
    parts = match.groupdict()
    if not all(parts["path"].split(".")):
        raise ValueError(f"{parts['path']!r} is not a path; {_EXAMPLE}")
    _limit(parts["quantity"], unit_of(parts["path"]))
    return parts


def unit_of(path: str) -> str:
    """The unit of the value at a path of the plan, from the nearest key that names one; `1` without."""
    for key in reversed(path.split(".")):
        if key in _NAMED:
            return _NAMED[key]
        if "_per_" in key and not key.endswith(("_bytes_per_s", "_bps_per_direction")):
            return "1"
        for ending, unit in _ENDINGS.items():
            if key.endswith(ending):
                return unit
    return "1"


def _limit(quantity: str, unit: str) -> float | str:
    """The number of a quantity in `unit`; a word (feasible) stays a word."""
    if re.fullmatch(r"[A-Za-z][\w-]*", quantity) and unit == "1":
        return quantity
    return units.parse(quantity, unit, bare=True)


def check_assertions(scenario: Scenario, plan: Mapping[str, Any]) -> list[AssertionResult]:
    """Every assertion of `scenario` against the JSON of its plan, in order.

    A path that the plan does not have, or a value that does not apply (null), misses; the message says so.
    """
    return [_check(assertion, plan) for assertion in scenario.assertions]


def _check(assertion: Assertion, plan: Mapping[str, Any]) -> AssertionResult:
    unit = unit_of(assertion.path)
    limit = _limit(assertion.quantity, unit)
    try:
        actual = value_at(plan, assertion.path)
    except LookupError as error:
        return AssertionResult(assertion, False, None, limit, unit, f"{assertion}: {error.args[0]}")
    if isinstance(limit, str) or isinstance(actual, str):
        holds = assertion.comparison == "==" and actual == limit
        verdict = "holds" if holds else "misses"
        return AssertionResult(
            assertion, holds, actual, limit, unit, f"{assertion}: {verdict}, the plan has {actual}"
        )
    if actual is None:
        message = f"{assertion}: misses, the plan has no value there (null: it does not apply)"
        return AssertionResult(assertion, False, None, limit, unit, message)
    holds = _COMPARE[assertion.comparison](actual, limit)
    shown = f"{actual:.6g}" if unit == "1" else units.format(actual, unit)
    message = f"{assertion}: {'holds' if holds else 'misses'}, the plan has {shown}"
    return AssertionResult(assertion, holds, actual, limit, unit, message)


def value_at(plan: Any, path: str) -> float | str | None:
    """The value at a path; LookupError with the keys that there are."""
    here = plan
    walked: list[str] = []
    for step in path.split("."):
        members = _members(here)
        if step not in members:
            place = ".".join(walked) or "the plan"
            hint = suggest(step, members) if members else "it has no parts"
            raise LookupError(f"{place} has no {step!r}; {hint}")
        here = members[step]
        walked.append(step)
    if isinstance(here, Mapping) and "nominal" in here:
        here = here["nominal"]
    if isinstance(here, bool) or not (here is None or isinstance(here, int | float | str)):
        raise LookupError(
            f"{path} is not a single value; {suggest('', _members(here)) or 'name a part of it'}"
        )
    return here


def _members(here: Any) -> dict[str, Any]:
    """What a step can name: keys of a mapping; members of a list by index, name or role."""
    if isinstance(here, Mapping):
        return dict(here)
    if isinstance(here, list | tuple):
        members: dict[str, Any] = {str(index): each for index, each in enumerate(here)}
        for each in reversed(here):
            if isinstance(each, Mapping):
                members |= {str(each[key]): each for key in ("role", "name") if key in each}
        return members
    return {}
