"""Clock under a cap against a search for it, and the published effects of capping within the model's band."""

import numpy as np
import pytest

from argosy.laws import power_cap as law


def searched_clock(cap: float, full: float, static: float, exponent: float) -> float:
    """The highest of ten thousand clocks whose power is within the cap, the cube multiplied out."""
    best = 0.0
    for step in range(1, 10_001):
        clock = step / 10_000
        if static + (full - static) * np.exp(exponent * np.log(clock)) <= cap:
            best = clock
    return best


@pytest.mark.parametrize(("cap", "exponent"), [(600.0, 3.0), (450.0, 2.0), (300.0, 4.5)])
def test_clock_against_a_search(cap: float, exponent: float) -> None:
    found = law.clock_at_cap(cap, 700.0, 175.0, exponent)
    assert found == pytest.approx(searched_clock(cap, 700.0, 175.0, exponent), abs=1.1e-4)
    assert law.power_at_clock(found, 700.0, 175.0, exponent) == pytest.approx(cap)


def test_limits() -> None:
    assert law.clock_at_cap(np.array([900.0, 700.0, 175.0, 20.0]), 700.0, 175.0) == pytest.approx(
        [1, 1, 0, 0]
    )
    assert law.speed_at_clock(1.0, 0.7) == 1.0
    assert law.speed_at_clock(0.5, 1.0) == 0.5
    assert law.speed_at_clock(0.5, 0.0) == 1.0
    # Ten seconds of which seven double: seventeen.
    assert law.speed_at_clock(0.5, 0.7) == pytest.approx(10 / 17)
    # 100 devices of 1 kW, or 125 of 800 W at nine tenths of the speed.
    assert law.capped_fleet_gain(0.9, 1000.0, 800.0) == pytest.approx(125 * 0.9 / 100 - 1)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="static"):
        law.clock_at_cap(300.0, 400.0, 400.0)
    with pytest.raises(ValueError, match="clock"):
        law.power_at_clock(1.1, 700.0, 100.0)
    with pytest.raises(ValueError, match="exponent"):
        law.clock_at_cap(300.0, 400.0, 100.0, 0.0)
    with pytest.raises(ValueError, match="above 0"):
        law.speed_at_clock(0.0, 0.5)
    with pytest.raises(ValueError, match="share"):
        law.speed_at_clock(0.5, 1.2)
