"""The scenario: everything that an answer depends on, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, model_validator

from argosy.spec import assertions, canonical
from argosy.spec.capacity import Capacity
from argosy.spec.facility import Facility
from argosy.spec.fleet import Fleet
from argosy.spec.model import ModelArchitecture
from argosy.spec.prices import Prices
from argosy.spec.quantity import (
    ASSUMPTION,
    MODEL_FACTS,
    ByName,
    Section,
    Shorthand,
    required,
    setting,
    unit_of,
)
from argosy.spec.reliability import Reliability
from argosy.spec.scheduling import Scheduling
from argosy.spec.serving import Services
from argosy.spec.training import TrainingJobs

if TYPE_CHECKING:
    from argosy.facts import Catalog


class Assertion(Section):
    """A line of `assert:`: path, comparison, quantity. It is compared, never evaluated as code."""

    path: str = required("path in the plan's JSON; members of lists by name or index")
    comparison: Literal["<", "<=", ">", ">=", "=="] = required("how the plan's value must compare")
    quantity: str = required("what it is compared with; without a unit, the unit that the path's key names")

    @model_validator(mode="before")
    @classmethod
    def _from_line(cls, given: Any) -> Any:
        return assertions.parse(given) if isinstance(given, str) else given

    def __str__(self) -> str:
        return f"{self.path} {self.comparison} {self.quantity}"


_LINE = Shorthand(
    lambda given: given, {"type": "string", "examples": ["training.pretrain.schedule.days.p90 <= 90"]}
)


class Assumptions(Section):
    """Facts that this scenario changes, e.g. as `argosy calibrate` wrote them."""

    overrides: Annotated[dict[str, Any], ByName] = setting(
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
    capacity: Capacity | None = setting(None, "deliveries and demand by quarter, for argosy capacity", "none")
    scheduling: Scheduling | None = setting(
        None, "the cluster's queue: jobs, policy, quotas, planned work, for argosy schedule", "none"
    )
    assumptions: Assumptions = setting(Assumptions, "facts that this scenario changes", "none changed")
    assertions: tuple[Annotated[Assertion, _LINE], ...] = setting(
        tuple, "conditions on the plan, checked after planning", "none", alias="assert"
    )

    @cached_property
    def hash(self) -> str:
        """`1-` and the SHA-256 of what the scenario means; the same for every spelling of it."""
        return canonical.digest(self)

    def defaulted(self) -> list[Defaulted]:
        """Every field that the file left out, with the value that stands in and where that comes from."""
        listed = list(_defaulted(self, "", False))
        storage = self.fleet.storage_bandwidth_bytes_per_s
        return [
            replace(each, value=storage) if each.path == "fleet.storage.bandwidth" else each
            for each in listed
        ]

    def catalog(self, base: Catalog | None = None) -> Catalog:
        """The shipped catalog (or `base`) with the facts that this scenario changes; raises FactError."""
        from argosy.facts import load_catalog

        catalog = base if base is not None else load_catalog()
        for section, choice in (("accelerators", self.fleet.accelerator), ("nodes", self.fleet.node)):
            if choice is None:
                continue
            if choice.base is not None:
                catalog = catalog.with_entry(section, choice.name, choice.facts, base=choice.base)
            elif choice.facts:
                changed = {f"{section}.{choice.name}.{fact}": value for fact, value in choice.facts.items()}
                catalog = catalog.with_overrides(changed)
        overrides = {
            path: each
            for path, each in self.assumptions.overrides.items()
            if not path.startswith(MODEL_FACTS)
        }
        return catalog.with_overrides(overrides) if overrides else catalog


def _defaulted(section: BaseModel, path: str, whole: bool) -> Iterator[Defaulted]:
    """Fields of `section` that nobody set; all of them where the `whole` section was left out."""
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        where = f"{path}.{field.alias or name}" if path else field.alias or name
        absent = whole or name not in section.model_fields_set
        if isinstance(value, ModelArchitecture):
            continue
        if isinstance(value, Section):
            yield from _defaulted(value, where, absent)
        elif isinstance(value, tuple) and value and isinstance(value[0], Section):
            for index, member in enumerate(value):
                yield from _defaulted(member, f"{where}.{getattr(member, 'name', '') or index}", absent)
        elif absent and not field.is_required():
            extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
            yield Defaulted(where, value, unit_of(field), str(extra.get("source", ASSUMPTION)))
