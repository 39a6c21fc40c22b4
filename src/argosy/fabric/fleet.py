"""A scenario's fleet as fabrics: the design of each, its cable list, and its rows in the plan."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from argosy.fabric import analysis
from argosy.fabric.bill import bill
from argosy.fabric.record import design_record
from argosy.fabric.storage import MANAGEMENT_LINK, MANAGEMENT_SWITCH, management_design, storage_topology
from argosy.fabric.switches import catalog_kind, usual_switch, with_larger_switches, with_switch
from argosy.fabric.topologies import Design, DesignError, Topology, build
from argosy.fabric.topologies.direct import most_cubic, supernode_links, torus_links_of_chip
from argosy.facts import load_catalog

Array = Any

CARDS_ELSEWHERE = 1  # cards per node on a storage or management fabric that names none: an assumption
USUAL_PROTOCOL = "infiniband"  # where neither the scenario nor the node names one: an assumption
NOT_TREES = ("torus", "supernode")


def plan_fabric(fleet: Any, values: Any) -> list[dict[str, Any]]:
    """The rows of the plan's `fabrics`, one per fabric of the fleet.

    `fleet`: spec.Fleet; `values`: facts.Values. Rates are bit/s one way; `endpoints` are the ports built,
    whether or not the job uses them. `usd` and `w` are None where the catalog lacks a number, and `notes` say
    which. FactError (DesignError) for a name or a topology that is not known here.
    """
    return [fabric_row(fabric.role, fleet_topology(fleet, fabric), values) for fabric in fleet.fabrics]


def fabric_row(role: str, topology: Topology, values: Any) -> dict[str, Any]:
    """One fabric as the plan tells it."""
    cables = topology.cables
    costs = bill(topology, values)
    design = topology.design
    return {
        "role": role,
        "topology": design.topology,
        "tiers": [
            {"name": tier.name, "switches": tier.switches, "links": tier.links, "switch": tier.switch}
            for tier in analysis.tiers(cables)
        ],
        "hosts": cables.hosts,
        "endpoints": design.hosts * design.nics_per_host,
        "link_bps": design.rate,
        "design": design_record(design),
        "injection_bps_per_direction": analysis.injection_bps(cables),
        "bisection_bps_per_direction": analysis.bisection_bps(cables),
        "oversubscription": analysis.oversubscription(cables),
        "copies": design.pods or 1 if design.topology == "supernode" else 1,
        "usd": costs.usd,
        "w": costs.w,
        "bill": [asdict(line) for line in costs.lines],
        "problems": list(topology.problems),
        "notes": [*topology.notes, *_of_one(design), *costs.unknown],
    }


def _of_one(design: Design) -> list[str]:
    """That a row of several supernodes counts one of them."""
    if design.topology != "supernode" or (design.pods or 1) == 1:
        return []
    return [f"one of {design.pods} supernodes is drawn: ports, switches and rates are those of one"]


def fleet_topology(fleet: Any, fabric: Any) -> Topology:
    """The cable list of one fabric of a fleet; a storage fabric with its servers."""
    design = fleet_design(fleet, fabric)
    if fabric.role == "storage" and fabric.topology not in NOT_TREES:
        return storage_topology(fleet, design)
    topology = build(design)
    if topology.problems and design.topology == "multi-pod":
        for larger in with_larger_switches(design):
            above = build(larger)
            if not above.problems:
                return above
    return topology


def fleet_design(fleet: Any, fabric: Any) -> Design:
    """What the scenario asks of a fabric, with what it leaves open filled from the catalog.

    Spare nodes need ports too; a multi-pod fabric has the ports of all its pods, a management fabric one for
    every switch of the others. The servers of a storage fabric come with `fleet_topology`.
    """
    catalog = load_catalog()
    node = fleet_node(fleet)
    facts = catalog.entry("nodes", node).facts
    per_node = int(facts["accelerators"].value)
    managed = fabric.role == "management"
    link = fabric.link or (MANAGEMENT_LINK if managed else facts["nic_rate"].value)
    cards = fabric.nics_per_node or (
        int(facts["nics"].value) if fabric.role == "compute" else CARDS_ELSEWHERE
    )
    hosts = -(-fleet.count // per_node) + (fleet.spares.nodes or 0)
    pods = fabric.pods
    if fabric.topology == "multi-pod":
        pods, hosts = _pod_hosts(fabric, per_node, hosts)
    slow = fabric.slow_nodes
    design = Design(
        fabric.topology,
        hosts,
        cards,
        0,
        link,
        fabric.tiers,
        tuple(sorted(fabric.oversubscription.items())),
        pods,
        fabric.planes,
        fabric.shape,
        accelerators_per_host=per_node,
        hosts_per_rack=fabric.nodes_per_rack,
        kinds=tuple((tier, catalog_kind(name)) for tier, name in sorted(fabric.switches.items())),
        rates=tuple(sorted(fabric.link_rates.items())),
        host_rates=() if slow is None else ((slow.nodes, slow.link),),
        card_ports=fabric.card_ports or (2 if fabric.topology == "dual-tor" else 1),
        hosts_per_leaf=fabric.nodes_per_leaf,
        rails=fabric.rails,
        twist=fabric.twist,
    )
    if fabric.topology in NOT_TREES:
        return _direct_design(fleet, design)
    if managed:
        others = [fleet_topology(fleet, one) for one in fleet.fabrics if one.role != "management"]
        return with_switch(management_design(design, others), fabric.switch or MANAGEMENT_SWITCH)
    protocol = fleet_protocol(fleet, fabric)
    return with_switch(design, fabric.switch or usual_switch(link / design.card_ports, protocol))


def fleet_node(fleet: Any) -> str:
    """The catalog's name of the fleet's node: the one named, or the first that carries the accelerator."""
    catalog = load_catalog()
    if fleet.node is not None:
        return catalog.entry("nodes", fleet.node.name).name
    accelerator = catalog.entry("accelerators", fleet.accelerator.name).name
    for entry in catalog.section("nodes"):
        if entry.text.get("accelerator") == accelerator:
            return entry.name
    raise DesignError(f"no node of the catalog carries {accelerator}; write fleet.node: with a catalog name")


def fleet_protocol(fleet: Any, fabric: Any) -> str:
    """The fabric's transport: as asked, else the node's own, else InfiniBand."""
    node = load_catalog().entry("nodes", fleet_node(fleet))
    return str(fabric.protocol or node.text.get("protocol", USUAL_PROTOCOL))


def _pod_hosts(fabric: Any, per_node: int, needed: int) -> tuple[int, int]:
    """Pods of a multi-pod fabric and hosts that all of them hold; each pod is whole nodes, `needed` with the spares.

    Pods that are not given are as many as the fleet fills.
    """
    if not fabric.pods and not fabric.pod_accelerators:
        raise DesignError(
            "a multi-pod fabric needs the number or the size of its pods; write pods: 8 or pod_accelerators: 3072"
        )
    in_pod = fabric.pod_accelerators or -(-needed // fabric.pods) * per_node
    each = -(-in_pod // per_node)
    pods = fabric.pods or -(-needed // each)
    hosts = pods * each
    if hosts < needed:
        raise DesignError(
            f"{pods} pods of {in_pod} accelerators hold {hosts} nodes, fewer than the {needed} "
            "of the fleet with its spares"
        )
    return int(pods), int(hosts)


def _direct_design(fleet: Any, design: Design) -> Design:
    """A torus or supernode joins accelerators by their scale-up links: no cards, no separate switches."""
    accelerator = load_catalog().entry("accelerators", fleet.accelerator.name)
    one_way = accelerator.facts["scale_up_bandwidth"].value * 8
    domain = int(accelerator.facts["scale_up_domain"].value)
    if design.topology == "torus":
        if fleet.count > domain:
            raise DesignError(
                f"a torus of {fleet.count} is larger than the {domain} that the links of {accelerator.name} join"
            )
        sides = design.shape or most_cubic(fleet.count)
        rate = one_way / torus_links_of_chip(sides)
        return replace(design, hosts=fleet.count, nics_per_host=1, rate=rate, shape=sides)
    # Every supernode is wired alike: the drawing is of one, and `pods` says how many.
    generation = accelerator.text.get("generation", "")
    rate = one_way / supernode_links(domain, generation)
    copies = -(-fleet.count // domain)
    return replace(design, hosts=domain, nics_per_host=1, rate=rate, pods=copies, generation=generation)
