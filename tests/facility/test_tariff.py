"""Times of use against a year counted hour by hour."""

from __future__ import annotations

import calendar

import numpy as np
import pytest

from argosy.facility.tariff import demand_charge_usd, energy_price
from argosy.facility.year import HOURS, first_hour, hourly, mean_over, month_of_hour
from argosy.spec import Period, Tariff

DAY = 86400.0
NIGHT = Period(price=0.05, hours=(22, 6))
SUMMER = Period(price=0.30, hours=(14, 20), months=(6, 7, 8), days="weekdays")
WEEKEND = Period(price=0.08, days="weekend")


def counted(tariff: Tariff, base: float) -> float:
    """The mean price over 28 years of the calendar (every weekday meets every date equally), hour by hour."""
    total, count = 0.0, 0
    for year in range(2001, 2029):
        if calendar.isleap(year):
            continue
        for month in range(1, 13):
            for day in range(1, calendar.monthrange(year, month)[1] + 1):
                weekend = calendar.weekday(year, month, day) >= 5
                for hour in range(24):
                    price = base
                    for period in tariff.periods:
                        start, end = period.hours
                        inside = start <= hour < end if start < end else hour >= start or hour < end
                        kind = period.days == "all" or (period.days == "weekend") == weekend
                        if inside and kind and month in period.months:
                            price = period.price
                    total, count = total + price, count + 1
    return total / count


@pytest.mark.parametrize(
    "periods", [(NIGHT,), (SUMMER,), (WEEKEND,), (NIGHT, SUMMER), (SUMMER, NIGHT, WEEKEND), (WEEKEND, SUMMER)]
)
def test_the_mean_of_a_year(periods: tuple[Period, ...]) -> None:
    tariff = Tariff(periods=periods)
    assert energy_price(0.10, tariff, 365 * DAY) == pytest.approx(counted(tariff, 0.10), rel=2e-3)


def test_a_run_in_summer_pays_the_summers_price() -> None:
    """31 days of July: six of 24 hours on five of seven days are dear."""
    share = 6 / 24 * 5 / 7
    july = energy_price(0.10, Tariff(periods=(SUMMER,)), 31 * DAY, start_month=7)
    assert july == pytest.approx(0.30 * share + 0.10 * (1 - share))
    winter = energy_price(0.10, Tariff(periods=(SUMMER,)), 31 * DAY, start_month=1)
    assert winter == pytest.approx(0.10)


def test_without_periods_the_price_is_the_sites() -> None:
    base = np.array([0.1, 0.2])
    assert energy_price(base, Tariff(), DAY) is base


def test_prices_of_draws_and_durations_broadcast() -> None:
    mixed = energy_price(np.array([0.1, 0.2]), Tariff(periods=(NIGHT,)), np.array([1.0, 400.0]) * DAY, 3)
    assert mixed == pytest.approx([0.05 / 3 + 0.1 * 2 / 3, 0.05 / 3 + 0.2 * 2 / 3], rel=1e-3)


def test_demand_charge_of_a_year() -> None:
    """10 MW at 12 USD per kW and month: 1.44 million USD a year."""
    tariff = Tariff(demand_charge=12e-3)
    assert demand_charge_usd(10e6, tariff, 365.25 * DAY) == pytest.approx(1.44e6)


def test_the_year_has_its_months() -> None:
    months = month_of_hour()
    assert months.size == HOURS and [int((months == month).sum()) // 24 for month in (1, 2, 12)] == [
        31,
        28,
        31,
    ]
    assert (first_hour(1), first_hour(3)) == (0, 59 * 24)
    days = hourly(np.arange(288).reshape(12, 24))
    assert days[first_hour(2) + 5] == 24 + 5
    wave = np.sin(np.arange(HOURS))
    assert mean_over(wave, 1, 3 * HOURS * 3600.0) == pytest.approx(wave.mean())
    assert mean_over(wave, 12, 62 * DAY) == pytest.approx(
        np.r_[wave[first_hour(12) :], wave[: 31 * 24]].mean()
    )
