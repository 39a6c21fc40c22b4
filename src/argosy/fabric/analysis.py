"""What a cable list can carry: injection, bisection, oversubscription. All of it found from the cables.

The bisection is that of the first half of the hosts against the second, in the order in which they were
placed (so a pod, a rail unit, a side of a torus is cut where the topology is narrowest), as a maximum flow,
per direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argosy.fabric.cables import CableList
from argosy.fabric.linkgraph import joined_cables

FINEST = 1e-4  # of the fastest link: the finest step in which capacities are told apart
MOST_CAPACITY = 2**31 - 1  # of scipy's 32 bits


@dataclass(frozen=True)
class TierCount:
    """One tier of switches: how many, and the cables below it."""

    name: str
    switches: int
    links: int
    switch: str


def tiers(cables: CableList) -> list[TierCount]:
    """Switches per tier, lowest first (planes summed), with the cables that join each to what lies below."""
    found: dict[str, TierCount] = {}
    tier = cables.tier_of_nodes()
    above = np.bincount(np.maximum(tier[cables.a], tier[cables.b]), minlength=int(tier.max()) + 1)
    for group in cables.groups:
        if group.tier == 0:
            continue
        name = plain_name(group.name)
        before = found[name].switches if name in found else 0
        found[name] = TierCount(name, before + group.count, int(above[group.tier]), group.switch)
    return list(found.values())


def cables_by_kind(cables: CableList) -> dict[str, int]:
    """Cables per boundary (`host-leaf`, `leaf-spine`...), planes summed."""
    found: dict[str, int] = {}
    for name, count in cables.cables_by_boundary().items():
        found[plain_name(name)] = found.get(plain_name(name), 0) + count
    return found


def plain_name(name: str) -> str:
    """`plane-3/leaf` as `leaf`."""
    return name.rpartition("/")[2]


def injection_bps(cables: CableList) -> float:
    """What all hosts can send at once, one way (bit/s)."""
    hosts = cables.tier_of_nodes() == 0
    a_is_host, b_is_host = hosts[cables.a], hosts[cables.b]
    # A cable between two hosts (a torus) carries what both of them send, each its own way.
    return float(
        (cables.rate * (a_is_host.astype(int) + (b_is_host & (cables.circuit < 0)).astype(int))).sum()
    )


def oversubscription(cables: CableList) -> dict[str, float]:
    """Capacity below ÷ capacity above of every tier that has cables away from the hosts, over all its switches.

    Cables between switches of one tier (dragonflies) lead away from the hosts; where a tier has two kinds of
    them, each kind has its own ratio, under the boundary's name.
    """
    tier = cables.tier_of_nodes()
    a_low = tier[cables.a] <= tier[cables.b]
    low, high = np.where(a_low, cables.a, cables.b), np.where(a_low, cables.b, cables.a)
    below = cables.capacity(upwards=False)
    kind = [plain_name(boundary.name) for boundary in cables.boundaries]
    down: dict[str, float] = {}
    up: dict[str, dict[str, float]] = {}
    for group in cables.groups:
        name = plain_name(group.name)
        if not group.tier:
            continue
        down[name] = down.get(name, 0.0) + float(below[group.ids].sum())
        last = group.first + group.count
        for ends, one_way in ((low, True), (high, False)):
            chosen = (ends >= group.first) & (ends < last) & (tier[low] > 0)
            if not one_way:
                chosen &= tier[low] == tier[high]
            capacity = np.bincount(cables.boundary[chosen], cables.rate[chosen], len(kind))
            for boundary in np.flatnonzero(capacity):
                above = up.setdefault(name, {})
                above[kind[boundary]] = above.get(kind[boundary], 0.0) + float(capacity[boundary])
    found: dict[str, float] = {}
    for name, above in up.items():
        for where, total in above.items():
            found[name if len(above) == 1 else where] = down[name] / total
    return found


def bisection_bps(cables: CableList) -> float:
    """Capacity per direction (bit/s) between the first and the second half of the hosts: a maximum flow.

    Nodes that look alike are merged first: by colour refinement, to an equitable partition, on which the
    maximum flow is the same (symmetric flows can be averaged). A regular fabric of 100,000 hosts shrinks to a
    handful of nodes.
    """
    hosts = np.flatnonzero(cables.tier_of_nodes() == 0)
    return flow_between(cables, hosts[: len(hosts) // 2], hosts[len(hosts) // 2 :])


def flow_between(cables: CableList, first: np.ndarray, second: np.ndarray) -> float:
    """The maximum flow (bit/s, one way) from the nodes `first` to the nodes `second`, two sets without a common one."""
    low, high, rate = links(cables)
    if not len(low) or not len(first) or not len(second):
        return 0.0
    colour = np.full(cables.nodes, 2)
    colour[first], colour[second] = 0, 1
    colour = _refine(colour, low, high, rate)
    return max_flow(colour[low], colour[high], rate, np.unique(colour[first]), np.unique(colour[second]))


def node_classes(cables: CableList) -> np.ndarray:
    """A class per node, shape (nodes,): nodes of one class have the same links to every other class, and hosts of
    the two halves differ.
    """
    low, high, rate = links(cables)
    hosts = np.flatnonzero(cables.tier_of_nodes() == 0)
    tier = cables.tier_of_nodes()
    return _refine(_halves(cables, hosts) + 2 * tier, low, high, rate)


def _halves(cables: CableList, hosts: np.ndarray) -> np.ndarray:
    """0 for the first half of the hosts, 1 for the second, 2 for switches."""
    colour = np.full(cables.nodes, 2)
    colour[hosts] = 0
    colour[hosts[len(hosts) // 2 :]] = 1
    return colour


def links(cables: CableList) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends and rates of all links; the fibres of an optical circuit are one link between their `a` ends."""
    low, high, rate, _ = joined_cables(cables)
    return low, high, rate


