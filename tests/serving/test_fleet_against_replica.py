"""The fleet of one replica against the replica kernel, which was written apart: the same quantiles of latency."""

import numpy as np
import pytest
from affine_engine import Affine
from replica_kernel import advance, enqueue
from replica_state import AGGREGATED, ReplicaSettings, new_pool, new_requests

from argosy.serving import table
from argosy.serving.fleet import Policy, Pool, simulate
from argosy.serving.objectives import quantile
from argosy.serving.traffic import LengthShape, Synthetic, made


def by_replica_kernel(requests, pool):
    """(first token, end) of every request (s) by `replica_kernel`."""
    provider = pool.provider
    settings = ReplicaSettings(
        float(provider.kv_capacity_tokens), 0.0, pool.batch, pool.chunk, pool.mixed, not pool.evicts, provider.tokens_per_step,
        AGGREGATED,
    )  # fmt: skip
    asked = new_requests(requests.arrival_s, requests.input_tokens, requests.output_tokens)
    state = new_pool(1, settings, 4 * len(requests) + 16)
    grids = table(provider, most_batch=float(pool.batch), most_prefill_tokens=float(pool.chunk)).grids
    for number in range(len(requests)):
        enqueue(0, number, state, asked)
    advance(0, 1e9, state, asked, settings, grids)
    return asked.first, asked.finish


@pytest.mark.parametrize(
    ("rate", "capacity", "evicts", "mixed", "output"),
    [
        (6.0, 400_000, True, True, 150.0),
        (14.0, 400_000, True, True, 150.0),
        (12.0, 60_000, False, True, 150.0),
        (8.0, 400_000, True, False, 150.0),
        (4.0, 60_000, True, True, 600.0),
    ],
)
def test_quantiles_agree(rate, capacity, evicts, mixed, output):
    shape = Synthetic(rate, 1.5, (LengthShape(1200, 1.0),), (LengthShape(output, 0.9),), longest=12_000)
    requests = made(shape, 600.0, 3)
    pool = Pool(Affine(kv_capacity_tokens=capacity), 1, evicts=evicts, mixed=mixed, chunk=2048, least_chunk=1)
    run = simulate(requests, [pool], Policy(router="round-robin"))
    first, finish = by_replica_kernel(requests, pool)
    ttft, tpot = first - requests.arrival_s, (finish - first) / np.maximum(requests.output_tokens - 1, 1)
    assert run.done.all()
    for share in (0.5, 0.9, 0.99):
        assert quantile(run.ttft_s, share) == pytest.approx(quantile(ttft, share), rel=0.03), share
        assert quantile(run.tpot_s, share) == pytest.approx(quantile(tpot, share), rel=0.03), share
