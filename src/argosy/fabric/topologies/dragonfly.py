"""Dragonflies: groups of hosts whose switches are joined to those of every other group.

Sources: J. Kim, W. Dally, S. Scott, D. Abts, Technology-driven, highly-scalable dragonfly topology (ISCA 2008);
A. Shpiner et al., Dragonfly+: low cost topology for scaling datacenters (HiPINEB 2017).
"""

from __future__ import annotations

import math

import numpy as np

from argosy.fabric.cables import Wiring
from argosy.fabric.topologies.design import Design, DesignError, Domain, Topology
from argosy.fabric.topologies.tree import host_port_rates, split

DETOUR = (
    "two groups share few links: traffic between one pair alone takes detours over a third group, at half the rate "
    "or less (figures here are of traffic spread evenly)"
)


def dragonfly_plus(design: Design) -> Topology:
    """Groups of leaves and spines, each leaf joined to each spine; the spines' other ports lead to other groups.

    `pods`: groups; without, as many as the hosts fill. `oversubscription` of `leaf-uplink` and `pod-uplink`.
    """
    over = dict(design.oversubscription)
    leaf = split(design, 1, over.get("leaf-uplink", 1.0))
    spine = split(design, 2, over.get("pod-uplink", over.get("spine-uplink", 1.0)))
    cards = design.nics_per_host * design.card_ports
    in_leaf = (
        max((design.hosts_per_leaf or leaf.down // cards) * cards, 1) if cards <= leaf.down else leaf.down
    )
    groups, in_group, problems = _groups(design, in_leaf * spine.down // cards)
    leaves = math.ceil(in_group * cards / in_leaf)
    wiring = Wiring()
    host_ids = wiring.add_nodes("host", design.hosts, cards, 0)
    host = np.repeat(host_ids, cards)
    port = np.tile(np.arange(cards), design.hosts)
    leaf_ids = wiring.add_nodes("leaf", groups * leaves, leaf.links, 1, design.kind(1).name, leaf.cages)
    slot = host % in_group * cards + port
    rate = np.minimum(host_port_rates(design, design.hosts), design.link_rate(0))[host]
    at = leaf_ids[host // in_group * leaves + slot // in_leaf]
    wiring.connect("host-leaf", host, at, rate, a_port=port)
    spines = wiring.add_nodes("spine", groups * leaf.up, spine.links, 2, design.kind(2).name, spine.cages)
    group, low, high = np.indices((groups, leaves, leaf.up))
    ends = leaf_ids[group * leaves + low], spines[group * leaf.up + high]
    wiring.connect("leaf-spine", ends[0], ends[1], design.link_rate(1))
    notes = [] if groups == 1 else [DETOUR]
    problems += _join_groups(
        wiring, spines.reshape(groups, leaf.up), spine.up, "spine-spine", design.link_rate(2), notes
    )
    cables = wiring.finish()
    domains = (Domain("leaf", in_leaf / cards), Domain("group", in_group))
    return Topology(
        design, cables, domains[:1] if groups == 1 else domains, (*problems, *cables.problems()), tuple(notes)
    )


def dragonfly(design: Design) -> Topology:
    """Groups of a routers, each joined to every other of its group, with p cards and h links to other groups.

    Balanced as its authors advise, a = 2p = 2h: of k ports p = ⌊(k + 1)/4⌋. `pods`: groups.
    """
    cards = design.nics_per_host * design.card_ports
    ports = design.kind(1).ports
    here = (ports + 1) // 4
    routers = 2 * here
    groups, in_group, problems = _groups(design, routers * here // cards)
    wiring = Wiring()
    host = np.repeat(wiring.add_nodes("host", design.hosts, cards, 0), cards)
    port = np.tile(np.arange(cards), design.hosts)
    ids = wiring.add_nodes("router", groups * routers, ports, 1, design.kind(1).name)
    router = ids.reshape(groups, routers)
    place = host % in_group * cards + port
    rate = np.minimum(host_port_rates(design, design.hosts), design.link_rate(0))[host]
    share = math.ceil(in_group * cards / routers)
    wiring.connect("host-router", host, router[host // in_group, place // share], rate, a_port=port)
    first, second = np.triu_indices(routers, 1)
    wiring.connect("router-router", router[:, first], router[:, second], design.link_rate(1))
    notes = [] if groups == 1 else [DETOUR]
    problems += _join_groups(wiring, router, here, "group-group", design.link_rate(1), notes)
    cables = wiring.finish()
    domains = (Domain("router", here / cards), Domain("group", in_group))
    return Topology(
        design, cables, domains[:1] if groups == 1 else domains, (*problems, *cables.problems()), tuple(notes)
    )


def _groups(design: Design, most: int) -> tuple[int, int, list[str]]:
    """Groups, hosts of each, and what does not fit: `most` hosts fill a group."""
    if most < 1:
        raise DesignError(
            f"a group of {design.topology} of {design.kind(1).ports}-port switches has no room for a host of "
            f"{design.nics_per_host} cards; use a larger radix"
        )
    groups = design.pods or math.ceil(design.hosts / most)
    in_group = math.ceil(design.hosts / groups)
    if in_group <= most:
        return groups, in_group, []
    return (
        groups,
        in_group,
        [
            f"{groups} groups need {in_group} hosts each, and one has room for {most}; it closes with "
            f"{math.ceil(design.hosts / most)} groups"
        ],
    )


def _join_groups(
    wiring: Wiring, switches: np.ndarray, up: int, boundary: str, rate: float, notes: list[str]
) -> list[str]:
    """Cables between all pairs of groups, as many for each, dealt over the switches of both, shape (groups,
    switches); what does not close.
    """
    groups, count = switches.shape
    if groups == 1:
        return []
    each = count * up // (groups - 1)
    if not each:
        return [
            f"{groups} groups need {groups - 1} links out of each, and a group has {count * up}; it closes with at "
            f"most {count * up + 1} groups, or a larger radix"
        ]
    if spare := count * up - each * (groups - 1):
        notes.append(
            f"{spare} of {count * up} links out of each group stay unused: {groups - 1} groups share the rest"
        )
    one, two = np.triu_indices(groups, 1)
    link = np.arange(each)
    # Seen from a group, the others are numbered in order without itself.
    from_one = ((two - 1)[:, None] * each + link) % count
    from_two = (one[:, None] * each + link) % count
    wiring.connect(boundary, switches[one[:, None], from_one], switches[two[:, None], from_two], rate)
    return []
