"""What the utility charges: a price per kilowatt-hour that may depend on the hour, and one for the highest load."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.facility.year import HOURS, mean_over, month_of_hour
from argosy.spec import Tariff

Array = Any  # float or numpy array (n,): one entry per draw
MONTH_S = 365.25 * 86400.0 / 12
_DAYS = {"all": 1.0, "weekdays": 5.0 / 7.0, "weekend": 2.0 / 7.0}


def energy_price(
    base_usd_per_j: Array, tariff: Tariff, duration_s: Array, start_month: int | None = None
) -> Array:
    """USD per joule that a constant load pays on the mean of `duration_s` seconds.

    `base_usd_per_j` holds where no period of the tariff does; the last period that fits an hour wins. With
    `start_month` the run covers the hours from the first of that month on, else the whole year counts. Days
    of the week are in their proportion, 5 to 2: the calendar's own year is not used.
    """
    if not tariff.periods:
        return base_usd_per_j
    shares = _shares(tariff)
    over = [mean_over(share, start_month, duration_s) for share in shares]
    base = 1.0 - sum(over)
    priced = sum(share * period.price for share, period in zip(over, tariff.periods, strict=True))
    return base_usd_per_j * base + priced


def _shares(tariff: Tariff) -> list[np.ndarray]:
    """For every period the share of each hour of a year, (8760,), in which its price holds."""
    month, hour = month_of_hour(), np.arange(HOURS) % 24
    free = {kind: np.ones(HOURS) for kind in ("weekdays", "weekend")}
    shares = []
    for period in reversed(tariff.periods):
        start, end = period.hours
        within = (hour >= start) & (hour < end) if start < end else (hour >= start) | (hour < end)
        fits = within & np.isin(month, period.months)
        share = np.zeros(HOURS)
        for kind, left in free.items():
            if period.days in ("all", kind):
                share += _DAYS[kind] * left * fits
                left[fits] = 0.0
        shares.append(share)
    return shares[::-1]


def demand_charge_usd(peak_w: Array, tariff: Tariff, duration_s: Array) -> Array:
    """USD for the highest load: `peak_w` watts at the meter × the charge per watt and month × months held."""
    return peak_w * tariff.demand_charge * duration_s / MONTH_S
