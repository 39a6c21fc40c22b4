"""Accelerators by quarter against a simulation day by day, and money against sums by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argosy.facility.capacity import (
    QUARTER_S,
    YEAR_S,
    UnitCost,
    acceptance,
    after,
    book_value,
    demand,
    installed,
    present,
    served,
    spending,
)
from argosy.spec import Capacity

DAY = 86400.0
UNIT = UnitCost(
    hardware=40_000.0,
    site=15_000.0,
    running_per_s=0.2 / 3600,
    power_per_s=0.1 / 3600,
    rent_per_s=2.0 / 3600,
    life_s=5 * YEAR_S,
    site_life_s=15 * YEAR_S,
    residual=0.2,
    idle_power=0.25,
)


def planned(**fields: Any) -> Capacity:
    given = {"start": "2027-Q1", "quarters": 8, "demand": {"accelerators": 500}, **fields}
    return Capacity.model_validate(given)


TWO = planned(
    deliveries=[{"quarter": "2027-Q1", "accelerators": 1000}, {"quarter": "2027-Q4", "accelerators": 600}],
    bring_up=42 * DAY,
    burn_in={"duration": 14 * DAY, "yield": 0.9, "repair": 28 * DAY},
)


def simulated(plan: Capacity, slips: list[float], life_s: float) -> np.ndarray:
    """Usable accelerators of every quarter, hour by hour: a tranche is brought up, burned in, repaired, burned in."""
    step = 6 * 3600.0
    moments = np.arange(0.0, plan.quarters * QUARTER_S, step) + step / 2
    usable = np.zeros_like(moments)
    for delivery, slip in zip(plan.deliveries, slips, strict=True):
        first = (int(delivery.quarter[:4]) - 2027) * 4 + int(delivery.quarter[-1]) - 1
        arrival = first * QUARTER_S + slip
        waiting, ready = float(delivery.accelerators), arrival + plan.bring_up + plan.burn_in.duration
        for _ in range(60):
            passed = waiting * plan.burn_in.passing
            usable += passed * ((moments > ready) & (moments < arrival + life_s))
            waiting -= passed
            ready += plan.burn_in.repair + plan.burn_in.duration
    quarter = (moments // QUARTER_S).astype(int)
    return np.array([usable[quarter == number].mean() for number in range(plan.quarters)])


@pytest.mark.parametrize(("slips", "life_years"), [([0.0, 0.0], 5.0), ([20 * DAY, 5 * DAY], 1.2)])
def test_usable_accelerators_against_a_simulation(slips: list[float], life_years: float) -> None:
    ours = installed(TWO, np.array(slips), 1.0, life_years * YEAR_S)["usable"]
    np.testing.assert_allclose(ours, simulated(TWO, slips, life_years * YEAR_S), atol=3.0)


def test_every_tranche_is_accepted_in_the_end() -> None:
    moments, shares = zip(*acceptance(TWO), strict=True)
    assert sum(shares) == pytest.approx(1.0)
    assert moments[:2] == (56 * DAY, (56 + 42) * DAY) and shares[:2] == pytest.approx((0.9, 0.09))
    assert next(acceptance(planned(burn_in={"yield": 1.0})))[1] == 1.0


def test_stages_come_one_after_the_other() -> None:
    machines = installed(TWO, np.zeros(2), 0.99, 5 * YEAR_S)
    assert np.all(machines["usable"] <= machines["powered"]) and np.all(
        machines["powered"] <= machines["delivered"]
    )
    assert machines["delivered"][-1] == 1600 and machines["usable"][-1] == pytest.approx(1600 * 0.99)


def test_part_of_a_quarter_counts_by_its_share() -> None:
    np.testing.assert_allclose(after(3, 1.25 * QUARTER_S), [0.0, 0.75, 1.0])
    np.testing.assert_allclose(after(2, np.array([0.0, 9 * QUARTER_S])), [[1.0, 1.0], [0.0, 0.0]])


def test_demand_grows_or_is_given() -> None:
    np.testing.assert_allclose(
        demand(planned(demand={"accelerators": 100, "growth": 0.1}), 0.1)[:3], [100, 110, 121]
    )
    given = planned(quarters=2, demand={"accelerators": 1, "by_quarter": [5, 7]})
    assert demand(given, np.zeros(4)).tolist() == [[5, 7]] * 4


def test_demand_is_met_by_own_then_rented_then_not() -> None:
    plan = planned(quarters=3, rent={"limit": 100})
    meeting = served(plan, np.array([50.0, 150.0, 300.0]), np.array([100.0, 100.0, 100.0]))
    assert {key: value.tolist() for key, value in meeting.items()} == {
        "own": [50, 100, 100],
        "rented": [0, 50, 100],
        "unmet": [0, 0, 100],
        "idle": [50, 0, 0],
    }


def test_spending_by_hand() -> None:
    """1,000 delivered at the start, 500 asked for: one year of quarters."""
    plan = planned(
        quarters=4, deliveries=[{"quarter": "2027-Q1", "accelerators": 1000}], bring_up=0.0,
        burn_in={"duration": 0.0, "yield": 1.0}, rent={"decline": 0.0},
    )  # fmt: skip
    machines = installed(plan, np.zeros(1), 1.0, 5 * YEAR_S)
    meeting = served(plan, demand(plan, 0.0), machines["usable"])
    money = {key: value.sum() for key, value in spending(plan, machines, meeting, UNIT).items()}
    assert money["capital"] == 55e6
    assert money["running"] == pytest.approx(1000 * 0.2 * 8766)
    assert money["electricity"] == pytest.approx((500 + 0.25 * 500) * 0.1 * 8766)
    assert money["rent"] == 0 and money["rent_all"] == pytest.approx(500 * 2.0 * 8766)


def test_another_generation_counts_by_its_work_and_its_power() -> None:
    """100 machines of 3 times the work at 1.5 times the power, at their own price; half of their work is asked for."""
    plan = planned(
        quarters=4, bring_up=0.0, burn_in={"duration": 0.0, "yield": 1.0}, demand={"accelerators": 150},
        deliveries=[{"quarter": "2027-Q1", "accelerators": 100, "price": 90_000.0, "speed": 3.0, "power": 1.5}],
    )  # fmt: skip
    machines = installed(plan, np.zeros(1), 1.0, 5 * YEAR_S)
    assert (machines["delivered"][0], machines["powered"][0], machines["usable"][0]) == (100, 150, 300)
    meeting = served(plan, demand(plan, 0.0), machines["usable"])
    money = {key: value.sum() for key, value in spending(plan, machines, meeting, UNIT).items()}
    assert money["capital"] == pytest.approx(100 * (90_000 + 1.5 * 15_000))
    assert money["electricity"] == pytest.approx((75 + 0.25 * 75) * 0.1 * 8766)
    with pytest.raises(ValueError, match="needs its own price"):
        planned(deliveries=[{"quarter": "2027-Q1", "accelerators": 1, "speed": 2.0}])


def test_book_value_falls_to_the_residual() -> None:
    plan = planned(quarters=24, deliveries=[{"quarter": "2027-Q1", "accelerators": 1}])
    value = book_value(plan, UNIT)
    assert value[3] == pytest.approx(40_000 * (1 - 0.8 / 5) + 15_000 * (1 - 1 / 15))
    assert value[-1] == pytest.approx(40_000 * 0.2 + 15_000 * (1 - 6 / 15))


def test_present_value_of_level_payments() -> None:
    """100 a quarter for a year at 8 %, each at the middle of its quarter."""
    by_hand = sum(100 / 1.08 ** ((quarter + 0.5) / 4) for quarter in range(4))
    assert present(np.full(4, 100.0), 0.08)[-1] == pytest.approx(by_hand)
    assert present(np.full(4, 100.0), 0.0)[-1] == 400.0


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"deliveries": [{"quarter": "2031-Q1", "accelerators": 1}]}, "outside of 2027-Q1 to 2028-Q4"),
        ({"deliveries": [{"quarter": "2027-Q5", "accelerators": 1}]}, "write for example 2027-Q1"),
        ({"demand": {"accelerators": 1, "by_quarter": [1, 2]}}, "2 numbers for 8 quarters"),
        ({"burn_in": {"yield": 0.0}}, "nothing is ever accepted"),
    ],
)
def test_what_is_wrong_is_said(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        planned(**fields)
