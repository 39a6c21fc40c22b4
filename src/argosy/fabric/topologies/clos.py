"""Folded Clos networks: fat trees of any tiers and radix, oversubscribed or not; rails; planes; pods.

A tree grows tier by tier. What stands so far are equal blocks, each with top switches that have `up` free
ports. The next tier joins blocks: for every top switch of a block there are s new switches, each with up/s
cables to that top switch of each block joined. So a new switch needs (blocks joined) × up/s ports downwards,
and s must divide `up`. Where no s does, the design does not close, and says so in its problems; blocks that
are built whole but stay partly empty are notes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from argosy.fabric.cables import Wiring
from argosy.fabric.topologies.design import LENGTH_M, Design, DesignError, Domain, Topology
from argosy.laws import topology as laws

TIER_NAMES = ("leaf", "spine", "core")


def fat_tree(design: Design) -> Topology:
    """A tree whose leaf takes consecutive cards: the cards of a host are neighbours on one leaf or a few."""
    return _whole_tree(design, rails=False)


def rail_optimized(design: Design) -> Topology:
    """A tree in which card r of every host of a unit plugs into the unit's leaf r: a rail stays under one
    leaf.
    """
    return _whole_tree(design, rails=True)


def planes(design: Design) -> Topology:
    """Separate trees, one per plane: card r goes to plane r modulo the planes; more planes than cards split a
    card.

    With one plane per card this is the rail-only network: rails meet only inside the scale-up domain.
    """
    cards, count = design.nics_per_host, design.planes or design.nics_per_host
    if count % cards and cards % count:
        raise DesignError(
            f"{cards} cards per host cannot be spread over {count} planes: one must divide the other"
        )
    in_plane = max(1, cards // count)
    one = replace(design, nics_per_host=in_plane, rate=design.rate / max(1, count // cards))
    wiring = Wiring()
    hosts = wiring.add_nodes("host", design.hosts, max(count, cards), 0)
    trees = [_Tree(wiring, one, f"plane-{plane}/") for plane in range(count)]
    for tree in trees:
        tree.plant(hosts, rails=in_plane > 1)
        tree.grow()
    return trees[0].topology(design)  # all planes are alike: the first speaks for all


def multi_pod(design: Design) -> Topology:
    """Pods of two tiers, each rack's leaf under the pod's spines, joined by an oversubscribed core.

    A rack of `hosts_per_rack` has one leaf (Llama 3: 2 hosts of 8 cards under one switch, arXiv:2407.21783
    section 3.3.1). All pods are built, whether or not the job fills them.
    """
    if not design.pods:
        raise DesignError("a multi-pod fabric needs the number of pods; write pods: 8")
    in_pod = -(-design.hosts // design.pods)
    racks = -(-in_pod // design.hosts_per_rack)
    wiring = Wiring()
    hosts = wiring.add_nodes("host", design.hosts, design.nics_per_host, 0)
    tree = _Tree(wiring, design)
    leaves = wiring.add_nodes("leaf", design.pods * racks, design.radix, 1, design.switch)
    host = np.repeat(np.arange(design.hosts), design.nics_per_host)
    rack = host // in_pod * racks + host % in_pod // design.hosts_per_rack
    wiring.connect("host-leaf", LENGTH_M["rack"], hosts[host], leaves[rack], design.rate)
    if in_pod % design.hosts_per_rack:
        tree.notes.append(f"{in_pod} hosts per pod do not fill racks of {design.hosts_per_rack}")
    down = design.hosts_per_rack * design.nics_per_host
    tree.blocks, tree.tier, tree.hosts = leaves[:, None], 1, design.hosts_per_rack
    tree.up = math.ceil(down / tree.oversubscription(1, 3) - 1e-9)
    tree.join(racks, tree.oversubscription(2, 3), "spine", LENGTH_M["hall"], domain="leaf")
    tree.hosts = in_pod
    tree.join(design.pods, None, "core", LENGTH_M["hall"], domain="pod")
    return tree.topology(design)


def tier_name(tier: int) -> str:
    """leaf, spine, core, then tier-4 and so on."""
    return TIER_NAMES[tier - 1] if tier <= len(TIER_NAMES) else f"tier-{tier}"


def _whole_tree(design: Design, rails: bool) -> Topology:
    wiring = Wiring()
    hosts = wiring.add_nodes("host", design.hosts, design.nics_per_host, 0)
    tree = _Tree(wiring, design)
    tree.plant(hosts, rails)
    tree.grow()
    return tree.topology(design)


@dataclass
class _Tree:
    """A tree that grows in `wiring`: `blocks` are the ids of the top switches of what stands, shape (blocks,
    tops).

    `up`: free ports of each top switch; `hosts`: hosts that one block reaches.
    """

    wiring: Wiring
    design: Design
    prefix: str = ""
    blocks: np.ndarray = field(default_factory=lambda: np.zeros((0, 1), dtype=np.int64))
    up: int = 0
    tier: int = 0
    hosts: float = 0.0
    domains: list[Domain] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def tiers(self) -> int:
        """Tiers asked for, or the fewest that reach every card."""
        cards = self.design.hosts * self.design.nics_per_host
        return self.design.tiers or laws.tiers_needed(cards, self.design.radix)

    def oversubscription(self, tier: int, tiers: int) -> float:
        """What was asked for the uplinks of `tier`; `pod-uplink` names those below the top."""
        asked = dict(self.design.oversubscription)
        own = asked.get({1: "leaf-uplink", 2: "spine-uplink"}.get(tier, ""), 1.0)
        return asked.get("pod-uplink", own) if 1 < tier == tiers - 1 else own

    def plant(self, hosts: np.ndarray, rails: bool) -> None:
        """The leaf tier, and the cards of `hosts` plugged into it."""
        design, tiers, cards = self.design, self.tiers, self.design.nics_per_host
        split = laws.clos_split(design.radix, self.oversubscription(1, tiers))
        down, self.up = split if tiers > 1 else (design.radix, 0)
        host, card = np.divmod(np.arange(len(hosts) * cards), cards)
        if rails:
            units = -(-len(hosts) // down)
            leaf = card * units + host // down  # leaves of one rail are neighbours: they share spines first
            count, self.hosts = units * cards, down
            if spare := units * down - len(hosts):
                self.notes.append(f"the last unit of {down} hosts has room for {spare} more")
        else:
            leaf = (host * cards + card) // down
            count, self.hosts = -(-len(hosts) * cards // down), down / cards
            if down % cards and tiers > 1:
                self.notes.append(
                    f"{down} cards per leaf are no whole hosts of {cards}: some hosts straddle two"
                )
        if tiers == 1 and count > 1:
            self.problems.append(
                f"one tier is one switch of {design.radix} ports: it cannot take {len(hosts) * cards} cards"
            )
        leaves = self.wiring.add_nodes(f"{self.prefix}leaf", count, design.radix, 1, design.switch)
        self.wiring.connect(
            f"{self.prefix}host-leaf", LENGTH_M["row"], hosts[host], leaves[leaf], design.rate
        )
        self.blocks, self.tier = leaves[:, None], 1

    def grow(self) -> None:
        """All tiers above the leaf."""
        tiers = self.tiers
        radix = self.design.upper_radix or self.design.radix
        for tier in range(2, tiers + 1):
            over = self.oversubscription(tier, tiers) if tier < tiers else None
            size = len(self.blocks) if over is None else laws.clos_split(radix, over)[0]
            length = LENGTH_M["row"] if tier == 2 else LENGTH_M["hall"]
            self.join(size, over, tier_name(tier), length, domain=tier_name(tier - 1))

    def join(self, size: int, over: float | None, name: str, length: float, domain: str) -> None:
        """One more tier over `size` blocks at a time; `over` None: the top, without uplinks. `domain` names a
        block.
        """
        self.domains.append(Domain(domain, self.hosts))
        count, tops = self.blocks.shape
        radix = self.design.upper_radix or self.design.radix
        size = min(size, count)
        room = radix if over is None else laws.clos_split(radix, over)[0]
        switches = self._switches_per_top(size, room, radix, name)
        each = max(self.up // switches, 1)
        joined = -(-count // size)
        upper = self.design.upper_switch or self.design.switch
        ids = self.wiring.add_nodes(
            f"{self.prefix}{name}", joined * tops * switches, radix, self.tier + 1, upper
        )
        above = ids.reshape(joined, tops * switches)
        block, top, switch, _ = np.indices((count, tops, switches, each))
        boundary = f"{self.prefix}{tier_name(self.tier)}-{name}"
        ends = self.blocks[block, top], above[block // size, top * switches + switch]
        self.wiring.connect(boundary, length, *ends, self.design.rate)
        if count % size:
            self.notes.append(f"the last {name} block joins {count % size} of {size}: it has free ports")
        self.up = 0 if over is None else math.ceil(size * each / over - 1e-9)
        self.blocks, self.tier, self.hosts = above, self.tier + 1, self.hosts * size

    def _switches_per_top(self, size: int, room: int, radix: int, name: str) -> int:
        """The fewest new switches per top switch whose downward ports suffice: s divides `up`, size·up/s ≤
        room.
        """
        for switches in range(1, self.up + 1):
            if self.up % switches == 0 and size * (self.up // switches) <= room:
                return switches
        below = "leaves" if self.tier == 1 else "blocks"
        self.problems.append(
            f"{size} {below} under {radix}-port {name} switches cannot be one full mesh: each needs {size} "
            f"ports downwards and has {room}; use a larger radix or one more tier"
        )
        return max(self.up, 1)

    def topology(self, design: Design) -> Topology:
        """What has grown, as `design`'s topology."""
        cables = self.wiring.finish()
        problems = (*self.problems, *cables.problems())
        return Topology(design, cables, tuple(self.domains), problems, tuple(self.notes))
