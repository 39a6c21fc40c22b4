"""What fails beyond constant, independent rates: ages, lemons, shared shocks, bursts, slow episodes, corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argosy.facts import FactError
from argosy.reliability.rates import CategoryRate, FailureRates


@dataclass(frozen=True, slots=True)
class Shock:
    """A shared cause: one domain of `nodes` neighbours (a rack, a leaf switch, a power domain) is struck.

    `rate_per_s`: of one domain; each of its nodes that work for the job is lost with probability `reach`.
    """

    name: str
    nodes: int
    rate_per_s: float
    reach: float = 1.0


@dataclass(frozen=True, slots=True)
class Hazards:
    """How the event engine departs from memoryless, independent failures; the default does not.

    `shapes`: Weibull shape by category (of nodes); its rate stays the inverse of the mean life. Below one the hazard
    falls with age, above it rises: measured fleets show both, so no default exists. `ages_s`: `stationary` (a fleet in
    service for long), `new`, or seconds, one number a node or one for all. A repaired node's failed part is new.
    `lemon_share` of the nodes fail `lemon_factor` times as often as the others, the fleet's mean unchanged; a node is
    exchanged for a usual one at its `evict_after`-th failure (0: never). `burst_share` of failures are followed by
    another, `burst_delay_s` later in the mean; the sum of both keeps the rates. `slow_per_s` (one node) slow episodes of
    `slow_s` seconds take `slow_by` of the whole job's speed. `silent_latency_s`: seconds until silent data corruption
    is found; `kept` checkpoints are kept. `repair_random`: exponential instead of equal repair times; `crews` repair
    at once (0: no limit). The job gives up after `give_up_after` recoveries without a new checkpoint (0: never).
    """

    shapes: Mapping[str, float] = field(default_factory=dict)
    ages_s: Any = "stationary"
    lemon_share: float = 0.0
    lemon_factor: float = 1.0
    evict_after: int = 0
    shocks: tuple[Shock, ...] = ()
    burst_share: float = 0.0
    burst_delay_s: float = 600.0
    slow_per_s: float = 0.0
    slow_s: float = 3600.0
    slow_by: float = 0.1
    silent_latency_s: float = 0.0
    kept: float = float("inf")
    repair_random: bool = False
    crews: int = 0
    give_up_after: int = 0

    def __post_init__(self) -> None:
        for name in ("lemon_share", "burst_share", "slow_by"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} is a share below one, not {getattr(self, name)}")
        if any(shape <= 0 for shape in self.shapes.values()) or self.lemon_factor <= 0:
            raise ValueError("Weibull shapes and the lemon factor are positive")


def fleet_parameters(
    rates: FailureRates, hazards: Hazards, nodes: int, spares: int, repair_s: float
) -> tuple[Any, list[str]]:
    """The engine's `Fleet`, and the categories in the order of its counts."""
    from argosy.kernels.parameters import Fleet

    categories = rates.categories
    names = [c.name for c in categories] + [shock.name for shock in hazards.shocks]
    strange = [n for n in hazards.shapes if not any(c.name == n and c.scope == "node" for c in categories)]
    if strange:
        raise FactError(f"no category of nodes {strange[0]!r} to give a Weibull shape")
    usual = 1.0 - hazards.burst_share  # a failure lights 1/(1 − share) in all, itself included
    job = [(k, _total(c) * usual) for k, c in enumerate(categories) if c.scope != "node"]
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
    ages, table = _ages(hazards.ages_s, shapes, scales, nodes + spares)
    shocks = hazards.shocks
    domains = [-(-(nodes + spares) // shock.nodes) for shock in shocks]
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
        shock_size=_whole([shock.nodes for shock in shocks]),
        shock_rate=np.array([s.rate_per_s * d * usual for s, d in zip(shocks, domains, strict=True)]),
        shock_reach=np.array([float(shock.reach) for shock in shocks]),
        shock_category=_whole([len(categories) + k for k in range(len(shocks))]),
        burst_share=float(hazards.burst_share),
        burst_delay_s=float(hazards.burst_delay_s),
        slow_rate=float(hazards.slow_per_s) * nodes,
        slow_s=float(hazards.slow_s),
        slow_by=float(hazards.slow_by),
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


def _ages(ages_s: Any, shapes: np.ndarray, scales: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray]:
    """Given ages (W, nodes), or quantiles of the stationary age (W, T), whose density is survival ÷ mean life."""
    none = np.zeros((len(shapes), 0))
    if not isinstance(ages_s, str):
        given = np.broadcast_to(np.asarray(ages_s, dtype=float), (total,))
        return np.ascontiguousarray(np.broadcast_to(given, (len(shapes), total))), np.zeros((len(shapes), 2))
    if ages_s == "new":
        return np.zeros((len(shapes), total)), np.zeros((len(shapes), 2))
    if ages_s != "stationary":
        raise ValueError(f"ages {ages_s!r}: write stationary, new, or seconds")
    from scipy.special import gammaincinv

    # P(age ≤ a) = Γ-distribution function of (a/scale)^k with shape 1/k: integrate the survival function.
    points = np.minimum(np.linspace(0.0, 1.0, 16385), 1.0 - 1e-6)
    table = [
        scale * gammaincinv(1.0 / k, points) ** (1.0 / k) for k, scale in zip(shapes, scales, strict=True)
    ]
    return none, np.array(table).reshape(len(shapes), len(points))
