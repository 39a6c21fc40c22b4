"""A scenario made concrete: its catalog entries, its facts as numbers, its fleet in nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from argosy.facility import spot_interruptions_per_s
from argosy.facts import Catalog, Fact, FactError, Values
from argosy.facts.catalog import suggest
from argosy.facts.overrides import read_fact
from argosy.planning.spares import check_racks, standing_by, sufficient_spares
from argosy.reliability import racks
from argosy.spec import CatalogChoice, Fleet, RateOverride, Scenario, Spares, Training
from argosy.spec.quantity import MODEL_FACTS
from argosy.training import PRESETS, device_facts, residual_facts, stack_facts
from argosy.training.memory_traits import memory_facts

INTERRUPTION = "spot-interruption"  # the failure category of a node that its provider takes back


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
    given: Scenario  # as the file says it, before names and `auto` were resolved: what its hash stands for

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
        return self.spare_nodes * self.node_size

    @property
    def scale_up_domain(self) -> int:
        """Accelerators of one scale-up domain that jobs use: all, or those that are not spares inside the rack."""
        whole = int(self.values.facts[f"accelerators.{self.accelerator}.scale_up_domain"].value)
        spares = self.scenario.reliability.rack_spares
        return min(whole, spares.needed) if spares else whole

    @property
    def spare_nodes(self) -> int:
        """Nodes on top of the job's: hot spares, spares inside racks, and the copies of redundant nodes."""
        return self.fleet.spares.nodes or 0

    @property
    def racks(self) -> int:
        """Racks that carry spares of their own; 0 where the scenario has none."""
        given = racks(self.scenario.reliability, self.node_size)
        return -(-self.nodes // given.needed) if given else 0

    @property
    def hot_spares(self) -> int:
        """Nodes that stand by for any place: those given, or those that suffice (settled when the context was made)."""
        return self.spare_nodes - standing_by(self.scenario.reliability, self.nodes, self.node_size)

    def drawn(self, count: int, seed: int) -> Context:
        """The same scenario over `count` joint draws of its facts."""
        return replace(self, values=self.values.sample(count, seed))


def context(scenario: Scenario) -> Context:
    """The scenario with its overrides applied and its names resolved. FactError for names the catalog does not have."""
    catalog = scenario.catalog()
    overrides = scenario.assumptions.overrides
    own = {path: fact for path, fact in overrides.items() if path.startswith(MODEL_FACTS)}
    for job in scenario.training:
        own |= {f"stacks.{stack_name(job)}.{name}": fact for name, fact in job.assume.items()}
    accelerator = catalog.entry("accelerators", scenario.fleet.accelerator.name).name
    choice = scenario.fleet.node or _usual_node(catalog, accelerator)
    node = catalog.entry("nodes", choice.name).name
    model_facts = {**device_facts(), **residual_facts(), **memory_facts(), **stack_facts()}
    facts = {**catalog.facts, **model_facts, **_model_overrides(model_facts, own)}
    node_size = int(facts[f"nodes.{node}.accelerators"].value)
    update: dict[str, Any] = {
        "accelerator": CatalogChoice(name=accelerator),
        "node": CatalogChoice(name=node),
    }
    values = Values(facts)
    given, scenario = scenario, _with_interruptions(scenario, values)
    check_racks(scenario.reliability, accelerator, values)
    others = standing_by(scenario.reliability, -(-scenario.fleet.count // node_size), node_size)
    hot = scenario.fleet.spares.nodes
    if hot is None:
        bare = scenario.fleet.model_copy(update={**update, "spares": Spares(nodes=others)})
        hot = sufficient_spares(scenario, bare, values, node_size)
    update["spares"] = Spares(nodes=hot + others)
    fleet = scenario.fleet.model_copy(update=update)
    return Context(
        scenario.model_copy(update={"fleet": fleet}), catalog, values, accelerator, node, node_size, given
    )


def need_training(scenario: Scenario) -> None:
    """FactError where a scenario has no training job, for questions that are about one."""
    if not scenario.training:
        raise FactError(
            f"{scenario.name} has no training job; add training:, or ask argosy serving or argosy plan"
        )


def without_services(scenario: Scenario) -> list[str]:
    """What an answer about the training alone must tell where the scenario has services too."""
    if not scenario.serving:
        return []
    names = ", ".join(each.name for each in scenario.serving)
    return [
        f"without the services ({names}): the training is taken to have the whole fleet; argosy plan shares it, with the "
        "power and money of both"
    ]


def _with_interruptions(scenario: Scenario, values: Values) -> Scenario:
    """The scenario with the provider's interruptions among its failures, where its fleet is rented on the spot market.

    A rate under `reliability.overrides` stays as it is.
    """
    given = scenario.reliability
    rate = spot_interruptions_per_s(values, scenario.prices)
    if not rate or INTERRUPTION in given.overrides:
        return scenario
    overrides = {**given.overrides, INTERRUPTION: RateOverride(rate=rate, source="prices.spot_interruptions")}
    return scenario.model_copy(update={"reliability": given.model_copy(update={"overrides": overrides})})


def stack_name(job: Training) -> str:
    """The preset of a job's software stack; `auto` is today's common one. FactError for an unknown name."""
    name = "megatron-core" if job.stack == "auto" else job.stack
    if name not in PRESETS:
        raise FactError(f"training.{job.name}.stack: no software stack {name!r}; {suggest(name, PRESETS)}")
    return name


def _usual_node(catalog: Catalog, accelerator: str) -> CatalogChoice:
    """The first node of the catalog that carries this accelerator."""
    for entry in catalog.section("nodes"):
        if entry.text.get("accelerator") == accelerator:
            return CatalogChoice(name=entry.name)
    raise FactError(f"no node of the catalog carries {accelerator}; write fleet.node: with a catalog name")


def _model_overrides(known: dict[str, Fact], overrides: dict[str, Any]) -> dict[str, Fact]:
    """Facts of the training room that the scenario changes, by path; FactError for paths it does not have."""
    strange = [path for path in overrides if path not in known]
    if strange:
        raise FactError(
            *(f"assumptions.overrides: no fact {path!r}; {suggest(path, known)}" for path in strange)
        )
    changed = {}
    for path, given in overrides.items():
        fact = known[path]
        read = read_fact(given, fact.unit or "ratio", fact, f"assumptions.overrides: {path}")
        changed[path] = replace(read, unit=fact.unit)
    return changed
