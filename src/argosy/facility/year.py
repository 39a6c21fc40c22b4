"""A year hour by hour: what a constant load meets on the mean of a stretch of it."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # float or numpy array (n,)
HOURS = 8760  # of a year of 365 days
MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def month_of_hour() -> np.ndarray:
    """The month, 1 to 12, of every hour of the year, (8760,)."""
    return np.repeat(np.arange(1, 13), 24 * np.array(MONTH_DAYS))


def first_hour(month: int) -> int:
    """Hours of the year before the first of `month`, 1 to 12."""
    return 24 * sum(MONTH_DAYS[: month - 1])


def hourly(by_month: Array) -> np.ndarray:
    """Every hour of the year, (8760,), from typical days of the months, (12, 24)."""
    values: np.ndarray = np.asarray(by_month, dtype=float)[month_of_hour() - 1, np.arange(HOURS) % 24]
    return values


def mean_over(hourly_values: np.ndarray, start_month: int | None, duration_s: Array) -> Array:
    """Mean of `hourly_values` (8760,) over `duration_s` seconds from the first of `start_month` on.

    Over the whole year where no month is given. Years repeat; a duration of nothing is its first hour.
    """
    if start_month is None:
        return float(hourly_values.mean())
    whole = np.concatenate([[0.0], np.cumsum(hourly_values)])
    start = first_hour(start_month)
    span = np.maximum(np.asarray(duration_s, dtype=float) / 3600.0, 1.0)

    def upto(hour: Array) -> Array:
        years, rest = np.divmod(hour, HOURS)
        return years * whole[-1] + np.interp(rest, np.arange(HOURS + 1), whole)

    return ((upto(start + span) - upto(start)) / span)[()]
