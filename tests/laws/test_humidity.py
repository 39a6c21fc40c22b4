"""Moist air against the psychrometer's equation, solved by bisection, and a tower's mass balance."""

from math import exp

import numpy as np
import pytest

from argosy.laws import humidity as law


def goff(celsius: float) -> float:
    """Saturation pressure in Pa by another formula (Buck 1981)."""
    return 611.21 * exp((18.678 - celsius / 234.5) * celsius / (257.14 + celsius))


def psychrometer(dry: float, humidity: float, pressure: float = 101_325.0) -> float:
    """Wet bulb by the aspirated psychrometer: e = e_s(w) − 0.000662·p·(t − w)."""
    vapour = humidity * goff(dry)
    low, high = -40.0, dry
    for _ in range(80):
        middle = (low + high) / 2
        found = goff(middle) - 0.000662 * pressure * (dry - middle)
        low, high = (middle, high) if found < vapour else (low, middle)
    return low


@pytest.mark.parametrize("dry", [0.0, 10.0, 20.0, 30.0, 40.0])
@pytest.mark.parametrize("humidity", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_wet_bulb_against_the_psychrometer(dry: float, humidity: float) -> None:
    assert law.wet_bulb_c(dry, humidity) == pytest.approx(psychrometer(dry, humidity), abs=1.1)


def test_saturated_air_is_as_cold_as_its_wet_bulb() -> None:
    assert law.wet_bulb_c(25.0, 0.99) == pytest.approx(25.0, abs=0.3)


def test_saturation_pressure_against_another_formula() -> None:
    for celsius in (-10.0, 0.0, 15.0, 30.0, 45.0):
        assert law.saturation_pressure_pa(celsius) == pytest.approx(goff(celsius), rel=0.006)


def test_dew_point_undoes_humidity() -> None:
    temperature, humidity = np.array([5.0, 25.0, 38.0]), np.array([0.9, 0.5, 0.1])
    dew = law.dew_point_c(temperature, humidity)
    assert law.saturation_pressure_pa(dew) == pytest.approx(
        law.saturation_pressure_pa(temperature) * humidity
    )
    with pytest.raises(ValueError, match="humidity"):
        law.dew_point_c(20.0, 0.0)


def test_water_of_a_tower_by_mass_balance() -> None:
    # Evaporated E; make-up M = E + blow-down B; salts leave with B alone at c times their concentration: M = c·B.
    evaporated, cycles = 3.6e6 / 2.43e6, 4.0
    blown_down = evaporated / (cycles - 1)
    assert law.evaporated_litres_per_kwh(cycles) == pytest.approx(evaporated + blown_down)
    assert law.evaporated_litres_per_kwh(1e9) == pytest.approx(evaporated)
    with pytest.raises(ValueError, match="cycles"):
        law.evaporated_litres_per_kwh(1.0)
