"""Money laws against cash flows summed year by year and figures worked by hand."""

import numpy as np
import pytest

from argosy.laws import economics as law
from argosy.laws import training_time


@pytest.mark.parametrize(
    ("rate", "years", "per_hour"), [(0.0, 5, 1.095), (0.0, 3, 1.825), (0.08, 5, 1.371), (0.08, 3, 2.125)]
)
def test_hour_of_an_accelerator_that_cost_48000(rate: float, years: int, per_hour: float) -> None:
    yearly = 48_000 * law.capital_recovery_factor(rate, years)
    assert law.accelerator_hour_cost(yearly, 1.0, 0.0, 1.0, 0.0) == pytest.approx(per_hour, abs=5e-4)


def test_electricity_of_an_accelerator_hour() -> None:
    # 10.2 kW for eight, 76 % of it, used 90 % of the time, PUE 1.25, 0.0826 a kWh.
    kilowatts = 10.2 / 8 * 0.76 / 0.9
    assert law.accelerator_hour_cost(0.0, 0.9, kilowatts, 1.25, 0.0826) == pytest.approx(0.111, abs=5e-4)


@pytest.mark.parametrize(("rate", "years"), [(0.08, 5), (0.03, 14), (1e-9, 4)])
def test_payments_pay_the_capital_back(rate: float, years: int) -> None:
    payment = law.capital_recovery_factor(rate, years)
    debt = 1.0
    for _ in range(years):
        debt = debt * (1 + rate) - payment
    assert debt == pytest.approx(0.0, abs=1e-9)


def test_residual_value_lowers_the_annuity() -> None:
    payment = law.annuity_with_residual(1000.0, 0.3, 0.08, 3)
    debt = 1000.0
    for _ in range(3):
        debt = debt * 1.08 - payment
    assert debt == pytest.approx(300.0)
    assert law.annuity_with_residual(1000.0, 0.0, 0.0, 4) == pytest.approx(250.0)


def test_bill_of_ten_thousand_cards() -> None:
    assert law.electricity_cost(120.45e6, 0.6) == pytest.approx(72.27e6)
    assert law.electricity_cost_per_hour(11e6, 1.25, 0.6) * 8760 == pytest.approx(72.27e6)


def test_tokens_and_their_price() -> None:
    # 405e9 parameters at 40 % of 989e12: 162.798 tokens a second, 586,074 an hour; two dollars an hour.
    rate = 0.40 * 989e12 / (6 * 405e9)
    assert law.cost_per_million_tokens(rate, 2.0) == pytest.approx(2.0 / 586_074.074 * 1e6)
    assert law.cost_per_million_tokens(rate, 2.0, goodput=0.5) == pytest.approx(
        2 * law.cost_per_million_tokens(rate, 2.0)
    )


def test_what_a_point_of_mfu_is_worth() -> None:
    flops = 6 * 405e9 * 15.6e12
    hours = training_time.device_seconds(405e9, 15.6e12, 989e12, 0.40) / 3600
    assert hours == pytest.approx(26_617_795.753, rel=1e-9)
    assert law.price_of_mfu_point(flops, 989e12, 0.40, 2.0) == pytest.approx(2 * hours / 41)
    assert law.price_of_mfu_point(flops, 989e12, 0.40, 2.0, points=0.0) == 0.0
    with pytest.raises(ValueError, match="mfu"):
        law.price_of_mfu_point(flops, 989e12, 0.995, 2.0)


def test_budget_buys_the_tokens_that_cost_it() -> None:
    tokens = training_time.tokens_in_time(70e9, 1e6 / 2.0 * 3600, 1, 989e12, 0.4)
    assert training_time.cost(training_time.device_seconds(70e9, tokens, 989e12, 0.4), 2.0) == pytest.approx(
        1e6
    )


def test_arrays_go_through() -> None:
    assert law.capital_recovery_factor(np.array([0.0, 0.08]), 5) == pytest.approx([0.2, 0.2504564545])
