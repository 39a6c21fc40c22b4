"""The training-time formula against a simulated run, and its inverses against itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.laws import tokens, training_time

positive = st.floats(1e-3, 1e3)


def simulated_run(parameters: float, total_tokens: float, devices: int, peak: float, share: float) -> float:
    """Seconds of a run, step by step: each device computes its tokens' FLOPs at a share of its peak."""
    batch = total_tokens / 1000
    seconds = 0.0
    for _ in range(1000):
        per_device = batch / devices
        forward, backward = 2 * parameters * per_device, 4 * parameters * per_device
        seconds += (forward + backward) / (peak * share)
    return seconds


def test_against_a_simulated_run():
    law = training_time.training_time(70e9, 1e12, 512, 989e12, 0.45)
    assert law == pytest.approx(simulated_run(70e9, 1e12, 512, 989e12, 0.45), rel=1e-9)


@given(positive, positive, positive, positive, st.floats(0.01, 1.0))
def test_every_inverse_gives_back_its_variable(n, d, g, a, m):
    t = training_time.training_time(n, d, g, a, m)
    assert training_time.parameters_in_time(d, t, g, a, m) == pytest.approx(n)
    assert training_time.tokens_in_time(n, t, g, a, m) == pytest.approx(d)
    assert training_time.devices_for_time(n, d, t, a, m) == pytest.approx(g)
    assert training_time.peak_from_time(n, d, t, g, m) == pytest.approx(a)
    assert training_time.mfu_from_time(n, d, t, g, a) == pytest.approx(m)


def test_twice_the_devices_half_the_time_but_the_same_bill():
    devices = np.array([512, 1024])
    times = training_time.training_time(70e9, 1e12, devices, 989e12, 0.45)
    assert times[0] == 2 * times[1]
    assert times * devices == pytest.approx(training_time.device_seconds(70e9, 1e12, 989e12, 0.45))


def test_a_better_mfu_saves_what_the_bills_differ_by():
    before, after = (training_time.device_seconds(1e9, 1e9, 1e12, share) for share in (0.40, 0.41))
    assert training_time.time_saved(0.40, 0.41) == pytest.approx((before - after) / before)
    assert training_time.time_saved(0.4, 0.4) == 0


def test_bill_breakdown_adds_up_and_names_what_is_known():
    bill = 30.84e6 * 3600
    parts = training_time.bill_breakdown(bill, 405e9, 15.6e12, 989e12, 0.41, 6 * 126 * 16384 * 8192, 0.9)
    assert sum(parts.values()) == pytest.approx(bill)
    assert parts["at peak"] == pytest.approx(6 * 405e9 * 15.6e12 / 989e12)
    assert parts["lost time"] == pytest.approx(0.1 * bill)
    assert parts["attention"] > 0


def test_energy_and_cost_follow_the_device_seconds():
    assert training_time.energy(3600.0, 1000.0, 1.2) == pytest.approx(1.2 * 3.6e6)
    assert training_time.cost(7200.0, 2.5) == 5.0
    assert training_time.gap(100.0, 75.0) == 0.25


def test_a_device_hour_holds_three_thousand_six_hundred_seconds_of_tokens():
    seconds = simulated_run(405e9, 1e6, 1, 989e12, 0.4)
    assert tokens.tokens_per_device_second(405e9, 989e12, 0.4) == pytest.approx(1e6 / seconds)
    assert tokens.tokens_per_device_hour(405e9, 989e12, 0.4) == pytest.approx(3600 * 1e6 / seconds)


def test_a_million_tokens_cost_the_same_by_yield_and_by_bill():
    hours = training_time.device_seconds(405e9, 15.6e12, 989e12, 0.4) / 3600
    by_bill = tokens.cost_per_million_tokens_from_bill(2.0, hours, 15.6e12)
    assert by_bill == pytest.approx(2.0 / tokens.tokens_per_device_hour(405e9, 989e12, 0.4) * 1e6)


def test_scores_count_facility_energy():
    scores = tokens.useful_tokens_per_dollar_and_watt(100.0, 2.0, 1000.0, 1.25)
    assert scores["tokens_per_usd"] == 180_000
    joules = tokens.energy_per_token(1000.0, 100.0, 1.25)
    assert scores["tokens_per_kwh"] == pytest.approx(3.6e6 / joules)


def test_impossible_runs_are_refused():
    for mfu in (0.0, 1.01, -0.4, np.array([0.4, 40.0])):
        with pytest.raises(ValueError, match="mfu"):
            training_time.training_time(70e9, 1e12, 512, 989e12, mfu)
        with pytest.raises(ValueError, match="mfu"):
            training_time.tokens_in_time(70e9, 1.0, 512, 989e12, mfu)
    with pytest.raises(ValueError, match="tokens"):
        training_time.training_flops(70e9, -1.0)
    with pytest.raises(ValueError, match="devices"):
        training_time.training_time(70e9, 1e12, 0, 989e12, 0.4)
    with pytest.raises(ValueError, match="seconds"):
        training_time.devices_for_time(70e9, 1e12, 0.0, 989e12, 0.4)
    with pytest.raises(ValueError, match="pue"):
        training_time.energy(3600.0, 1000.0, 0.9)
