"""Money: capital recovered over a life, the price of an accelerator-hour, of a token, of a point of MFU."""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require
from argosy.laws.power import JOULES_PER_KWH, SECONDS_PER_HOUR

HOURS_PER_YEAR = 8766.0  # mean Julian year, leap years included


def capital_recovery_factor(rate: Array, years: Array) -> Array:
    """Yearly payment per unit of capital: r / (1 − (1 + r)^−L); 1/L for r = 0.

    `rate`: yearly cost of capital, fraction; `years`: L > 0. End-of-year payments, no residual value.
    Source: annuity formula.
    """
    rate, years = np.asarray(rate, dtype=float), np.asarray(years, dtype=float)
    safe = np.where(rate == 0, 1.0, rate)
    return plain(np.where(rate == 0, 1.0 / years, safe / -np.expm1(-years * np.log1p(safe))))


def annuity_with_residual(capital: Array, residual_fraction: Array, rate: Array, years: Array) -> Array:
    """Yearly cost of capital that is worth `residual_fraction` of itself at the end: (C − F·C/(1+r)^L)·CRF(r,
    L).

    `capital`: currency; the result is currency per year.
    """
    present = 1.0 - residual_fraction / (1.0 + np.asarray(rate)) ** years
    return capital * present * capital_recovery_factor(rate, years)


def accelerator_hour_cost(
    capital_per_year: Array,
    availability: Array,
    power_kw: Array,
    pue: Array,
    price_per_kwh: Array,
    operations_per_year: Array = 0.0,
) -> Array:
    """Cost of one available accelerator-hour: (capital + operations)/(8,766·availability) + kW·PUE·price.

    `capital_per_year`, `operations_per_year`: currency per accelerator and year; `availability`: fraction of
    hours sold or used, 0–1; `power_kw`: mean IT kilowatts per accelerator; `price_per_kwh`: currency per kWh
    at the meter.
    """
    return (capital_per_year + operations_per_year) / (
        HOURS_PER_YEAR * availability
    ) + power_kw * pue * price_per_kwh


def electricity_cost(energy_kwh: Array, price_per_kwh: Array) -> Array:
    """Currency for `energy_kwh` kilowatt-hours at the meter."""
    return energy_kwh * price_per_kwh


def electricity_cost_per_hour(power_w: Array, pue: Array, price_per_kwh: Array) -> Array:
    """Currency per hour for an IT load of `power_w` watts in a facility of `pue`."""
    return power_w * SECONDS_PER_HOUR / JOULES_PER_KWH * pue * price_per_kwh


def cost_per_million_tokens(
    tokens_per_accelerator_s: Array, price_per_hour: Array, goodput: Array = 1.0
) -> Array:
    """Currency per million useful tokens: price / (3,600 · tokens/s · goodput) · 1e6.

    `tokens_per_accelerator_s`: tokens per second of one accelerator while it works; `price_per_hour`:
    currency per accelerator-hour; `goodput`: share of paid time that is productive, 0–1.
    """
    return price_per_hour / (SECONDS_PER_HOUR * tokens_per_accelerator_s * goodput) * 1e6


def price_of_mfu_point(
    flops: Array, peak_flops: Array, mfu: Array, price_per_hour: Array, points: Array = 0.01
) -> Array:
    """Currency saved by raising MFU from `mfu` to `mfu + points`: C/(A·3,600)·(1/MFU − 1/(MFU + points))·price.

    `flops`: C, floating-point operations of the whole work; `peak_flops`: A, dense peak of one accelerator,
    FLOP/s; both shares in (0, 1]; `price_per_hour`: currency per accelerator-hour (of `training_time.device_seconds`).
    """
    after = np.add(mfu, points)
    for share in (np.asarray(mfu), after):
        require((share > 0) & (share <= 1), "mfu and mfu + points must lie in (0, 1]")
    return flops / (peak_flops * SECONDS_PER_HOUR) * (1.0 / np.asarray(mfu) - 1.0 / after) * price_per_hour
