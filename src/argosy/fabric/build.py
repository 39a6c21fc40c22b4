"""From a scenario's fleet to the `Network` that training asks: nested domains, shares, pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from argosy.fabric import pairs
from argosy.fabric.analysis import oversubscription
from argosy.fabric.fleet import NOT_TREES, fleet_design, fleet_protocol, fleet_topology
from argosy.fabric.network import Level, TieredNetwork
from argosy.fabric.paths import hop_histogram
from argosy.fabric.topologies import Design, DesignError, Topology, build
from argosy.fabric.topologies.direct import supernode_domains, torus_links_of_chip
from argosy.fabric.torus import TorusNetwork
from argosy.facts import load_catalog

Array = Any


@dataclass(frozen=True)
class Outer:
    """A level outside the scale-up domain.

    `size`: accelerators in one domain (`inf` for the outermost); `bandwidth`: byte/s one way per accelerator;
    `delivered`: share of it that large messages get; `hop_s`: seconds that its further switches add to a hop.
    """

    name: str
    size: float
    bandwidth: Array
    delivered: Array
    hop_s: Array = 0.0


HABIT = {"infiniband": "adaptive", "roce": "ecmp", "efa": "spray", "ici": "static", "ub": "static"}
TORUS_PROTOCOL, SUPERNODE_PROTOCOL = "ici", "ub"  # of accelerators joined without hosts in the path


@dataclass(frozen=True)
class Transport:
    """How messages travel between hosts: protocol, routing (None: the protocol's habit), and the share of the
    wire that large ones get (None: the measured share of the protocol).
    """

    protocol: str
    routing: str | None = None
    delivered: float | None = None


def build_network(fleet: Any, values: Any, used: int | None = None) -> TieredNetwork | TorusNetwork:
    """The network of a fleet's compute fabric, its domains and shares found from the cable list.

    `fleet`: spec.Fleet; `values`: facts.Values (scalars, or draws of shape (n,), which the network then
    carries). A supernode's own fabric gives the levels inside it; what joins supernodes is the first other
    compute fabric. `used`: accelerators of one scale-up domain that the job takes, where its others are spares
    (64 of 72); None: all. FactError (DesignError) for names and topologies that are not known.
    """
    accelerator = load_catalog().entry("accelerators", fleet.accelerator.name).name
    domain = int(values.facts[f"accelerators.{accelerator}.scale_up_domain"].value)
    domain = min(domain, used or domain)
    fabric = fleet.compute_fabric
    if fabric.topology == "torus":
        return torus_network(fleet, fabric, values, accelerator)
    inner = None
    if fabric.topology == "supernode":
        inner = fabric
        fabric = next((f for f in fleet.fabrics if f.role == "compute" and f.topology not in NOT_TREES), None)
        if fabric is None:
            return _one_supernode(fleet, inner, values, accelerator, domain)
    transport = Transport(fleet_protocol(fleet, fabric), fabric.routing, fabric.delivered)
    balanced = fabric.pods if fabric.placement == "balanced" else None
    topology = fleet_topology(fleet, fabric)
    network = network_over(topology, values, accelerator, domain, transport, fleet.count, balanced)
    return network if inner is None else _with_supernode(network, inner, values, accelerator, domain)


def torus_network(fleet: Any, fabric: Any, values: Any, accelerator: str) -> TorusNetwork:
    """The torus of a fleet. A hop takes the transport's share of NCCL's shortest network hop (an assumption)."""
    design = fleet_design(fleet, fabric)
    protocol = fabric.protocol or TORUS_PROTOCOL
    sides = design.shape or ()
    return TorusNetwork(
        sides,
        values[f"accelerators.{accelerator}.scale_up_bandwidth"] / torus_links_of_chip(sides),
        fabric.delivered or values[f"transports.{protocol}.delivered"],
        values[f"transports.{protocol}.latency_scale"] * pairs.NET_RING_S[0],
        mean_links=twisted_mean_links(design),
    )


def twisted_mean_links(design: Design) -> float | None:
    """Links on a shortest path of a twisted torus, mean over all pairs, a chip's with itself included; None without
    a twist.
    """
    if not design.twist:
        return None
    rows, _ = hop_histogram(build(design))
    return sum(row.pairs * (row.links or 0) for row in rows) / design.hosts**2


def _one_supernode(fleet: Any, fabric: Any, values: Any, accelerator: str, domain: int) -> TieredNetwork:
    """A fleet that is no larger than one supernode."""
    if fleet.count > domain:
        raise DesignError(
            f"{fleet.count} accelerators are more than one supernode of {domain}: add a compute fabric "
            "that joins them by their cards, such as {role: compute, topology: fat-tree}"
        )
    generation = pairs.nearest_generation(
        float(values.facts[f"accelerators.{accelerator}.scale_up_bandwidth"].value)
    )
    measured = pairs.links_of_chip(
        load_catalog().entry("accelerators", accelerator).text.get("generation", "")
    )
    rate = values[f"accelerators.{accelerator}.scale_up_bandwidth"]
    network = tiered_network(
        measured or generation, domain, rate, [], 1.0, fleet.count, reduces=bool(measured)
    )
    return _with_supernode(network, fabric, values, accelerator, domain)


def _with_supernode(
    network: TieredNetwork, fabric: Any, values: Any, accelerator: str, domain: int
) -> TieredNetwork:
    """The network with the scale-up domain as the supernode's cables show it: its switch tiers as levels.

    NVL72 has one tier, whose pairs were measured. A supernode of two tiers (CloudMatrix384) has a level per
    tier: the node's switch chips, then those above, over which a pass takes the transport's hop.
    """
    nodes = supernode_domains(domain)
    if len(nodes) == 1:
        return network
    protocol = fabric.protocol or SUPERNODE_PROTOCOL
    share = fabric.delivered or values[f"transports.{protocol}.delivered"]
    scale = values[f"transports.{protocol}.latency_scale"]
    own = network.levels[0]
    above = Level(
        "supernode", domain, values[f"accelerators.{accelerator}.scale_up_bandwidth"],
        pairs.network_ring_pairs(share, scale), pairs.network_exchange_pairs(share, scale),
    )  # fmt: skip
    return replace(network, levels=(replace(own, size=nodes[0]), above, *network.levels[1:]))


def network_over(
    topology: Topology,
    values: Any,
    accelerator: str,
    domain: int,
    transport: Transport,
    count: int,
    balanced_pods: int | None = None,
) -> TieredNetwork:
    """The network of `count` accelerators (a catalog name), `domain` of them joined by scale-up links, over a
    topology.

    `balanced_pods`: pods that the job fills evenly; None: it fills them in order.
    """
    entry = load_catalog().entry("accelerators", accelerator)
    scale_up = f"accelerators.{entry.name}.scale_up_bandwidth"
    measured = pairs.links_of_chip(entry.text.get("generation", ""))
    generation = measured or pairs.nearest_generation(float(values.facts[scale_up].value))
    delivered = transport.delivered or values[f"transports.{transport.protocol}.delivered"]
    routing = values[f"routing.{transport.routing or HABIT[transport.protocol]}.share"]
    pod = count / balanced_pods if balanced_pods else None
    outer = [
        level
        for level in outer_levels(topology, delivered, routing, values, pod)
        if level.size
        > domain  # a leaf no larger than the scale-up domain joins nothing that is not joined already
    ]
    latency = values[f"transports.{transport.protocol}.latency_scale"]
    start = values.get(f"transports.{transport.protocol}.start", 0.0)
    return tiered_network(
        generation, domain, values[scale_up], outer, latency, count, start, measured is not None
    )


def outer_levels(
    topology: Topology, delivered: Array, routing: Array, values: Any, pod: float | None = None
) -> list[Outer]:
    """The levels outside the scale-up domain: at each, the wires that join what lies inside it.

    The first level's wires are the hosts' cards; each further one's are the uplinks of the domains inside,
    per accelerator: the cards' rate over the oversubscription that the cables show. Routing shares the
    uplinks. `pod`: accelerators of the job in one pod, where that is not the pod's whole size.
    """
    design = topology.design
    per_host = design.accelerators_per_host or design.nics_per_host
    slowest = min([rate for _, rate in design.host_rates], default=design.rate)  # a collective waits for it
    rate = design.nics_per_host * min(slowest, design.rate) / 8 / per_host
    shares = list(oversubscription(topology.cables).values())
    levels: list[Outer] = []
    switches, share = 1, delivered
    for index, inside in enumerate(topology.domains):
        size = pod if pod and inside.name == "pod" else inside.hosts * per_host
        levels.append(Outer(inside.name, size, rate, share, hop_seconds(topology, switches, values)))
        rate = rate / max(shares[index], 1.0)
        switches, share = switches + 2, delivered * routing
    return [*levels, Outer("all", math.inf, rate, share, hop_seconds(topology, switches, values))]


def hop_seconds(topology: Topology, switches: int, values: Any) -> Array:
    """What the switches of a path add to a hop beyond the first one (s): NCCL's constants hold for a small
    network.
    """
    design = topology.design
    leaf = values.get(f"switches.{design.switch}.latency", 0.0)
    above = values.get(f"switches.{design.upper_switch or design.switch}.latency", 0.0)
    return 0.0 if switches == 1 else leaf + (switches - 2) * above


def tiered_network(
    generation: str,
    domain: int,
    scale_up: Array,
    outer: Sequence[Outer],
    latency_scale: Array,
    accelerators: int,
    leave_s: Array = 0.0,
    reduces: bool = True,
) -> TieredNetwork:
    """A network from its numbers: scale-up `generation`, `domain` size and rate (byte/s), then the outer
    levels.

    `latency_scale`: times NCCL's network latencies; `leave_s`: seconds that the transport takes to start;
    `reduces`: whether the scale-up switches can add (NVLS).
    """
    inner = pairs.scale_up_pairs(generation)
    levels = [Level("scale-up", domain, scale_up, inner.ring, inner.exchange)]
    for one in outer:
        ring = pairs.network_ring_pairs(one.delivered, latency_scale, one.hop_s)
        exchange = pairs.network_exchange_pairs(one.delivered, latency_scale, one.hop_s)
        levels.append(Level(one.name, one.size, one.bandwidth, ring, exchange))
    return TieredNetwork(
        tuple(levels),
        accelerators,
        inner.ring_base_s,
        pairs.TREE_BASE_S,
        inner.exchange_base_s,
        pairs.RELAY_S,
        inner.ring_few_ranks,
        inner.exchange_few_ranks,
        tuple(
            replace(reduction, hop_s=reduction.hop_s * latency_scale)
            for reduction in inner.in_network
            if reduces and domain >= reduction.members
        ),
        leave_s,
    )
