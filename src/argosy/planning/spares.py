"""Nodes on top of a job's: hot spares that suffice, spares inside racks, copies of redundant nodes."""

from __future__ import annotations

from dataclasses import dataclass

from argosy.facility import node_power, pack
from argosy.facts import FactError, Values
from argosy.reliability import FailureRates, Hazards, RackStock, Recovery, failure_rates, racks
from argosy.reliability.batches import batch_quantile
from argosy.reliability.domains import Domain, Housing, domain_tree, populations
from argosy.reliability.stated import hazards
from argosy.spec import Fleet, Reliability, Scenario

MOST_RACKS = 100  # spare racks that are tried; beyond that spares are not the remedy


@dataclass(frozen=True)
class Failing:
    """What fails in a fleet: its tree of domains, rates, hazards beyond them, and notes on what was left out."""

    tree: dict[str, Domain]
    rates: FailureRates
    hazards: Hazards
    notes: list[str]


def failing(scenario: Scenario, fleet: Fleet, values: Values, node_size: int, hot_spares: int) -> Failing:
    """The scenario's failures on `fleet`, whose names are resolved and whose spares are all its extra nodes."""
    settings, nodes = scenario.reliability, -(-fleet.count // node_size)
    tree = domain_tree(values, fleet, node_size, _housing(scenario, fleet, values, node_size))
    share = nodes / (nodes + (fleet.spares.nodes or 0))  # parts of spare nodes do not stop the job
    parts = {name: count * share for name, count in populations(tree).items() if name not in ("gpu", "host")}
    overrides = {name: override.rate_per_s for name, override in settings.overrides.items()}
    rates = failure_rates(values, settings.preset, fleet.count, nodes, overrides, parts)
    rates, beyond, notes = hazards(values, settings, tree, rates, nodes, hot_spares, node_size)
    return Failing(tree, rates, beyond, notes)


def _housing(scenario: Scenario, fleet: Fleet, values: Values, node_size: int) -> Housing:
    """How the fleet's nodes stand in racks, as the facility packs them at central facts."""
    settings, central = scenario.facility, Values(values.facts)
    assert fleet.node is not None  # its names are resolved
    node = node_power(central, fleet.node.name, fleet.accelerator.name, node_size, settings.power_cap)
    packed = pack(central, settings.cooling, -(-fleet.count // node_size), node.capped_w, node.per_rack)
    return Housing(int(packed.nodes_per_rack), float(node.nameplate_w), settings.cooling != "air")


def sufficient_spares(scenario: Scenario, fleet: Fleet, values: Values, node_size: int) -> int:
    """Hot spare nodes that suffice at 99.9 % of moments, by failure rates, shared domains and repair times.

    Never more than the fleet's own nodes: where that many fail, spares are not the remedy. With spares inside racks these
    are whole racks.
    """
    given, nodes = scenario.reliability, -(-fleet.count // node_size)
    found = failing(scenario, fleet, values, node_size, 0)
    inside = racks(given, node_size)
    if inside is not None and inside.nodes > inside.needed:
        return _spare_racks(
            found.rates, given, RackStock(-(-nodes // inside.needed), inside.nodes, inside.needed)
        )
    return min(spares_for(found, given, nodes), nodes)


def spares_for(found: Failing, given: Reliability, nodes: int) -> int:
    """The quantile of nodes in repair: single nodes, and those of racks, switches and power domains all at once."""
    copies = given.copies if given.policy == "redundancy" else 1
    sizes, means = [1], [float(found.rates.node_per_s) * copies * given.repair.time]
    for shock in found.hazards.shocks:
        if shock.effect == "lose":
            repair = given.repair.time if shock.repair_s is None else float(shock.repair_s)
            sizes.append(max(1, round(shock.nodes * shock.reach)))
            means.append(float(shock.rate_per_s) * shock.count(nodes) * repair)
    if sum(size * mean for size, mean in zip(sizes, means, strict=True)) >= nodes:
        return nodes  # more are in repair than work
    return batch_quantile(sizes, means)


def _spare_racks(rates: FailureRates, given: Reliability, stock: RackStock) -> int:
    """Nodes of the spare racks with which the job waits less than 0.1 % of the time."""
    for number in range(MOST_RACKS):
        spare = Recovery(0.0, 0.0, spare_nodes=number * stock.nodes, repair_s=given.repair.time, racks=stock)
        if spare.wait_share(rates.node_per_s) < 1e-3:
            break
    return number * stock.nodes


def check_racks(given: Reliability, accelerator: str, values: Values) -> None:
    """FactError where the racks that should carry spares are not this accelerator's scale-up domains."""
    domain = int(values.facts[f"accelerators.{accelerator}.scale_up_domain"].value)
    if given.rack_spares is not None and given.rack_spares.of != domain:
        raise FactError(
            f"reliability.rack_spares: racks of {given.rack_spares.of}, but {domain} {accelerator} share a scale-up "
            f"domain; write of: {domain}, or leave it out"
        )


def standing_by(given: Reliability, nodes: int, node_size: int) -> int:
    """Nodes beyond the job's `nodes` that only stand in for certain others: spares in their racks, copies of each."""
    inside = racks(given, node_size)
    in_racks = -(-nodes // inside.needed) * (inside.nodes - inside.needed) if inside else 0
    return in_racks + (nodes * (given.copies - 1) if given.policy == "redundancy" else 0)
