"""The compiled fleet against one in plain Python that runs every iteration: the same times to the last digits."""

from dataclasses import replace

import numpy as np
import pytest
from affine_engine import Affine
from plain_fleet import PlainFleet, Request

from argosy.kernels import serving_records as records
from argosy.serving.failures import Failures, Shared, planned_events
from argosy.serving.fleet import ENDS, MARKS, Policy, Pool, simulate
from argosy.serving.traffic import LengthShape, Synthetic, made


def traffic(rate, horizon_s, seed, output=60.0, classes=(), spread=1.0):
    shape = Synthetic(
        rate, 1.7, (LengthShape(700, 1.2),), (LengthShape(output, spread),), priorities=classes, longest=6000
    )
    return made(shape, horizon_s, seed)


def compare(requests, pools, policy, failures=None, seed=0, with_plain=False):
    """Runs both; asserts that every request has the same times and the same end."""
    run = simulate(requests, pools, policy, failures, seed)
    events = planned_events(failures, pools, requests.horizon_s + policy.drain_limit_s, seed)
    strikes = [
        (float(e["at"]), int(e["first"]), int(e["last"]), float(e["lasts_s"]))
        for e in events
        if e["kind"] == records.STRIKE
    ]
    upgrades = [
        (float(e["at"]), p, failures.upgrade_s, failures.upgrade_together)
        for e in events
        if e["kind"] == records.UPGRADE and e["at"] < requests.horizon_s
        for p in range(len(pools))
    ]
    specs = [
        (p.provider, p.count, p.prefill_only, p.chunk, p.least_chunk, p.batch, p.evicts, p.mixed)
        for p in pools
    ]
    plain = PlainFleet(
        specs, policy.router, policy.retry_s, policy.retries, policy.cold_start_s, policy.detection_s,
        (policy.transfer_s, policy.transfer_s_per_token), policy.unnoticed_s,
    )  # fmt: skip
    columns = (requests.arrival_s, requests.input_tokens, requests.output_tokens, requests.priority, run.luck)
    asked = [Request(float(a), int(i), int(o), int(p), u) for a, i, o, p, u in zip(*columns, strict=True)]
    plain.run(asked, strikes, upgrades)
    assert [q.end for q in asked] == [ENDS[e] for e in run.end]
    assert [q.tries for q in asked] == list(run.tries)
    kept = run.done
    first = np.array([np.nan if q.first is None else q.first for q in asked])
    finish = np.array([q.finish for q in asked])
    np.testing.assert_allclose(run.first_s[kept], first[kept], rtol=1e-9)
    np.testing.assert_allclose(run.finish_s[kept], finish[kept], rtol=1e-9)
    if failures is None:
        compare_marks(run, plain.log)
    return (run, plain) if with_plain else run


def compare_marks(run, log):
    """At every mark the books have the seconds and the answers of the plain fleet's iterations up to it."""
    pool, begin, end, made = np.array(log).T
    for share, books in zip(MARKS, run.marked, strict=True):
        at = share * run.requests.horizon_s
        for p, book in enumerate(books):
            own = pool == p
            busy = (np.minimum(end, at) - begin)[own].clip(0).sum()
            assert book[records.PREFILL_S] + book[records.DECODE_S] == pytest.approx(busy, rel=1e-8, abs=1e-9)
            assert book[records.OUTPUT_TOKENS] == pytest.approx(made[own & (end < at)].sum(), abs=1e-6)
            assert book[: records.DOWN + 1].sum() == pytest.approx(run.pools[p].count * at)
    total = sum(run.spans().values())
    np.testing.assert_allclose(total, run.books)
    assert run.warm_up_s + run.window_s + run.run_out_s == pytest.approx(run.end_s)


@pytest.mark.parametrize("router", ["round-robin", "least-work"])
@pytest.mark.parametrize("evicts", [True, False])
def test_batching_and_queueing_agree(router, evicts):
    pool = Pool(Affine(kv_capacity_tokens=30_000, max_batch=24), 3, evicts=evicts, chunk=512)
    run = compare(traffic(60.0, 20.0, 1), [pool], Policy(router=router))
    assert run.ttft_s.max() > 0.1  # some requests had to queue


def test_preempted_sequences_agree():
    pool = Pool(Affine(kv_capacity_tokens=8_000, max_batch=64), 2, chunk=1024)
    run = compare(traffic(12.0, 30.0, 3, output=400.0), [pool], Policy(router="round-robin"))
    assert run.books[0, 15] > 10  # preemptions did happen


def test_classes_agree():
    pool = Pool(Affine(max_batch=8), 2, chunk=2048)
    run = compare(traffic(30.0, 20.0, 4, classes=(1.0, 2.0, 1.0)), [pool], Policy(router="round-robin"))
    of = run.requests.priority
    assert run.ttft_s[of == 0].mean() < run.ttft_s[of == 2].mean()


