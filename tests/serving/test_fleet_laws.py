"""Random small fleets: what must hold whatever the traffic, the engine and the failures are; simple limits by hand."""

from dataclasses import replace

import numpy as np
import pytest
from affine_engine import Affine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argosy.kernels import serving_records as records
from argosy.serving import fleet
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
        unnoticed_s=draw(st.sampled_from([0.0, 4.0])),
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
    # Little's law, with requests that are refused, lost, tried again, shed or given up
    if not (run.end == records.UNFINISHED).any():
        assert book[records.INSIDE_SECONDS] + book[records.OUTSIDE_SECONDS] == pytest.approx(
            (run.finish_s - requests.arrival_s).sum(), rel=1e-9, abs=1e-9
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


@QUICK
@given(
    st.integers(2, 7), st.integers(1, 3), st.floats(2.0, 40.0), st.floats(0.0, 6.0), st.floats(0.1, 6.0),
    st.sampled_from(["round-robin", "least-work", "power-of-two"]), st.integers(0, 99),
)  # fmt: skip
def test_a_rolling_upgrade_leaves_all_but_its_batch(count, together, rate, cold_s, upgrade_s, router, seed):
    """However long replicas drain, no more than the batch are away at any time."""
    shape = Synthetic(rate, 1.0, (LengthShape(600, 1.0),), (LengthShape(300, 1.5),), longest=8000)
    requests = made(shape, 40.0, seed)
    failures = Failures(0.0, 0.0, upgrade_every_s=15.0, upgrade_s=upgrade_s, upgrade_together=together)
    policy = Policy(router, cold_start_s=cold_s, drain_limit_s=260.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fleet, "SAMPLE_S", 0.05)  # often enough to see every replica that is away
        run = simulate(requests, [Pool(Affine(max_batch=64), count)], policy, failures, seed)
    assert run.done.all() and not run.tries.any()
    assert run.series[0]["up"].min() == max(count - together, 0)


@pytest.mark.parametrize(
    ("router", "share"),
    [("round-robin", 1 / 5), ("power-of-two", 1 - (4 / 5) ** 2), ("least-work", 1.0)],
)
def test_a_dead_replica_draws_its_share_until_it_is_noticed(router, share):
    """In turn 1/R of what is sent; of two drawn, those with the dead one among them; the idlest is always the dead one."""
    requests = made(Synthetic(50.0, 1.0, (LengthShape(600, 0.5),), (LengthShape(100, 0.5),)), 340.0, 1)
    failures = Failures(1 / 400.0, 30.0)  # of this seed: three, one after another
    policy = Policy(router, retries=0, unnoticed_s=20.0, cold_start_s=1.0, drain_limit_s=3660.0)
    at_once, later = (
        simulate(requests, [Pool(Affine(), 5)], each, failures, seed=3)
        for each in (replace(policy, unnoticed_s=0.0), policy)
    )
    assert at_once.books[0, records.FAILURES] == later.books[0, records.FAILURES] == 3
    refused = (later.end == records.FAILED) & (later.finish_s == requests.arrival_s)
    dead_s = 20.0 * later.books[0, records.FAILURES]
    assert not ((at_once.end == records.FAILED) & (at_once.finish_s == requests.arrival_s)).any()
    assert refused.sum() == pytest.approx(share * 50.0 * dead_s, rel=0.15)


def test_round_robin_sends_a_dead_replica_the_turn_of_those_refused_too():
    """λ/(R − 1): whoever is refused comes again and takes another's turn."""
    requests = made(Synthetic(60.0, 1.0, (LengthShape(600, 0.5),), (LengthShape(50, 0.5),)), 300.0, 2)
    policy = Policy("round-robin", retries=9, retry_s=0.05, unnoticed_s=60.0, cold_start_s=1.0)
    run = simulate(requests, [Pool(Affine(), 4)], policy, Failures(1 / 900.0, 60.0), seed=3)
    assert run.books[0, records.FAILURES] == 1.0 and run.done.all()
    assert run.tries.sum() == pytest.approx(60.0 * 60.0 / 3, rel=0.05)
