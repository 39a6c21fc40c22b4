"""Queues: Little's law, M/M/c with Erlang's formulas, and the Allen–Cunneen approximation for general
arrivals and service.

Sources: J. Little, Operations Research 9(3), 1961; A. K. Erlang 1917 (loss and delay formulas, as in L.
Kleinrock, "Queueing Systems" I, 1975); A. Allen, "Probability, Statistics and Queueing Theory", 1990
(G/G/c). All are steady-state means: they say nothing about start-up or overload.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require


def in_system(arrival_rate: Array, time_in_system: Array) -> Array:
    """Little: Q = λ T, mean requests in the system; `arrival_rate` in 1/s, `time_in_system` in s. Needs
    nothing but a steady state.
    """
    return arrival_rate * time_in_system


def replicas(arrival_rate: Array, time_in_system: Array, slots: Array, target_load: Array = 1.0) -> Array:
    """Replicas of `slots` concurrent requests each that hold the mean load at `target_load` (0–1]: ceil(λ T
    / (slots × target)).

    A mean without head-room: at `target_load` 1 the queue grows without bound as soon as arrivals vary
    (`wait_quantile` for tails).
    """
    require((np.asarray(target_load) > 0) & (np.asarray(target_load) <= 1), "target_load must lie in (0, 1]")
    exact = np.divide(in_system(arrival_rate, time_in_system), np.multiply(slots, target_load))
    return plain(np.ceil(np.round(exact, 9)))


def erlang_b(offered_load: Array, servers: Array) -> Array:
    """Share of arrivals lost in M/M/c/c: B = (a^c/c!) / Σ_{k≤c} a^k/k!; `offered_load` a = λ/μ ≥ 0 in erlang,
    `servers` c ≥ 0 whole.

    That is P(N = c)/P(N ≤ c) for N ~ Poisson(a), the cost independent of c (billions). Far in overload, where both
    underflow, by the continued fraction of the incomplete gamma function Γ(c + 1, a) (Abramowitz & Stegun 6.5.31).
    Relative error below 1e-9.
    """
    load, count = np.broadcast_arrays(np.asarray(offered_load, dtype=float), np.asarray(servers, dtype=float))
    require(load >= 0, "offered_load must not be negative")
    require((count >= 0) & (count == np.floor(count)), "servers must be a whole number, not negative")
    overloaded = load > count + 10.0 * np.sqrt(count) + 10.0
    lost = np.empty(load.shape)
    lost[overloaded] = _lost_in_overload(load[overloaded], count[overloaded])
    lost[~overloaded] = _lost_by_poisson(load[~overloaded], count[~overloaded])
    return plain(np.where(count > 0, lost, 1.0))


def arrivals_until_overflow(offered_load: Array, servers: int) -> Array:
    """Mean arrivals until one finds all `servers` busy, from an empty M/M/c/c system: Σ_{k≤c} Σ_{i≤k} k!/i! · a^{i−k}.

    `offered_load`: a = λ/μ ≥ 0 in erlang, float or array; `servers`: c ≥ 0, whole. The mean first passage of a birth–death
    process from 0 to c + 1, in units of 1/λ; c = 0 gives 1, a → ∞ gives c + 1. Needs exponential service.
    Source: Karlin, Taylor, "A First Course in Stochastic Processes", 1975, chapter 4 (birth–death first passage).
    """
    load = np.asarray(offered_load, dtype=float)
    total, step = np.zeros_like(load), np.zeros_like(load)
    with np.errstate(divide="ignore"):
        for busy in range(int(servers) + 1):
            step = 1.0 + step * busy / load if busy else np.ones_like(load)
            total = total + step
    return plain(total)


def _lost_by_poisson(load: Array, count: Array) -> Array:
    """P(N = c)/P(N ≤ c) for flat arrays; P(N = c) = exp(−δ − D)/√(2πc) without cancellation at large c.

    D = c ln(c/a) + a − c, and δ is the error of Stirling's formula (C. Loader, "Fast and accurate computation of
    binomial probabilities", 2000).
    """
    if load.size == 0:
        return load
    from scipy.special import gammaln, pdtr, xlogy

    most = np.maximum(count, 30.0)  # Stirling's series is exact to rounding from here on
    excess = load / most - 1.0
    near = np.clip(excess, -0.5, 0.5)
    deviation = most * np.where(
        np.abs(excess) <= 0.5, near - np.log1p(near), excess - np.log(np.maximum(load, 1e-300) / most)
    )
    stirling = 1 / (12 * most) - 1 / (360 * most**3) + 1 / (1260 * most**5)
    many = -stirling - deviation - 0.5 * np.log(2 * np.pi * most)
    few = xlogy(count, load) - load - gammaln(count + 1.0)
    exactly = np.exp(np.where(count < 30.0, few, many))
    return exactly / pdtr(count, load)


def _lost_in_overload(load: Array, count: Array) -> Array:
    """a B = b₀ + a₁/(b₁ + a₂/(b₂ + …)) with bₙ = a − c + 2n and aₙ = n (c + 1 − n), for a > c; flat arrays.

    Every term is positive and the fraction ends at n = c + 1; evaluated forwards (Lentz), until nothing changes.
    """
    base = load - count
    value = numerator = base
    denominator = np.zeros_like(base)
    change, term = np.full_like(base, np.inf), 0
    while np.any(np.abs(change - 1.0) > 1e-15):
        term += 1
        upper = np.maximum(term * (count + 1.0 - term), 0.0)
        denominator = 1.0 / (base + 2.0 * term + upper * denominator)
        numerator = base + 2.0 * term + upper / numerator
        change = numerator * denominator
        value = value * change
    return value / load


def erlang_c(offered_load: Array, servers: Array) -> Array:
    """Probability that an arrival waits in M/M/c: C = B / (1 - ρ (1 - B)), ρ = a/c; 1 where the system is
    overloaded (a ≥ c).
    """
    utilization = np.divide(offered_load, servers)
    blocked = erlang_b(offered_load, servers)
    busy = np.minimum(utilization, 1.0)
    return plain(np.where(utilization < 1.0, blocked / (1.0 - busy * (1.0 - blocked)), 1.0))


def mean_wait(
    arrival_rate: Array,
    service_time: Array,
    servers: Array,
    arrival_scv: Array = 1.0,
    service_scv: Array = 1.0,
) -> Array:
    """Mean wait in s before service: C/(c μ - λ) for M/M/c, times (Ca² + Cs²)/2 for G/G/c (Allen–Cunneen).
    Infinite when overloaded.

    `arrival_rate` λ in 1/s, `service_time` 1/μ in s; squared coefficients of variation of arrivals and of
    service (1 = exponential, 0 = constant). Exact for M/M/c and for M/G/1, an approximation (within some
    10–20 % at high load) elsewhere.
    """
    load = np.multiply(arrival_rate, service_time)
    spare = np.divide(servers, service_time) - arrival_rate
    stable = np.asarray(spare) > 0
    wait = np.divide(
        erlang_c(load, servers), spare, out=np.full(np.broadcast(load, spare).shape, np.inf), where=stable
    )
    return plain(wait * (np.add(arrival_scv, service_scv) / 2.0))


def wait_quantile(arrival_rate: Array, service_time: Array, servers: Array, quantile: Array) -> Array:
    """The wait in s that a share `quantile` (0–1) of requests does not exceed, in M/M/c: max(ln(C/(1-q)) /
    (c μ - λ), 0).

    From P(W > t) = C exp(-(c μ - λ) t), exact for exponential service and first-come first-served; infinite
    when overloaded.
    """
    waiting = erlang_c(np.multiply(arrival_rate, service_time), servers)
    spare = np.divide(servers, service_time) - arrival_rate
    stable = np.asarray(spare) > 0
    excess = np.maximum(np.log(np.maximum(waiting, 1e-300) / (1.0 - np.asarray(quantile))), 0.0)
    return plain(
        np.divide(excess, spare, out=np.full(np.broadcast(excess, spare).shape, np.inf), where=stable)
    )


def servers_for_wait(
    arrival_rate: float, service_time: float, quantile: float, limit: float, most: int = 100_000
) -> int:
    """Fewest servers whose `quantile` wait stays within `limit` (s), M/M/c; scalars. Raises ValueError
    beyond `most`.
    """
    servers = max(int(np.floor(arrival_rate * service_time)) + 1, 1)
    step = 1
    while (
        wait_quantile(arrival_rate, service_time, servers, quantile) > limit
    ):  # waits fall with servers: bracket, then bisect
        servers, step = servers + step, step * 2
        require(servers <= most, f"more than {most} servers needed")
    low = max(servers - step // 2, int(np.floor(arrival_rate * service_time)))
    while servers - low > 1:
        middle = (servers + low) // 2
        if wait_quantile(arrival_rate, service_time, middle, quantile) <= limit:
            servers = middle
        else:
            low = middle
    return servers
