"""Power over time as a signal: its spectrum, its ramps, what smoothing and storage do to it.

A signal here is one period of a periodic one, as the steps of a job are: `watts[i]` holds for `dt_s` seconds.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import require


def amplitude_spectrum(watts: np.ndarray, dt_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies in Hz above 0, and the amplitude in watts of the sine at each: 2·|FFT|/n (1·|FFT|/n at Nyquist's).

    `watts` (n,): one whole period, so that no window is needed; lines lie at k/(n·dt). Their squares over 2 sum to the
    variance (Parseval; Nyquist's line counts whole). ValueError for fewer than two samples or a step that is not positive.
    """
    _check(watts, dt_s)
    lines = 2.0 * np.abs(np.fft.rfft(watts)) / watts.size
    if watts.size % 2 == 0:
        lines[-1] /= 2.0
    return np.fft.rfftfreq(watts.size, dt_s)[1:], lines[1:]


def largest_ramp(watts: np.ndarray, dt_s: float, window_s: float | None = None) -> float:
    """Largest change of power per second: max |P(t + w) − P(t)|/w over the period, in W/s.

    `window_s` (w): seconds over which the change is taken (rounded to samples, no longer than half a period); one
    sample by default. ValueError as in `amplitude_spectrum`.
    """
    _check(watts, dt_s)
    samples = 1 if window_s is None else round(window_s / dt_s)
    samples = int(np.clip(samples, 1, max(watts.size // 2, 1)))
    return float(np.abs(np.roll(watts, -samples) - watts).max() / (samples * dt_s))


def smoothed(watts: np.ndarray, dt_s: float, time_constant_s: float) -> np.ndarray:
    """The period behind a first-order lag: y_k = a·y_(k−1) + (1 − a)·x_k with a = exp(−dt/τ), once it repeats itself.

    `time_constant_s` (τ): seconds; 0 changes nothing. The recursion is run as its transfer function (1 − a)/(1 − a/z) on
    the lines of the period, which is exact for a periodic signal; the mean, and so the energy, is kept. ValueError for a
    negative time constant, and as in `amplitude_spectrum`.
    """
    _check(watts, dt_s)
    require(time_constant_s >= 0, "time constant must not be negative")
    kept = np.exp(-dt_s / time_constant_s) if time_constant_s > 0 else 0.0
    turns = np.exp(-2j * np.pi * np.fft.rfftfreq(watts.size))
    return np.asarray(np.fft.irfft(np.fft.rfft(watts) * (1.0 - kept) / (1.0 - kept * turns), watts.size))


def stored_joules(watts: np.ndarray, supplied_w: np.ndarray, dt_s: float) -> float:
    """Joules that a store must hold to stand between a load `watts` and what is `supplied_w`: range of ∫(supplied − load).

    Both (n,), of the same mean over the period; for a square wave supplied at its mean it is ΔP·t/4 of half a period t/2
    each. Losses of the store apart. ValueError as in `amplitude_spectrum`.
    """
    _check(watts, dt_s)
    level = np.cumsum(supplied_w - watts) * dt_s
    return float(level.max() - level.min())


def smoothing_with_store(watts: np.ndarray, dt_s: float, capacity_j: float) -> tuple[np.ndarray, float]:
    """The flattest first-order supply that a store of `capacity_j` joules allows, and its time constant in seconds.

    By bisection on the time constant: a longer one moves more energy. A store that holds more than the period needs
    supplies very nearly the mean (a time constant of a thousand periods).
    """
    longest = 1000.0 * watts.size * dt_s

    def fits(time_constant_s: float) -> bool:
        return stored_joules(watts, smoothed(watts, dt_s, time_constant_s), dt_s) <= capacity_j

    if fits(longest):
        return smoothed(watts, dt_s, longest), longest
    low, high = 1e-9 * longest, longest
    if not fits(low):
        return watts.copy(), 0.0
    while high / low > 1.001:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if fits(middle) else (low, middle)
    return smoothed(watts, dt_s, low), low


def spread(watts: np.ndarray, dt_s: float, window_s: float) -> np.ndarray:
    """The mean of copies of the period shifted evenly over `window_s` seconds: groups that start one after another."""
    _check(watts, dt_s)
    require(window_s >= 0, "window must not be negative")
    width = max(1, round(window_s / dt_s))
    kernel = np.zeros(watts.size)
    kernel[np.arange(min(width, watts.size))] = 1.0 / min(width, watts.size)
    return np.asarray(np.fft.irfft(np.fft.rfft(watts) * np.fft.rfft(kernel), watts.size))


def _check(watts: np.ndarray, dt_s: float) -> None:
    require(np.ndim(watts) == 1 and np.size(watts) >= 2, "a signal needs two samples or more")
    require(dt_s > 0, "dt must be above 0")
