"""Greenhouse gases of electricity and of hardware, in kilograms of CO2 equivalent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argosy.laws.arrays import Array


class Band(NamedTuple):
    """A central value between two bounds, in the unit of the law that returned it."""

    low: Array
    central: Array
    high: Array


def location_based_kg(it_energy_kwh: Array, pue: Array, kg_per_kwh: Array) -> Array:
    """kg CO2e of electricity by the grid it was drawn from: E_IT · PUE · CI.

    `it_energy_kwh`: kWh of IT equipment; `pue` ≥ 1; `kg_per_kwh`: carbon intensity of the grid, annual mean.
    Year and basis (life-cycle or direct) belong to the intensity and must be reported with it: one country's
    differ by 3×. Source: GHG Protocol Scope 2 Guidance (2015), location-based method.
    """
    return it_energy_kwh * pue * kg_per_kwh


def market_based_kg(
    it_energy_kwh: Array, pue: Array, residual_kg_per_kwh: Array, matched_fraction: Array
) -> Array:
    """kg CO2e by contracts: energy covered by certificates counts zero, the rest at the residual mix.

    `matched_fraction`: share of energy covered by contracted zero-carbon certificates, 0–1;
    `residual_kg_per_kwh`: intensity of what is left on the grid. Reported beside the location-based figure,
    never in its place. Source: GHG Protocol Scope 2 Guidance (2015), market-based method.
    """
    return it_energy_kwh * pue * residual_kg_per_kwh * (1.0 - np.asarray(matched_fraction))


def hourly_kg(it_energy_kwh: Array, pue: Array, kg_per_kwh: Array) -> Array:
    """kg CO2e summed over hours: Σ E_IT(t)·PUE(t)·CI(t); the last axis of the arguments is time.

    Equals `location_based_kg` at the energy-weighted mean intensity.
    """
    return np.sum(np.asarray(it_energy_kwh) * pue * np.asarray(kg_per_kwh), axis=-1)


def embodied_kg(
    units: Array, kg_per_unit: Band, duration_s: Array, life_s: Array, utilization: Array
) -> Band:
    """kg CO2e of making hardware, charged to a job by its share of a useful life: n·kg·t/(life·utilisation).

    `units`: machines of one kind; `kg_per_unit`: a band, because published figures for one H100 reach from 15
    (die) to 575 kg; `duration_s`: seconds the job holds them; `life_s`: seconds of service; `utilization`:
    share of that life in which they are held by any job, 0–1 (idle time is charged to those who use them).
    """
    share = units * duration_s / (life_s * utilization)
    return Band(*(share * value for value in kg_per_unit))
