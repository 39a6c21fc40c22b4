"""What racks ask of the hall around them: cable lengths and leaf ports at the packing, and whether an existing hall fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argosy.fabric.bill import parts_of_cables
from argosy.fabric.fleet import fleet_topology
from argosy.facility import Building, ItLoad
from argosy.laws import site as law
from argosy.planning.context import Context
from argosy.spec import Hall

_OWN_CABINETS = ("torus", "supernode")  # machines whose cabinets are what they are


def cabling(setting: Context, nodes_per_rack: float) -> list[dict[str, Any]]:
    """One row per boundary of the compute fabric, hosts packed `nodes_per_rack` to a cabinet: cables, longest run, parts.

    `parts` are the catalog's cheapest that reach; `reach_m` the longest reach among them, None where the catalog has
    no part of that rate that reaches (`fits` is then False). `hosts_per_leaf` and `racks_per_leaf`: what the ports of a
    leaf switch join, where the boundary is hosts to leaves.
    """
    fabric = next((each for each in setting.fleet.fabrics if each.role == "compute"), None)
    if fabric is None:
        return []
    topology = fleet_topology(setting.fleet, fabric)
    if topology.design.topology not in _OWN_CABINETS:
        packed = replace(topology.design, hosts_per_rack=max(int(nodes_per_rack), 1))
        topology = replace(topology, design=packed)
    part, names, length = parts_of_cables(topology, setting.values)
    cables, rows = topology.cables, []
    for number, boundary in enumerate(cables.boundaries):
        chosen = cables.boundary == number
        if not chosen.any():
            continue
        counted = np.bincount(part[chosen], minlength=len(names))
        parts: dict[str, int] = {}
        for name, count in zip(names, counted, strict=True):
            if count:
                parts[name] = parts.get(name, 0) + int(count)
        reaches = [setting.values.facts.get(f"optics.{name}.reach") for name in parts]
        reach = None if None in reaches else max(float(each.value) for each in reaches if each is not None)
        row = {
            "boundary": boundary.name,
            "cables": int(chosen.sum()),
            "longest_m": float(length[chosen].max()),
            "parts": parts,
            "reach_m": reach,
            "fits": reach is not None,
        }
        if boundary.name == "host-leaf":
            pairs = np.unique(np.stack([cables.a[chosen], cables.b[chosen]]), axis=1)
            hosts = float(np.unique(pairs[1], return_counts=True)[1].max())
            row |= {
                "hosts_per_leaf": hosts,
                "racks_per_leaf": float(np.ceil(hosts / max(int(nodes_per_rack), 1))),
            }
        rows.append(row)
    return rows


def cable_problems(setting: Context, rows: list[dict[str, Any]]) -> list[str]:
    """Runs that are longer than the trays of the scenario's hall allow, in words."""
    longest = setting.scenario.facility.hall.cable_reach_m
    if longest is None:
        return []
    return [
        f"{row['boundary']}: a run of {row['longest_m']:.0f} m is longer than the {longest:.0f} m that the hall allows"
        for row in rows
        if row["longest_m"] > longest
    ]


def retrofit(setting: Context, load: ItLoad, around: Building) -> dict[str, Any] | None:
    """Whether the scenario's existing hall takes the fleet, and what it would take at most; None without one.

    `use`: share of each limit that a full rack takes (above 1: too much); `carries_accelerators`: what its positions,
    and the levels of the power tree that the scenario fixes, carry at this packing; `reasons`: what is in the way.
    """
    settings, values, racks = setting.scenario.facility, setting.values, around.racks
    hall = settings.hall
    if hall == Hall():
        return None
    derating = settings.power_tree.derating
    shed = (
        hall.rack_cooling
        if hall.rack_cooling is not None
        else values[f"cooling.{settings.cooling}.rack_limit"]
    )
    feed = np.inf if hall.rack_power is None else hall.rack_power * derating
    floor = hall.floor_load_kg_per_m2 if hall.floor_load_kg_per_m2 is not None else values["rack.floor.load"]
    footprint = values["halls.default.rack_width"] * values["rack.frame.footprint_depth"]
    use = law.retrofit_loads(racks.rack_w, racks.mass_kg, footprint, shed, feed, floor)
    nodes = float(load.nodes + load.spare_nodes)
    by_tree = {
        name: nodes * float(level.usable_w / around.peak.load_w[name])
        for name, level in around.tree.levels.items()
        if level.given
    }
    by_positions = np.inf if hall.racks is None else hall.racks * float(racks.nodes_per_rack)
    most = min([by_positions, *by_tree.values()])
    too_much = [name for name, share in use.items() if share > 1 + 1e-9]
    reasons = [*racks.problems, *around.tree_problems]
    return {
        "fits": not reasons,
        "use": use,
        "positions": hall.racks,
        "racks_needed": racks.count,
        "carries_accelerators": 0.0
        if too_much
        else None
        if np.isinf(most)
        else np.floor(most) * load.node.accelerators,
        "wanted_accelerators": nodes * load.node.accelerators,
        "reasons": reasons,
    }
