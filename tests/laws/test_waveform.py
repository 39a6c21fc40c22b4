"""Spectra and ramps against Fourier's series of a square wave, storage against areas, lags against a recursion."""

import numpy as np
import pytest

from argosy.laws import waveform as law


def square(samples: int = 4000, duty: float = 0.5, low: float = 2e6, high: float = 12e6) -> np.ndarray:
    return np.where(np.arange(samples) < duty * samples, high, low)


def test_lines_of_a_square_wave() -> None:
    # A square wave of height h and duty d has lines 2h/(πk)·|sin πkd| at k over the period.
    period, dt = 4.0, 0.001
    hz, amplitude = law.amplitude_spectrum(square(duty=0.3), dt)
    for k in (1, 2, 3, 5):
        assert hz[k - 1] == pytest.approx(k / period)
        assert amplitude[k - 1] == pytest.approx(
            2 * 10e6 / (np.pi * k) * abs(np.sin(np.pi * k * 0.3)), rel=1e-3
        )


def test_lines_carry_the_variance() -> None:
    for samples in (1000, 1001):
        signal = np.random.default_rng(3).normal(10.0, 3.0, samples)
        _, amplitude = law.amplitude_spectrum(signal, 0.01)
        power = amplitude**2 / 2
        if samples % 2 == 0:
            power[-1] *= 2  # the line at Nyquist's frequency is no pair
        assert power.sum() == pytest.approx(signal.var())


def test_ramps() -> None:
    triangle = np.concatenate([np.arange(0, 100), np.arange(100, 0, -1)]).astype(float)
    assert law.largest_ramp(triangle, 0.5) == pytest.approx(2.0)
    assert law.largest_ramp(triangle, 0.5, 10.0) == pytest.approx(2.0)
    # A jump of 10 MW within a sample is 10 MW/s when seen over a second.
    assert law.largest_ramp(square(), 0.001, 1.0) == pytest.approx(10e6)
    assert law.largest_ramp(square(), 0.001) == pytest.approx(10e9)


def test_a_lag_keeps_the_mean_and_rises_as_an_exponential() -> None:
    signal, dt, lag = square(), 0.001, 0.02
    after = law.smoothed(signal, dt, lag)
    assert after.mean() == pytest.approx(signal.mean())
    assert law.smoothed(signal, dt, 0.0) == pytest.approx(signal)
    # One time constant after the rise 63 % of it is there.
    assert (after[20] - 2e6) / 10e6 == pytest.approx(1 - np.exp(-1), abs=0.03)
    state = 2e6
    for _ in range(3):  # by small steps until the period repeats
        for index, value in enumerate(signal):
            state += (value - state) * dt / lag
            if index == 1500:
                late = state
    assert after[1500] == pytest.approx(late, rel=1e-3)


def test_a_store_between_a_square_wave_and_its_mean() -> None:
    # 10 MW of swing, two seconds high and two low: 5 MW for 2 s.
    signal = square()
    assert law.stored_joules(signal, np.full(signal.size, signal.mean()), 0.001) == pytest.approx(
        10e6, rel=1e-3
    )
    assert law.stored_joules(signal, signal, 0.001) == 0.0


def test_smoothing_uses_what_the_store_holds() -> None:
    signal, dt = square(1000), 0.004
    supplied, slow = law.smoothing_with_store(signal, dt, 1e6)
    assert law.stored_joules(signal, supplied, dt) == pytest.approx(1e6, rel=0.01)
    assert slow > 0
    flat, _ = law.smoothing_with_store(signal, dt, 1e9)
    assert np.ptp(flat) < 0.01 * np.ptp(signal)
    none, _ = law.smoothing_with_store(signal, dt, 0.0)
    assert none == pytest.approx(signal, rel=1e-3)


def test_spreading_is_a_moving_mean() -> None:
    signal = square(8)
    assert law.spread(signal, 1.0, 2.0) == pytest.approx((signal + np.roll(signal, 1)) / 2)
    assert law.spread(signal, 1.0, 0.0) == pytest.approx(signal)
    assert law.spread(signal, 1.0, 8.0) == pytest.approx(np.full(8, signal.mean()))


def test_signals_that_are_none() -> None:
    with pytest.raises(ValueError, match="two samples"):
        law.amplitude_spectrum(np.array([1.0]), 0.1)
    with pytest.raises(ValueError, match="dt"):
        law.largest_ramp(np.ones(4), 0.0)
    with pytest.raises(ValueError, match="time constant"):
        law.smoothed(np.ones(4), 0.1, -1.0)
