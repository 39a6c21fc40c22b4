"""The scenario: everything that an answer depends on, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from argosy.spec.facility import Facility, Prices
from argosy.spec.fleet import Fleet
from argosy.spec.quantity import ASSUMPTION, Section, required, setting
from argosy.spec.reliability import Reliability
from argosy.spec.serving import Services
from argosy.spec.training import TrainingJobs


class Assertion(Section):
    """A line of `assert:`: path, comparison, quantity. It is compared, never evaluated as code."""

    path: str
    comparison: Literal["<", "<=", ">", ">=", "=="]
    quantity: str

    def __str__(self) -> str:
        return f"{self.path} {self.comparison} {self.quantity}"


class Assumptions(Section):
    """Facts that this scenario changes, e.g. as `argosy calibrate` wrote them."""

    overrides: dict[str, Any] = setting(
        dict, "a file, or a mapping: fact path → quantity or {value, low, high, source}", "none changed"
    )


@dataclass(frozen=True)
class Defaulted:
    """A field that the file left out: its path, the value that stands in, its SI unit, its source."""

    path: str
    value: Any
    unit: str
    source: str

    @property
    def is_assumption(self) -> bool:
        """True where no source stands behind the value."""
        return self.source.startswith(ASSUMPTION)


class Scenario(Section):
    """A fleet, what it does, how it fails, where it stands, what it costs. Quantities are in SI units."""

    name: str = required("a name for reports")
    fleet: Fleet = required("accelerators, nodes, fabrics, storage, spares")
    training: TrainingJobs = setting(tuple, "one training job or a list", "none")
    serving: Services = setting(tuple, "one service or a list", "none")
    reliability: Reliability = setting(Reliability, "failures and what happens then", "see its fields")
    facility: Facility = setting(Facility, "site, cooling, power", "see its fields")
    prices: Prices = setting(Prices, "what things cost", "see its fields")
    assumptions: Assumptions = setting(Assumptions, "facts that this scenario changes", "none changed")
    assertions: tuple[Assertion, ...] = setting(
        tuple, "conditions on the plan, checked after planning", "none", alias="assert"
    )
