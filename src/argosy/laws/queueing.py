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
    """Share of arrivals lost in M/M/c/c: B(c) = a B(c-1) / (c + a B(c-1)), B(0) = 1; `offered_load` a = λ/μ
    in erlang, `servers` c ≥ 0 whole.
    """
    load, count = np.broadcast_arrays(np.asarray(offered_load, dtype=float), np.asarray(servers))
    require(load >= 0, "offered_load must not be negative")
    blocked = np.ones_like(load)
    for server in range(1, int(np.max(count, initial=0)) + 1):
        blocked = np.where(server <= count, load * blocked / (server + load * blocked), blocked)
    return plain(blocked)


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
