"""A fabric asked for by numbers rather than by a scenario, and the answers of `argosy fabric`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argosy.fabric.analysis import cables_by_kind
from argosy.fabric.build import Transport, network_over, twisted_mean_links
from argosy.fabric.fleet import fabric_row
from argosy.fabric.network import KINDS, TieredNetwork, group_spread
from argosy.fabric.pairs import NET_RING_S
from argosy.fabric.switches import matching_switch, with_switch
from argosy.fabric.topologies import Design, DesignError, Topology, build
from argosy.fabric.topologies.direct import most_cubic
from argosy.fabric.torus import TorusNetwork
from argosy.facts import load_catalog
from argosy.laws import collectives

TIER_KEYS = ("leaf-uplink", "spine-uplink", "pod-uplink")


def requested_topology(design: Design) -> Topology:
    """The topology of a design that names no switch: the catalog's first with these ports at this rate, if
    any.
    """
    if design.switch:
        design = with_switch(design, design.switch)
    elif design.radix:
        design = replace(design, switch=matching_switch(design.radix, design.rate))
    return build(design)


def fabric_payload(role: str, topology: Topology, values: Any) -> dict[str, Any]:
    """The contract's keys of `argosy fabric`, without schema and version; `switches` and `cables` by name."""
    row = fabric_row(role, topology, values)
    return {
        **row,
        "switches": {tier["name"]: tier["switches"] for tier in row["tiers"]},
        "nics": row["endpoints"],
        "cables": cables_by_kind(topology.cables),
    }


def request_network(
    topology: Topology, values: Any, accelerator: str, protocol: str | None
) -> TieredNetwork | TorusNetwork:
    """The network of a requested topology: one accelerator per card, a host's accelerators joined by scale-up
    links, and those of several hosts where the accelerator is built so (NVL72).
    """
    design = topology.design
    if design.topology == "torus":
        share, scale = (values[f"transports.ici.{fact}"] for fact in ("delivered", "latency_scale"))
        shape = design.shape or most_cubic(design.hosts)
        return TorusNetwork(
            shape, design.rate / 8, share, scale * NET_RING_S[0], mean_links=twisted_mean_links(design)
        )
    if design.topology == "supernode":
        raise DesignError(
            "the collectives of a supernode are those of its accelerator: ask with a scenario whose fleet names it"
        )
    switch = design.switch and load_catalog().entry("switches", design.switch).text.get("protocol")
    transport = Transport(protocol or switch or "infiniband")
    if f"transports.{transport.protocol}.delivered" not in values.facts:
        known = ", ".join(entry.name for entry in load_catalog().section("transports"))
        raise DesignError(f"protocol {transport.protocol!r} is not known; write one of {known}")
    count = design.hosts * design.nics_per_host
    domain = min(scale_up_domain(accelerator, design.nics_per_host), count)
    return network_over(topology, values, accelerator, domain, transport, count)


def scale_up_domain(accelerator: str, per_host: int) -> int:
    """Accelerators that scale-up links join: a host's `per_host`; more where the catalog's node of this accelerator is
    a part of a larger domain of whole hosts.
    """
    catalog = load_catalog()
    entry = catalog.entry("accelerators", accelerator)
    whole = int(entry.facts["scale_up_domain"].value)
    nodes = [
        int(node.facts["accelerators"].value)
        for node in catalog.section("nodes")
        if node.text.get("accelerator") == entry.name and node.text.get("protocol") != "ici"
    ]
    spans = bool(nodes) and max(nodes) < whole and whole % per_host == 0
    return whole if spans else per_host


def collective_payload(
    network: TieredNetwork | TorusNetwork, name: str, message_bytes: float, ranks: int
) -> dict[str, Any]:
    """Time, algorithm, bus bandwidth, bound and phases of one collective over the first `ranks` accelerators.

    `name`: a kind, with hyphens or underscores; `message_bytes` as nccl-tests counts. Phases: per level
    crossed, how many domains it joins, the rounds of a ring pass over its wires, and the seconds of its cut
    bound: phases overlap.
    """
    kind = name.replace("-", "_").lower().replace("alltoall", "all_to_all")
    if kind not in KINDS:
        raise DesignError(f"collective {name!r} is not known; write one of {', '.join(KINDS)}")
    if not 2 <= ranks <= network.accelerators:
        raise DesignError(f"a collective takes 2 to {network.accelerators} ranks of this fabric, not {ranks}")
    if message_bytes <= 0:
        raise DesignError(f"a message has more than {message_bytes:g} bytes")
    if isinstance(network, TorusNetwork):
        spread = network.phases(kind, message_bytes, ranks, 1)
    else:
        network = network.of_one_group()
        spread = group_spread(network, kind, message_bytes, ranks, 1)
    algorithms = {key: float(s) for key, s in network.algorithms(kind, message_bytes, ranks, 1).items()}
    algorithm = min(algorithms, key=lambda key: algorithms[key])
    seconds = algorithms[algorithm]
    return {
        "time_s": seconds,
        "algorithm": algorithm,
        "algorithms_s": {key: s for key, s in algorithms.items() if np.isfinite(s)},
        "bus_bandwidth_bytes_per_s": float(collectives.bus_bandwidth(kind, message_bytes, ranks, seconds)),
        "bound_s": float(network.bound(kind, message_bytes, ranks, 1)),
        "phases": [
            {"level": name, "domains": float(domains), "rounds": float(rounds), "bound_s": float(bound)}
            for name, domains, rounds, bound in spread
        ],
    }
