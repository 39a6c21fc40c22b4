"""The event engine's `Fleet` from rates and hazards: what numba reads, in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from argosy.facts import FactError
from argosy.reliability.hazards import Hazards
from argosy.reliability.rates import CategoryRate, FailureRates


def fleet_parameters(
    rates: FailureRates, hazards: Hazards, nodes: int, spares: int, repair_s: float
) -> tuple[Any, list[str]]:
    """The engine's `Fleet`, and the categories in the order of its counts."""
    from argosy.kernels.parameters import Fleet

    categories = rates.categories
    losing = [shock for shock in hazards.shocks if shock.effect == "lose"]
    stopping = [shock for shock in hazards.shocks if shock.effect == "stop"]
    names = [c.name for c in categories] + [shock.name for shock in [*losing, *stopping]]
    strange = [n for n in hazards.shapes if not any(c.name == n and c.scope == "node" for c in categories)]
    if strange:
        raise FactError(f"no category of nodes {strange[0]!r} to give a Weibull shape")
    usual = 1.0 - hazards.burst_share  # a failure lights 1/(1 − share) in all, itself included
    job = [(k, _total(c) * usual) for k, c in enumerate(categories) if c.scope != "node"]
    first_stop = len(categories) + len(losing)
    job += [
        (first_stop + k, s.rate_per_s * s.count(nodes + spares) * s.reach * usual)
        for k, s in enumerate(stopping)
    ]
    plain = [
        (k, _total(c) * usual / nodes)
        for k, c in enumerate(categories)
        if c.scope == "node" and c.name not in hazards.shapes
    ]
    wearing = [
        (k, _total(c) * usual / nodes, float(hazards.shapes[c.name]))
        for k, c in enumerate(categories)
        if c.name in hazards.shapes and _total(c) > 0
    ]
    shapes = np.array([shape for _, _, shape in wearing])
    scales = np.array([_scale(rate, shape) for _, rate, shape in wearing])
    worn = [categories[k].name for k, _, _ in wearing]
    ages, table = _ages(hazards.ages_s, worn, shapes, scales, nodes + spares)
    domains = [shock.count(nodes + spares) for shock in losing]
    slow = _one_slowdown(hazards)
    fleet = Fleet(
        nodes=nodes,
        spares=spares,
        node_rate=float(sum(rate for _, rate in plain)),
        node_cumulative=_cumulative([rate for _, rate in plain]),
        node_category=_whole([k for k, _ in plain]),
        silent=next((k for k, c in enumerate(categories) if c.name == "silent-data-corruption"), -1),
        shape=shapes,
        scale=scales,
        weibull_category=_whole([k for k, _, _ in wearing]),
        ages=ages,
        age_table=table,
        lemon_share=float(hazards.lemon_share),
        lemon_factor=float(hazards.lemon_factor),
        evict_after=int(hazards.evict_after),
        job_rate=float(sum(rate for _, rate in job)),
        job_cumulative=_cumulative([rate for _, rate in job]),
        job_category=_whole([k for k, _ in job]),
        shock_size=_whole([shock.nodes for shock in losing]),
        shock_rate=np.array([s.rate_per_s * d * usual for s, d in zip(losing, domains, strict=True)]),
        shock_reach=np.array([float(shock.reach) for shock in losing]),
        shock_category=_whole([len(categories) + k for k in range(len(losing))]),
        burst_share=float(hazards.burst_share),
        burst_delay_s=float(hazards.burst_delay_s),
        slow_rate=slow[0],
        slow_s=slow[1],
        slow_by=slow[2],
        repair_s=float(repair_s),
        repair_random=bool(hazards.repair_random),
        crews=int(hazards.crews),
    )
    return fleet, names


def _total(category: CategoryRate) -> float:
    return float(category.system_per_s)


def _cumulative(rates: Sequence[float]) -> np.ndarray:
    return np.cumsum(np.array(rates or [0.0], dtype=float))


def _whole(numbers: Sequence[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def _scale(rate_per_s: float, shape: float) -> float:
    """The Weibull scale (seconds) of mean life 1/rate: mean = scale · Γ(1 + 1/k)."""
    from math import gamma

    return 1.0 / (rate_per_s * gamma(1.0 + 1.0 / shape))


def _one_slowdown(hazards: Hazards) -> tuple[float, float, float]:
    """(rate per second, seconds, share of speed) of one kind of episode that takes as much time as all kinds together."""
    slow = hazards.slowdowns
    rate = float(sum(each.rate_per_s for each in slow))
    if rate <= 0:
        return 0.0, 0.0, 0.0
    lasts = float(sum(each.rate_per_s * each.lasts_s for each in slow)) / rate
    taken = float(sum(each.rate_per_s * each.lasts_s * each.by for each in slow)) / rate
    return rate, lasts, taken / lasts if lasts > 0 else 0.0


_QUANTILES = 16385  # of the stationary age: the last step holds one node in a million


def _ages(
    ages_s: Any, names: Sequence[str], shapes: np.ndarray, scales: np.ndarray, total: int
) -> tuple[np.ndarray, np.ndarray]:
    """Given ages (W, nodes), or quantiles of the stationary age (W, T), whose density is survival ÷ mean life.

    The engine takes one of both for all categories: where only some are given, a stationary category's ages are drawn
    here, the same in every life.
    """
    given = {
        name: ages_s.get(name, "stationary") if isinstance(ages_s, Mapping) else ages_s for name in names
    }
    for name, age in given.items():
        if isinstance(age, str) and age not in ("stationary", "new"):
            raise ValueError(f"ages of {name}: {age!r}: write stationary, new, or seconds")
    tables = np.array([_stationary(k) * scale for k, scale in zip(shapes, scales, strict=True)])
    if all(isinstance(age, str) and age == "stationary" for age in given.values()):
        return np.zeros((len(shapes), 0)), tables.reshape(len(shapes), _QUANTILES)
    ages = np.zeros((len(shapes), total))
    random = np.random.default_rng(total)
    for w, age in enumerate(given.values()):
        if isinstance(age, str):
            drawn = np.interp(random.random(total), np.linspace(0.0, 1.0, _QUANTILES), tables[w])
            ages[w] = drawn if age == "stationary" else 0.0
        else:
            ages[w] = np.broadcast_to(np.asarray(age, dtype=float), (total,))
    return ages, np.zeros((len(shapes), 2))


@cache
def _stationary(shape: float) -> np.ndarray:
    """Quantiles (T,) of the stationary age of a Weibull part, in units of its scale.

    P(age ≤ a) is the Γ-distribution function of (a/scale)^k with shape 1/k: the integral of survival over the mean life.
    """
    from scipy.special import gammaincinv

    points = np.minimum(np.linspace(0.0, 1.0, _QUANTILES), 1.0 - 1e-6)
    return np.asarray(gammaincinv(1.0 / shape, points) ** (1.0 / shape))
