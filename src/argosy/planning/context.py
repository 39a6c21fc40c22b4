"""A scenario made concrete: its catalog entries, its facts as numbers, its fleet in nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from argosy.facts import Catalog, FactError, Values, load_catalog
from argosy.spec import CatalogChoice, Fleet, Scenario
from argosy.training import device_facts, residual_facts, stack_facts

STACKS = "stacks."


@dataclass(frozen=True)
class Context:
    """What every part of a plan reads: the scenario, the catalog with its overrides, and one set of numbers.

    `values` holds central numbers (scalars) or draws (n,); `drawn` gives the same context over draws.
    """

    scenario: Scenario
    catalog: Catalog
    values: Values
    accelerator: str
    node: str
    node_size: int

    @property
    def fleet(self) -> Fleet:
        """The scenario's fleet, its catalog names resolved."""
        return self.scenario.fleet

    @property
    def nodes(self) -> int:
        """Nodes that the job uses, spares apart."""
        return -(-self.fleet.count // self.node_size)

    @property
    def spare_accelerators(self) -> int:
        """Accelerators in hot spare nodes, on top of the fleet's count."""
        return self.fleet.spares.nodes * self.node_size

    def drawn(self, count: int, seed: int) -> Context:
        """The same scenario over `count` joint draws of its facts."""
        return replace(self, values=self.values.sample(count, seed))


def context(scenario: Scenario) -> Context:
    """The scenario with its overrides applied and its names resolved. FactError for names the catalog does not have."""
    catalog = load_catalog()
    stack_overrides, other = {}, {}
    for path, value in scenario.assumptions.overrides.items():
        (stack_overrides if path.startswith(STACKS) else other)[path] = value
    if other:
        catalog = catalog.with_overrides(other, "assumptions.overrides")
    catalog, accelerator = _resolved(catalog, "accelerators", scenario.fleet.accelerator)
    choice = scenario.fleet.node or _usual_node(catalog, accelerator)
    catalog, node = _resolved(catalog, "nodes", choice)
    facts = {**catalog.facts, **device_facts(), **residual_facts(), **stack_facts(), **_stack_overrides(stack_overrides)}
    node_size = int(facts[f"nodes.{node}.accelerators"].value)
    fleet = scenario.fleet.model_copy(update={"accelerator": CatalogChoice(name=accelerator), "node": CatalogChoice(name=node)})
    return Context(scenario.model_copy(update={"fleet": fleet}), catalog, Values(facts), accelerator, node, node_size)


def _resolved(catalog: Catalog, section: str, choice: CatalogChoice) -> tuple[Catalog, str]:
    """The catalog with the choice's changed facts, and the entry's own name."""
    name = catalog.entry(section, choice.name).name
    if choice.facts:
        overrides = {f"{section}.{name}.{fact}": value for fact, value in choice.facts.items()}
        catalog = catalog.with_overrides(overrides, f"fleet.{section[:-1]}")
    return catalog, name


def _usual_node(catalog: Catalog, accelerator: str) -> CatalogChoice:
    """The first node of the catalog that carries this accelerator."""
    for entry in catalog.section("nodes"):
        if entry.text.get("accelerator") == accelerator:
            return CatalogChoice(name=entry.name)
    raise FactError(f"no node of the catalog carries {accelerator}; write fleet.node: with a catalog name")


def _stack_overrides(overrides: dict[str, Any]) -> dict[str, Any]:
    """Facts of the software stack that the scenario changes, by path."""
    known = stack_facts()
    changed = {}
    for path, given in overrides.items():
        if path not in known:
            raise FactError(f"no fact {path!r}; known: {', '.join(name for name in known if name.endswith(path.rsplit('.', 1)[-1]))}")
        fields = given if isinstance(given, dict) else {"value": given}
        numbers = {key: float(fields[key]) for key in ("value", "low", "high") if key in fields}
        numbers.setdefault("low", numbers["value"])
        numbers.setdefault("high", numbers["value"])
        changed[path] = replace(known[path], **numbers, source=str(fields.get("source", "scenario")))
    return changed
