"""The weather of a typical year at a site: outside temperature and humidity, month by month, hour by hour."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from argosy.laws import humidity as law

Array = Any  # float or numpy array (n,): one entry per draw

MONTHS = 12
_TIMES, _KINDS = 8, 3  # of day, and of weather
PER_MONTH = _TIMES * _KINDS
HOURS_PER_YEAR = 8766.0
_DRIEST, _DAMPEST = 0.05, 0.99
_TABLE = Path(__file__).parent / "data" / "climates.csv"


@dataclass(frozen=True, slots=True)
class Shape:
    """How a year runs: `temperature` (12,) from −1 (half a range below the mean) to 1; `humidity` (12,) above the mean."""

    city: str
    temperature: np.ndarray
    humidity: np.ndarray


@lru_cache(maxsize=1)
def shapes() -> dict[str, Shape]:
    """The years of the table of typical climates, by region; they are assumptions (data/climates.csv)."""
    lines = [line for line in _TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    found = {}
    for row in csv.DictReader(lines):
        months = range(1, MONTHS + 1)
        warm = np.array([float(row[f"t{month}"]) for month in months])
        damp = np.array([float(row[f"h{month}"]) for month in months]) / 100.0
        half_range = (warm.max() - warm.min()) / 2.0
        found[row["region"]] = Shape(row["city"], (warm - warm.mean()) / half_range, damp - damp.mean())
    return found


def shape_of(region: str) -> Shape:
    """The year of a region, or for any other place a cosine that is warmest in mid-July, with even humidity."""
    known = shapes().get(region)
    if known is not None:
        return known
    month = np.arange(MONTHS)
    return Shape("", np.cos(2 * np.pi * (month - 6) / MONTHS), np.zeros(MONTHS))


def temperatures_c(shape: Shape, mean: Array, amplitude: Array, daily: Array, spread: Array) -> np.ndarray:
    """Outside temperatures of a year in °C, equally likely, by month: (…, 12·24), the month moving slowest.

    A typical day of each month, every three hours, in three equally likely kinds of weather (a three-point normal).
    `mean`, `amplitude` (half of warmest minus coldest month), `daily` (half of afternoon minus dawn) and `spread`
    (standard deviation of day-to-day weather): °C, scalars or draws (n,).
    """
    hour = np.sin(2 * np.pi * (np.arange(_TIMES) + 0.5) / _TIMES)
    weather = np.array([-1.0, 0.0, 1.0]) * np.sqrt(1.5)  # variance one
    season, day, today = (
        grid.ravel() for grid in np.meshgrid(shape.temperature, hour, weather, indexing="ij")
    )
    parts = (np.asarray(x, dtype=float)[..., None] for x in (mean, amplitude, daily, spread))
    middle, seasonal, of_day, of_weather = parts
    return np.asarray(middle + seasonal * season + of_day * day + of_weather * today)


def wet_bulbs_c(shape: Shape, outside_c: np.ndarray, mean_humidity: Array) -> np.ndarray:
    """Wet-bulb temperatures beside `outside_c` (…, 288): vapour stays over a month, so hot hours are drier.

    `mean_humidity`: yearly mean relative humidity, 0–1, scalar or draws.
    """
    by_month = outside_c.reshape(*outside_c.shape[:-1], MONTHS, PER_MONTH)
    humidity = np.clip(np.asarray(mean_humidity, dtype=float)[..., None] + shape.humidity, _DRIEST, _DAMPEST)
    vapour = law.saturation_pressure_pa(by_month.mean(axis=-1)) * humidity
    relative = vapour[..., None] / law.saturation_pressure_pa(by_month)
    wet = law.wet_bulb_c(by_month, np.clip(relative, _DRIEST, _DAMPEST))
    return np.asarray(np.minimum(wet, by_month)).reshape(outside_c.shape)
