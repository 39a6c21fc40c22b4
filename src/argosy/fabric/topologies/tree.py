"""A folded Clos network grown tier by tier.

What stands so far are equal blocks, each with top switches that have `up` free links. The next tier joins
blocks: for every top switch of a block there are s new switches, each with up/s links to that top switch of
each block joined. So a new switch needs (blocks joined) × up/s links downwards, and s must divide `up`. Where
no s does, the design does not close, and says so in its problems, with what would close; blocks that are
built whole but stay partly empty are notes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from argosy.fabric.cables import CableList, Wiring
from argosy.fabric.topologies.design import Design, DesignError, Domain, Topology, tier_name
from argosy.laws import topology as laws

MOST_TIERS = 8  # of four ports a switch, these reach 512 hosts; nobody builds more
EPSILON = 1e-9  # of a whole number, for counts that come out of ratios


@dataclass(frozen=True)
class Ports:
    """A switch's cages split into `down` and `up` links; `cages` in all, and links per cage either way."""

    down: int
    up: int
    cages: int
    lanes_down: int
    lanes_up: int

    @property
    def links(self) -> int:
        """Links that the switch has when all its cages are broken out as split."""
        return self.down + self.up


def split(design: Design, tier: int, over: float | None) -> Ports:
    """The ports of a tier's switch: `over` its capacity below ÷ above, None for the top, without uplinks.

    All ports down at the top; elsewhere down:up so that capacity below is at most `over` times that above.
    A port carries as many links of a rate as it holds whole; a link faster than the port takes none.
    """
    kind, below = design.kind(tier), design.link_rate(tier - 1)
    above = below if over is None else design.link_rate(tier)
    port = kind.port_rate or max(below, above)
    lanes_down, lanes_up = (math.floor(port / rate + EPSILON) for rate in (below, above))
    if over is None:
        return Ports(kind.ports * lanes_down, 0, kind.ports, lanes_down, lanes_up)
    if kind.uplinks:
        lanes = math.floor((kind.uplink_rate or port) / above + EPSILON)
        own = math.floor((kind.port_rate or below) / below + EPSILON)
        return Ports(kind.ports * own, kind.uplinks * lanes, kind.ports + kind.uplinks, own, lanes)
    # Equal to laws.clos_split where a port's capacity is wholly used both ways.
    relative = over * lanes_up * above / max(lanes_down * below, EPSILON)
    down, up = laws.clos_split(kind.ports, relative)
    return Ports(down * lanes_down, up * lanes_up, kind.ports, lanes_down, lanes_up)


