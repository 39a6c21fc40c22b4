"""Carbon laws against figures worked by hand."""

import numpy as np
import pytest

from argosy.laws import carbon as law


def test_location_based() -> None:
    # A thousand IT kWh, PUE 1.2, 400 g a kWh.
    assert law.location_based_kg(1000.0, 1.2, 0.4) == pytest.approx(480.0)


def test_market_based_counts_what_contracts_do_not_cover() -> None:
    assert law.market_based_kg(1000.0, 1.2, 0.5, 0.75) == pytest.approx(150.0)
    assert law.market_based_kg(1000.0, 1.2, 0.5, 1.0) == 0.0


def test_hours_sum_to_the_energy_weighted_mean() -> None:
    energy, intensity = np.array([1.0, 3.0, 2.0]), np.array([0.1, 0.5, 0.3])
    by_hand = 1.1 * (0.1 * 1 + 0.5 * 3 + 0.3 * 2)
    assert law.hourly_kg(energy, 1.1, intensity) == pytest.approx(by_hand)
    assert law.hourly_kg(energy, 1.1, np.full(3, 0.4)) == pytest.approx(law.location_based_kg(6.0, 1.1, 0.4))


def test_making_is_charged_by_the_share_of_a_used_life() -> None:
    # A hundred machines for a tenth of a life that is 80 % used.
    band = law.embodied_kg(100, law.Band(15.0, 164.0, 575.0), 0.1, 1.0, 0.8)
    assert band == pytest.approx((187.5, 2050.0, 7187.5))
    whole = law.embodied_kg(1, law.Band(15.0, 164.0, 575.0), 5.0, 5.0, 1.0)
    assert whole.central == pytest.approx(164.0)
