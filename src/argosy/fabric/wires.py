"""The wires between accelerators: scale-up links inside a domain, cards and cables between domains.

Accelerator a has one scale-up port, out and in, into its domain's switches, and cards of its own into the fabric: its
part of its host's cables. A message to another domain leaves over the card of the sender's neighbour that stands where
the receiver stands in its own domain, so that it stays on the receiver's rail (NCCL's PXN); the way to the neighbour is
over scale-up links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.fabric.linkgraph import link_graph
from argosy.fabric.routing import SPRAYED, Routes, routes_for
from argosy.fabric.topologies.design import DesignError, Topology


@dataclass(frozen=True)
class Wires:
    """`accelerators` in domains of `domain`, `per_host` of them in a host, over a routed fabric.

    `cards` (accelerators, k): endpoints of the fabric that each uses; `scale_up`: byte/s of a scale-up port one way;
    `queue_pairs`: parts of a message that are hashed apart.
    """

    found: Routes
    routing: str
    seed: int
    accelerators: int
    domain: int
    cards: np.ndarray
    scale_up: float
    queue_pairs: int = 1

    @classmethod
    def of(
        cls,
        topology: Topology,
        domain: int,
        scale_up: float,
        routing: str = "static",
        seed: int = 0,
        queue_pairs: int = 1,
    ) -> Wires:
        """The wires of a tree of hosts. `domain`: accelerators that scale-up links join, whole hosts or one.

        DesignError for a torus or supernode: their accelerators have no cards.
        """
        design = topology.design
        graph = link_graph(topology.cables)
        ends = graph.endpoints
        if graph.direct or design.topology == "supernode":
            raise DesignError(f"a flow schedule is for hosts with cards, not for a {design.topology}")
        per_host = design.accelerators_per_host or design.nics_per_host
        hosts, counts = np.unique(ends.host, return_counts=True)  # places that stay empty have no cables
        ports = int(counts[0])
        if (counts != ports).any():
            raise DesignError("a flow schedule needs hosts with equally many cables")
        local = np.arange(per_host)
        if ports >= per_host:
            each = ports // per_host
            port = local[:, None] * each + np.arange(each)[None, :]
        else:
            port = (local * ports // per_host)[:, None]
        cards = (np.arange(len(hosts))[:, None, None] * ports + port[None]).reshape(-1, port.shape[1])
        found, count = routes_for(graph, routing), len(hosts) * per_host
        return cls(found, routing, seed, count, domain, cards, scale_up, queue_pairs)

    @property
    def fabric_links(self) -> int:
        """Links of the fabric; numbers from here on are scale-up ports: out and in of every accelerator in turn."""
        return len(self.found.graph)

    @property
    def capacity(self) -> np.ndarray:
        """Byte/s of every link, (links + 2 · accelerators,)."""
        ports = np.full(2 * self.accelerators, self.scale_up)
        return np.concatenate([self.found.graph.rate / 8, ports])

    def relay(self, source: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The accelerator over whose card a message leaves: of the sender's domain, in the receiver's place."""
        place = source // self.domain * self.domain + end % self.domain
        return np.asarray(np.minimum(place, self.accelerators - 1))

    def load(self, source: np.ndarray, end: np.ndarray, amount: np.ndarray | float) -> np.ndarray:
        """What falls on every link, (links + 2 · accelerators,), when `source[f]` sends `amount` (flows,) to `end[f]`.

        A message over several cards of one accelerator is split evenly.
        """
        amount = np.broadcast_to(np.asarray(amount, dtype=float), source.shape)
        inside = source // self.domain == end // self.domain
        relay = np.where(inside, end, self.relay(source, end))
        passed = relay != source
        ports = np.zeros((self.accelerators, 2))
        ports[:, 0] = np.bincount(source[passed], weights=amount[passed], minlength=self.accelerators)
        ports[:, 1] = np.bincount(relay[passed], weights=amount[passed], minlength=self.accelerators)
        fabric = self.card_load(relay[~inside], end[~inside], amount[~inside])
        return np.concatenate([fabric, ports.ravel()])

    def everyone_load(self, ranks: np.ndarray, label: np.ndarray, amount: float) -> np.ndarray:
        """What falls on every link when all of `ranks` (n,) send `amount` to all others of their `label` (n,), card to
        card. Paths are counted, not kept.
        """
        width = self.cards.shape[1]
        cards = self.cards[ranks].ravel()
        _, number = np.unique(
            np.repeat(label, width) * width + np.tile(np.arange(width), len(ranks)), return_inverse=True
        )
        ends, found = self.found.graph.endpoints, self.found
        node, column = found.local[ends.switch[cards]], found.column[ends.switch[cards]]
        if self.routing in SPRAYED:
            sends = np.zeros((number.max() + 1, found.table.shape[1]))
            takes = np.zeros((number.max() + 1, found.table.shape[0]))
            np.add.at(sends, (number, node), 1.0)
            np.add.at(takes, (number, column), 1.0)
            demand = takes.T @ sends
            lost = int(demand[found.table < 0].sum())
            demand[found.table <= 0] = 0.0
            load = found.spread_load(demand)
        else:
            load, lost = self._walked(cards, number, node, column)
        _all_arrive(lost)
        peers = np.bincount(number)[number] - 1
        load[ends.up[cards]] += peers
        load[ends.down[cards]] += peers
        return np.concatenate([load * amount / width, np.zeros(2 * self.accelerators)])

    def _walked(
        self, cards: np.ndarray, number: np.ndarray, node: np.ndarray, column: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Pairs of one `number` per link between switches, (links,), walked one by one; and those without a way."""
        from argosy.kernels import routes as kernels

        found, order = self.found, self.found.graph.endpoints.order[cards]
        key, load, lost = cards.astype(np.uint64), np.zeros(len(found.head)), 0
        by_number = np.argsort(number, kind="stable")
        for own in np.split(by_number, np.cumsum(np.bincount(number))[:-1]):
            same, begin, weight = np.zeros(len(own), dtype=np.int64), own, np.ones(len(own))
            if self.routing == "static":  # whoever shares a switch takes the same way to one card
                _, which, count = np.unique(node[own], return_index=True, return_counts=True)
                begin, weight = own[which], count.astype(float)
            more, missed = kernels.count_all(
                found.table, found.set_first, found.set_links, found.set_divisor, found.head,
                (node[begin], same[: len(begin)], key[begin], weight), (column[own], same, key[own], order[own]),
                np.uint64(self.seed), self.routing != "static",
            )  # fmt: skip
            load += more
            lost += missed
        return load.reshape(-1, self.fabric_links).sum(axis=0), lost

    def card_load(self, source: np.ndarray, end: np.ndarray, amount: np.ndarray) -> np.ndarray:
        """What falls on the links of the fabric, (links,), from card to card."""
        width = self.cards.shape[1]
        from_card, to_card = self.cards[source], self.cards[end]
        if self.routing in SPRAYED:
            return self._sprayed(from_card.ravel(), to_card.ravel(), np.repeat(amount / width, width))
        parts = width * self.queue_pairs
        from_card, to_card = (
            np.repeat(cards, self.queue_pairs, axis=1).ravel() for cards in (from_card, to_card)
        )
        pair = np.tile(np.arange(self.queue_pairs), len(source) * width)
        paths = self.found.paths(from_card, to_card, self.routing, self.seed, pair)
        _all_arrive(int((~paths.arrives).sum()))
        return paths.load(self.fabric_links, np.repeat(amount / parts, parts))

    def _sprayed(self, from_card: np.ndarray, to_card: np.ndarray, amount: np.ndarray) -> np.ndarray:
        """What falls on the links of the fabric, (links,), when messages between cards are sprayed: no flow is kept."""
        found, ends = self.found, self.found.graph.endpoints
        demand = np.zeros(found.table.shape)
        np.add.at(demand, (found.column[ends.switch[to_card]], found.local[ends.switch[from_card]]), amount)
        _all_arrive(int((demand[found.table < 0] > 0).sum()))
        demand[found.table <= 0] = 0.0
        load = found.spread_load(demand)
        load += np.bincount(ends.up[from_card], weights=amount, minlength=len(load))
        return load + np.bincount(ends.down[to_card], weights=amount, minlength=len(load))


def _all_arrive(lost: int) -> None:
    """DesignError where messages between cards find no way."""
    if lost:
        raise DesignError(f"{lost} pairs of cards find no way: cards of one rail must be joined")
