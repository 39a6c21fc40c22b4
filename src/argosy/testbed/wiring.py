"""What must be typed for a fabric: namespaces, veth pairs, bridges, forwarding entries, neighbours, tc. Nothing is run here.

One namespace per host and per switch. A host's card p is `eth<p>`, a switch's end of cable c is `p<c>`, its bridge `bridge0`.
Besides, every host has `ctl0`, on a switch of its own that is neither shaped nor long: the control plane.
Switches learn nothing and flood nothing: their tables are the routes of `argosy fabric`, so that packets take the paths
that were predicted. Every link is shaped where it leaves a node, so each way has a queue of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from argosy.fabric.linkgraph import LinkGraph
from argosy.fabric.names import node_names
from argosy.fabric.routing import Routes
from argosy.testbed.fabrics import Fabric

MTU = 9000
GSO_BYTES = 16_000  # largest packet handed to a queue: above the bucket tc would cut it up again
BURST_BYTES = 32_768  # bucket of tc: 2.6 ms at 100 Mb/s, so that a late timer costs nothing
QUEUE_BYTES = 8_000_000  # of every link: nothing is dropped, as in a lossless fabric
BRIDGE = "bridge0"
CONTROL = "control"  # the namespace of the control plane's switch; whoever manages the hosts runs there
CONTROL_CARD = "ctl0"  # a host's interface on it
MANAGER = "10.255.0.254"


@dataclass(frozen=True)
class End:
    """One end of a cable: its node's name, and the interface there."""

    node: str
    interface: str


