"""Failure rates from a log: counts and their intervals, Weibull shapes with censoring, tests of burstiness and place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FEWEST_GAPS = 20
"""A Weibull shape is fitted from this many gaps between failures of the same node; fewer do not tell it from one."""


@dataclass(frozen=True, slots=True)
class LoggedFailure:
    """One line of a log: seconds since the window's start, category, node (a name; empty where unknown)."""

    at_s: float
    category: str
    node: str = ""


def rate_interval(count: int, exposure_s: float) -> tuple[float, float, float]:
    """(rate, low, high) per second of a Poisson process with `count` events in `exposure_s` part-seconds.

    The interval is the exact central 90 % one (Garwood 1936): low = χ²(0.05, 2n)/2, high = χ²(0.95, 2n + 2)/2, over the
    exposure; n = 0 gives (0, 0, high). Valid for constant rates; bursts make it too narrow.
    """
    from scipy.stats import chi2

    low = float(chi2.ppf(0.05, 2 * count)) / 2 if count else 0.0
    return count / exposure_s, low / exposure_s, float(chi2.ppf(0.95, 2 * count + 2)) / 2 / exposure_s


def weibull_fit(complete_s: Sequence[float], censored_s: Sequence[float]) -> dict[str, float]:
    """Maximum-likelihood Weibull of lifetimes, some cut off: {shape, low, high, scale_s, mean_s}.

    `complete_s`: seconds between failures of one part; `censored_s`: seconds without failure until watching ended. The
    shape's 90 % interval is that of the profile likelihood (it falls by χ²(0.9, 1)/2). Needs two different complete
    lifetimes at least; trust needs `FEWEST_GAPS`. Source: Lawless 2003, chapter 5.
    """
    from math import gamma

    from scipy.optimize import brentq, minimize_scalar
    from scipy.stats import chi2

    complete = np.maximum(
        np.asarray(complete_s, dtype=float), 1.0
    )  # logs tell seconds: two at once are one apart
    every = np.concatenate([complete, np.asarray(censored_s, dtype=float)])
    every = every[every > 0]
    unit, failed = every.mean(), len(complete)
    logs, every = np.log(complete / unit).sum(), every / unit

    def profile(log_shape: float) -> float:
        shape = float(np.exp(log_shape))
        scale_power = float(np.sum(every**shape)) / failed  # the best scale for this shape, to its power
        return float(failed * (np.log(shape) - np.log(scale_power)) + (shape - 1.0) * logs - failed)

    best = minimize_scalar(lambda x: -profile(x), bounds=(np.log(0.05), np.log(20.0)), method="bounded")
    top, drop = -float(best.fun), float(chi2.ppf(0.9, 1)) / 2

    def edge(far: float) -> float:
        def fallen(x: float) -> float:
            return profile(x) - top + drop

        return float(np.exp(brentq(fallen, far, best.x))) if fallen(far) < 0 else float(np.exp(far))

    shape = float(np.exp(best.x))
    scale = unit * (float(np.sum(every**shape)) / failed) ** (1.0 / shape)
    return {
        "shape": shape,
        "low": edge(np.log(0.05)),
        "high": edge(np.log(20.0)),
        "scale_s": float(scale),
        "mean_s": float(scale * gamma(1.0 + 1.0 / shape)),
    }


def lifetimes(
    log: Sequence[LoggedFailure], window_s: float, nodes: int, new: bool
) -> tuple[list[float], list[float]]:
    """Complete and censored lifetimes (s) of the nodes in a log of one category.

    From a node's first failure on, its gaps are complete and the last stretch is censored. What came before the first
    failure, and nodes that never failed, tell of lifetimes only in a fleet that was `new` when the window began.
    """
    by_node: dict[str, list[float]] = {}
    for each in log:
        if each.node:
            by_node.setdefault(each.node, []).append(each.at_s)
    complete: list[float] = []
    censored: list[float] = [window_s] * max(nodes - len(by_node), 0) if new else []
    for times in by_node.values():
        ordered = [*([0.0] if new else []), *sorted(times)]
        complete += list(np.diff(ordered))
        censored.append(window_s - ordered[-1])
    return complete, censored


def burstiness(times_s: Sequence[float], window_s: float) -> dict[str, float] | None:
    """Index of dispersion of counts in equal bins, and the probability of one as large by chance.

    Poisson arrivals have 1; bursts more. Bins hold four events in the mean, so that χ² with bins − 1 degrees holds.
    None below 20 events.
    """
    from scipy.stats import chi2

    if len(times_s) < 20:
        return None
    bins = max(5, len(times_s) // 4)
    counts, _ = np.histogram(times_s, bins=bins, range=(0.0, window_s))
    index = float(counts.var(ddof=1) / counts.mean())
    return {"dispersion": index, "p": float(chi2.sf(index * (bins - 1), bins - 1))}


def location(places: Sequence[str], population: int, seed: int = 0) -> dict[str, Any] | None:
    """Whether failures gather at few places: {dispersion, p, top3, top3_share}, p by Monte Carlo of equal places.

    `places`: one for each failure; `population`: how many places there are. None below 20 failures.
    """
    named = [place for place in places if place]
    if len(named) < 20 or population < 2:
        return None
    names, counts = np.unique(named, return_counts=True)
    squares = float(np.sum(counts.astype(float) ** 2))
    random = np.random.default_rng(seed)
    chance = [
        float(np.sum(np.bincount(random.integers(0, population, len(named)), minlength=population) ** 2.0))
        for _ in range(999)
    ]
    order = np.argsort(-counts)[:3]
    mean = len(named) / population
    return {
        "dispersion": (squares / population - mean**2) / mean,
        "p": (1 + sum(drawn >= squares for drawn in chance)) / 1000,
        "top3": [str(names[k]) for k in order],
        "top3_share": float(counts[order].sum() / len(named)),
    }
