"""Heat: what air can carry, what a plant adds, what water it takes."""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array

AIR_DENSITY_KG_PER_M3 = 1.2  # dry air at 20 °C and sea level, ASHRAE standard air
AIR_HEAT_J_PER_KG_K = 1005.0  # dry air at constant pressure
WATER_HEAT_J_PER_KG_K = 4186.0  # liquid water at 15 °C
WATER_LATENT_HEAT_J_PER_KG = 2.43e6  # vaporisation at 30 °C


def power_usage_effectiveness(it_w: Array, overhead_w: Array) -> Array:
    """PUE = (IT + overhead)/IT, ≥ 1: the ratio at the facility's meter.

    `it_w`: watts delivered to IT equipment; `overhead_w`: cooling, conversion losses, lighting. Energies may
    be put in for powers. Source: ISO/IEC 30134-2.
    """
    return 1.0 + np.asarray(overhead_w) / np.asarray(it_w)


def pue_saving(before: Array, after: Array) -> Array:
    """Fraction of facility energy saved by going from one PUE to another at the same IT energy: 1 −
    after/before."""
    return 1.0 - np.asarray(after) / np.asarray(before)


def airflow_m3_per_s(
    heat_w: Array, rise_k: Array, density: Array = AIR_DENSITY_KG_PER_M3, heat: Array = AIR_HEAT_J_PER_KG_K
) -> Array:
    """Cubic metres of air per second that carry `heat_w` watts at a temperature rise of `rise_k` kelvin:
    Q/(ρ·c·ΔT).

    `density` in kg/m³ and `heat` in J/(kg·K) default to standard air. Sensible heat only. 1 m³/s = 2,119 CFM.
    """
    return heat_w / (density * heat * rise_k)


def liquid_flow_kg_per_s(heat_w: Array, rise_k: Array, heat: Array = WATER_HEAT_J_PER_KG_K) -> Array:
    """Kilograms of coolant per second that carry `heat_w` watts at a rise of `rise_k` kelvin: Q/(c·ΔT)."""
    return heat_w / (heat * rise_k)


def carnot_fraction_cop(cold_c: Array, hot_c: Array, fraction: Array) -> Array:
    """Coefficient of performance of a chiller: fraction·T_cold/(T_hot − T_cold), temperatures in °C at the
    coils.

    `fraction`: of Carnot's, 0–1 (large water-cooled chillers reach 0.5–0.65). Needs hot > cold; with a lift
    of nothing the chiller is off (free cooling), which the caller decides. Source: second law.
    """
    cold_k = np.asarray(cold_c, dtype=float) + 273.15
    return (
        fraction * cold_k / np.maximum(np.asarray(hot_c, dtype=float) - np.asarray(cold_c, dtype=float), 1.0)
    )


def water_litres(it_energy_kwh: Array, wue_litres_per_kwh: Array) -> Array:
    """Litres of water used on site: WUE × IT energy. WUE is defined per IT kilowatt-hour; PUE does not enter.

    `it_energy_kwh`: kWh of the IT equipment; `wue_litres_per_kwh`: L per IT kWh. One litre is one kilogram.
    Source: ISO/IEC 30134-9; The Green Grid 2011.
    """
    return it_energy_kwh * wue_litres_per_kwh


def water_at_source_litres(it_energy_kwh: Array, pue: Array, litres_per_grid_kwh: Array) -> Array:
    """Litres evaporated at power stations for the facility: EWIF × PUE × IT energy.

    `litres_per_grid_kwh`: electricity water intensity, L per kWh of the grid. Here PUE does enter: the whole
    facility buys from the grid. Source: Li, Yang, Islam, Ren 2023 (arXiv 2304.03271).
    """
    return it_energy_kwh * pue * litres_per_grid_kwh
