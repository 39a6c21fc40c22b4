"""Which links a flow takes: equal-cost paths by hash, by destination, sprayed; up-down; dimension order on a torus.

- `ecmp`: every switch picks among its shortest ways by a hash of the flow (source, destination, queue pair), salted by
  the switch. What RoCE does by default; a flow with several queue pairs is as many flows.
- `static`: every switch picks by the destination's number (d-mod-k: E. Zahavi, "D-Mod-K routing providing non-blocking
  traffic for shift permutations on real life fat trees", CCIT report 776, 2010; the PGFT form below). What InfiniBand's
  fat-tree engine aims at.
- `spray` (and `adaptive`, idealised): packets go evenly over all shortest ways.
- `up-down`: by hash, over ways that never turn up again after going down (up*/down*: M. Schroeder et al., Autonet, IEEE
  JSAC 9(8), 1991), so that an irregular fabric cannot deadlock. In an intact tree these are the shortest ways anyhow.
- `dimension-order`: on a torus, axis by axis, the shorter way round (W. Dally, C. Seitz, IEEE ToC C-36(5), 1987).

A dragonfly's shortest ways are its minimal routes: at most one link between groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argosy.fabric.linkgraph import LinkGraph, link_graph
from argosy.fabric.topologies.design import DesignError, Topology

ROUTINGS = ("ecmp", "static", "spray", "adaptive", "up-down", "dimension-order")
SPRAYED = ("spray", "adaptive")
SPRAY_ENTRIES = 60_000_000  # links over all flows: what a spray of flow by flow may hold in memory


@dataclass(frozen=True)
class Paths:
    """Flow f's links are `links[first[f]:first[f + 1]]`, each carrying `share` of it; none where it does not arrive."""

    first: np.ndarray
    links: np.ndarray
    share: np.ndarray
    arrives: np.ndarray

    def load(self, links: int, amount: np.ndarray | float = 1.0) -> np.ndarray:
        """What falls on every link, (links,), when flow f sends `amount` (flows,)."""
        each = np.repeat(np.broadcast_to(amount, len(self.arrives)), np.diff(self.first))
        return np.bincount(self.links, weights=self.share * each, minlength=links)


@dataclass(frozen=True)
class Routes:
    """Next links towards every destination switch: `table[column, node]` numbers a set, −1: no way, 0: arrived.

    Set s is `set_links[set_first[s]:set_first[s + 1]]`; a destination's pick among them is its number ÷
    `set_divisor[s]` modulo the set's size. `local` (nodes,): a node's number among those that pass traffic on;
    `column` (nodes,): a destination's column. With `up_down` a node has two states, before and after going down, and
    a link two numbers: modulo the links of the graph they are the same.
    """

    graph: LinkGraph
    local: np.ndarray
    column: np.ndarray
    head: np.ndarray
    away: np.ndarray
    table: np.ndarray
    set_first: np.ndarray
    set_links: np.ndarray
    set_divisor: np.ndarray

    @cached_property
    def by_distance(self) -> np.ndarray:
        """Nodes from the farthest to the nearest, per destination (destinations, nodes)."""
        return np.argsort(-self.away, axis=1, kind="stable").astype(np.int32)

    def paths(
        self,
        source: np.ndarray,
        end: np.ndarray,
        routing: str = "ecmp",
        seed: int = 0,
        pair: np.ndarray | int = 0,
    ) -> Paths:
        """Paths of flows between endpoints `source` and `end` (flows,), access links included.

        `pair`: the queue pair's number, which the hash takes too. DesignError for a spray of more flows than memory
        takes.
        """
        ends = self.graph.endpoints
        begin = self.local[ends.switch[source]]
        column = self.column[ends.switch[end]]
        up, down = ends.up[source], ends.down[end]
        from argosy.kernels import routes as kernels

        sets = (self.table, self.set_first, self.set_links)
        if routing in SPRAYED:
            first, links, share, arrives = kernels.spread_flows(
                *sets, self.head, begin, up, column, down, self.table.shape[1], SPRAY_ENTRIES
            )
            if arrives.any() and not len(links) and len(source) and first[-1] == 0:
                raise DesignError(
                    f"{len(source)} sprayed flows take more than {SPRAY_ENTRIES:,} links in all; "
                    "write fewer hosts, or routing ecmp"
                )
        else:
            order = ends.order[end]
            key = _keys(source, end, pair)
            first, links, arrives = kernels.walk(
                *sets, self.set_divisor, self.head, begin, up, column, down, order, key,
                np.uint64(seed), routing != "static",
            )  # fmt: skip
            share = np.ones(len(links))
        return Paths(first, links % len(self.graph), share, arrives)

    def spread_load(self, demand: np.ndarray) -> np.ndarray:
        """Load per link between switches, (links,), of `demand` (destination columns, nodes) sprayed evenly."""
        from argosy.kernels import routes as kernels

        load = kernels.spread(self.table, self.set_first, self.set_links, self.head, self.by_distance, demand)
        return np.asarray(load.reshape(-1, len(self.graph)).sum(axis=0))


