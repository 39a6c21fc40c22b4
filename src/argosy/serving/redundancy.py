"""Spare replicas by failure domain: how many must stand so that those needed are up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

MOST_TIMES = 4
"""No more replicas than so many times those needed (and 64 more) are tried."""


@dataclass(frozen=True)
class Standing:
    """A failure domain that replicas share, up a share `availability` of the time: it holds `replicas` of them, filled one after
    another, or, where the fleet has `places` of it (> 0), as many as come to each when they are spread evenly.
    """

    replicas: int
    availability: float
    places: int = 0

    def holds(self, count: int) -> int:
        """Replicas of one domain when `count` stand in all."""
        return max(-(-count // self.places) if self.places else self.replicas, 1)


@dataclass(frozen=True)
class Spares:
    """Replicas that must stand, and the share of the time in which those needed are up then."""

    replicas: int
    reached: float


def replica_availability(mtbf_s: float, repair_s: float) -> float:
    """A = MTBF ÷ (MTBF + MTTR); `mtbf_s` of one replica of g accelerators is that of one accelerator ÷ g."""
    return mtbf_s / (mtbf_s + repair_s) if np.isfinite(mtbf_s) else 1.0


def up_distribution(count: int, availability: float, domains: Sequence[Standing] = ()) -> np.ndarray:
    """Probabilities of 0 … `count` replicas being up.

    Each is up with `availability` (0–1) by itself, independently, and only while its domains are up, which are independent
    too. Domains lie in each other, the smaller in the larger: of n replicas in a domain that is up with a, the distribution is
    a · (that of n) + (1 − a) · (none); those of domains side by side are convolved. Without domains: binomial.
    """
    sizes = [(each.holds(count), each.availability) for each in domains if each.availability < 1.0]
    levels = sorted(sizes, reverse=True)
    known: dict[tuple[int, int], np.ndarray] = {}

    def inside(many: int, level: int) -> np.ndarray:
        if (many, level) in known:
            return known[many, level]
        if level == len(levels):
            answer = _binomial(many, availability)
        else:
            size, share = levels[level]

            def block(own: int) -> np.ndarray:
                lower = share * inside(own, level + 1)
                lower[0] += 1.0 - share
                return lower

            full, rest = divmod(many, size)
            answer = _power(block(size), full) if full else np.ones(1)
            if rest:
                answer = _convolved(answer, block(rest))
        known[many, level] = answer
        return answer

    return inside(count, 0)


def up_share(needed: int, count: int, availability: float, domains: Sequence[Standing] = ()) -> float:
    """Share of the time in which at least `needed` of `count` replicas are up; see `up_distribution`."""
    if needed <= 0:
        return 1.0
    if needed > count:
        return 0.0
    return float(min(up_distribution(count, availability, domains)[needed:].sum(), 1.0))


def replicas_for(needed: int, availability: float, share: float, domains: Sequence[Standing] = ()) -> Spares:
    """The fewest N with P(at least `needed` of N up) ≥ `share`: N + k redundancy by failure domain.

    `availability` (0–1) of one replica by itself. Where even `MOST_TIMES` times those needed do not reach the share (all stand in
    one domain that fails too often), the fewest that reach what can be had but for a hundredth of its shortfall. ValueError where
    the availability is not above 0.
    """
    if needed <= 0:
        return Spares(0, 1.0)
    if availability <= 0.0:
        raise ValueError("replicas that are never up cannot be made redundant")

    def reached(count: int) -> float:
        return up_share(needed, count, availability, domains)

    most = MOST_TIMES * needed + 64
    best = reached(most)
    goal = share if best >= share else best - 0.01 * (1.0 - best)
    count = _fewest(lambda many: reached(many) >= goal, needed, most)
    return Spares(count, reached(count))


def _fewest(enough: Callable[[int], bool], low: int, most: int) -> int:
    """The smallest count from `low` on that is enough, looked for upwards in growing steps, then by halves."""
    if enough(low):
        return low
    step, high = 1, low + 1
    while high < most and not enough(high):
        low, step = high, step * 2
        high = min(high + step, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _binomial(many: int, availability: float) -> np.ndarray:
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(many + 1), many, availability))


def _power(one: np.ndarray, times: int) -> np.ndarray:
    """`one` convolved with itself, by squaring."""
    answer = np.ones(1)
    while times:
        if times % 2:
            answer = _convolved(answer, one)
        times //= 2
        if times:
            one = _convolved(one, one)
    return answer


def _convolved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if min(len(a), len(b)) < 256:
        return np.convolve(a, b)
    from scipy.signal import fftconvolve

    return np.asarray(np.maximum(fftconvolve(a, b), 0.0))
