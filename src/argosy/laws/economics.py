"""Money: capital recovered over a life, the price of an accelerator-hour, of a token, of a point of MFU."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.laws.power import JOULES_PER_KWH, SECONDS_PER_HOUR

Array = Any  # float or numpy array: the arguments broadcast

HOURS_PER_YEAR = 8766.0  # mean Julian year, leap years included


def capital_recovery_factor(rate: Array, years: Array) -> Array:
    """Yearly payment per unit of capital: r / (1 − (1 + r)^−L); 1/L for r = 0.

    `rate`: yearly cost of capital, fraction; `years`: L > 0. End-of-year payments, no residual value.
    Source: annuity formula.
    """
    rate, years = np.asarray(rate, dtype=float), np.asarray(years, dtype=float)
    safe = np.where(rate == 0, 1.0, rate)
    return _plain(np.where(rate == 0, 1.0 / years, safe / -np.expm1(-years * np.log1p(safe))))


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


def accelerator_hours(flops: Array, peak_flops: Array, mfu: Array) -> Array:
    """Accelerator-hours of work: C / (MFU · peak · 3,600).

    `flops`: floating-point operations of the whole work; `peak_flops`: dense peak of one accelerator, FLOP/s;
    `mfu`: 0–1.
    """
    return flops / (mfu * peak_flops * SECONDS_PER_HOUR)


def price_of_mfu_point(
    flops: Array, peak_flops: Array, mfu: Array, price_per_hour: Array, points: Array = 0.01
) -> Array:
    """Currency saved by raising MFU from `mfu` to `mfu + points`: the difference of `accelerator_hours` ×
    price."""
    before = accelerator_hours(flops, peak_flops, mfu)
    return (before - accelerator_hours(flops, peak_flops, mfu + points)) * price_per_hour


def affordable_tokens(
    budget: Array, price_per_hour: Array, parameters: Array, peak_flops: Array, mfu: Array
) -> Array:
    """Tokens that `budget` trains: D = budget/price · 3,600 · MFU · peak / (6·N), dense transformers (6·N·D
    FLOPs)."""
    return budget / price_per_hour * SECONDS_PER_HOUR * mfu * peak_flops / (6.0 * parameters)


def _plain(value: np.ndarray) -> Array:
    """A float for a zero-dimensional array, else the array."""
    return float(value) if np.ndim(value) == 0 else value
