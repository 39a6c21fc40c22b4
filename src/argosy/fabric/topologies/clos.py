"""Folded Clos networks: fat trees of any tiers and radix, oversubscribed or not, rail-optimised, in planes,
in pods.

A tree grows tier by tier. What stands so far are equal blocks, each with `planes` top switches that have `up`
free ports; the next tier joins blocks: for every plane, s switches, each with up/s cables to that plane's top
switch of each block. So a switch of the next tier needs (blocks joined) × up/s ports downwards, and s must
divide `up`: where no s does, the design does not close, and says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from argosy.fabric.cables import Wiring
from argosy.fabric.topologies.design import LENGTH_M, Design, DesignError, Domain, Topology
from argosy.laws import topology as laws

TIER_NAMES = ("leaf", "spine", "core")


@dataclass
class Blocks:
    """Equal blocks: ids of their top switches, shape (blocks, planes), with `up` free ports each; hosts per
    block.
    """

    tops: np.ndarray
    up: int
    tier: int
    hosts: float


def tier_name(tier: int) -> str:
    """leaf, spine, core, then tier-4 and so on."""
    return TIER_NAMES[tier - 1] if tier <= len(TIER_NAMES) else f"tier-{tier}"


def fat_tree(design: Design) -> Topology:
    """A tree whose leaf takes consecutive cards: a host's cards are neighbours on one leaf (or few)."""
    return _tree(design, rails=False)


def rail_optimized(design: Design) -> Topology:
    """A tree in which card r of every host of a unit plugs into the unit's leaf r, so that a rail stays under
    one leaf.
    """
    return _tree(design, rails=True)


