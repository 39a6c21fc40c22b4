"""Queues against factorials, exact special cases, and a simulation."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from argosy.laws import queueing


def erlang_b_by_definition(load: Fraction, servers: int) -> Fraction:
    terms = [load**k / factorial(k) for k in range(servers + 1)]
    return terms[-1] / sum(terms)


def erlang_c_by_definition(load: Fraction, servers: int) -> Fraction:
    below = sum(load**k / factorial(k) for k in range(servers))
    full = load**servers / factorial(servers) * servers / (servers - load)
    return full / (below + full)


@pytest.mark.parametrize(("load", "servers"), [(1, 2), (5, 8), (12, 13), (40, 60)])
def test_erlang_against_its_definition(load: int, servers: int):
    assert queueing.erlang_b(load, servers) == pytest.approx(
        float(erlang_b_by_definition(Fraction(load), servers))
    )
    assert queueing.erlang_c(load, servers) == pytest.approx(
        float(erlang_c_by_definition(Fraction(load), servers))
    )


def erlang_b_by_recursion(load: float, servers: int) -> float:
    blocked = 1.0
    for server in range(1, servers + 1):
        blocked = load * blocked / (server + load * blocked)
    return blocked


@pytest.mark.parametrize("servers", [0, 1, 7, 29, 30, 31, 1_000, 200_000])
def test_erlang_b_against_its_recursion_from_idle_to_overload(servers: int):
    root = servers**0.5
    loads = [1e-9, 0.3, servers / 2, servers - 5 * root, servers, servers + 9.9 * root + 10, servers + 11]
    loads = np.array([load for load in [*loads, servers + 12 * root + 12, 3 * servers + 50] if load >= 0])
    expected = [erlang_b_by_recursion(load, servers) for load in loads]
    assert queueing.erlang_b(loads, servers) == pytest.approx(expected, rel=1e-9, abs=1e-290)


def test_erlang_b_of_a_billion_servers():
    """At a = c, 1/B tends to √(πc/2) + 2/3; far in overload B tends to 1 - c/a."""
    assert 1 / queueing.erlang_b(1e9, 1_000_000_000) == pytest.approx((np.pi * 5e8) ** 0.5 + 2 / 3, rel=1e-9)
    assert queueing.erlang_b(4e9, 1_000_000_000) == pytest.approx(0.75, rel=1e-8)
    table = queueing.erlang_b(np.array([[9e8], [1e9]]), np.array([1_000, 1_000_000_000]))
    assert table.shape == (2, 2)
    assert table[0, 1] == 0.0


def test_erlang_b_refuses_what_cannot_be():
    with pytest.raises(ValueError, match="servers"):
        queueing.erlang_b(1.0, -1)
    with pytest.raises(ValueError, match="offered_load"):
        queueing.erlang_b(-1.0, 1)


def test_one_server_waits_as_long_as_it_is_busy():
    assert queueing.erlang_c(0.7, 1) == pytest.approx(0.7)
    assert queueing.mean_wait(0.7, 1.0, 1) == pytest.approx(0.7 / 0.3)


def test_overload_waits_forever():
    assert queueing.erlang_c(3.0, 2) == 1.0
    assert queueing.mean_wait(3.0, 1.0, 2) == np.inf
    assert queueing.wait_quantile(3.0, 1.0, 2, 0.9) == np.inf


def simulated_waits(arrival_gaps: np.ndarray, services: np.ndarray, servers: int) -> np.ndarray:
    """Waits of a first-come first-served queue, customer by customer."""
    free = [0.0] * servers
    now, waits = 0.0, []
    for gap, service in zip(arrival_gaps, services, strict=True):
        now += gap
        earliest = min(range(servers), key=free.__getitem__)
        start = max(now, free[earliest])
        waits.append(start - now)
        free[earliest] = start + service
    return np.array(waits)


def test_mean_and_tail_against_a_simulation():
    rng = np.random.default_rng(3)
    count, rate, service, servers = 60_000, 3.0, 1.0, 5
    waits = simulated_waits(rng.exponential(1 / rate, count), rng.exponential(service, count), servers)[5000:]
    assert waits.mean() == pytest.approx(queueing.mean_wait(rate, service, servers), rel=0.1)
    assert np.quantile(waits, 0.9) == pytest.approx(
        queueing.wait_quantile(rate, service, servers, 0.9), rel=0.1
    )
    in_system = rate * (waits.mean() + service)
    assert queueing.in_system(rate, waits.mean() + service) == pytest.approx(in_system)


def test_general_service_is_exact_for_one_server():
    """Pollaczek and Khinchine: W = λ E[S²] / (2 (1 - ρ))."""
    low, high, rate = 0.2, 1.0, 1.2
    mean, second = (low + high) / 2, (high**3 - low**3) / (3 * (high - low))
    scv = second / mean**2 - 1
    exact = rate * second / (2 * (1 - rate * mean))
    assert queueing.mean_wait(rate, mean, 1, 1.0, scv) == pytest.approx(exact)
    assert queueing.mean_wait(rate, mean, 1, 0.0, 0.0) == 0.0


def test_replicas_of_littles_law():
    assert queueing.replicas(1000.0, 2.5, 64) == 40
    assert queueing.replicas(1000.0, 2.5, 64, 0.7) == 56
    assert queueing.replicas(64.0, 1.0, 64) == 1
    with pytest.raises(ValueError, match="target_load"):
        queueing.replicas(1.0, 1.0, 1, 0.0)


@pytest.mark.parametrize("limit", [0.01, 0.5, 3.0])
def test_fewest_servers_are_the_fewest(limit: float):
    servers = queueing.servers_for_wait(40.0, 1.0, 0.99, limit)
    assert queueing.wait_quantile(40.0, 1.0, servers, 0.99) <= limit
    assert queueing.wait_quantile(40.0, 1.0, servers - 1, 0.99) > limit
    with pytest.raises(ValueError, match="servers needed"):
        queueing.servers_for_wait(40.0, 1.0, 0.99, limit, most=30)


def test_broadcasting_over_loads_and_servers():
    loads, servers = np.array([[1.0], [3.0]]), np.array([4, 8, 16])
    table = queueing.erlang_c(loads, servers)
    assert table.shape == (2, 3)
    assert table[1, 0] == pytest.approx(queueing.erlang_c(3.0, 4))


@pytest.mark.parametrize(("load", "servers"), [(0.3, 2), (1.5, 2), (4.0, 3), (0.7, 0)])
def test_arrivals_until_overflow_against_the_chain(load: float, servers: int) -> None:
    """First passage by solving the embedded chain's equations: from k busy, the next event is an arrival with a/(a + k)."""
    size = servers + 1
    matrix, right = np.eye(size), np.zeros(size)
    for busy in range(size):
        arrives = load / (load + busy)
        right[busy] = arrives
        if busy + 1 < size:
            matrix[busy, busy + 1] -= arrives
        if busy:
            matrix[busy, busy - 1] -= 1.0 - arrives
    assert queueing.arrivals_until_overflow(load, servers) == pytest.approx(
        np.linalg.solve(matrix, right)[0], rel=1e-12
    )
