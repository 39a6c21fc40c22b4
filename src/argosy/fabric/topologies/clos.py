"""Folded Clos networks: fat trees of any tiers and radix, oversubscribed or not; rails; planes; pods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argosy.fabric.cables import Wiring
from argosy.fabric.topologies.design import Design, DesignError, Topology
from argosy.fabric.topologies.tree import Tree


def fat_tree(design: Design) -> Topology:
    """A tree whose leaf takes consecutive cards: the cards of a host are neighbours on one leaf or a few."""
    return _trees(design, planes=1, rails=bool(design.rails))


def rail_optimized(design: Design) -> Topology:
    """A tree in which card r of every host of a unit plugs into the unit's leaf r: a rail stays under one
    leaf.
    """
    return _trees(design, planes=1, rails=design.rails is not False)


def planes(design: Design) -> Topology:
    """Separate trees, one per plane: port p of a host goes to plane p modulo the planes; more planes than cards
    split a card.

    With one plane per card this is the rail-only network: rails meet only inside the scale-up domain.
    """
    return _trees(design, design.planes or design.nics_per_host, rails=design.rails is not False)


def dual_tor(design: Design) -> Topology:
    """Every card has two ports on two leaves, one per plane: a leaf that fails takes half a card's rate, no host.

    The two planes meet only in the cards (Alibaba HPN, K. Qian et al., SIGCOMM 2024: rail-optimised, dual
    plane; `pods` and `oversubscription` {pod-uplink: 15} give its core).
    """
    ports = design.card_ports if design.card_ports > 1 else 2
    return _trees(replace(design, card_ports=ports), design.planes or ports, rails=design.rails is not False)


def multi_pod(design: Design) -> Topology:
    """Pods of two tiers, joined by an oversubscribed core.

    Without rails every rack of `hosts_per_leaf` hosts has one leaf under the pod's spines (Llama 3: 2 hosts of
    8 cards under one switch, arXiv:2407.21783 section 3.3.1). All pods are built, whether or not the job
    fills them.
    """
    if not design.pods:
        raise DesignError("a multi-pod fabric needs the number of pods; write pods: 8")
    return _trees(design, design.planes or 1, rails=bool(design.rails))


def _trees(design: Design, planes: int, rails: bool) -> Topology:
    """`planes` equal trees over the same hosts; host port p goes to plane p modulo planes. More planes than cards
    split a card.
    """
    cards = design.nics_per_host
    if design.card_ports == 1 and planes > cards and planes % cards == 0:
        design = replace(design, card_ports=planes // cards)
    if (cards * design.card_ports) % planes:
        raise DesignError(
            f"{cards} cards of {design.card_ports} ports per host cannot be spread over {planes} planes: one must "
            "divide the other"
        )
    if design.pods and design.pods > design.hosts:
        raise DesignError(f"{design.pods} pods need at least {design.pods} hosts, not {design.hosts}")
    if design.tiers and design.pods and design.tiers != 3:
        raise DesignError(f"a multi-pod fabric has three tiers, not {design.tiers}")
    ports = design.nics_per_host * design.card_ports
    wiring = Wiring()
    hosts = wiring.add_nodes("host", design.hosts - design.servers, ports, 0)
    if design.servers:
        hosts = _mixed(hosts, wiring.add_nodes(design.servers_name, design.servers, ports, 0))
    of_host = ports // planes
    trees = [
        Tree(wiring, design, of_host, rails and of_host > 1, f"plane-{plane}/" if planes > 1 else "")
        for plane in range(planes)
    ]
    for plane, tree in enumerate(trees):
        tree.plant(hosts, np.arange(plane, ports, planes))
        tree.grow()
    return trees[0].topology(design, wiring.finish())  # all planes are alike: the first speaks for all


def _mixed(hosts: np.ndarray, servers: np.ndarray) -> np.ndarray:
    """Both, the servers at even distances: every leaf has its share of them."""
    order = np.empty(len(hosts) + len(servers), dtype=np.int64)
    places = (np.arange(len(servers)) + 0.5) * len(order) / len(servers)
    taken = np.zeros(len(order), dtype=bool)
    taken[places.astype(np.int64)] = True
    order[taken], order[~taken] = servers, hosts
    return order
