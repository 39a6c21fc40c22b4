"""Where a fabric's nodes stand, and how long its cables are: cabinets in rows, cables over trays.

Hosts fill cabinets in order, and the cabinets a square hall. A switch whose neighbours below all share a cabinet
stands in it; the others have cabinets of their own, in the middle of what they join. A cable runs up to the
tray, along the two directions of the hall, and down: |Δx| + |Δy| + 2·rise; within a cabinet it has the length
stocked for one. Widths and pitches are facts of `halls.default` (assumptions that a scenario may replace).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.fabric.cables import CableList
from argosy.fabric.topologies.design import Design, Topology
from argosy.fabric.topologies.direct import (
    CLOUDMATRIX_NPUS_PER_RACK,
    CUBE,
    cube_of_chips,
    has_cubes,
)


@dataclass(frozen=True)
class Hall:
    """Cabinets and cable lengths.

    `rack`: the cabinet of every node, shape (nodes,); `x`, `y`: metres, of every cabinet, shape (cabinets,);
    `racks`: cabinets in all, of which the first `host_racks` hold hosts; `length_m`: of every cable, shape
    (cables,).
    """

    rack: np.ndarray
    x: np.ndarray
    y: np.ndarray
    host_racks: int
    length_m: np.ndarray

    @property
    def racks(self) -> int:
        """Cabinets in all."""
        return len(self.x)

    def names(self) -> list[str]:
        """`rack-001` for cabinets of hosts, `net-01` for those of switches alone."""
        switches = self.racks - self.host_racks
        wide, narrow = len(str(self.host_racks)), len(str(max(switches, 1)))
        return [f"rack-{i + 1:0{wide}d}" for i in range(self.host_racks)] + [
            f"net-{i + 1:0{narrow}d}" for i in range(switches)
        ]


def lay_out(topology: Topology, values: Any) -> Hall:
    """The hall of a topology. `values`: facts.Values; lengths take central facts, also under draws."""

    def fact(name: str) -> float:
        return float(values.facts[f"halls.default.{name}"].value)

    cables, design = topology.cables, topology.design
    if design.topology == "torus" and has_cubes(design.shape or ()):
        rack_of_hosts = cube_of_chips(design.shape or ())
    else:
        missing = np.unique(
            np.array(design.missing, dtype=np.int64)
        )  # their places in the cabinets stay empty
        places = np.delete(np.arange(cables.hosts + len(missing)), missing)
        rack_of_hosts = places // hosts_per_rack(design, int(fact("nodes_per_rack")))
    rack, x, y, host_racks = _place(
        cables,
        rack_of_hosts,
        int(fact("switches_per_rack")),
        fact("rack_width"),
        fact("row_pitch"),
    )
    near, far = rack[cables.a], rack[cables.b]
    over = np.abs(x[near] - x[far]) + np.abs(y[near] - y[far]) + 2 * fact("rise")
    return Hall(rack, x, y, host_racks, np.where(near == far, fact("in_rack"), over))


def hosts_per_rack(design: Design, usual: int) -> int:
    """Hosts of one cabinet: as asked, else as the machine is built, else `usual`.

    TPU: a cube of 4×4×4 chips (N. Jouppi et al., ISCA 2023); NVL72: 72 accelerators; CloudMatrix384: 12
    cabinets of four nodes (arXiv:2506.12708). A rack of a multi-pod fabric is the hosts of its leaf.
    """
    if design.hosts_per_rack:
        return design.hosts_per_rack
    if design.topology == "torus":
        return CUBE**3
    if design.topology == "supernode":
        return design.hosts if design.hosts <= 72 else CLOUDMATRIX_NPUS_PER_RACK
    if design.topology == "multi-pod" and not design.rails:
        return design.hosts_per_leaf or 2
    return usual


def _place(
    cables: CableList, rack_of_hosts: np.ndarray, switches_per_rack: int, width: float, pitch: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The cabinet of every node, the places (m) of all cabinets, and how many of them hold hosts."""
    tier = cables.tier_of_nodes()
    hosts = np.flatnonzero(tier == 0)
    rack = np.full(cables.nodes, -1)
    rack[hosts] = rack_of_hosts
    host_racks = int(rack.max()) + 1
    in_row = math.ceil(math.sqrt(host_racks * pitch / width))
    places = [(np.arange(host_racks) % in_row * width, np.arange(host_racks) // in_row * pitch)]
    node_x, node_y = np.zeros(cables.nodes), np.zeros(cables.nodes)
    node_x[hosts], node_y[hosts] = places[0][0][rack[hosts]], places[0][1][rack[hosts]]
    low, high = _low_and_high(cables, tier)
    racks = host_racks
    for level in range(1, int(tier.max()) + 1):
        nodes = np.flatnonzero(tier == level)
        below = (tier[high] == level) & (tier[low] < level)
        first, last = _extremes(rack[low[below]], high[below], cables.nodes)
        at_home = nodes[first[nodes] == last[nodes]]
        rack[at_home] = first[at_home]
        away = nodes[first[nodes] != last[nodes]]
        count = np.maximum(np.bincount(high[below], minlength=cables.nodes), 1)
        middle_x, middle_y = (
            np.bincount(high[below], weights=place[low[below]], minlength=cables.nodes) / count
            for place in (node_x, node_y)
        )
        node_x[nodes], node_y[nodes] = middle_x[nodes], middle_y[nodes]
        if not len(away):
            continue
        own = np.arange(len(away)) // switches_per_rack
        rack[away] = racks + own
        x, y = _rows(own, middle_x[away], middle_y[away], in_row, width, pitch)
        node_x[away], node_y[away] = x[own], y[own]
        places.append((x, y))
        racks += len(x)
    x, y = (np.concatenate(axis) for axis in zip(*places, strict=True))
    return rack, x, y, host_racks


def _low_and_high(cables: CableList, tier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a_below = tier[cables.a] <= tier[cables.b]
    return np.where(a_below, cables.a, cables.b), np.where(a_below, cables.b, cables.a)


def _extremes(rack: np.ndarray, node: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last cabinet among what lies below every node (−1, −2 where nothing does)."""
    first, last = np.full(nodes, np.iinfo(np.int64).max), np.full(nodes, -1)
    np.minimum.at(first, node, rack)
    np.maximum.at(last, node, rack)
    return np.where(last < 0, -1, first), np.where(last < 0, -2, last)


def _rows(
    own: np.ndarray, x: np.ndarray, y: np.ndarray, in_row: int, width: float, pitch: float
) -> tuple[np.ndarray, np.ndarray]:
    """Places (m) of cabinets of switches: those that would stand in the same middle are set side by side, in rows
    about it.
    """
    count = np.bincount(own)
    middle_x, middle_y = np.bincount(own, weights=x) / count, np.bincount(own, weights=y) / count
    _, group = np.unique(np.round(middle_y / pitch), return_inverse=True)
    size = np.bincount(group)[group]
    order = np.argsort(group, kind="stable")
    rank = np.empty(len(group), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(group))[:-1]])
    rank[order] = np.arange(len(group)) - starts[group[order]]
    in_this = np.minimum(size, in_row)
    rows = -(-size // in_row)
    spread_x = (rank % in_row - (in_this - 1) / 2) * width
    centre = np.bincount(group, weights=middle_x) / np.bincount(group)
    return centre[group] + spread_x, middle_y + (rank // in_row - (rows - 1) / 2) * pitch
