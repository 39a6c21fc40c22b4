"""The cable list as a graph of one-way links, for routing: every cable is two links, and a host's cables its endpoints.

Link 2c goes from a cable's `a` to its `b`, link 2c + 1 back. The two fibres of an optical circuit are one cable here,
between their `a` ends. In a direct network (a torus) the hosts pass traffic on, and each is its own endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argosy.fabric.cables import CableList
from argosy.fabric.topologies.design import DesignError


@dataclass(frozen=True)
class Endpoints:
    """Where traffic enters and leaves, sorted by host, then by port: columns of shape (endpoints,).

    `host`: node; `port`: which of the host's cables, from 0; `up`, `down`: its links to and from its switch (−1 in a
    direct network); `switch`: node that it is plugged into; `plane`: which part of the fabric, where parts are not
    joined; `order`: its place in its plane, counted leaf by leaf, port by port.
    """

    host: np.ndarray
    port: np.ndarray
    up: np.ndarray
    down: np.ndarray
    switch: np.ndarray
    plane: np.ndarray
    order: np.ndarray

    def __len__(self) -> int:
        return len(self.host)


@dataclass(frozen=True)
class LinkGraph:
    """One-way links as columns of shape (links,): `tail` to `head` (nodes), `rate` (bit/s; 0: failed), `cable` (its
    number in the cable list); `tier` (nodes,).
    """

    tail: np.ndarray
    head: np.ndarray
    rate: np.ndarray
    cable: np.ndarray
    tier: np.ndarray
    endpoints: Endpoints

    def __len__(self) -> int:
        return len(self.tail)

    @property
    def direct(self) -> bool:
        """Whether hosts pass traffic on."""
        return bool(len(self.endpoints)) and bool((self.endpoints.up < 0).all())

    @property
    def between_switches(self) -> np.ndarray:
        """Whether a link joins two nodes that pass traffic on, (links,)."""
        if self.direct:
            return np.ones(len(self), dtype=bool)
        return np.asarray((self.tier[self.tail] > 0) & (self.tier[self.head] > 0))

    def with_rates(self, share: np.ndarray) -> LinkGraph:
        """The graph with every link's rate times `share` (links,): 0 for one that failed, below 1 for a degraded one."""
        return replace(self, rate=self.rate * share)


def link_graph(cables: CableList) -> LinkGraph:
    """The links of a cable list. DesignError where hosts are joined to each other and to switches both."""
    a, b, rate, cable = joined_cables(cables)
    tier = cables.tier_of_nodes()
    tail = np.stack([a, b], axis=1).ravel().astype(np.int32)
    head = np.stack([b, a], axis=1).ravel().astype(np.int32)
    rates, number = np.repeat(rate, 2), np.repeat(cable, 2)
    host_ends = (tier[a] == 0).astype(int) + (tier[b] == 0)
    if (host_ends == 2).any():
        if (host_ends < 2).any():
            raise DesignError("hosts joined both to each other and to switches cannot be routed here")
        hosts = np.arange(cables.hosts)
        none = np.full(len(hosts), -1)
        ends = Endpoints(hosts, np.zeros_like(hosts), none, none, hosts, np.zeros_like(hosts), hosts)
        return LinkGraph(tail, head, rates, number, tier, ends)
    return LinkGraph(tail, head, rates, number, tier, _endpoints(cables, a, b, cable, tier))


def joined_cables(cables: CableList) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ends `a`, `b`, rate (bit/s) and number of every cable, (n,) each; an optical circuit's two fibres count as one."""
    plain = np.flatnonzero(cables.circuit < 0)
    fibres = np.flatnonzero(cables.circuit >= 0)
    pairs = fibres[np.argsort(cables.circuit[fibres], kind="stable")].reshape(-1, 2)
    number = np.concatenate([plain, pairs[:, 0]])
    far = np.concatenate([cables.b[plain], cables.a[pairs[:, 1]]])
    return cables.a[number], far, cables.rate[number], number


def _endpoints(
    cables: CableList, a: np.ndarray, b: np.ndarray, cable: np.ndarray, tier: np.ndarray
) -> Endpoints:
    """The hosts' cables, with the planes that the switches form."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    between = (tier[a] > 0) & (tier[b] > 0)
    joined = coo_matrix((np.ones(between.sum()), (a[between], b[between])), shape=(len(tier), len(tier)))
    plane_of = connected_components(joined, directed=False)[1]
    access = np.flatnonzero(~between)
    a_is_host = tier[a[access]] == 0
    host, switch = (np.where(side, a[access], b[access]) for side in (a_is_host, ~a_is_host))
    own, other = cables.a_port[cable[access]], cables.b_port[cable[access]]
    host_port, switch_port = np.where(a_is_host, own, other), np.where(a_is_host, other, own)
    sort = np.lexsort((host_port, host))
    access, a_is_host, host, switch, host_port, switch_port = (
        column[sort] for column in (access, a_is_host, host, switch, host_port, switch_port)
    )
    starts = np.append(True, host[1:] != host[:-1]) if len(host) else np.zeros(0, dtype=bool)
    port = np.arange(len(host)) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    _, plane = np.unique(plane_of[switch], return_inverse=True)
    by_leaf = np.lexsort((switch_port, switch, plane))
    order = np.empty(len(host), dtype=np.int64)
    first = np.searchsorted(plane[by_leaf], plane[by_leaf])
    order[by_leaf] = np.arange(len(host)) - first
    up = 2 * access + np.where(a_is_host, 0, 1)
    return Endpoints(host, port, up, up ^ 1, switch, plane.ravel(), order)