@dataclass(frozen=True)
class Wiring:
    """A fabric's nodes and cables by name: `ends` (cables) at `a` and at `b`; `rate` (links,) bit/s; `ways`: (switch,
    endpoint) → the link by which the switch forwards to that endpoint.
    """

    fabric: Fabric
    graph: LinkGraph
    nodes: tuple[str, ...]
    hosts: tuple[int, ...]
    ends: tuple[tuple[End, End], ...]
    ways: dict[tuple[int, int], int]

    @classmethod
    def of(cls, fabric: Fabric) -> Wiring:
        """The wiring of a fabric."""
        found = fabric.routes()
        graph = found.graph
        nodes = tuple(node_names(fabric.topology.cables))
        port_at = {}
        for host, port, up in zip(
            graph.endpoints.host, graph.endpoints.port, graph.endpoints.up, strict=True
        ):
            port_at[int(up) // 2] = (int(host), f"eth{port}")
        ends = []
        for cable, link in enumerate(range(0, len(graph), 2)):
            pair = []
            for node in (int(graph.tail[link]), int(graph.head[link])):
                host, name = port_at.get(cable, (-1, ""))
                pair.append(End(nodes[node], name if node == host else f"p{cable}"))
            ends.append((pair[0], pair[1]))
        hosts = tuple(int(node) for node in np.flatnonzero(graph.tier == 0))
        return cls(fabric, graph, nodes, hosts, tuple(ends), forwarding(found))

    @property
    def switches(self) -> tuple[int, ...]:
        """Nodes that pass traffic on."""
        return tuple(int(node) for node in np.flatnonzero(self.graph.tier > 0))

    def sender(self, link: int) -> End:
        """The end by which a one-way link is entered: its queue and its byte counter are there."""
        return self.ends[link // 2][link % 2]

    def address(self, endpoint: int) -> str:
        """IPv4 address of a card: its rail's /24, which every host's card of that number shares."""
        ends = self.graph.endpoints
        return f"10.{10 + ends.port[endpoint]}.0.{ends.host[endpoint] + 1}"

    def mac(self, endpoint: int) -> str:
        """Ethernet address of a card, of the locally administered ones."""
        ends = self.graph.endpoints
        return f"02:00:00:00:{int(ends.port[endpoint]):02x}:{int(ends.host[endpoint]):02x}"

    def control_address(self, host: int) -> str:
        """IPv4 address on the control plane of the host of that number, 0 and up; the manager's is MANAGER."""
        return f"10.255.0.{host + 1}"

    def control_veths(self, prefix: str) -> Iterator[str]:
        """`ip -batch` lines that make the control plane's cables."""
        for number, node in enumerate(self.hosts):
            yield (
                f"link add name {CONTROL_CARD} netns {prefix}{self.nodes[node]} type veth "
                f"peer name c{number} netns {prefix}{CONTROL}"
            )

    def control_up(self) -> Iterator[str]:
        """`ip -n CONTROL -batch` lines: an ordinary switch, which learns, and the manager's address at it."""
        yield "link set lo up"
        yield f"link add name {BRIDGE} type bridge stp_state 0 mcast_snooping 0"
        yield f"addr add {MANAGER}/24 dev {BRIDGE}"
        yield f"link set {BRIDGE} up"
        for number in range(len(self.hosts)):
            yield f"link set c{number} master {BRIDGE} up"

    def veths(self, prefix: str) -> Iterator[str]:
        """`ip -batch` lines that make every cable without a delay; those with one are `delays`."""
        for cable, (a, b) in enumerate(self.ends):
            if cable not in self.delays:
                yield (
                    f"link add name {a.interface} netns {prefix}{a.node} type veth "
                    f"peer name {b.interface} netns {prefix}{b.node}"
                )

    @property
    def delays(self) -> dict[int, tuple[float, float]]:
        """Cables that take time or lose packets: number → (seconds one way, share lost)."""
        fabric = self.fabric
        return {
            cable: (fabric.delay_s.get(cable, 0.0), fabric.loss.get(cable, 0.0))
            for cable in sorted({*fabric.delay_s, *fabric.loss})
        }

    def interfaces(self, node: int) -> list[str]:
        """Ends of cables at a node."""
        return [end.interface for pair in self.ends for end in pair if end.node == self.nodes[node]]

    def links_up(self, node: int) -> Iterator[str]:
        """`ip -n NODE -batch` lines: bridge, addresses, neighbours."""
        yield "link set lo up"
        ends = self.graph.endpoints
        for name in self.interfaces(node):
            yield f"link set {name} mtu {MTU} gso_max_size {GSO_BYTES}"
        if node not in self.hosts:
            yield f"link add name {BRIDGE} type bridge stp_state 0 mcast_snooping 0"
            yield f"link set {BRIDGE} mtu {MTU} up"
            for name in self.interfaces(node):
                yield f"link set {name} master {BRIDGE} up"
            return
        number = self.hosts.index(node)
        yield f"addr add {self.control_address(number)}/24 dev {CONTROL_CARD}"
        yield f"link set {CONTROL_CARD} up"
        own = np.flatnonzero(ends.host == node).tolist()
        for endpoint in own:
            name = f"eth{ends.port[endpoint]}"
            yield f"link set {name} address {self.mac(endpoint)}"
            yield f"addr add {self.address(endpoint)}/24 dev {name}"
            yield f"link set {name} up"
        for endpoint in own:
            name = f"eth{ends.port[endpoint]}"
            others = (ends.port == ends.port[endpoint]) & (ends.host != node)
            for other in np.flatnonzero(others).tolist():
                yield f"neigh replace {self.address(other)} lladdr {self.mac(other)} dev {name} nud permanent"

    def forwards(self, node: int) -> Iterator[str]:
        """`bridge -n SWITCH -batch` lines: nothing learned, nothing flooded, one entry per card."""
        for name in self.interfaces(node):
            yield f"link set dev {name} learning off flood off mcast_flood off bcast_flood off"
        for (switch, endpoint), link in sorted(self.ways.items()):
            if switch == node:
                yield f"fdb replace {self.mac(endpoint)} dev {self.sender(link).interface} master static"

    def shapes(self, node: int) -> Iterator[str]:
        """`tc -n NODE -batch` lines: the rate of every link that leaves the node; none of a fabric that is not shaped."""
        for link in np.flatnonzero(self.graph.tail == node) if self.fabric.shaped else ():
            yield self.shape(int(link))

    def shape(self, link: int, share: float = 1.0) -> str:
        """A `tc -batch` line: the rate of one link, or a share of it."""
        return (
            f"qdisc replace dev {self.sender(link).interface} root tbf rate "
            f"{share * self.graph.rate[link]:.0f}bit burst {BURST_BYTES} limit {QUEUE_BYTES}"
        )


def forwarding(found: Routes) -> dict[tuple[int, int], int]:
    """(switch, endpoint) → the link by which that switch passes on what goes to that endpoint, of routes by destination.

    ValueError where two paths to one endpoint part again: no forwarding table could say them.
    """
    ends = found.graph.endpoints
    count = len(ends)
    source, end = np.divmod(np.arange(count * count), count)
    keep = (source != end) & (ends.plane[source] == ends.plane[end])
    source, end = source[keep], end[keep]
    paths = found.paths(source, end, "static")
    ways: dict[tuple[int, int], int] = {}
    for flow, target in enumerate(end):
        for link in paths.links[paths.first[flow] : paths.first[flow + 1]][1:]:
            key = (int(found.graph.tail[link]), int(target))
            if ways.setdefault(key, int(link)) != link:
                raise ValueError(f"switch {key[0]} forwards to endpoint {key[1]} in two ways")
    return ways
