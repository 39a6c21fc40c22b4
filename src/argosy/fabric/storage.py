"""Fabrics that join nodes to storage servers, and those that manage them: their sizes, and what they carry.

A storage fabric has a port for every node and as many servers as the storage's bandwidth takes; every checkpoint
drives all of it at once. A management fabric has a slow port for every node and every switch of the others.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from argosy.fabric.analysis import flow_between, tiers
from argosy.fabric.switches import catalog_kind
from argosy.fabric.topologies import Design, Topology, build

MANAGEMENT_LINK = 1e9  # bit/s of a baseboard controller's port (1000BASE-T)
MANAGEMENT_SWITCH, MANAGEMENT_SPINE = "SN2201", "SN3700"  # where the scenario names none: an assumption


@dataclass(frozen=True)
class StorageLoad:
    """What jobs ask of storage: byte/s of dataset reads, at most; bytes of the largest checkpoint."""

    reads_bytes_per_s: float
    checkpoint_bytes: float


def storage_servers(fleet: Any, link: float, cards: int) -> int:
    """Servers that carry the storage's bandwidth (byte/s): each as much as given, else as its cards carry."""
    each = fleet.storage.server_bandwidth or cards * link / 8
    return math.ceil(float(fleet.storage_bandwidth_bytes_per_s / each) - 1e-9)


def storage_topology(fleet: Any, design: Design) -> Topology:
    """The nodes' fabric with the servers at its end; problems where it carries less than the storage delivers."""
    servers = storage_servers(fleet, design.rate, design.nics_per_host)
    topology = build(replace(design, hosts=design.hosts + servers, servers=servers))
    needed, carried = fleet.storage_bandwidth_bytes_per_s, carried_bytes_per_s(topology)
    if carried >= needed * (1 - 1e-9):
        return topology
    nodes = design.hosts * design.nics_per_host * design.rate / 8
    ways = "more or faster cards (nics_per_node, link)" if nodes < needed else "less oversubscription"
    problem = (
        f"the storage fabric carries {carried / 1e9:,.0f} GB/s between nodes and servers, less than the storage's "
        f"{needed / 1e9:,.0f} GB/s: it closes with {ways}, or storage.bandwidth of {carried / 1e9:,.0f} GB/s"
    )
    return replace(topology, problems=(*topology.problems, problem))


def carried_bytes_per_s(topology: Topology) -> float:
    """Byte/s one way that all nodes together reach the servers at: a maximum flow over the cables."""
    cables = topology.cables
    servers = cables.group("storage").ids
    nodes = np.setdiff1d(np.flatnonzero(cables.tier_of_nodes() == 0), servers)
    return flow_between(cables, nodes, servers) / 8


def storage_account(topology: Topology, bandwidth: float, load: StorageLoad) -> dict[str, Any]:
    """What the jobs make of a storage fabric: seconds of a checkpoint's burst, the share that reads take.

    `bandwidth`: byte/s of the storage. The burst is bounded by the storage and by the fabric.
    """
    carried = carried_bytes_per_s(topology)
    reached = min(bandwidth, carried)
    return {
        **asdict(load),
        "bandwidth_bytes_per_s": bandwidth,
        "carried_bytes_per_s": carried,
        "servers": topology.design.servers,
        "checkpoint_burst_s": load.checkpoint_bytes / reached if reached else None,
        "reads_fraction": load.reads_bytes_per_s / reached if reached else None,
    }


def reads_problem(account: dict[str, Any]) -> str | None:
    """What is wrong where dataset reads need more than the storage and its fabric deliver; None where they do not."""
    share = account["reads_fraction"]
    if share is None or share <= 1:
        return None
    needed = account["reads_bytes_per_s"] / 1e9
    return (
        f"dataset reads of up to {needed:,.0f} GB/s are {share:.1f} times what storage and its fabric deliver: it closes "
        f"with storage.bandwidth of {needed:,.0f} GB/s, or fewer storage.bytes_per_token"
    )


def management_design(design: Design, others: list[Topology]) -> Design:
    """A management fabric: a port of every node, and of every switch of the other fabrics."""
    switches = sum(tier.switches for topology in others for tier in tiers(topology.cables))
    spine = (("spine", catalog_kind(MANAGEMENT_SPINE)), ("core", catalog_kind(MANAGEMENT_SPINE)))
    leaf = catalog_kind(MANAGEMENT_SWITCH)
    uplink = leaf.uplink_rate or design.rate
    return replace(
        design,
        hosts=design.hosts + switches,
        servers=switches,
        servers_name="switch-port",
        kinds=design.kinds or spine,
        rates=design.rates or (("leaf-spine", uplink), ("spine-core", uplink)),
    )
