"""Cooling: which class a rack needs, and the PUE that a climate and a cooling class give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facility.site import SiteNumbers
from argosy.facts import Values
from argosy.laws import cooling as law

Array = Any  # float or numpy array (n,): one entry per draw
CLASSES = ("air", "rear-door", "direct-to-chip", "immersion")


@dataclass(frozen=True, slots=True)
class Overhead:
    """Watts beside one watt of IT, yearly means: what makes the PUE."""

    electrical: Array
    fans: Array
    pumps: Array
    rejection: Array
    chiller: Array
    other: Array
    free_cooling_share: Array

    @property
    def pue(self) -> Array:
        """Facility over IT, always at least one."""
        overhead = self.electrical + self.fans + self.pumps + self.rejection + self.chiller + self.other
        return law.power_usage_effectiveness(1.0, overhead)


def overhead(values: Values, cooling: str, site: SiteNumbers) -> Overhead:
    """The overhead of cooling class `cooling` at `site` at full load, mean over the year's temperatures.

    Heat leaves through dry coolers; where the outside plus an approach is warmer than the supply, a chiller
    works against the difference, for the air loop and the liquid loop each. All heat of losses and fans is
    removed too. Plant constants are this model's own, each an assumption with a band; part load and humidity
    are not modelled.
    """
    liquid = values[f"cooling.{cooling}.liquid_fraction"]
    loss, fan, pump = (
        values["facility.electrical.loss"],
        values["facility.plant.air_fan"],
        values["facility.plant.pump"],
    )
    air_heat = 1.0 - liquid + loss
    fans, pumps = fan * air_heat, pump * liquid
    air_heat, liquid_heat = air_heat + fans, liquid + pumps
    air_chiller, air_free = _chiller(values, values[f"cooling.{cooling}.air_supply"], site)
    water_chiller, water_free = _chiller(values, values[f"cooling.{cooling}.liquid_supply"], site)
    chiller = air_heat * air_chiller + liquid_heat * water_chiller
    rejection = values["facility.plant.rejection_fan"] * (air_heat + liquid_heat + chiller)
    free: Array = np.where(np.asarray(liquid) > 0.5, water_free, air_free)
    return Overhead(loss, fans, pumps, rejection, chiller, values["facility.electrical.other"], free[()])


def _chiller(values: Values, supply_c: Array, site: SiteNumbers) -> tuple[Array, Array]:
    """Chiller watts per watt of heat at a supply temperature, mean over the year; and the share of hours
    without it."""
    supply = np.asarray(supply_c, dtype=float)[..., None]
    hot = site.outside_c() + np.asarray(values["facility.plant.approach"])[..., None]
    lift = np.maximum(hot - supply, np.asarray(values["facility.plant.smallest_lift"])[..., None])
    cop = law.carnot_fraction_cop(
        supply, supply + lift, np.asarray(values["facility.plant.carnot_fraction"])[..., None]
    )
    free = hot <= supply
    return np.where(free, 0.0, 1.0 / cop).mean(axis=-1), free.mean(axis=-1)


@dataclass(frozen=True, slots=True)
class Racks:
    """How nodes are packed: nodes per rack, racks, watts of a full rack, and what limits it."""

    nodes_per_rack: Array
    count: Array
    rack_w: Array
    limited_by: str
    fits: bool
    reason: str


def pack(values: Values, cooling: str, nodes: Array, node_w: Array, per_rack: int | None = None) -> Racks:
    """Racks for `nodes` of `node_w` watts each (at the level that breakers are sized on) under `cooling`.

    As many nodes as space and the class's heat limit allow, at least one; a rack above the limit does not
    fit. `per_rack`: nodes of a rack that comes as one machine (NVL72: 18), which is never split.
    """
    limit = values[f"cooling.{cooling}.rack_limit"]
    if per_rack is None:
        by_heat = np.maximum(np.floor(limit / np.asarray(node_w, dtype=float)), 1.0)
        space = values["facility.rack.nodes_by_space"]
        limited = "heat" if np.median(by_heat) < np.median(space) else "space"
        held = np.minimum(by_heat, space)
    else:
        limited, held = "machine", np.asarray(float(per_rack))
    rack_w = held * node_w
    fits = bool(np.median(rack_w) <= np.median(limit))
    reason = "" if fits else _too_hot(values, cooling, float(np.median(rack_w)), float(np.median(limit)))
    return Racks(held[()], np.ceil(nodes / held), rack_w, limited, fits, reason)


def _too_hot(values: Values, cooling: str, rack_w: float, limit_w: float) -> str:
    needed = needed_class(values, rack_w)
    advice = f"write facility.cooling: {needed}" if needed else "no class of the catalog carries it"
    excess = f"a rack of {rack_w / 1e3:.0f} kW is above the {limit_w / 1e3:.0f} kW that {cooling} carries"
    return f"{excess}; {advice}"


def needed_class(values: Values, rack_w: Array) -> str:
    """The first cooling class whose limit carries a rack of `rack_w` watts; empty where none does."""
    rack = float(np.median(rack_w))
    return next((name for name in CLASSES if values.facts[f"cooling.{name}.rack_limit"].value >= rack), "")
