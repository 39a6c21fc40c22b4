"""One replica: the closed form and a simulation of its own (`replica_runs`) check each other; memory, order, conservation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import replica_kernel as kernel
from replica_runs import closed_loop, disaggregated, open_loop
from replica_state import AGGREGATED, ReplicaSettings, new_pool, new_requests

from argosy.serving import ReplicaLayout, Roofline, roofline, table
from argosy.serving.replica import disaggregated_rate, frontier, transfer_time
from argosy.serving.steady import finite_run, largest_batch, steady_state
from argosy.spec.architectures import resolve


@pytest.fixture(scope="module")
def provider() -> Roofline:
    return roofline(resolve("llama-3.1-8b"), "H100")


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize(
    ("input", "output", "clients"), [(1024, 1024, 1), (1024, 1024, 64), (4096, 256, 32), (256, 1024, 200)]
)
def test_steady_state_agrees_with_the_simulation(engine: str, input: int, output: int, clients: int) -> None:
    provider = roofline(resolve("llama-3.1-8b"), "H100", engine_name=engine)
    n = max(clients * 12, 12)
    rng = np.random.default_rng(5)
    lengths = [np.round(mean * rng.uniform(0.8, 1.2, n)).astype(int) for mean in (input, output)]
    run = closed_loop(provider, provider.engine, *lengths, clients)
    steady = steady_state(provider, provider.engine, input, output, clients)
    assert np.nanmean(run.tpot_s) == pytest.approx(float(steady.tpot_s), rel=0.08)
    assert run.requests_per_s == pytest.approx(float(steady.requests_per_s), rel=0.12)


@pytest.mark.parametrize(
    ("input", "output", "requests"), [(1024, 1024, 700), (128, 512, 3000), (4096, 128, 150)]
)
def test_a_finite_run_takes_as_long_as_the_simulation_of_all_at_once(
    input: int, output: int, requests: int
) -> None:
    """Equal lengths that all wait from the start: waves, the last of them smaller."""
    provider = roofline(resolve("llama-3.1-8b"), "H100", engine_name="trtllm", max_batch=256)
    lengths = [np.full(requests, tokens) for tokens in (input, output)]
    run = open_loop(provider, provider.engine, np.zeros(requests), *lengths)
    found = finite_run(provider, provider.engine, input, output, requests)
    assert float(found.batch) <= 256
    assert float(found.requests_per_s) == pytest.approx(run.requests_per_s, rel=0.08)
    steady = steady_state(provider, provider.engine, input, output, np.inf)
    assert found.requests_per_s < 1.1 * steady.requests_per_s


def test_a_finite_run_of_less_than_a_batch_is_one_wave(provider: Roofline) -> None:
    found = finite_run(provider, provider.engine, 500, 400, np.array([1.0, 8.0, 1e9]))
    assert list(found.batch[:2]) == [1, 8]
    alone = 400 * provider.decode_s(1.0, 700.0) + found.added_s[0]
    assert 1 / found.requests_per_s[0] == pytest.approx(alone)
    endless = finite_run(provider, provider.engine, 500, 400, 1e9)
    assert found.requests_per_s[2] == pytest.approx(float(endless.requests_per_s))


def test_littles_law_and_memory_in_a_run_that_preempts(provider: Roofline) -> None:
    settings = ReplicaSettings(30_000.0, 0.0, 256, 8192, True, False, 1.0, AGGREGATED)
    n, clients = 400, 64
    requests = new_requests(np.zeros(n), np.full(n, 600), np.full(n, 400))
    pool = new_pool(1, settings, 4 * n)
    kernel.closed_loop(clients, pool, requests, settings, table(provider).grids)
    time_in_system = requests.finish - requests.ready
    span = pool.clock[0]
    assert np.isfinite(time_in_system).all()
    assert requests.preempted.sum() > 0
    assert pool.peak_kv[0] <= settings.capacity
    assert time_in_system.sum() / span == pytest.approx(clients, rel=0.1)
    assert pool.area[0] / span <= settings.capacity / 600
    assert (pool.kv[0], pool.context[0], pool.running[0], pool.waiting[0]) == (0, 0, 0, 0)
    assert pool.outstanding[0] == pytest.approx(0, abs=1e-6)
    assert (requests.first <= requests.finish).all()


def test_an_engine_that_reserves_never_preempts_and_never_exceeds_memory(provider: Roofline) -> None:
    small = replace(provider, engine=replace(provider.engine, reserve_output=True, memory_fraction=0.3))
    n = 200
    run = closed_loop(small, small.engine, np.full(n, 2000), np.full(n, 500), 128)
    most = float(largest_batch(small, small.engine, 2000, 500))
    assert run.preemptions == 0
    assert run.peak_kv_tokens <= run.kv_capacity_tokens
    assert run.batch <= most < 128


def test_requests_that_can_never_fit_are_turned_away_and_the_rest_served(provider: Roofline) -> None:
    capacity = provider.kv_capacity_tokens
    run = open_loop(
        provider,
        provider.engine,
        np.array([0.0, 0.1, 0.2]),
        np.array([100, capacity + 1, 100]),
        np.array([5, 5, 5]),
    )
    assert run.turned_away == 1
    assert np.isfinite(run.ttft_s).tolist() == [True, False, True]


def test_an_idle_replica_answers_in_prompt_and_decode_time(provider: Roofline) -> None:
    run = open_loop(
        provider, provider.engine, np.array([0.0, 100.0]), np.array([1000, 2000]), np.array([50, 1])
    )
    prompts = np.array([float(provider.prefill_s(1000)), float(provider.prefill_s(2000))])
    assert run.ttft_s - provider.engine.request_s == pytest.approx(prompts, rel=0.02)
    assert run.e2e_s[0] - run.ttft_s[0] == pytest.approx(49 * float(provider.decode_s(1, 1025)), rel=0.01)
    assert run.e2e_s[1] == run.ttft_s[1]


def test_more_load_waits_longer_and_two_replicas_less(provider: Roofline) -> None:
    rng = np.random.default_rng(2)
    n = 1500
    gaps, input, output = rng.exponential(1.0, n), rng.integers(200, 2000, n), rng.integers(20, 400, n)
    light, heavy = (
        open_loop(provider, provider.engine, np.cumsum(gaps / rate), input, output) for rate in (2.0, 14.0)
    )
    two = open_loop(provider, provider.engine, np.cumsum(gaps / 14.0), input, output, replicas=2)
    assert two.quantiles("ttft_s")["p99"] < heavy.quantiles("ttft_s")["p99"]
    assert np.nanmean(light.tpot_s) < np.nanmean(two.tpot_s) < np.nanmean(heavy.tpot_s)


def test_disaggregation_keeps_prompts_out_of_decoding() -> None:
    provider = roofline(
        resolve("deepseek-v3"), "H200", ReplicaLayout(dp=8, ep=8), precision="fp8_block", engine_name="sglang"
    )
    rng = np.random.default_rng(4)
    n = 600
    arrivals, input, output = (
        np.cumsum(rng.exponential(0.25, n)),
        rng.integers(500, 6000, n),
        rng.integers(100, 600, n),
    )
    transfer = transfer_time(provider, provider.network, input)
    assert transfer.min() > 0
    assert (transfer_time(provider, provider.network, input, hidden=0.9) < 0.2 * transfer).all()
    apart = disaggregated(provider, provider, provider.engine, arrivals, input, output, transfer)
    together = open_loop(provider, provider.engine, arrivals, input, output, replicas=2)
    assert apart.quantiles("tpot_s")["p99"] < together.quantiles("tpot_s")["p99"]
    slower = disaggregated(provider, provider, provider.engine, arrivals, input, output, transfer + 1.0)
    assert np.nanmean(slower.e2e_s) > np.nanmean(apart.e2e_s) + 0.5
    assert slower.ttft_s == pytest.approx(apart.ttft_s)


def test_disaggregated_rate_is_the_slower_pools(provider: Roofline) -> None:
    rate = disaggregated_rate(provider, provider, provider.engine, 2000, 200, np.array([1, 2, 500]), 10)
    assert rate[1] == pytest.approx(2 * rate[0])
    assert rate[2] < 50 * rate[0]


def test_frontier_trades_latency_for_throughput(provider: Roofline) -> None:
    found = frontier(provider, provider.engine, 1000, 300)
    assert (np.diff(found["output_tokens_per_s_per_gpu"]) > 0).all()
    assert (np.diff(found["tpot_s"]) > 0).all()
    nothing = roofline(resolve("llama-3.1-405b"), "H100")
    assert len(frontier(nothing, nothing.engine, 1000, 300)["concurrency"]) == 0


def test_failure_returns_everything_that_a_replica_held(provider: Roofline) -> None:
    settings = ReplicaSettings(1e5, 0.0, 64, 2048, True, False, 1.0, AGGREGATED)
    n = 40
    requests = new_requests(np.zeros(n), np.full(n, 1000), np.full(n, 200))
    pool = new_pool(2, settings, 4 * n)
    for i in range(n):
        kernel.enqueue(1, i, pool, requests)
    grids = table(provider).grids
    kernel.advance(1, 0.8, pool, requests, settings, grids)
    gone = int(np.isfinite(requests.finish).sum())
    lost = np.zeros(n, np.int64)
    count = kernel.clear(1, pool, requests, settings, lost)
    assert count == n - gone
    assert len(set(lost[:count])) == count
    assert pool.kv[1] == pool.running[1] == pool.waiting[1] == 0
