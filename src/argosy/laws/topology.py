"""Counts of regular network topologies: hosts, switches, links, paths, bisection.

Rates are of one link, one way (bit/s, or any unit: results carry it). Counts are whole numbers or arrays of
them. Sources: C. Leiserson, "Fat-trees: universal networks for hardware-efficient supercomputing", IEEE
Trans. Computers C-34(10), 1985; M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable, commodity data center
network architecture", SIGCOMM 2008 (k-ary fat tree); J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven,
highly-scalable dragonfly topology", ISCA 2008; W. Dally, B. Towles, "Principles and practices of
interconnection networks", 2004 (tori).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from argosy.laws.arrays import Array, require


def fat_tree_hosts(radix: Array, tiers: Array) -> Array:
    """Hosts of a full fat tree of h tiers of switches with k ports: 2·(k/2)^h. Limit: one tier is one switch,
    k hosts.

    Valid for even k. Below the top, half the ports point down; at the top, all do.
    """
    return 2 * (radix / 2) ** tiers


def fat_tree_switches(radix: Array, tiers: Array) -> Array:
    """Switches of a full fat tree: (2h − 1)·(k/2)^(h−1). Limit: one tier is one switch."""
    return (2 * tiers - 1) * (radix / 2) ** (tiers - 1)


def fat_tree_switches_by_tier(hosts: int, radix: int, tiers: int) -> tuple[int, ...]:
    """Switches per tier, leaves first, of a non-blocking tree that carries `hosts`: N/(k/2) per tier, N/k at
    the top.

    Rounded up to whole switches; whether such a count can be cabled evenly is the planner's to say. ValueError
    for an odd radix (half its ports cannot point each way) and for more hosts than `fat_tree_hosts` of that
    radix and height.
    """
    require(radix >= 2 and radix % 2 == 0, f"a fat tree needs an even radix, not {radix}")
    require(tiers >= 1 and tiers == int(tiers), f"a tree has one tier or more, a whole number, not {tiers}")
    most = fat_tree_hosts(radix, tiers)
    require(0 < hosts <= most, f"{tiers} tiers of {radix} ports carry 1 to {most:.0f} hosts, not {hosts}")
    below = math.ceil(hosts / (radix / 2))
    top = math.ceil(hosts / radix)
    return (below,) * (tiers - 1) + (top,)


def fat_tree_links(hosts: Array, tiers: Array) -> Array:
    """Links of a non-blocking tree: as many at every boundary as hosts, N·h (the hosts' own included)."""
    return hosts * tiers


def fat_tree_path_switches(tiers: Array) -> Array:
    """Switches on a longest path: up h, down h − 1: 2h − 1."""
    return 2 * tiers - 1


def tiers_needed(hosts: int, radix: int) -> int:
    """The fewest tiers of a non-blocking fat tree that reach `hosts` endpoints: least h with 2·(k/2)^h ≥ N. k
    ≥ 4.
    """
    if radix < 4:
        raise ValueError(f"a switch of {radix} ports cannot build a tree: at least 4")
    tiers = 1
    while fat_tree_hosts(radix, tiers) < hosts:
        tiers += 1
    return tiers


def clos_split(radix: int, oversubscription: float) -> tuple[int, int]:
    """(down, up) ports of a switch whose down capacity is at most `oversubscription` times its up capacity.

    All ports have one rate: down = ⌊k·o/(1 + o)⌋, up = the rest. Limit: o = 1 halves an even k.
    """
    down = math.floor(radix * oversubscription / (1 + oversubscription) + 1e-9)
    return down, radix - down


def injection(endpoints: Array, rate: Array) -> Array:
    """What all endpoints can send at once, one way: N·rate (both ways together it is twice that)."""
    return endpoints * rate


def bisection(endpoints: Array, rate: Array, oversubscription: Array = 1.0) -> Array:
    """Capacity between two halves of a tree's endpoints, per direction: N/2·rate/o; o is the product up to
    the top.
    """
    return endpoints / 2 * rate / oversubscription


def torus_links(shape: Sequence[int]) -> int:
    """Links of a torus with the given sides: one per node and dimension; a side of 2 has half."""
    nodes = math.prod(shape)
    return sum(nodes if side > 2 else nodes // 2 if side == 2 else 0 for side in shape)


def torus_bisection(shape: Sequence[int], rate: Array) -> Array:
    """Capacity across the middle of a torus's longest side, per direction: 2·(nodes/longest)·rate; a side of
    2: half.

    Valid for an even longest side; the wrap-around doubles the cut of a mesh.
    """
    longest = max(shape)
    return (2 if longest > 2 else 1) * math.prod(shape) // longest * rate


def torus_mean_hops(shape: Sequence[int]) -> float:
    """Mean hops between two different nodes of a torus on shortest paths: per side s, (s² − s mod 2)/(4s)
    over all pairs.
    """
    nodes = math.prod(shape)
    over_all = sum((side**2 - side % 2) / (4 * side) for side in shape)
    return over_all * nodes / (nodes - 1) if nodes > 1 else 0.0


def dragonfly_groups(routers_per_group: int, global_links: int) -> int:
    """Groups of a full dragonfly: every router's h global links reach another group each: a·h + 1."""
    return routers_per_group * global_links + 1


def shared_way_out(stride: Array, domain: Array) -> Array:
    """Share of a domain's ranks whose partner `stride` further on lies outside: min(1, stride/D). Ranks fill
    in order.
    """
    return np.minimum(np.asarray(stride) / domain, 1.0)
