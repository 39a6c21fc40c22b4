"""How nodes are packed into racks: under heat, circuit, space and floor, and what of them decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts import Values
from argosy.laws import cooling as law
from argosy.spec import Hall

Array = Any  # float or numpy array (n,): one entry per draw
CLASSES = ("air", "rear-door", "direct-to-chip", "immersion")


@dataclass(frozen=True, slots=True)
class Racks:
    """How nodes are packed: nodes per rack, racks, watts of a full rack, what limits it, and why it may not fit.

    `limits`: nodes that each limit alone would allow in a rack; `mass_kg`: of a full rack.
    """

    nodes_per_rack: Array
    count: Array
    rack_w: Array
    limited_by: str
    problems: tuple[str, ...]
    limits: dict[str, Array]
    mass_kg: Array

    @property
    def fits(self) -> bool:
        """True where no limit is broken."""
        return not self.problems


def pack(
    values: Values,
    cooling: str,
    nodes: Array,
    node_w: Array,
    per_rack: int | None = None,
    circuit_w: Array | None = None,
    hall: Hall | None = None,
    node_kg: Array | None = None,
) -> Racks:
    """Racks for `nodes` of `node_w` watts each (at the level that breakers are sized on) under `cooling`.

    As many nodes as space, the class's heat limit and the others allow, at least one; a rack above a limit does not
    fit. `per_rack`: nodes of a rack that comes as one machine (NVL72: 18), which is never split. `circuit_w`: watts that
    the rack's circuit may carry for hours. `hall`: an existing hall with its own limits. `node_kg`: mass of a node
    (default: the catalog's usual one).
    """
    hall = hall if hall is not None else Hall()
    limit = hall.rack_cooling if hall.rack_cooling is not None else values[f"cooling.{cooling}.rack_limit"]
    ceilings = {"space": values["facility.rack.nodes_by_space"], "heat": np.floor(limit / np.asarray(node_w))}
    if circuit_w is not None:
        ceilings["circuit"] = np.floor(np.asarray(circuit_w) / node_w + 1e-9)
    frame = values["rack.frame.mass"]
    each = _node_mass(values, per_rack) if node_kg is None else node_kg
    if hall != Hall():
        carried = _floor(values, hall) * _footprint(values)
        ceilings["floor"] = np.floor(np.maximum(carried - frame, 0.0) / each)
    held, limited = _held(ceilings, per_rack)
    rack_w, mass = held * node_w, frame + held * each
    problems = []
    if np.median(rack_w) > np.median(limit):
        problems.append(_too_hot(values, cooling, rack_w, limit, hall))
    if circuit_w is not None and np.median(rack_w) > np.median(circuit_w) * (1 + 1e-9):
        problems.append(
            f"a rack of {_kw(rack_w)} is above the {_kw(circuit_w)} that its circuit carries for hours"
        )
    if "floor" in ceilings and np.median(held) > np.median(ceilings["floor"]):
        needed = float(np.median(mass / _footprint(values)))
        floor = float(np.median(_floor(values, hall)))
        problems.append(
            f"a rack of {float(np.median(mass)):.0f} kg puts {needed:,.0f} kg/m2 on a floor of {floor:,.0f}"
        )
    count = np.ceil(np.asarray(nodes) / held)
    if hall.racks is not None and np.median(count) > hall.racks:
        problems.append(
            f"{float(np.median(count)):,.0f} racks are needed, the hall has {hall.racks:,} positions"
        )
    return Racks(held, count[()], rack_w, limited, tuple(problems), ceilings, mass)


def _held(ceilings: dict[str, Array], per_rack: int | None) -> tuple[Array, str]:
    """Nodes in a full rack, and the limit that decides; a machine is what it is."""
    if per_rack is not None:
        return float(per_rack), "machine"
    held: Array = np.inf
    for each in ceilings.values():
        held = np.minimum(held, each)
    return np.maximum(held, 1.0), min(ceilings, key=lambda name: float(np.median(ceilings[name])))


def _node_mass(values: Values, per_rack: int | None) -> Array:
    if per_rack is None:
        return values["rack.frame.node_mass"]
    return (values["rack.frame.machine_mass"] - values["rack.frame.mass"]) / per_rack


def _floor(values: Values, hall: Hall) -> Array:
    return hall.floor_load_kg_per_m2 if hall.floor_load_kg_per_m2 is not None else values["rack.floor.load"]


def _footprint(values: Values) -> Array:
    return values["halls.default.rack_width"] * values["rack.frame.footprint_depth"]


def _kw(watts: Array) -> str:
    return f"{float(np.median(watts)) / 1e3:.0f} kW"


def _too_hot(values: Values, cooling: str, rack_w: Array, limit_w: Array, hall: Hall) -> str:
    if hall.rack_cooling is not None:
        return f"a rack of {_kw(rack_w)} is above the {_kw(limit_w)} that a position of the hall can shed"
    needed = needed_class(values, rack_w)
    advice = f"write facility.cooling: {needed}" if needed else "no class of the catalog carries it"
    return f"a rack of {_kw(rack_w)} is above the {_kw(limit_w)} that {cooling} carries; {advice}"


def needed_class(values: Values, rack_w: Array) -> str:
    """The first cooling class whose limit carries a rack of `rack_w` watts; empty where none does."""
    rack = float(np.median(rack_w))
    return next((name for name in CLASSES if values.facts[f"cooling.{name}.rack_limit"].value >= rack), "")


def airflow_m3_per_s(values: Values, rack_w: Array, liquid_fraction: Array = 0.0) -> Array:
    """Cubic metres of air per second through a rack of `rack_w` watts, for the heat that liquid does not carry."""
    return law.airflow_m3_per_s(rack_w * (1.0 - liquid_fraction), values["rack.air.rise"])
