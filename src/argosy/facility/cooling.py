"""Cooling: what a climate, a cooling class and a load add to every watt of IT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facility.climate import MONTHS, PER_MONTH
from argosy.facility.site import SiteNumbers
from argosy.facts import Values
from argosy.laws import cooling as law
from argosy.laws import humidity as humidity_law
from argosy.laws import power as power_law

Array = Any  # float or numpy array (n,): one entry per draw


@dataclass(frozen=True, slots=True)
class Overhead:
    """Watts beside one watt of IT: what makes the PUE. Yearly means, and `plant_by_month` (…, 12) without `electrical`.

    `electrical`: conversion losses; `hottest`: all of the plant in the year's worst hour; `free_cooling_share`: of the
    hours without any chiller for most of the heat, `partial_share`: with some; `litres_per_it_kwh`: evaporated on site.
    """

    electrical: Array
    fans: Array
    pumps: Array
    rejection: Array
    chiller: Array
    other: Array
    free_cooling_share: Array
    partial_share: Array
    plant_by_month: Array
    hottest: Array
    litres_per_it_kwh: Array

    @property
    def plant(self) -> Array:
        """Yearly mean of everything but conversion losses."""
        return self.fans + self.pumps + self.rejection + self.chiller + self.other

    @property
    def pue(self) -> Array:
        """Facility over IT, always at least one."""
        return law.power_usage_effectiveness(1.0, self.electrical + self.plant)

    @property
    def pue_by_month(self) -> Array:
        """The same, month by month, (…, 12)."""
        return 1.0 + np.asarray(self.electrical)[..., None] + self.plant_by_month


def overhead(
    values: Values,
    cooling: str,
    site: SiteNumbers,
    hall_loss: Array,
    load_share: Array = 1.0,
    heat_rejection: str = "dry",
    supply_c: float | None = None,
) -> Overhead:
    """The overhead of cooling class `cooling` at `site`, over the year's weather.

    `hall_loss`: conversion losses inside the hall per IT watt, which are heat too; `load_share`: IT power over the peak
    that the plant is built for, 0–1: fans and pumps follow the cube of their speed down to a floor. Heat leaves through
    dry coolers, or evaporating ones in hours too warm for dry ones (`heat_rejection`); where the outside plus an
    approach is warmer than the supply, a chiller takes over, first in part (it trims the loop's last degrees), then
    wholly, for the air loop and the liquid loop each. `supply_c`: of the loop that the class is named for, instead of
    the class's. Plant constants are this model's own, each an assumption with a band.
    """
    liquid = values[f"cooling.{cooling}.liquid_fraction"]
    share = np.clip(np.asarray(load_share, dtype=float), 1e-6, 1.0)
    turned = power_law.affinity_power(share, values["facility.plant.speed_floor"]) / share
    air_heat = 1.0 - liquid + hall_loss
    fans = values["facility.plant.air_fan"] * air_heat * turned
    pumps = values["facility.plant.pump"] * liquid * turned
    air_supply, liquid_supply = _supplies(values, cooling, supply_c)
    outside = site.outside_c()
    wet_bulb = site.wet_bulb_c() if heat_rejection == "evaporative" else None
    air = _loop(values, air_heat + fans, air_supply, outside, wet_bulb, share)
    water = (
        air.idle()
        if np.all(liquid == 0)
        else _loop(values, liquid + pumps, liquid_supply, outside, wet_bulb, share)
    )
    steady = fans + pumps + values["facility.electrical.other"]
    moving = air.chiller + water.chiller + air.rejection + water.rejection
    by_hour = np.asarray(steady)[..., None] + moving
    leading = np.asarray(liquid)[..., None] > 0.5
    by_month = by_hour.reshape(*by_hour.shape[:-1], MONTHS, PER_MONTH).mean(axis=-1)
    return Overhead(
        electrical=hall_loss,
        fans=fans,
        pumps=pumps,
        rejection=(air.rejection + water.rejection).mean(axis=-1),
        chiller=(air.chiller + water.chiller).mean(axis=-1),
        other=values["facility.electrical.other"],
        free_cooling_share=np.where(leading, water.mechanical == 0, air.mechanical == 0).mean(axis=-1),
        partial_share=np.where(leading, _partly(water), _partly(air)).mean(axis=-1),
        plant_by_month=by_month,
        hottest=by_hour.max(axis=-1),
        litres_per_it_kwh=(air.litres + water.litres).mean(axis=-1),
    )


@dataclass(frozen=True, slots=True)
class _Loop:
    """One loop over the hours of a year, (…, 288), per watt of IT: what carries its heat outside."""

    chiller: np.ndarray
    rejection: np.ndarray
    mechanical: np.ndarray
    litres: np.ndarray

    def idle(self) -> _Loop:
        """The loop of a hall that has none of this kind."""
        nothing = np.zeros(1)
        return _Loop(nothing, nothing, nothing, nothing)


def _partly(loop: _Loop) -> np.ndarray:
    return (loop.mechanical > 0) & (loop.mechanical < 1)


def _supplies(values: Values, cooling: str, supply_c: float | None) -> tuple[Array, Array]:
    """Supply temperatures of the air and the liquid loop, °C."""
    air, liquid = values[f"cooling.{cooling}.air_supply"], values[f"cooling.{cooling}.liquid_supply"]
    if supply_c is None:
        return air, liquid
    return (supply_c, liquid) if cooling == "air" else (air, supply_c)


def _loop(
    values: Values,
    heat: Array,
    supply_c: Array,
    outside: np.ndarray,
    wet_bulb: np.ndarray | None,
    share: Array,
) -> _Loop:
    """What it takes to bring `heat` (per IT watt) outside from a loop supplied at `supply_c`, hour by hour.

    `outside`, `wet_bulb`: °C, (…, 288); None for coolers that stay dry.
    """
    heat, supply, part = (np.asarray(x, dtype=float)[..., None] for x in (heat, supply_c, share))
    approach = np.asarray(values["facility.plant.approach"])[..., None]
    sink, wet = outside, None
    if wet_bulb is not None:
        wet_approach = np.asarray(values["facility.plant.wet_approach"])[..., None]
        wet = outside + approach > supply
        sink = np.where(wet, wet_bulb, outside)
        approach = np.where(wet, wet_approach, approach)
    excess = sink + approach - supply
    mechanical = np.clip(excess / np.asarray(values["facility.plant.loop_rise"])[..., None], 0.0, 1.0)
    lift = np.maximum(excess, np.asarray(values["facility.plant.smallest_lift"])[..., None])
    cop = law.carnot_fraction_cop(
        supply, supply + lift, np.asarray(values["facility.plant.carnot_fraction"])[..., None]
    )
    chiller = heat * mechanical / cop
    # A cooler's air carries more heat per cubic metre the colder it is, so its fans slow down.
    flow = np.minimum(part * approach / np.maximum(supply - sink, approach), 1.0)
    speed = power_law.affinity_power(flow, np.asarray(values["facility.plant.speed_floor"])[..., None])
    fan = np.asarray(values["facility.plant.rejection_fan"])[..., None]
    rejection = fan * (heat + chiller) * speed / part
    if wet is None:
        return _Loop(chiller, rejection, mechanical, np.zeros(1))
    cycles = np.asarray(values["facility.plant.concentration_cycles"])[..., None]
    litres = np.where(wet, (heat + chiller) * humidity_law.evaporated_litres_per_kwh(cycles), 0.0)
    return _Loop(chiller, rejection, mechanical, litres)
