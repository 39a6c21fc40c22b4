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


def test_conversion_losses_of_a_transformer() -> None:
    # 2,500 kVA: 3 kW iron, 17.5 kW copper at full load; half load costs a quarter of the copper.
    loss = law.conversion_loss_w(np.array([0.0, 1.25e6, 2.5e6]), 2.5e6, 0.0012, 0.0, 0.007)
    assert loss == pytest.approx([3000.0, 3000.0 + 17_500 / 4, 20_500.0])
    # Two half-loaded units in place of one: twice the iron, half the copper.
    one, two = (law.conversion_loss_w(1e6, rating, 0.001, 0.0, 0.01) for rating in (1e6, 2e6))
    assert one == pytest.approx(1000 + 10_000)
    assert two == pytest.approx(2000 + 5000)
    with pytest.raises(ValueError, match="rating"):
        law.conversion_loss_w(1.0, 0.0, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="load"):
        law.conversion_loss_w(-1.0, 1.0, 0.0, 0.0, 0.0)


def test_units_of_a_level_counted_by_hand() -> None:
    # 10 MW of breakers of 3 MW that carry 80 % for hours: 2.4 MW each, so five; oversold by a quarter, four.
    assert law.units_needed(10e6, 2.4e6) == 5
    assert law.units_needed(10e6, 2.4e6, 1.25) == 4
    assert law.units_needed(0.0, 1.0) == 1
    assert law.units_needed(3 * 0.1, 0.1) == 3
    assert [law.usable_units(6, word) for word in ("N", "N+1", "2N")] == [6, 5, 3]
    with pytest.raises(ValueError, match="redundancy"):
        law.usable_units(6, "3N")
    with pytest.raises(ValueError, match="oversubscription"):
        law.units_needed(1.0, 1.0, 0.9)
    with pytest.raises(ValueError, match="usable"):
        law.units_needed(1.0, 0.0)


def test_half_speed_of_a_fan_takes_an_eighth_of_its_power() -> None:
    assert law.affinity_power(np.array([1.0, 0.5, 0.1]), 0.2) == pytest.approx([1.0, 0.125, 0.008])
    assert law.affinity_power(0.5, exponent=2.0) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="negative"):
        law.affinity_power(-0.1)
