"""Amdahl and Gustafson against a simulated job of work units; fits against the curves they come from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.laws import scaling

share = st.floats(0.001, 0.999)
devices_count = st.integers(2, 10_000)


def makespan(serial_units: int, parallel_units: int, devices: int) -> int:
    """Time of a job of unit tasks: the serial ones one after the other, the parallel ones dealt out."""
    queues = [0] * devices
    for unit in range(parallel_units):
        queues[unit % devices] += 1
    return serial_units + max(queues)


@pytest.mark.parametrize("devices", [1, 2, 5, 9, 90, 900])
def test_amdahl_against_a_simulated_job(devices: int):
    one, many = makespan(100, 900, 1), makespan(100, 900, devices)
    assert scaling.amdahl_speedup(0.1, devices) == pytest.approx(one / many)


@pytest.mark.parametrize("devices", [1, 4, 64])
def test_gustafson_against_a_job_that_grows(devices: int):
    grown = makespan(10, 90 * devices, devices)
    assert grown == 100  # the wall clock does not move
    assert scaling.gustafson_speedup(0.1, devices) == pytest.approx(makespan(10, 90 * devices, 1) / grown)


@given(share, devices_count)
def test_both_laws_agree_once_the_share_is_converted(f, n):
    assert scaling.amdahl_speedup(scaling.amdahl_share(f, n), n) == pytest.approx(
        scaling.gustafson_speedup(f, n)
    )
    assert scaling.wall_clock_share(scaling.amdahl_share(f, n), n) == pytest.approx(f)


@given(share, devices_count)
def test_karp_and_flatt_find_the_share_again(s, n):
    assert scaling.karp_flatt_share(scaling.amdahl_speedup(s, n), n) == pytest.approx(s, rel=1e-6)


def test_efficiency_is_speed_up_per_device():
    counts = np.array([1, 32, 1024])
    assert scaling.amdahl_efficiency(0.1, counts) * counts == pytest.approx(
        scaling.amdahl_speedup(0.1, counts)
    )
    assert scaling.amdahl_efficiency(0.1, 1) == 1.0


def test_limits():
    assert scaling.amdahl_speedup(0.0, 4096) == 4096
    assert scaling.amdahl_speedup(1.0, 4096) == 1
    assert scaling.amdahl_speedup(0.1, 1e12) == pytest.approx(scaling.amdahl_limit(0.1))
    with pytest.raises(ValueError, match="no limit"):
        scaling.amdahl_limit(0.0)
    with pytest.raises(ValueError, match="serial_share"):
        scaling.amdahl_speedup(1.1, 2)


def test_fit_recovers_the_share_from_noisy_measurements():
    rng = np.random.default_rng(0)
    n = np.array([2, 4, 8, 16, 32, 64, 128])
    measured = scaling.amdahl_speedup(0.03, n) * rng.normal(1, 0.01, n.size)
    assert scaling.fitted_serial_share(n, measured) == pytest.approx(0.03, rel=0.15)
    assert scaling.fitted_serial_share(n, scaling.amdahl_speedup(0.03, n)) == pytest.approx(0.03)


def test_itemised_parts_add_and_the_largest_gains_most():
    parts = {"barriers": 0.10, "bubbles": 0.05, "checkpoints": 0.03, "recovery": 0.0, "maintenance": 0.05}
    result = scaling.itemised_speedup(parts, 1024)
    assert result["limit"] == pytest.approx(1 / 0.23)
    assert result["gain without recovery"] == pytest.approx(1)
    assert (
        max((name for name in result if name.startswith("gain")), key=result.__getitem__)
        == "gain without barriers"
    )
    without = scaling.amdahl_speedup(0.13, 1024)
    assert result["speedup"] * result["gain without barriers"] == pytest.approx(without)


def test_retention_of_megascale():
    """Tables 2 and 3 of the paper: strong scaling of the time of a fixed batch, weak scaling nearly flat."""
    tokens_per_s = {256: 49.0e3, 1024: 176.9e3}
    times = {n: 1 / rate for n, rate in tokens_per_s.items()}
    strong = scaling.strong_efficiency(times[256], 256, times[1024], 1024)
    assert strong == pytest.approx(0.9025, abs=1e-3)
    assert scaling.weak_efficiency(49.0e3, 256, 176.9e3, 1024) == pytest.approx(strong)
    assert scaling.speedup_from_mfu(256, 65.3, 1024, 59.0) == pytest.approx(4 * 59.0 / 65.3)
    assert abs(scaling.slope_per_doubling([2240, 4480, 11200], [54.3, 54.1, 54.3])) < 0.05
    assert scaling.slope_per_doubling([2240, 4480, 11200], [49.2, 48.8, 48.2]) == pytest.approx(
        -0.43, abs=0.01
    )


def test_slope_of_a_straight_line():
    assert scaling.slope_per_doubling([1, 2, 4, 8], [10, 7, 4, 1]) == pytest.approx(-3)


def test_interpolation_is_straight_in_the_logarithm_and_flat_outside():
    table = ([32, 256], [0.9, 0.6])
    assert scaling.interpolated_efficiency(np.array([8, 32, 64, 128, 256, 999]), *table) == pytest.approx(
        [0.9, 0.9, 0.8, 0.7, 0.6, 0.6]
    )