def routes(graph: LinkGraph, up_down: bool = False) -> Routes:
    """The shortest ways from everywhere to every switch that has endpoints; links of rate 0 are not there."""
    from argosy.kernels import routes as kernels

    passes = graph.between_switches & (graph.rate > 0)
    relays = np.unique(graph.endpoints.switch) if graph.direct else np.flatnonzero(graph.tier > 0)
    local = np.full(len(graph.tier), -1, dtype=np.int32)
    local[relays] = np.arange(len(relays))
    tail, head = local[graph.tail], local[graph.head]
    used = np.flatnonzero(passes)
    targets = np.unique(graph.endpoints.switch)
    goals = local[targets][:, None]
    nodes = len(relays)
    if up_down:
        tail, head, used = _two_states(graph, tail, head, used, nodes)
        goals = np.concatenate([goals, goals + nodes], axis=1)
        nodes *= 2
    out = used[np.argsort(tail[used], kind="stable")].astype(np.int32)
    into = used[np.argsort(head[used], kind="stable")].astype(np.int32)
    leaving = np.append(0, np.cumsum(np.bincount(tail[used], minlength=nodes)))
    arriving = np.append(0, np.cumsum(np.bincount(head[used], minlength=nodes)))
    away = kernels.distances(arriving, into, tail, goals.astype(np.int32), nodes)
    table, first, links = kernels.next_sets(away, leaving, out, head)
    links, divisor = _ordered_sets(graph, first, links)
    column = np.full(len(graph.tier), -1, dtype=np.int32)
    column[targets] = np.arange(len(targets))
    return Routes(graph, local, column, head, away, table, first, links, divisor)


def routes_for(graph: LinkGraph, routing: str) -> Routes:
    """The routes that a routing needs. DesignError for a routing that is not known, or not for this fabric."""
    if routing not in ROUTINGS:
        raise DesignError(f"routing {routing!r} is not known; write one of {', '.join(ROUTINGS)}")
    if routing == "dimension-order":
        raise DesignError("dimension-order routing is for a torus; write ecmp, static, spray or up-down")
    return routes(graph, up_down=routing == "up-down")


def static_routes(topology: Topology) -> Routes:
    """Argosy's own deterministic routing (d-mod-k) of a fabric: `.paths(source, end, "static")` walks it."""
    return routes(link_graph(topology.cables))


def link_loads(
    topology: Topology, source: np.ndarray, end: np.ndarray, routing: str = "static", seed: int = 0
) -> np.ndarray:
    """Flows per one-way link, (2 · cables,), of a pattern: endpoint `source[f]` sends to endpoint `end[f]`.

    Endpoints are the hosts' cables, sorted by host, then port (`link_graph(cables).endpoints`); link 2c goes from
    cable c's `a` to its `b`, link 2c + 1 back. `.max()` is the maximum link load of a pattern in flows, comparable
    with a walk of a subnet manager's forwarding tables; `argosy.fabric.traffic.shift` gives the pattern of a shift.
    """
    found = routes_for(link_graph(topology.cables), routing)
    return found.paths(source, end, routing, seed).load(len(found.graph))


def _keys(source: np.ndarray, end: np.ndarray, pair: np.ndarray | int) -> np.ndarray:
    """What the hash is of: one 64-bit number per (source, destination, queue pair)."""
    key = np.asarray(source, dtype=np.uint64) << np.uint64(40)
    return key ^ (np.asarray(end, dtype=np.uint64) << np.uint64(16)) ^ np.asarray(pair, dtype=np.uint64)


def _two_states(
    graph: LinkGraph, tail: np.ndarray, head: np.ndarray, used: np.ndarray, nodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The graph with each node twice: before and after going down. A link down has a second number for the latter.

    Down is to a lower tier, within a tier to a higher number.
    """
    place = graph.tier * (np.int64(len(graph.tier)) + 1) - np.arange(len(graph.tier))
    down = place[graph.head] < place[graph.tail]
    after = np.where(down, head + nodes, head).astype(np.int32)
    tails = np.concatenate([tail, tail + nodes]).astype(np.int32)
    return tails, np.concatenate([after, head + nodes]).astype(np.int32), np.append(
        used, used[down[used]] + len(graph)
    )  # fmt: skip


def _ordered_sets(graph: LinkGraph, first: np.ndarray, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sets' links in the order in which d-mod-k counts them, and the divisor of every set.

    A parallel generalised fat tree: at tier t a destination j takes way (j ÷ W_t) modulo the ways up, where W_t is the
    product of the parents of the tiers below (1 at the leaf); parents are counted before parallel cables. Downwards
    from tier t + 1 the parallel cable is (j ÷ W_{t+1}) modulo their number.
    """
    plain = links % len(graph)
    number = np.repeat(np.arange(len(first) - 1), np.diff(first))
    head = graph.head[plain]
    by_head = np.lexsort((plain, head, number))
    new = np.append(True, (np.diff(number[by_head]) != 0) | (np.diff(head[by_head]) != 0))
    begins = np.flatnonzero(new)
    parallel = np.empty(len(links), dtype=np.int64)
    parallel[by_head] = np.arange(len(links)) - (begins[np.cumsum(new) - 1] if len(links) else 0)
    ordered = links[np.lexsort((plain, head, parallel, number))] if len(links) else links
    divisor = np.ones(len(first) - 1, dtype=np.int64)
    lead = first[:-1][np.diff(first) > 0]
    divisor[np.diff(first) > 0] = _widths(graph)[graph.tier[graph.tail[plain[lead]]]]
    return ordered, divisor


def _widths(graph: LinkGraph) -> np.ndarray:
    """W_t per tier, (tiers + 1,): the product of the most parents that a node of each tier below has."""
    width = np.ones(int(graph.tier.max()) + 2, dtype=np.int64)
    up = (graph.tier[graph.head] == graph.tier[graph.tail] + 1) & (graph.tier[graph.tail] > 0)
    pairs = np.unique(np.stack([graph.tail[up], graph.head[up]]), axis=1)
    parents = np.bincount(pairs[0], minlength=len(graph.tier))
    for tier in range(1, len(width) - 1):
        width[tier + 1] = width[tier] * max(int(parents[graph.tier == tier].max(initial=0)), 1)
    return width
