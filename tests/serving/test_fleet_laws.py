"""Random small fleets: what must hold whatever the traffic, the engine and the failures are; simple limits by hand."""

import numpy as np
import pytest
from affine_engine import Affine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argosy.kernels import serving_records as records
from argosy.serving.failures import Failures, Shared
from argosy.serving.fleet import Policy, Pool, simulate
from argosy.serving.objectives import quantile
from argosy.serving.traffic import LengthShape, Requests, Synthetic, made

QUICK = settings(
    derandomize=True, max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@st.composite
def worlds(draw):
    """Traffic, a pool, a policy and failures of a few hundred requests."""
    shape = Synthetic(
        draw(st.floats(2.0, 120.0)), draw(st.sampled_from([0.0, 0.5, 1.0, 4.0])),
        (LengthShape(draw(st.floats(1.0, 3000.0)), draw(st.floats(0.0, 2.0))),),
        (LengthShape(draw(st.floats(1.0, 200.0)), draw(st.floats(0.0, 2.0))),),
        prefix_share=draw(st.sampled_from([0.0, 0.5])), priorities=draw(st.sampled_from([(), (0.8, 0.2)])), longest=8000,
    )  # fmt: skip
    engine = Affine(
        kv_capacity_tokens=draw(st.sampled_from([20_000, 400_000])),
        max_batch=draw(st.sampled_from([1, 16, 256])),
    )
    pool = Pool(
        engine, draw(st.integers(1, 9)), evicts=draw(st.booleans()), mixed=draw(st.booleans()),
        chunk=draw(st.sampled_from([512, 8192])),
    )  # fmt: skip
    policy = Policy(
        router=draw(st.sampled_from(["round-robin", "least-work", "power-of-two", "prefix-aware"])),
        retries=draw(st.integers(0, 3)), queue_limit=draw(st.sampled_from([np.inf, 20.0])),
        timeout_s=draw(st.sampled_from([np.inf, 5.0])), everywhere=0.5, cold_start_s=5.0,
    )  # fmt: skip
    failures = draw(
        st.sampled_from(
            [None, Failures(1 / 60.0, 10.0), Failures(0.0, 8.0, (Shared("rack", 4, 1 / 50.0, 8.0),))]
        )
    )
    return made(shape, 10.0, draw(st.integers(0, 99)), most=400), pool, policy, failures


@QUICK
@given(worlds(), st.integers(0, 9))
def test_every_run_keeps_the_books(world, seed):
    requests, pool, policy, failures = world
    if not len(requests):
        return
    run = simulate(requests, [pool], policy, failures, seed)
    book, done, provider = run.books[0], run.done, pool.provider
    # every arrival has ended one way, in order of time, and none faster than alone on an idle replica
    assert np.isin(
        run.end, [records.DONE, records.SHED, records.FAILED, records.LATE, records.UNFINISHED]
    ).all()
    assert (run.first_s[done] >= requests.arrival_s[done]).all() and (
        run.finish_s[done] >= run.first_s[done]
    ).all()
    alone = provider.base + provider.per_token * np.maximum(requests.input_tokens - requests.prefix_tokens, 1)
    assert (run.ttft_s[done] >= alone[done] - 1e-9).all()
    more = requests.output_tokens > 1
    assert (run.tpot_s[done & more] >= provider.base).all()
    # replica-seconds: all of them, each in one state; iterations only while up
    assert book[: records.DOWN + 1].sum() == pytest.approx(pool.count * run.end_s)
    up = book[records.UP] + book[records.DRAINING]
    assert book[records.PREFILL_S] + book[records.DECODE_S] <= up * (1 + 1e-9) + 1e-9
    assert book[records.KV_PEAK] <= provider.kv_capacity_tokens * (1 + 1e-9)
    # tokens: those of finished requests were computed (or found in the cache)
    assert book[records.OUTPUT_TOKENS] >= requests.output_tokens[done].sum() - 1e-6
    seen = book[records.PROMPT_TOKENS] + book[records.CACHED_TOKENS]
    assert seen >= requests.input_tokens[done].sum() - 1e-6
    # Little's law, where no request is tried again
    if done.all() and not (run.tries > 0).any():
        assert book[records.INSIDE_SECONDS] + book[records.OUTSIDE_SECONDS] == pytest.approx(
            (run.finish_s - requests.arrival_s).sum(), rel=1e-9
        )


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.floats(20.0, 90.0), st.sampled_from([0.0, 1.0, 3.0]), st.integers(1, 6), st.integers(0, 50))
def test_more_replicas_never_worsen_the_percentile(rate, cv, count, seed):
    """Round robin sees no load; doubled, each replica gets every other of its requests: beyond noise none is later."""
    shape = Synthetic(rate, cv, (LengthShape(600, 1.0),), (LengthShape(100, 1.0),), longest=8000)
    requests = made(shape, 40.0, seed)
    few, many = (
        simulate(requests, [Pool(Affine(), n)], Policy(router="round-robin"), seed=seed)
        for n in (count, 2 * count)
    )
    for metric in ("ttft_s", "tpot_s", "e2e_s"):
        for share in (0.5, 0.95, 0.99):
            before, after = quantile(getattr(few, metric), share), quantile(getattr(many, metric), share)
            assert after <= before * 1.1, (metric, share)


