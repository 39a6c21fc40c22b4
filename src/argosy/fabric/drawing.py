"""What a picture of a fabric shows, as plain data: boxes of like nodes, bundles of cables between them, link loads.

However large the fabric, a row has at most `MOST_BOXES` boxes, each with as many neighbours in order as needed: so
pods, rails and planes stay together. All counts come from the cable list.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argosy.fabric.analysis import oversubscription, plain_name
from argosy.fabric.cables import CableList
from argosy.fabric.linkgraph import LinkGraph
from argosy.fabric.topologies.design import Topology
from argosy.fabric.topologies.direct import cube_of_chips, has_cubes

MOST_BOXES = 16
MOST_HOSTS_BY_CARD = 8  # hosts that are drawn with each of their cards
MOST_CELLS = 48  # rows and columns of a heat map


def drawing(
    topology: Topology, graph: LinkGraph | None = None, load: np.ndarray | None = None
) -> dict[str, Any]:
    """Rows of boxes (hosts lowest) and bundles between boxes; with `load` (per one-way link of `graph`), that of the
    busiest link of every bundle.

    Boxes: `id`, `row`, `count`, `x` (0 to 1), `label`. Bundles: `from`, `to` (box ids), `cables`, `load`. Rows: `row`,
    `name`, `count`, `switch`, `below` (text of the cables beneath).
    """
    cables = topology.cables
    box_of, boxes = _boxes(topology)
    ends = np.sort(np.stack([box_of[cables.a], box_of[cables.b]], axis=1), axis=1)
    loads = (
        np.full(len(cables), -np.inf)
        if load is None or graph is None
        else _loads_of_cables(cables, graph, load)
    )
    pairs, member, counts = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    busiest = np.full(len(pairs), -np.inf)
    np.maximum.at(busiest, member.ravel(), loads)
    bundles = [
        {
            "from": int(x),
            "to": int(y),
            "cables": int(count),
            "load": float(top) if np.isfinite(top) else None,
        }
        for (x, y), count, top in zip(pairs, counts, busiest, strict=True)
        if x != y
    ]
    return {
        "title": f"{topology.design.topology}: {cables.hosts:,} {_hosts_are(topology)}",
        "rows": _rows(topology, cables.tier_of_nodes()),
        "boxes": boxes,
        "bundles": bundles,
        "within": int((ends[:, 0] == ends[:, 1]).sum()),
    }


def rail_drawing(topology: Topology) -> dict[str, Any] | None:
    """Hosts with their cards, leaves, and one line per cable, of a small fabric of one tier; None for others.

    Cards: `host`, `card`, `rail`; lines: `host`, `card`, `leaf` (its number), `rail`.
    """
    cables, design = topology.cables, topology.design
    tier = cables.tier_of_nodes()
    if cables.hosts > MOST_HOSTS_BY_CARD or int(tier.max()) != 1 or (tier[cables.b] == 0).any():
        return None
    leaves = np.flatnonzero(tier == 1)
    ports = design.nics_per_host * design.card_ports
    lines = [
        {"host": int(host), "card": int(port), "leaf": int(leaf), "rail": int(port)}
        for host, port, leaf in zip(cables.a, cables.a_port, np.searchsorted(leaves, cables.b), strict=True)
    ]
    named = "rail" if len(leaves) == ports else "leaf"
    many = {("rail", False): "rails", ("leaf", False): "leaves"}.get((named, len(leaves) == 1), named)
    servers = "server" if cables.hosts == 1 else "servers"
    return {
        "title": f"{design.topology}: {cables.hosts} {servers}, {len(leaves)} {many}",
        "hosts": cables.hosts,
        "cards": ports,
        "leaves": len(leaves),
        "leaf_name": named,
        "lines": lines,
    }


def heat(topology: Topology, graph: LinkGraph, load: np.ndarray) -> list[dict[str, Any]]:
    """Heat maps of link loads, two (up, down) per boundary between switches: a row per switch below, a column per
    uplink of it; of more than `MOST_CELLS` rows or columns the largest load of several stands in one cell.

    In a network without switches one row per chip, one column per direction.
    """
    cables = topology.cables
    tier = cables.tier_of_nodes()
    maps: list[dict[str, Any]] = []
    low_first = tier[graph.tail] <= tier[graph.head] if not graph.direct else np.ones(len(graph), bool)
    kind = np.array([plain_name(boundary.name) for boundary in cables.boundaries])[
        cables.boundary[graph.cable]
    ]
    for name in dict.fromkeys(kind[graph.between_switches].tolist()):
        for upwards in (True, False):
            if graph.direct and not upwards:
                continue
            chosen = graph.between_switches & (kind == name) & (low_first == upwards)
            if not chosen.any():
                continue
            below = np.where(upwards, graph.tail, graph.head)[chosen]
            maps.append({"boundary": name, "up": upwards, **_cells(below, graph.cable[chosen], load[chosen])})
    return maps


def _cells(below: np.ndarray, cable: np.ndarray, load: np.ndarray) -> dict[str, Any]:
    """Loads by switch (rows) and its uplinks in the order of their cables (columns), folded to at most MOST_CELLS."""
    order = np.lexsort((cable, below))
    below, load = below[order], load[order]
    _, row = np.unique(below, return_inverse=True)
    starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    column = np.arange(len(row)) - starts[row]
    rows, columns = int(row.max()) + 1, int(column.max()) + 1
    shape = min(rows, MOST_CELLS), min(columns, MOST_CELLS)
    grid = np.full(shape, np.nan)
    np.fmax.at(grid, (row * shape[0] // rows, column * shape[1] // columns), load)
    cells = [
        {"row": int(i), "column": int(j), "load": float(grid[i, j])} for i, j in np.argwhere(~np.isnan(grid))
    ]
    return {"rows": rows, "columns": columns, "shape": shape, "cells": cells}


def _loads_of_cables(cables: CableList, graph: LinkGraph, load: np.ndarray) -> np.ndarray:
    """The larger load of the two ways of every cable, shape (cables,); both fibres of a circuit carry its load."""
    found = np.full(len(cables), -np.inf)
    np.maximum.at(found, graph.cable, load)
    fibres = np.flatnonzero(cables.circuit >= 0)
    if len(fibres):
        of_circuit = np.full(int(cables.circuit.max()) + 1, -np.inf)
        np.maximum.at(of_circuit, cables.circuit[fibres], found[fibres])
        found[fibres] = of_circuit[cables.circuit[fibres]]
    return found


def _boxes(topology: Topology) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """The box of every node, and the boxes."""
    cables = topology.cables
    box_of = np.zeros(cables.nodes, dtype=np.int64)
    boxes: list[dict[str, Any]] = []
    for tier in range(max(group.tier for group in cables.groups) + 1):
        groups = [group for group in cables.groups if group.tier == tier and group.count]
        row: list[dict[str, Any]] = []
        for group in groups:
            nodes = _in_order(topology, group.ids) if tier == 0 else group.ids
            parts = np.array_split(nodes, _parts(group.count, max(MOST_BOXES // len(groups), 1)))
            for number, part in enumerate(parts):
                box_of[part] = len(boxes) + len(row)
                row.append(
                    {
                        "id": len(boxes) + len(row),
                        "row": tier,
                        "count": len(part),
                        "label": f"{len(part):,}" if len(part) > 1 else f"{number + 1}",
                        "group": group.name,
                    }
                )
        for place, box in enumerate(row):
            box["x"] = (place + 0.5) / len(row)
        boxes += row
    return box_of, boxes


def _in_order(topology: Topology, hosts: np.ndarray) -> np.ndarray:
    """Hosts in the order in which they are boxed: the chips of a torus cube by cube."""
    shape = topology.design.shape or ()
    if topology.design.topology != "torus" or not has_cubes(shape) or len(hosts) != math.prod(shape):
        return hosts
    return np.argsort(cube_of_chips(shape), kind="stable")


def _parts(count: int, most: int) -> int:
    """Into how many boxes `count` nodes go: all of them, or the most equal parts, at least half of `most`."""
    if count <= most:
        return count
    even = max(part for part in range(1, most + 1) if count % part == 0)
    return even if 2 * even >= most else most


def _rows(topology: Topology, tier: np.ndarray) -> list[dict[str, Any]]:
    """The rows, lowest first, with what joins each to the row below."""
    cables = topology.cables
    over = oversubscription(cables)
    low, high, rate = cables.a, cables.b, cables.rate
    found = []
    for level in range(int(tier.max()) + 1):
        groups = [group for group in cables.groups if group.tier == level]
        name = plain_name(groups[0].name)
        below = (np.maximum(tier[low], tier[high]) == level) & (tier[low] != tier[high])
        beneath = plain_name(next(g.name for g in cables.groups if g.tier == level - 1)) if level else ""
        found.append(
            {
                "row": level,
                "name": _hosts_are(topology) if level == 0 else name,
                "count": sum(group.count for group in groups),
                "planes": len(groups) if level else 1,
                "switch": groups[0].switch,
                "below": _of_cables(rate[below], over.get(beneath)),
            }
        )
    return found


def _of_cables(rates: np.ndarray, over: float | None) -> str:
    """`16,384 cables at 400 Gb/s, 7:1`."""
    if not len(rates):
        return ""
    speeds = " and ".join(f"{rate / 1e9:g}" for rate in np.unique(np.round(rates, 3)))
    ratio = "" if over is None else f", {over:.3g}:1"
    return f"{len(rates):,} cables at {speeds} Gb/s{ratio}"


def _hosts_are(topology: Topology) -> str:
    return "accelerators" if topology.design.topology in ("torus", "supernode") else "hosts"