def _refine(colour: np.ndarray, low: np.ndarray, high: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Colour refinement: split classes until all nodes of one have the same capacity to every other class.

    A node's signature is the sum of its links' rates, each times a pseudo-random number of the neighbour's
    class; equal signatures mean equal capacities to every class, but for collisions of 64-bit numbers. Twins
    (one colour, the same neighbours: the hosts of a unit, the spines of a block) are merged first.
    """
    weight = np.round(rate / rate.min() * 1024).astype(np.uint64)
    ends, others, weights = np.concatenate([low, high]), np.concatenate([high, low]), np.tile(weight, 2)
    twin = _split(colour, np.arange(len(colour)), ends, others, weights)
    one_of = np.zeros(int(twin.max()) + 1, dtype=np.int64)
    one_of[twin] = np.arange(len(twin))  # any twin speaks for all
    speaks = one_of[twin[ends]] == ends
    key, total = _sums(twin[ends[speaks]] * len(one_of) + twin[others[speaks]], weights[speaks].astype(float))
    ends, others = np.divmod(key, len(one_of))
    weights = total.astype(np.uint64)
    found = colour[one_of]
    _, found = np.unique(found, return_inverse=True)
    while True:
        finer = _split(found, found, ends, others, weights)
        if finer.max() == found.max():
            refined: np.ndarray = finer[twin]
            return refined
        found = finer


def _split(
    colour: np.ndarray, named: np.ndarray, ends: np.ndarray, others: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Classes of nodes of one colour that have the same weights to the nodes of every name in `named`."""
    marks = _mix(np.arange(max(int(named.max()), int(colour.max())) + 1, dtype=np.uint64))
    signature = _mix(marks[colour] + np.uint64(1))
    np.add.at(signature, ends, marks[named[others]] * weights)
    # The colour itself is mixed into the signature: nodes of different colours stay apart.
    _, classes = np.unique(signature, return_inverse=True)
    return classes


def _mix(number: np.ndarray) -> np.ndarray:
    """splitmix64: whole numbers scattered over 64 bits (S. Vigna, public domain)."""
    with np.errstate(over="ignore"):
        mixed = number + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def max_flow(a: np.ndarray, b: np.ndarray, rate: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """Maximum flow (in the unit of `rate`) from the classes `first` to `second`; links carry both ways at once.

    scipy's Dinic algorithm on whole multiples of the largest rate that divides all; rates that have no such
    common measure above `FINEST` of the fastest link are rounded to it.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    classes = int(max(a.max(), b.max(), first.max(), second.max())) + 1
    source, sink = classes, classes + 1
    between = a != b
    unit = _common_measure(rate[between])
    pair, capacity = _sums((np.minimum(a, b) * classes + np.maximum(a, b))[between], rate[between] / unit)
    a, b = np.divmod(pair, classes)
    capacity = np.round(capacity)
    # What leaves a class of hosts is no more than its links carry: that much from the source is enough.
    leaves = np.bincount(np.concatenate([a, b]), np.tile(capacity, 2), classes)
    tail = np.concatenate([a, b, np.full(len(first), source), second])
    head = np.concatenate([b, a, first, np.full(len(second), sink)])
    total = np.concatenate([capacity, capacity, leaves[first], leaves[second]])
    scale = max(math.ceil(max(total.max(initial=0), leaves[first].sum()) / MOST_CAPACITY), 1)
    graph = csr_array(((total // scale).astype(np.int32), (tail, head)), shape=(classes + 2, classes + 2))
    return float(maximum_flow(graph, source, sink).flow_value * unit * scale)


def _sums(key: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys, and the sum of the numbers of each."""
    if int(key.max(initial=0)) < max(4 * len(key), 1 << 20):
        total = np.bincount(key, weights=number)
        distinct = np.flatnonzero(total)
        return distinct, total[distinct]
    distinct, place = np.unique(key, return_inverse=True)
    return distinct, np.bincount(place, weights=number)


def _common_measure(rate: np.ndarray) -> float:
    """The largest number of which all rates are whole multiples, at least `FINEST` of the largest."""
    finest = float(rate.max(initial=0.0)) * FINEST
    measure = 0.0
    for one in np.unique(rate) if rate.min(initial=np.inf) < rate.max(initial=0.0) else rate[:1]:
        a, b = float(one), measure
        while b > finest / 2:
            a, b = b, a % b if a % b < b - finest / 2 else 0.0
        measure = a
    return max(measure, finest) or 1.0