@pytest.mark.parametrize("retries", [0, 3])
def test_failures_and_retries_agree(retries):
    pool = Pool(Affine(max_batch=32), 6, chunk=1024)
    failures = Failures(1 / 60.0, 5.0, (Shared("leaf", 3, 1 / 100.0, 8.0),))
    policy = Policy(router="round-robin", cold_start_s=2.0, detection_s=1.0, retries=retries)
    run = compare(traffic(60.0, 60.0, 5), [pool], policy, failures, seed=2)
    assert (run.tries > 0).sum() > 10
    assert (run.end == ENDS.index("failed")).any() == (retries == 0)


def test_prompts_in_iterations_of_their_own_agree():
    pool = Pool(Affine(max_batch=32), 2, chunk=1024, mixed=False)
    mixed = Pool(Affine(max_batch=32), 2, chunk=1024)
    requests, policy = traffic(30.0, 20.0, 7), Policy(router="round-robin")
    alone = compare(requests, [pool], policy)
    assert alone.tpot_s[alone.done].mean() > compare(requests, [mixed], policy).tpot_s.mean()


def test_disaggregated_pools_agree():
    prompts = Pool(Affine(), 2, prefill_only=True, chunk=4096)
    answers = Pool(Affine(max_batch=48), 3)
    policy = Policy(router="round-robin", transfer_s=0.004, transfer_s_per_token=2e-6)
    compare(traffic(40.0, 30.0, 6), [prompts, answers], policy)


@pytest.mark.parametrize(("together", "every_s", "cold_s"), [(1, 20.0, 2.0), (2, 15.0, 0.5), (3, 200.0, 0.0)])
def test_rolling_upgrades_agree_and_wait_for_those_that_are_away(together, every_s, cold_s):
    """Long answers: a replica drains for longer than it is down, so that a clock would take the next one too soon."""
    pool = Pool(Affine(max_batch=64), 6, chunk=1024)
    failures = Failures(0.0, 0.0, upgrade_every_s=every_s, upgrade_s=1.0, upgrade_together=together)
    policy = Policy(router="least-work", cold_start_s=cold_s)
    run, plain = compare(traffic(20.0, 120.0, 8, output=400.0), [pool], policy, failures, with_plain=True)
    assert plain.fewest == pool.count - together or every_s > 120.0
    assert run.done.all() and not run.tries.any()


def test_upgrades_of_two_replicas_that_fail_meanwhile_agree():
    pool = Pool(Affine(max_batch=32), 5, chunk=1024)
    failures = Failures(1 / 60.0, 5.0, upgrade_every_s=10.0, upgrade_s=3.0, upgrade_together=2)
    policy = Policy(router="round-robin", cold_start_s=1.5, detection_s=1.0, unnoticed_s=0.7)
    run = compare(traffic(40.0, 60.0, 9, output=200.0), [pool], policy, failures, seed=4)
    assert (run.tries > 0).sum() > 10


@pytest.mark.parametrize("router", ["round-robin", "least-work"])
@pytest.mark.parametrize("retries", [1, 3])
def test_failures_that_are_not_noticed_at_once_agree(router, retries):
    pool = Pool(Affine(max_batch=32), 6, chunk=1024)
    failures = Failures(1 / 60.0, 5.0, (Shared("leaf", 3, 1 / 100.0, 8.0),))
    policy = Policy(router=router, cold_start_s=2.0, detection_s=1.0, unnoticed_s=3.0, retries=retries)
    # answers alike: the work of a replica is a whole number, and ties are ties in both
    requests = traffic(60.0, 60.0, 5, spread=0.0)
    run, plain = compare(requests, [pool], policy, failures, seed=2, with_plain=True)
    assert plain.refusals > 100
    assert (run.end == ENDS.index("failed")).any() or retries == 3


def test_disaggregated_pools_with_failures_noticed_late_agree():
    """Who comes with its cache to a dead replica starts over, prompt and all."""
    prompts, answers = Pool(Affine(), 3, prefill_only=True, chunk=4096), Pool(Affine(max_batch=48), 4)
    policy = Policy(
        router="round-robin", transfer_s=0.004, transfer_s_per_token=2e-6, cold_start_s=1.0, detection_s=0.5,
        unnoticed_s=2.0,
    )  # fmt: skip
    requests, failures = traffic(40.0, 60.0, 6), Failures(1 / 90.0, 4.0)
    run, plain = compare(requests, [prompts, answers], policy, failures, seed=1, with_plain=True)
    at_once = simulate(requests, [prompts, answers], replace(policy, unnoticed_s=0.0), failures, 1)
    assert plain.refusals > 50
    assert run.books[0, records.LOST_PROMPT] > at_once.books[0, records.LOST_PROMPT] > 0
