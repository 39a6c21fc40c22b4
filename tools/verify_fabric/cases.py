"""The fabrics that are booted, and what is done to some of them beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from argosy.fabric import Design, Topology, build
from argosy.fabric.cables import CableList

RATE = (
    40e9  # bit/s: 4xQDR, among the rates that ibsim can emulate, so that slow cables can be told from others
)
SLOW = 10e9  # 4xSDR


@dataclass(frozen=True)
class Case:
    """A planned fabric, the fabric that is built (booted) instead, and what must be found.

    `engine`: what opensm must have routed with. `differences`: how many cables of each kind the comparison must find.
    `all_paths`: whether every path must work. `own_routing`: whether opensm's loads are compared with Argosy's.
    `paths`: whether ibdmchk walks them all. `seconds`: the limit of each program.
    """

    name: str
    planned: Topology
    built: Topology
    engine: str = "ftree"
    differences: tuple[tuple[str, int], ...] = ()
    all_paths: bool = True
    own_routing: bool = True
    paths: bool = True
    seconds: float = 300.0


def usual() -> list[Case]:
    """1,024 cards each, and a small one."""
    tree = build(Design("fat-tree", 1024, 1, 64, RATE))
    rails = build(Design("rail-optimized", 128, 8, 64, RATE))
    tall = build(Design("fat-tree", 1024, 1, 16, RATE))
    small = build(Design("fat-tree", 16, 1, 8, RATE))
    return [
        Case("fat tree, 1,024 hosts", tree, tree),
        Case("fat tree, 1,024 hosts, three tiers of 16 ports", tall, tall),
        Case("rail-optimised, 128 hosts of 8 cards", rails, rails),
        Case(
            "rail-optimised, one host missing",
            rails,
            without_host(rails, 56),
            differences=(("missing", 8),),
        ),
        Case(
            "fat tree, two uplinks swapped, one cable slow",
            tree,
            slowed(swapped(tree), "host-leaf"),
            engine="minhop",
            differences=(("miswired", 2), ("degraded", 1)),
            own_routing=False,
        ),
        Case(
            "16 hosts, two leaves joined by mistake",
            small,
            with_cable_between_leaves(small),
            differences=(("extra", 1),),
            all_paths=False,
            own_routing=False,
        ),
    ]


def large() -> list[Case]:
    """4,096 cards by rails in three tiers (the SuperPOD of 512 hosts), and 16,384 hosts in three tiers."""
    rails = build(Design("rail-optimized", 512, 8, 64, RATE))
    tree = build(Design("fat-tree", 16384, 1, 64, RATE))
    return [
        Case("rail-optimised, 512 hosts of 8 cards, three tiers", rails, rails, seconds=600),
        Case("fat tree, 16,384 hosts, three tiers", tree, tree, seconds=1800),
    ]


def rewired(topology: Topology, change: Callable[[CableList], CableList]) -> Topology:
    """The topology with other cables."""
    return replace(topology, cables=change(topology.cables))


def without_host(topology: Topology, host: int) -> Topology:
    """Without one host: its cables end in the air."""
    return rewired(topology, lambda cables: kept(cables, (cables.a != host) & (cables.b != host)))


def swapped(topology: Topology) -> Topology:
    """With the upper ends of two uplinks exchanged, of two leaves to two spines."""

    def change(cables: CableList) -> CableList:
        one, two = uplink(cables, 2, 4), uplink(cables, 19, 8)
        b, b_port = cables.b.copy(), cables.b_port.copy()
        b[[one, two]], b_port[[one, two]] = b[[two, one]], b_port[[two, one]]
        return replace(cables, b=b, b_port=b_port)

    return rewired(topology, change)


def with_cable_between_leaves(topology: Topology) -> Topology:
    """With a cable between the first two leaves, in a port that each has beyond those of the plan."""

    def change(cables: CableList) -> CableList:
        leaf = cables.group("leaf")
        groups = tuple(replace(one, ports=one.ports + 1) if one is leaf else one for one in cables.groups)
        more = {
            "a": leaf.first, "a_port": leaf.ports, "b": leaf.first + 1, "b_port": leaf.ports, "rate": RATE,
            "boundary": cables.boundary[-1], "circuit": -1,
        }  # fmt: skip
        columns = {name: np.append(getattr(cables, name), value) for name, value in more.items()}
        return replace(cables, groups=groups, **columns)

    return rewired(topology, change)


def slowed(topology: Topology, boundary: str) -> Topology:
    """With the first cable of a boundary at a quarter of its rate."""

    def change(cables: CableList) -> CableList:
        kinds = [kind.name for kind in cables.boundaries]
        rate = cables.rate.copy()
        rate[np.flatnonzero(cables.boundary == kinds.index(boundary))[0]] = SLOW
        return replace(cables, rate=rate)

    return rewired(topology, change)


def uplink(cables: CableList, leaf: int, spine: int) -> int:
    """A cable from the leaf of that number to the spine of that number."""
    low, high = cables.group("leaf").first + leaf, cables.group("spine").first + spine
    return int(np.flatnonzero((cables.a == low) & (cables.b == high))[0])


def kept(cables: CableList, which: np.ndarray) -> CableList:
    """Only some of the cables."""
    columns = ("a", "a_port", "b", "b_port", "rate", "boundary", "circuit")
    return replace(cables, **{name: getattr(cables, name)[which] for name in columns})