def test_one_request_at_a_time_is_the_prompt_and_the_floor():
    requests = Requests(
        np.arange(20) * 100.0, np.full(20, 500), np.full(20, 41), np.zeros(20, int), np.zeros(20, int), 2000.0
    )
    engine = Affine()
    run = simulate(requests, [Pool(engine, 1)], Policy(request_s=0.05))
    prompt = engine.base + engine.per_token * 500 * (1 + 250 / 200_000)
    assert run.ttft_s == pytest.approx(0.05 + prompt, rel=1e-3)
    # token i is made with i − 1 tokens after the prompt in the cache
    decode = engine.base + engine.per_sequence + engine.per_key * (500 + np.arange(1, 41))
    assert run.tpot_s == pytest.approx(decode.mean(), rel=1e-3)
    assert run.e2e_s == pytest.approx(0.05 + prompt + decode.sum(), rel=1e-3)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_single_server_with_constant_service_waits_as_m_d_1(load):
    """A batch of one and lengths alike: Poisson arrivals wait ρ ÷ (2 (1 − ρ)) services on average (Pollaczek–Khinchine)."""
    engine = Affine(max_batch=1)
    service_s = engine.base + engine.per_token * 400 * (1 + 200 / 200_000)
    shape = Synthetic(load / service_s, 1.0, (LengthShape(400, 0.0),), (LengthShape(1, 0.0),))
    waits = []
    for seed in range(6):
        requests = made(shape, 20_000 * service_s / load, seed)
        run = simulate(requests, [Pool(engine, 1, chunk=400)], Policy(), seed=seed)
        waits.append(float((run.ttft_s - service_s).mean()))
    assert np.mean(waits) == pytest.approx(load / (2 * (1 - load)) * service_s, rel=0.06)


def test_requests_that_find_every_replica_down_wait_outside_and_are_in_littles_sum():
    """One replica that fails: who arrives meanwhile waits at the client, at its first try, in no pool."""
    waited = 0
    for seed in range(30):
        requests = made(Synthetic(2.0, 1.0, (LengthShape(600, 1.0),), (LengthShape(50, 1.0),)), 10.0, seed)
        run = simulate(requests, [Pool(Affine(), 1)], Policy(), Failures(1 / 60.0, 10.0), seed)
        if run.done.all() and not (run.tries > 0).any():
            outside = run.books[0][records.OUTSIDE_SECONDS]
            waited += outside > 0
            times = (run.finish_s - requests.arrival_s).sum()
            assert run.books[0][records.INSIDE_SECONDS] + outside == pytest.approx(times, rel=1e-9)
    assert waited  # some runs had such requests