def planes(design: Design) -> Topology:
    """Separate trees, one per plane: card r goes to plane r (or r modulo the planes); more planes than cards
    split a card.

    With one plane per card this is the rail-only network: rails meet only inside the scale-up domain.
    """
    count = design.planes or design.nics_per_host
    cards = design.nics_per_host
    if count % cards and cards % count:
        raise DesignError(
            f"{cards} cards per host cannot be spread over {count} planes: one must divide the other"
        )
    ports_per_plane = max(1, cards // count)
    rate = design.rate / max(1, count // cards)
    one = replace(design, nics_per_host=ports_per_plane, rate=rate)
    wiring = Wiring()
    hosts = wiring.add_nodes("host", design.hosts, max(count, cards), 0)
    problems: list[str] = []
    domains: tuple[Domain, ...] = ()
    for plane in range(count):
        prefix = f"plane-{plane}/"
        blocks, at_leaves = _leaves(wiring, hosts, one, rails=ports_per_plane > 1, prefix=prefix)
        domains, above = _grow(wiring, blocks, one, prefix)
        problems = problems or at_leaves + above  # all planes are alike: the first one speaks for all
    return _finish(design, wiring, domains, problems)


def multi_pod(design: Design) -> Topology:
    """Pods of two tiers, each a rack's leaf under pod spines without oversubscription, joined by an
    oversubscribed core.

    A rack of `hosts_per_rack` has one leaf (Llama 3: 2 hosts of 8 cards on one switch, arXiv:2407.21783
    section 3.3.1). Pods are filled in order; all pods are built, whether or not the job fills them.
    """
    if not design.pods:
        raise DesignError("a multi-pod fabric needs the number of pods; write pods: 8")
    in_pod = -(-design.hosts // design.pods)
    racks = -(-in_pod // design.hosts_per_rack)
    wiring = Wiring()
    hosts = wiring.add_nodes("host", design.hosts, design.nics_per_host, 0)
    down = design.hosts_per_rack * design.nics_per_host
    leaves = wiring.add_nodes("leaf", design.pods * racks, design.radix, 1, design.switch)
    rack = (np.arange(design.hosts) % in_pod) // design.hosts_per_rack + np.arange(
        design.hosts
    ) // in_pod * racks
    wiring.connect(
        "host-leaf",
        LENGTH_M["rack"],
        np.repeat(hosts, design.nics_per_host),
        np.repeat(leaves[rack], design.nics_per_host),
        design.rate,
    )
    problems: list[str] = []
    if in_pod % design.hosts_per_rack:
        problems.append(f"{in_pod} hosts per pod do not fill racks of {design.hosts_per_rack}")
    up = round(down / design.oversubscription.get("leaf-uplink", 1.0))
    blocks = Blocks(leaves[:, None], up, 1, design.hosts_per_rack)
    over = design.oversubscription.get("pod-uplink", design.oversubscription.get("spine-uplink", 1.0))
    problems += _join(wiring, blocks, racks, over, False, design, "spine", LENGTH_M["hall"])
    problems += _join(wiring, blocks, design.pods, 1.0, True, design, "core", LENGTH_M["hall"])
    return _finish(design, wiring, (Domain("leaf", design.hosts_per_rack), Domain("pod", in_pod)), problems)


def _tree(design: Design, rails: bool) -> Topology:
    wiring = Wiring()
    hosts = wiring.add_nodes("host", design.hosts, design.nics_per_host, 0)
    blocks, problems = _leaves(wiring, hosts, design, rails)
    domains, above = _grow(wiring, blocks, design)
    return _finish(design, wiring, domains, problems + above)


def _tiers(design: Design) -> int:
    """Tiers asked for, or the fewest that reach every card."""
    ports = design.hosts * design.nics_per_host
    return design.tiers or laws.tiers_needed(ports, design.radix)


def _leaves(
    wiring: Wiring, hosts: np.ndarray, design: Design, rails: bool, prefix: str = ""
) -> tuple[Blocks, list[str]]:
    """The leaf tier and the cards plugged into it."""
    cards, tiers = design.nics_per_host, _tiers(design)
    down, up = laws.clos_split(design.radix, _over(design, 1, tiers)) if tiers > 1 else (design.radix, 0)
    host = np.repeat(np.arange(len(hosts)), cards)
    card = np.tile(np.arange(cards), len(hosts))
    problems = []
    if rails:
        units = -(-len(hosts) // down)
        count = units * cards
        leaf = card * units + host // down  # leaves of one rail are neighbours: they share spines first
        unit_hosts = float(down)
        if len(hosts) % down:
            problems.append(
                f"{prefix}the last unit holds {len(hosts) % down} of {down} hosts: its leaves keep free ports"
            )
    else:
        count = -(-len(hosts) * cards // down)
        leaf = (host * cards + card) // down
        unit_hosts = down / cards
        if down % cards:
            problems.append(
                f"{prefix}a leaf takes {down} cards, no whole number of hosts of {cards}: some hosts straddle two leaves"
            )
    leaves = wiring.add_nodes(f"{prefix}leaf", count, design.radix, 1, design.switch)
    wiring.connect(f"{prefix}host-leaf", LENGTH_M["row"], hosts[host], leaves[leaf], design.rate)
    if tiers == 1 and count > 1:
        problems.append(
            f"{prefix}one tier is one switch of {design.radix} ports, but {len(hosts) * cards} cards need {count}"
        )
    return Blocks(leaves[:, None], up, 1, unit_hosts), problems


def _grow(
    wiring: Wiring, blocks: Blocks, design: Design, prefix: str = ""
) -> tuple[tuple[Domain, ...], list[str]]:
    """All tiers above the leaf: the nested domains below the top, and what does not close."""
    problems: list[str] = []
    domains = []
    tiers = _tiers(design)
    radix = design.upper_radix or design.radix
    for tier in range(2, tiers + 1):
        last = tier == tiers
        domains.append(Domain(tier_name(tier - 1), blocks.hosts))
        over = _over(design, tier, tiers)
        size = len(blocks.tops) if last else laws.clos_split(radix, over)[0]
        length = LENGTH_M["row"] if tier == 2 else LENGTH_M["hall"]
        problems += _join(wiring, blocks, size, over, last, design, f"{prefix}{tier_name(tier)}", length)
    return tuple(domains), problems


def _join(
    wiring: Wiring,
    blocks: Blocks,
    size: int,
    over: float,
    last: bool,
    design: Design,
    name: str,
    length: float,
) -> list[str]:
    """Join blocks, `size` at a time, under one more tier; `blocks` becomes the joined ones. Returns what does
    not close.
    """
    count, planes = blocks.tops.shape
    radix = design.upper_radix or design.radix
    size = min(size, count)
    down_limit = radix if last else int(radix * over / (1 + over) + 1e-9)
    fits = [
        s for s in range(1, blocks.up + 1) if blocks.up % s == 0 and size * (blocks.up // s) <= down_limit
    ]
    problems = []
    if not fits:
        problems.append(
            f"{size} {'leaves' if blocks.tier == 1 else 'blocks'} under {radix}-port {name} switches cannot be one "
            f"full mesh: each needs {size} ports downwards, and has {down_limit}; use a larger radix or one more tier"
        )
    switches = fits[0] if fits else max(blocks.up, 1)
    each = max(blocks.up // switches, 1)
    up = 0 if last else math.ceil(size * each / over - 1e-9)
    joined = -(-count // size)
    ids = wiring.add_nodes(
        name, joined * planes * switches, radix, blocks.tier + 1, design.upper_switch or design.switch
    )
    tops = ids.reshape(joined, planes * switches)
    block, plane, switch, _ = np.indices((count, planes, switches, each))
    below = blocks.tops[block, plane]
    above = tops[block // size, plane * switches + switch]
    lower = name.rpartition("/")[0] + ("/" if "/" in name else "")
    boundary = f"{lower}{tier_name(blocks.tier)}-{name.rpartition('/')[2]}"
    wiring.connect(boundary, length, below, above, design.rate)
    if count % size and not last:
        problems.append(f"the last {name} block joins {count % size} of {size}: its switches keep free ports")
    blocks.tops, blocks.up, blocks.tier, blocks.hosts = tops, up, blocks.tier + 1, blocks.hosts * size
    return problems


def _over(design: Design, tier: int, tiers: int) -> float:
    """Oversubscription of the uplinks of `tier`; `pod-uplink` names those below the top tier."""
    names = {1: "leaf-uplink", 2: "spine-uplink"}
    asked = design.oversubscription.get(names.get(tier, ""), 1.0)
    if tier == tiers - 1 and tier > 1:
        asked = design.oversubscription.get("pod-uplink", asked)
    return asked


def _finish(design: Design, wiring: Wiring, domains: tuple[Domain, ...], problems: list[str]) -> Topology:
    cables = wiring.finish()
    return Topology(design, cables, domains, tuple(problems + cables.problems()))