@dataclass
class Tree:
    """A tree that grows in `wiring`: `blocks` are the ids of the top switches of what stands, shape (blocks,
    tops).

    `up`: free links of each top switch; `hosts`: hosts that one block reaches; `of_host`: ports of one host
    in this tree; `rails`, `unit`: whether each leaf serves one rail, of so many hosts.
    """

    wiring: Wiring
    design: Design
    of_host: int
    rails: bool
    prefix: str = ""
    blocks: np.ndarray = field(default_factory=lambda: np.zeros((0, 1), dtype=np.int64))
    up: int = 0
    tier: int = 0
    hosts: float = 0.0
    unit: int = 1
    domains: list[Domain] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def tiers(self) -> int:
        """Tiers asked for, or the fewest that reach every card (three with pods)."""
        if self.design.tiers or self.design.pods:
            return self.design.tiers or 3
        ports = self.design.hosts * self.of_host
        reach, tier = 1, 1  # a block reaches what its tiers' downward links multiply to
        if self.rails and ports > split(self.design, 1, None).down:  # units are built whole
            unit = max(split(self.design, 1, self.oversubscription(1, 2)).down, 1)
            ports = -(-self.design.hosts // unit) * unit * self.of_host
        while reach * split(self.design, tier, None).down < ports and tier < MOST_TIERS:
            reach *= split(self.design, tier, self.oversubscription(tier, tier + 1)).down
            tier += 1
        return tier

    def oversubscription(self, tier: int, tiers: int) -> float:
        """What was asked for the uplinks of `tier`; `pod-uplink` names those below the top."""
        asked = dict(self.design.oversubscription)
        own = asked.get({1: "leaf-uplink", 2: "spine-uplink"}.get(tier, f"{tier_name(tier)}-uplink"), 1.0)
        return asked.get("pod-uplink", own) if 1 < tier == tiers - 1 else own

    def plant(self, hosts: np.ndarray, port: np.ndarray) -> None:
        """The leaf tier, and the ports of `hosts` (their numbers `port`, shape (ports of a host,)) plugged in.

        With pods each has leaves of its own, all alike, whether or not hosts fill them. One switch for all takes
        every rail.
        """
        design, tiers = self.design, self.tiers
        self.rails = rails = self.rails and tiers > 1
        ports = split(design, 1, self.oversubscription(1, tiers) if tiers > 1 else None)
        self._check_lanes(1, ports)
        racks = design.topology == "multi-pod" and not rails
        per_leaf = design.hosts_per_leaf or (2 if racks else None)
        down = ports.down if per_leaf is None else per_leaf * (1 if rails else self.of_host)
        self.up = ports.up if per_leaf is None else self._links_up(down, ports, 1, tiers)
        pods = design.pods or 1
        in_pod = -(-len(hosts) // pods)
        pod, local = np.divmod(np.arange(len(hosts)), in_pod)
        leaf, count = self._rails(local, in_pod, down) if rails else self._in_order(local, in_pod, down)
        if racks and in_pod % (per_leaf or 1):
            self.notes.append(f"{in_pod} hosts per pod do not fill racks of {per_leaf}")
        if tiers == 1 and count > 1:
            self.problems.append(
                f"one tier is one switch of {ports.links} ports: it cannot take {len(hosts) * self.of_host} cards; "
                "ask for two tiers"
            )
        leaves = self.wiring.add_nodes(
            f"{self.prefix}leaf", pods * count, ports.links, 1, design.kind(1).name, ports.cages
        )
        rate = np.minimum(host_port_rates(design, len(hosts))[hosts], design.link_rate(0))
        plugged, name = leaves[leaf + pod[:, None] * count], f"{self.prefix}host-leaf"
        self.wiring.connect(name, hosts[:, None], plugged, rate[:, None], a_port=port[None, :])
        self.blocks, self.tier = leaves[:, None], 1
        if design.pods:
            self.join(count, self.oversubscription(2, tiers), tier_name(2), "leaf")
            self.hosts = in_pod

    def _rails(self, local: np.ndarray, in_pod: int, down: int) -> tuple[np.ndarray, int]:
        """The leaf of every port, shape (hosts, ports of a host), and the leaves of a pod: port r of every host of a
        unit on the unit's leaf r. The leaves of one rail are neighbours: they share spines first.
        """
        units = -(-in_pod // down)
        self.hosts = self.unit = down
        if spare := units * down - in_pod:
            self.notes.append(f"the last unit of {down} hosts has room for {spare} more")
        return np.arange(self.of_host)[None, :] * units + (local // down)[:, None], units * self.of_host

    def _in_order(self, local: np.ndarray, in_pod: int, down: int) -> tuple[np.ndarray, int]:
        """The same where each leaf takes the next `down` ports."""
        self.hosts = down / self.of_host
        count = -(-in_pod * self.of_host // down)
        if down % self.of_host and count > 1:
            self.notes.append(
                f"{down} cards per leaf are no whole hosts of {self.of_host}: some hosts straddle two"
            )
        return (local[:, None] * self.of_host + np.arange(self.of_host)[None, :]) // down, count

    def grow(self) -> None:
        """All tiers above what stands."""
        tiers = self.tiers
        for tier in range(self.tier + 1, tiers + 1):
            over = self.oversubscription(tier, tiers) if tier < tiers else None
            size = len(self.blocks) if over is None else split(self.design, tier, over).down
            inside = "pod" if self.design.pods and tier == 3 else tier_name(tier - 1)
            self.join(max(size, 1), over, tier_name(tier), domain=inside)

    def join(self, size: int, over: float | None, name: str, domain: str) -> None:
        """One more tier over `size` blocks at a time; `over` None: the top, without uplinks. `domain` names a
        block.
        """
        self.domains.append(Domain(domain, self.hosts))
        count, tops = self.blocks.shape
        size = min(size, count)
        tier = self.tier + 1
        ports = split(self.design, tier, over)
        self._check_lanes(tier, ports)
        switches = self._switches_per_top(size, ports, name)
        each = max(self.up // switches, 1)
        joined = -(-count // size)
        ids = self.wiring.add_nodes(
            f"{self.prefix}{name}",
            joined * tops * switches,
            ports.links,
            tier,
            self.design.kind(tier).name,
            ports.cages,
        )
        above = ids.reshape(joined, tops * switches)
        block, top, switch, _ = np.indices((count, tops, switches, each))
        self.wiring.connect(
            f"{self.prefix}{tier_name(self.tier)}-{name}",
            self.blocks[block, top],
            above[block // size, top * switches + switch],
            self.design.link_rate(self.tier),
        )
        if count % size:
            self.notes.append(f"the last {name} block joins {count % size} of {size}: it has free ports")
        self.up = 0 if over is None else self._links_up(size * each, ports, tier, None, over)
        self.blocks, self.tier, self.hosts = above, tier, self.hosts * size

    def _links_up(
        self, links_down: int, ports: Ports, tier: int, tiers: int | None, over: float | None = None
    ) -> int:
        """Uplinks for `links_down` links below a switch of `tier`, at its oversubscription."""
        if over is None:
            over = self.oversubscription(tier, tiers or self.tiers)
        below, above = self.design.link_rate(tier - 1), self.design.link_rate(tier)
        return math.ceil(links_down * below / (over * above) - EPSILON)

    def _check_lanes(self, tier: int, ports: Ports) -> None:
        if not ports.lanes_down or not ports.lanes_up:
            kind = self.design.kind(tier)
            raise DesignError(
                f"{tier_name(tier)} switches have ports of {(kind.port_rate or 0) / 1e9:g} Gb/s, too slow for their "
                "links; name a faster switch for this tier"
            )

    def _switches_per_top(self, size: int, ports: Ports, name: str) -> int:
        """The fewest new switches per top switch whose downward links suffice: s divides `up`, size·up/s ≤
        room.
        """
        for switches in range(1, self.up + 1):
            if self.up % switches == 0 and size * (self.up // switches) <= ports.down:
                return switches
        below = "leaves" if self.tier == 1 else "blocks"
        self.problems.append(
            f"{size} {below} under {ports.links}-port {name} switches cannot be one full mesh: each needs {size} "
            f"ports downwards and has {ports.down}; {self._what_closes(size, ports, name)}"
        )
        return max(self.up, 1)

    def _what_closes(self, size: int, ports: Ports, name: str) -> str:
        """What would make `size` blocks close under switches that join `ports.down`."""
        need = size if ports.up == 0 else math.ceil(size * ports.links / max(ports.down, 1))
        ways = [f"{name} switches of {need} ports (--radix {name}:{need})"]
        fewest = replace(self, design=replace(self.design, tiers=None)).tiers
        if not self.design.pods and self.tiers < fewest < MOST_TIERS:
            ways.append(f"{fewest} tiers")
        if self.design.pods and self.tier > 1:
            ways.append(f"at most {ports.down} pods")
        elif fits := self._hosts_under(min(ports.down, size)):
            ways.append(f"at most {fits} hosts {'per pod' if self.design.pods else 'in all'}")
        return f"it closes with {', or '.join(ways)}"

    def _hosts_under(self, blocks: int) -> int:
        """Hosts that so many of the blocks that stand hold, with all their ports."""
        if self.rails:  # a leaf per rail: whole units
            leaves_of_block = round(self.hosts / self.unit)
            return blocks * leaves_of_block // self.of_host * self.unit
        return int(blocks * self.hosts)

    def topology(self, design: Design, cables: CableList) -> Topology:
        """What has grown, as `design`'s topology."""
        problems = (*self.problems, *cables.problems())
        return Topology(design, cables, tuple(self.domains), problems, tuple(self.notes))


def host_port_rates(design: Design, hosts: int) -> np.ndarray:
    """Rate (bit/s) of one card port of every host, shape (hosts,): `host_rates` from the first host on."""
    rates = np.full(hosts, design.rate / design.card_ports)
    first = 0
    for count, rate in design.host_rates:
        rates[first : first + count] = rate / design.card_ports
        first += count
    return rates
