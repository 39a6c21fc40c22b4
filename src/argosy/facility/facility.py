"""The facility's answer: megawatts with their boundary, PUE, energy, racks, water, carbon."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.facility.building import building
from argosy.facility.carbon import Made, embodied, intensity, total
from argosy.facility.load import ItLoad
from argosy.facility.node import NodePower
from argosy.facility.phases import PowerPhases
from argosy.facility.site import SiteNumbers
from argosy.facts import Values
from argosy.laws import carbon as carbon_law
from argosy.laws import cooling as cooling_law
from argosy.laws import power as power_law
from argosy.spec import Facility

Array = Any  # float or numpy array (n,): one entry per draw

BOUNDARY = (
    "IT: nodes at their inlets (hosts and fans included), spares, switches, optics, storage, management; "
    "facility: the utility meter, with conversion losses, cooling, lighting; mean: measured power of the job; "
    "peak: every node at its cap in the year's hottest hour"
)


def facility(
    values: Values,
    settings: Facility,
    site: SiteNumbers,
    load: ItLoad,
    phases: PowerPhases,
    duration_s: Array,
    busy_share: Array = 1.0,
) -> dict[str, Any]:
    """The contract's `facility` object for a run of `duration_s` wall-clock seconds; numbers broadcast over
    draws.

    `busy_share`: fraction of wall-clock time in which steps run (work, rework and checkpoints). Keys beyond
    the contract: `problems` (what does not fit, in words), `cautions` (what the numbers leave out),
    `envelope_margin` (1 − peak/envelope, None without one), `overhead_w_per_it_w` and `free_cooling_share`
    (the parts of a computed PUE; None where the settings give one), `embodied_carbon_kg` (a band), `node_w`
    (four levels), `pue_by_month` (…, 12), `pue_peak` (of the hottest hour), `trips_first` and `tree_limit` (the level
    of the power tree with the least margin of all, and of those that the scenario fixes), `rack_nodes`.
    """
    hall = building(values, settings, site, load, load.mean_w(values, phases, busy_share))
    mean, peak, pue, racks, plant = hall.it_mean_w, hall.it_peak_w, hall.pue, hall.racks, hall.plant
    it_kwh = power_law.energy_kwh(mean, duration_s)
    per_kwh = intensity(settings.carbon, site, duration_s)
    margin = None if settings.envelope is None else 1.0 - hall.meter_peak_w / settings.envelope
    return {
        "it_mean_w": mean,
        "it_peak_w": peak,
        "facility_mean_w": mean * pue,
        "facility_peak_w": hall.meter_peak_w,
        "boundary": BOUNDARY,
        "pue": pue,
        "energy_kwh": it_kwh * pue,
        "racks": racks.count,
        "rack_kw": racks.rack_w / 1e3,
        "cooling": settings.cooling,
        "water_kg": cooling_law.water_litres(it_kwh, _litres_per_kwh(values, settings, plant)),
        "carbon_kg": carbon_law.location_based_kg(it_kwh, pue, per_kwh),
        "carbon_basis": site.carbon_basis,
        "embodied_carbon_kg": total(embodied(values, made(load, peak), duration_s)),
        "node_w": _levels(load.node),
        "rack_nodes": racks.nodes_per_rack,
        "rack_limited_by": racks.limited_by,
        "free_cooling_share": None if plant is None else plant.free_cooling_share,
        "overhead_w_per_it_w": None if plant is None else _parts(plant),
        "envelope_margin": margin,
        "pue_by_month": hall.pue_by_month,
        "pue_peak": hall.meter_peak_w / peak,
        "trips_first": hall.trips_first,
        "tree_limit": hall.tree_limit,
        "problems": [*_unheld(load.node, settings), *racks.problems, *hall.tree_problems],
        "cautions": [*_of_cap(load.node), *hall.tree_cautions],
    }


def made(load: ItLoad, it_peak_w: Array) -> Made:
    """What was made for a fleet: its machines with the spares, switches, storage, and a building for its IT peak."""
    nodes = load.nodes + load.spare_nodes
    return Made(nodes * load.node.accelerators, nodes, load.switches, load.storage_bytes, it_peak_w)


def _litres_per_kwh(values: Values, settings: Facility, plant: Any) -> Array:
    """Water use effectiveness, litres per IT kWh: what evaporating coolers take, else what operators of the class report."""
    if settings.heat_rejection == "evaporative" and plant is not None:
        return plant.litres_per_it_kwh
    return values[f"cooling.{settings.cooling}.wue"]


def _levels(node: NodePower) -> dict[str, Array]:
    return {
        "idle": node.idle_w,
        "measured": node.measured_w,
        "capped": node.capped_w,
        "nameplate": node.nameplate_w,
    }


def _parts(plant: Any) -> dict[str, Array]:
    names = ("electrical", "fans", "pumps", "rejection", "chiller", "other")
    return {name: getattr(plant, name) for name in names}


def _of_cap(node: NodePower) -> list[str]:
    """What a binding power cap does, in words."""
    if not node.cap_binds:
        return []
    clock = float(np.median(node.clock))
    return [
        f"the power cap holds matrix products at {clock:.0%} of their clock (a model with a band; in the step time)"
    ]


def _unheld(node: NodePower, settings: Facility) -> list[str]:
    if node.cap_held or settings.power_cap is None:
        return []
    least = float(np.median(node.board_full_w))
    return [
        f"a power cap of {settings.power_cap:.0f} W is not held: a board draws {least:.0f} W at its lowest clock; "
        f"write facility.power_cap: {np.ceil(least / 10) * 10:.0f} W or more"
    ]
