"""Checkpoint laws against simulation, numerical optimisation and published figures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from argosy.laws import checkpoint as law

HOUR = 3600.0
LLAMA_SCALE = 50_000 * HOUR / 16384  # mean seconds between failures of 16,384 parts of 50,000 h
seconds = st.floats(0.0, 1e4)


@pytest.mark.parametrize(("write", "expected"), [(0.0, 0.87140), (60.0, 0.84093)])
def test_efficiency_at_the_scale_of_llama3(write: float, expected: float) -> None:
    assert law.efficiency(1800.0, write, 600.0, LLAMA_SCALE) == pytest.approx(expected, abs=5e-6)


def test_efficiency_stays_positive_where_first_order_forms_do_not() -> None:
    # 100,000 GPUs, a checkpoint every 30 minutes: 6.5 failures per 1,000 node-days, and 50,000 h per GPU.
    by_nodes = 86400.0 / (12_500 * 6.5e-3)
    assert law.efficiency(1800.0, 0.0, 600.0, by_nodes) == pytest.approx(0.217, abs=1e-3)
    assert law.efficiency(1800.0, 0.0, 600.0, 1800.0) == pytest.approx(0.417, abs=1e-3)
    assert 1 - 1800.0 / (2 * by_nodes) - 600.0 / by_nodes < 0.217  # first order is already lower


def simulate(
    tau: float,
    blocking: float,
    detection: float,
    restart: float,
    mtbf: float,
    persist: float,
    slow: float,
    failures: int,
) -> dict[str, float]:
    """A job that is walked through event by event, snapshot by snapshot; shares of its time."""
    random = np.random.default_rng(7)
    spent = dict.fromkeys(("productive", "checkpoint", "rework", "detection", "restart"), 0.0)
    for _ in range(failures):
        left = random.exponential(mtbf)
        for state, length in (("detection", detection), ("restart", restart)):
            spent[state] += min(left, length)
            left -= min(left, length)
        alive, started, safe = left, left, []
        while True:
            # Compute τ of work; while the last copy persists, speed is lost.
            alive -= tau + (slow * persist if safe else 0.0)
            snapshot = started - alive
            if alive <= blocking + persist:
                break
            safe.append(snapshot)
            alive -= blocking
        counted = len(safe)
        spent["productive"] += counted * tau
        spent["checkpoint"] += counted * (blocking + slow * persist)
        spent["rework"] += started - counted * (tau + blocking + slow * persist)
    total = sum(spent.values())
    return {state: value / total for state, value in spent.items()}


@pytest.mark.parametrize(
    ("blocking", "persist", "slow"), [(40.0, 0.0, 0.0), (2.0, 120.0, 0.0), (2.0, 120.0, 0.2), (0.0, 0.0, 0.0)]
)
def test_shares_against_a_simulated_job(blocking: float, persist: float, slow: float) -> None:
    tau, detection, restart, mtbf = 500.0, 60.0, 300.0, 3000.0
    simulated = simulate(tau, blocking, detection, restart, mtbf, persist, slow, failures=40_000)
    shares = law.time_shares(tau, blocking, detection, restart, mtbf, persist, slow)
    for state, value in simulated.items():
        assert getattr(shares, state) == pytest.approx(value, abs=4e-3), state
    assert shares.productive == pytest.approx(simulated["productive"], abs=6e-3)


@given(st.floats(1.0, 1e5), seconds, seconds, seconds, st.floats(1.0, 1e9), seconds, st.floats(0.0, 0.9))
def test_shares_sum_to_one_and_none_is_negative(
    tau: float, blocking: float, detection: float, restart: float, mtbf: float, persist: float, slow: float
) -> None:
    interval = max(tau, persist * (1 - slow))
    shares = law.time_shares(interval, blocking, detection, restart, mtbf, persist, slow)
    assert sum(shares) == pytest.approx(1.0, abs=1e-12)
    assert min(shares) >= -1e-12


def test_shares_without_failures_and_without_a_chance() -> None:
    calm = law.time_shares(100.0, 25.0, 10.0, 10.0, math.inf)
    assert calm.productive == pytest.approx(0.8)
    assert calm.checkpoint == pytest.approx(0.2)
    assert calm.rework == pytest.approx(0.0, abs=1e-15)
    assert law.efficiency(1e6, 1e6, 1e6, 1.0) == 0.0


def test_a_checkpoint_counts_only_when_persisted() -> None:
    arguments = (600.0, 5.0, 60.0, 300.0, 5000.0)
    productive = [law.time_shares(*arguments, persist).productive for persist in (0.0, 100.0, 500.0)]
    assert productive[0] > productive[1] > productive[2]


@pytest.mark.parametrize("hours_minutes", [(24 * 60, 117), (6 * 60, 57), (15, 9.1)])
def test_optimum_against_published_figures(hours_minutes: tuple[float, float]) -> None:
    # Daly 2006, figures 3 to 5: δ = 5 minutes, M = 24 h, 6 h, 15 min.
    mtbf, published = hours_minutes
    assert law.daly_interval(5.0, mtbf) == pytest.approx(published, rel=6e-3)
    assert law.optimal_interval(5.0, mtbf) == pytest.approx(published, rel=8e-3)


@pytest.mark.parametrize("write", [1e-3, 1.0, 60.0, 3000.0, 50_000.0])
def test_optimum_against_numerical_optimisation(write: float) -> None:
    mtbf = 10_000.0
    best = optimize.minimize_scalar(
        lambda tau: -math.log(tau) + math.log(math.expm1((tau + write) / mtbf)),
        bounds=(1e-3, 3 * mtbf),
        method="bounded",
        options={"xatol": 1e-7},
    )
    assert law.optimal_interval(write, mtbf) == pytest.approx(best.x, rel=1e-4)


def test_optimum_against_lambert() -> None:
    ratio = np.geomspace(1e-7, 30.0, 60)
    by_lambert = 1.0 + np.real(special.lambertw(-np.exp(-1.0 - ratio)))
    assert law.optimal_interval(ratio, 1.0) == pytest.approx(by_lambert, rel=1e-7)


def test_interval_limits() -> None:
    assert law.optimal_interval(1e-9, 1e4) == pytest.approx(law.young_interval(1e-9, 1e4), rel=1e-4)
    assert law.optimal_interval(1e7, 1e4) == pytest.approx(1e4, rel=1e-6)
    assert law.daly_interval(2e4, 1e4) == 1e4
    assert law.young_interval(9.8, 6.103515625 * HOUR) == pytest.approx(656.25)


def simulate_two_tiers(
    tau: float,
    write: float,
    every: int,
    extra: float,
    recovery: float,
    mtbf: float,
    loss: float,
    segments: int,
) -> float:
    """Seconds of life per productive second, walked period by period with an explicit fast and slow copy."""
    random = np.random.default_rng(11)
    period = tau + write + extra / every
    fast = slow = 0
    clock = 0.0
    until = random.exponential(mtbf)
    recovering = 0.0
    while slow < segments * every:
        need = recovering if recovering else period
        if until >= need:
            until -= need
            clock += need
            if recovering:
                recovering = 0.0
                continue
            fast += 1
            if fast % every == 0:
                slow = fast
            continue
        clock += until
        until = random.exponential(mtbf)
        recovering = recovery
        if random.random() < loss:
            fast = slow
    return clock / (slow * tau)


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.5, 1.0])
def test_two_tiers_against_simulation(loss: float) -> None:
    arguments = (100.0, 3.0, 8, 40.0, 200.0, 2500.0, loss)
    simulated = simulate_two_tiers(*arguments, segments=4000)
    assert law.two_tier_slowdown(*arguments) == pytest.approx(simulated, rel=0.01)


def test_two_tiers_limits() -> None:
    daly = 1 / law.efficiency(100.0, 3.0, 200.0, 2500.0)
    assert law.two_tier_slowdown(100.0, 3.0, 8, 0.0, 200.0, 2500.0, 0.0) == pytest.approx(daly, rel=1e-12)
    assert law.two_tier_slowdown(100.0, 3.0, 8, 40.0, 200.0, math.inf, 0.1) == pytest.approx(1.08)
    assert law.two_tier_slowdown(100.0, 3.0, 8, 40.0, 200.0, 1e-3, 0.1) == math.inf
    whole = 1 / law.efficiency(800.0, 24.0, 200.0, 2500.0)
    assert law.two_tier_slowdown(100.0, 3.0, 8, 0.0, 200.0, 2500.0, 1.0) == pytest.approx(whole, rel=1e-12)


def test_multi_tier_overhead_is_the_best_of_its_tiers() -> None:
    rates, writes = [1e-4, 1e-5], [2.0, 60.0]
    best = sum(
        optimize.minimize_scalar(
            lambda tau, rate=rate, write=write: write / tau + rate * tau / 2,
            bounds=(1.0, 1e5),
            method="bounded",
        ).fun
        for rate, write in zip(rates, writes, strict=True)
    )
    assert law.multi_tier_overhead(rates, writes) == pytest.approx(best, rel=1e-6)


def test_silent_corruption_interval_minimises_first_order_waste() -> None:
    verify, write, silent, failing = 30.0, 20.0, 2e-6, 5e-5
    best = optimize.minimize_scalar(
        lambda t: (verify + write) / t + silent * t + failing * t / 2, bounds=(10.0, 1e5), method="bounded"
    )
    assert law.silent_corruption_interval(verify, write, silent, failing) == pytest.approx(best.x, rel=1e-4)
    assert law.silent_corruption_interval(0.0, write, 0.0, failing) == pytest.approx(
        law.young_interval(write, 1 / failing)
    )


def test_size_and_time() -> None:
    size = law.checkpoint_bytes(175e9, 14)
    assert size == 2.45e12
    assert law.transfer_time(size, 100e9) == pytest.approx(24.5)


def test_arrays_go_through() -> None:
    shares = law.time_shares(np.array([100.0, 200.0]), 5.0, 60.0, np.array([300.0, 400.0]), 1e4)
    alone = law.time_shares(200.0, 5.0, 60.0, 400.0, 1e4)
    assert [np.broadcast_to(share, 2)[1] for share in shares] == pytest.approx(list(alone))
