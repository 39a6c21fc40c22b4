"""The cluster that a scenario's fleet is: its nodes by NVLink domain, leaf and pod as the fabric's cables join them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from argosy.fabric.fleet import fleet_topology
from argosy.scheduling.cluster import Cluster, Quota, joined, uniform

_DIRECT = ("torus", "supernode")  # fabrics without leaf switches above nodes


def fleet_cluster(
    fleet: Any,
    node_size: int,
    scale_up_domain: int,
    quotas: tuple[Quota, ...] = (),
    others: tuple[tuple[str, int, int, float], ...] = (),
) -> Cluster:
    """The nodes of a scenario's fleet (`spec.Fleet` with its catalog names resolved), spares apart.

    `node_size`, `scale_up_domain`: accelerators of a node and of an NVLink domain. Nodes below the same leaf switches are
    one leaf, leaves that reach each other below the topmost tier one pod; a fabric without leaf switches is one leaf and one
    pod. `others`: nodes of other types in the same queue as (type, nodes, accelerators per node, speed), on leaves of their
    own, 32 nodes each.
    """
    nodes = -(-fleet.count // node_size)
    leaf, pod = _places(fleet, nodes)
    own = Cluster(
        accelerators=np.full(nodes, node_size, dtype=np.int64),
        type_index=np.zeros(nodes, dtype=np.int64),
        types=(fleet.accelerator.name,),
        domain=np.arange(nodes) // max(1, scale_up_domain // node_size),
        leaf=leaf,
        pod=pod,
        quotas=quotas,
    )
    if not others:
        return own
    parts = [own]
    for name, count, per_node, speed in others:
        part = uniform(count, per_node, accelerator=name)
        parts.append(Cluster(**{key: getattr(part, key) for key in _FIELDS}, speeds={name: speed}))
    return joined(tuple(parts), quotas)


_FIELDS = ("accelerators", "type_index", "types", "domain", "leaf", "pod")


def _places(fleet: Any, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Leaf and pod of every node (nodes,), numbered from 0 in the order of nodes."""
    fabric = fleet.compute_fabric
    whole = np.zeros(nodes, dtype=np.int64)
    if fabric.topology in _DIRECT:
        return whole, whole.copy()
    cables = fleet_topology(fleet, fabric).cables
    tier = cables.tier_of_nodes()
    used = cables.circuit < 0
    a, b = cables.a[used], cables.b[used]
    low, high = np.where(tier[a] <= tier[b], a, b), np.where(tier[a] <= tier[b], b, a)
    up = (tier[low] == 0) & (tier[high] == 1)
    if not up.any():
        return whole, whole.copy()
    first = np.full(cables.nodes, cables.nodes)  # the leaf with the least id that a host is below
    np.minimum.at(first, low[up], high[up])
    leaf = _numbered(first[:nodes])
    top = int(tier.max())
    if top < 3:
        return leaf, whole.copy()
    below = tier[high] < top
    graph = coo_matrix((np.ones(int(below.sum())), (low[below], high[below])), shape=(cables.nodes,) * 2)
    _, part = connected_components(graph, directed=False)
    return leaf, _numbered(part[:nodes])


def _numbered(labels: np.ndarray) -> np.ndarray:
    """Labels as whole numbers in the order in which they first stand."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
