"""Power laws against figures worked by hand."""

import numpy as np
import pytest

from argosy.laws import power as law


def test_twenty_thousand_gpus() -> None:
    assert law.facility_power(20_000, 700.0, 300.0, 1.2) == pytest.approx(24e6)


def test_ten_thousand_cards_for_a_year() -> None:
    load = law.facility_power(10_000, 1100.0, 0.0, 1.25)
    assert load == pytest.approx(13.75e6)
    assert law.energy_kwh(load, 365 * 86400.0) == pytest.approx(120.45e6)


def test_energy_against_summing_hours() -> None:
    hours = np.array([1000.0, 3000.0, 500.0])
    assert law.energy_kwh(hours.mean(), 3 * 3600.0) == pytest.approx(hours.sum() / 1000)


def test_power_follows_activity_between_idle_and_maximum() -> None:
    assert law.power_at_utilization(1900.0, 8400.0, np.array([0.0, 0.5, 1.0])) == pytest.approx(
        [1900, 5150, 8400]
    )


def test_swing_of_a_synchronous_step() -> None:
    assert law.step_swing_w(24_000, 700.0, 300.0) == pytest.approx(9.6e6)
    assert law.step_swing_w(24_000, 700.0, 700.0) == 0.0


def test_impossible_powers_are_refused() -> None:
    with pytest.raises(ValueError, match="pue"):
        law.facility_power(1, 700.0, 0.0, np.array([1.2, 0.99]))
    with pytest.raises(ValueError, match="count"):
        law.facility_power(-1, 700.0, 0.0, 1.2)
    with pytest.raises(ValueError, match="utilization"):
        law.power_at_utilization(1900.0, 8400.0, -0.1)
    with pytest.raises(ValueError, match="duration"):
        law.energy_kwh(1.0, -1.0)
    with pytest.raises(ValueError, match="count"):
        law.step_swing_w(-1, 700.0, 300.0)


def test_a_run_that_never_ends_has_an_energy_that_is_not_a_number() -> None:
    assert np.isnan(law.energy_kwh(1000.0, np.array([3600.0, np.nan]))).tolist() == [False, True]
