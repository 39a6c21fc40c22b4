"""Iterations per second: the roofline over arrays, its table in compiled code, and aiconfigurator-core one by one.

The peer answers a query it has not seen in 0.13 to 0.20 ms; a simulation asks for millions.
"""

from __future__ import annotations

import time
from importlib.util import find_spec

import numpy as np
import pytest

from argosy.kernels.compiled import compiled
from argosy.kernels.step_table import mixed_time
from argosy.serving import ReplicaLayout, roofline, table
from argosy.serving.aiconfigurator import Aiconfigurator
from argosy.serving.fleet import Policy, Pool, simulate
from argosy.serving.traffic import Requests
from argosy.spec.architectures import resolve

PEER_QUERIES, QUERIES, LOOKUPS, REQUESTS = 400, 200_000, 2_000_000, 50_000


@compiled()
def _many(grids, tokens, batch, context):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(tokens.shape[0]):
        total += mixed_time(grids, tokens[i], tokens[i] / 2, batch[i], context[i])
    return total


@pytest.mark.skipif(find_spec("aiconfigurator_core") is None, reason="aiconfigurator-core is not installed")
def test_iterations_per_second_against_aiconfigurator(benchmark):
    base = roofline(
        resolve("llama-3.1-70b"), "H100", ReplicaLayout(tp=4), precision="fp8", engine_name="trtllm"
    )
    rng = np.random.default_rng(1)
    batch, context = (
        rng.integers(1, 256, QUERIES).astype(float),
        rng.integers(100, 8000, QUERIES).astype(float),
    )
    peer = Aiconfigurator(base)
    peer.decode_s(1, 100)
    started = time.perf_counter()
    peer.decode_s(batch[:PEER_QUERIES], context[:PEER_QUERIES])
    peer_s = (time.perf_counter() - started) / PEER_QUERIES
    benchmark.pedantic(base.decode_s, (batch, context), rounds=3, warmup_rounds=1)
    own_s = benchmark.stats.stats.median / QUERIES
    benchmark.extra_info["faster_than_aiconfigurator"] = peer_s / own_s
    print(f"\n{1 / own_s:,.0f} iterations/s, aiconfigurator {1 / peer_s:,.0f}/s: {peer_s / own_s:,.0f} ×")
    assert peer_s / own_s > 5


def test_lookups_per_second_against_the_roofline(benchmark):
    base = roofline(
        resolve("llama-3.1-70b"), "H100", ReplicaLayout(tp=4), precision="fp8", engine_name="trtllm"
    )
    grids = table(base).grids
    rng = np.random.default_rng(2)
    tokens, batch, context = (rng.integers(1, most, LOOKUPS).astype(float) for most in (8192, 256, 8000))
    array_s = np.inf
    for _ in range(3):
        started = time.perf_counter()
        base.mixed_s(tokens[:20_000], tokens[:20_000] / 2, batch[:20_000], context[:20_000])
        array_s = min(array_s, (time.perf_counter() - started) / 20_000)
    benchmark.pedantic(_many, (grids, tokens, batch, context), rounds=3, warmup_rounds=1)
    own_s = benchmark.stats.stats.min / LOOKUPS
    benchmark.extra_info["faster_than_arrays"] = array_s / own_s
    print(f"\n{1 / own_s:,.0f} look-ups/s, {array_s / own_s:,.0f} × the roofline over arrays")
    assert array_s / own_s > 1


def test_requests_per_second_through_one_replica(benchmark):
    base = roofline(resolve("llama-3.1-8b"), "H100")
    rng = np.random.default_rng(3)
    arrivals = np.cumsum(rng.exponential(1 / 15, REQUESTS))
    nothing = np.zeros(REQUESTS, np.int64)
    input, output = rng.integers(100, 1500, REQUESTS), rng.integers(20, 480, REQUESTS)
    requests = Requests(arrivals, input, output, nothing, nothing, float(arrivals[-1]))
    run = benchmark.pedantic(simulate, (requests, [Pool(base, 1)], Policy()), rounds=3, warmup_rounds=1)
    seconds = benchmark.stats.stats.median
    benchmark.extra_info["faster_than_life"] = run.end_s / seconds
    print(f"\n{REQUESTS / seconds:,.0f} requests/s, {run.end_s / seconds:,.0f} × as fast as life")
    assert run.end_s / seconds > 100
