"""Shortest paths between the cards of a fabric: how many switches they pass, and how many equal ones there are.

Cards on the same switches are alike, so paths are counted between such sets of cards (all of them up to
`MOST_SOURCES`, evenly spread ones beyond); in a network without switches between accelerators. Hosts pass
nothing on, except where they are cabled to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.fabric.analysis import links
from argosy.fabric.cables import CableList
from argosy.fabric.topologies.design import Topology

MOST_SOURCES = 512
AT_ONCE = 128  # sources whose paths are counted together


@dataclass(frozen=True)
class Hops:
    """Ordered pairs of cards whose shortest paths pass `switches` switches over `links` cables (None: no path),
    and the fewest, mean and most equal shortest paths.
    """

    switches: int | None
    links: int | None
    pairs: float
    paths_min: float
    paths_mean: float
    paths_max: float


def card_of_cables(topology: Topology) -> np.ndarray:
    """The card in which every cable ends, shape (cables,): −1 where both ends are switches.

    Cards are numbered host by host; an accelerator of a torus or supernode is one card with all its links.
    """
    cables, design = topology.cables, topology.design
    tier = cables.tier_of_nodes()
    if design.topology in ("torus", "supernode"):
        return np.where(tier[cables.a] == 0, cables.a, -1)
    card = cables.a * design.nics_per_host + cables.a_port // design.card_ports
    return np.where(tier[cables.a] == 0, card, -1)


def hop_histogram(topology: Topology) -> tuple[list[Hops], bool]:
    """The histogram over all ordered pairs of cards of different hosts, and whether it is a sample of sources.

    A path over several parallel cables counts once per cable. Of a sample, pairs are scaled up to all.
    """
    cables = topology.cables
    low, high, _ = links(cables)
    tier = cables.tier_of_nodes()
    direct = (tier[low] == 0) & (tier[high] == 0)
    ends = _direct(cables) if direct.any() else _on_switches(topology)
    joined = direct if direct.any() else (tier[low] > 0) & (tier[high] > 0)
    graph = _graph(cables.nodes, low[joined], high[joined])
    count = len(ends.nodes)
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_SOURCES)).astype(np.int64))
    found: dict[int, list[float]] = {}
    for index in np.array_split(chosen, -(-len(chosen) // AT_ONCE)):
        distance, paths = _walk(graph, ends, index)
        _gather(found, distance, paths, ends.pairs(index) * count / len(chosen))
    return [_row(far, numbers, ends) for far, numbers in sorted(found.items())], len(chosen) < count


@dataclass(frozen=True)
class _Ends:
    """Sets of cards that end in the same nodes.

    `nodes`, `weight`: those nodes and how many ports of a card end there, shape (sets, most); unused places
    have weight 0. `cards`: of every set, shape (sets,); `of_host`: cards by host and set, sparse. `beside`:
    links on a path beside those between nodes.
    """

    nodes: np.ndarray
    weight: np.ndarray
    cards: np.ndarray
    of_host: Any
    beside: int

    def pairs(self, index: np.ndarray) -> np.ndarray:
        """Ordered pairs of cards of different hosts from the sets of `index` to all, shape (len(index), sets)."""
        same_host = (self.of_host[:, index].T @ self.of_host).toarray()
        found: np.ndarray = self.cards[index][:, None] * self.cards[None, :] - same_host
        return found


def _direct(cables: CableList) -> _Ends:
    from scipy.sparse import identity

    hosts = np.flatnonzero(cables.tier_of_nodes() == 0)[:, None]
    ones = np.ones(hosts.shape)
    return _Ends(hosts, ones, ones[:, 0], identity(len(hosts), format="csr"), 0)


def _on_switches(topology: Topology) -> _Ends:
    from scipy.sparse import csr_array

    cables = topology.cables
    card = card_of_cables(topology)
    ends = np.flatnonzero(card >= 0)
    known, row = np.unique(card[ends], return_inverse=True)
    most = int(np.bincount(row).max())
    order = np.lexsort((cables.b[ends], row))
    place = np.arange(len(ends)) - np.searchsorted(row[order], row[order])
    at = np.full((len(known), most), -1)
    at[row[order], place] = cables.b[ends][order]
    sets, member = np.unique(at, axis=0, return_inverse=True)
    member = member.ravel()
    # A node named twice in a set counts once, with the weight of both.
    repeat = (sets[:, :, None] == sets[:, None, :]).sum(axis=2)
    first = np.concatenate([np.ones((len(sets), 1), bool), sets[:, 1:] != sets[:, :-1]], axis=1)
    weight = np.where(first & (sets >= 0), repeat, 0)
    first_of_card = np.unique(row, return_index=True)[1]
    _, host = np.unique(cables.a[ends][first_of_card], return_inverse=True)
    of_host = csr_array((np.ones(len(known)), (host, member)), shape=(int(host.max()) + 1, len(sets)))
    return _Ends(np.maximum(sets, 0), weight, np.bincount(member).astype(float), of_host, 2)


def _graph(nodes: int, low: np.ndarray, high: np.ndarray) -> Any:
    from scipy.sparse import csr_array

    ends = np.concatenate([low, high]), np.concatenate([high, low])
    return csr_array((np.ones(2 * len(low)), ends), shape=(nodes, nodes))


def _walk(graph: Any, ends: _Ends, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Links between nodes on a shortest path from the sets of `index` to every set (−1: none), and how many such
    paths, each of shape (len(index), sets).
    """
    nodes, column = graph.shape[0], np.arange(len(index))
    paths = np.zeros((nodes, len(index)))
    np.add.at(paths, (ends.nodes[index], column[:, None]), ends.weight[index])
    distance = np.where(paths > 0, 0, -1)
    front, step = paths.copy(), 0
    while (reached := (front > 0)).any():
        step += 1
        front = np.where(distance < 0, graph @ front, 0.0)
        reached = front > 0
        distance[reached] = step
        paths += front
    far = np.where((distance[ends.nodes] >= 0) & (ends.weight[:, :, None] > 0), distance[ends.nodes], nodes)
    shortest = far.min(axis=1)
    total = (np.where(far == shortest[:, None, :], paths[ends.nodes], 0.0) * ends.weight[:, :, None]).sum(
        axis=1
    )
    return np.where(shortest < nodes, shortest, -1).T, np.where(shortest < nodes, total, 0.0).T


def _gather(
    found: dict[int, list[float]], distance: np.ndarray, paths: np.ndarray, pairs: np.ndarray
) -> None:
    """Add pairs by distance: [pairs, fewest paths, paths in all, most paths]."""
    for far in np.unique(distance):
        chosen = (distance == far) & (pairs > 0)
        if not chosen.any():
            continue
        own = found.setdefault(int(far), [0.0, np.inf, 0.0, 0.0])
        own[0] += float(pairs[chosen].sum())
        own[1] = min(own[1], float(paths[chosen].min()))
        own[2] += float((pairs[chosen] * paths[chosen]).sum())
        own[3] = max(own[3], float(paths[chosen].max()))


def _row(far: int, numbers: list[float], ends: _Ends) -> Hops:
    pairs, fewest, paths, most = numbers
    if far < 0:
        return Hops(None, None, pairs, 0.0, 0.0, 0.0)
    return Hops(far + 1 if ends.beside else 0, far + ends.beside, pairs, fewest, paths / pairs, most)
