"""What the fleet does beside batching: autoscaling, upgrades, shedding, classes, prefixes; and invariants on random fleets."""

from itertools import pairwise

import numpy as np
import pytest
from affine_engine import Affine

from argosy.kernels import serving_records as records
from argosy.serving.failures import Failures, Shared
from argosy.serving.fleet import ENDS, ROUTERS, Policy, Pool, Scaling, simulate
from argosy.serving.objectives import quantile
from argosy.serving.traffic import LengthShape, Requests, Synthetic, made


def traffic(rate, horizon_s=120.0, seed=0, cv=1.0, **more):
    return made(
        Synthetic(rate, cv, (LengthShape(600, 1.0),), (LengthShape(120, 1.0),), longest=8000, **more),
        horizon_s,
        seed,
    )


def steps(low, high, at_s, horizon_s, seed=0):
    """Traffic whose rate jumps from `low` to `high` at a time."""
    first, second = traffic(low, at_s, seed), traffic(high, horizon_s - at_s, seed + 1)
    joined = [np.concatenate(pair) for pair in zip(
        (first.arrival_s, first.input_tokens, first.output_tokens, first.prefix_tokens, first.priority),
        (second.arrival_s + at_s, second.input_tokens, second.output_tokens, second.prefix_tokens, second.priority), strict=True,
    )]  # fmt: skip
    return Requests(*joined, horizon_s)


def test_the_autoscaler_follows_after_delay_and_cold_start():
    requests = steps(4.0, 60.0, 600.0, 1800.0)
    scaling = Scaling(0.7, 20.0, 1, 12, delay_s=60.0)
    run = simulate(requests, [Pool(Affine(), 12, initial=1, scaling=scaling)], Policy(cold_start_s=240.0))
    series = run.series[0]
    before, warm = series["at"] < 640.0, (series["warming"] > 0).argmax()
    assert (series["up"][before] <= 2).all()
    assert 655.0 <= series["at"][warm] <= 720.0  # 60 s of delay, seen every 15 s
    risen = series["at"][(series["up"] >= 4).argmax()]
    assert risen - series["at"][warm] == pytest.approx(240.0, abs=31.0)
    assert run.seconds(0, "warming") >= 3 * 240.0
    assert run.seconds(0, "off") > 0.0


def test_an_autoscaler_gives_replicas_back():
    requests = steps(60.0, 2.0, 600.0, 3000.0)
    scaling = Scaling(0.7, 20.0, 1, 8, stay_s=300.0)
    run = simulate(requests, [Pool(Affine(), 8, scaling=scaling)], Policy())
    assert run.series[0]["up"][-20] == 1
    assert run.done.all()  # drained replicas end what they have


def test_upgrades_keep_requests_and_take_replicas_in_turn():
    failures = Failures(0.0, 0.0, (), upgrade_every_s=300.0, upgrade_s=60.0, upgrade_together=2)
    run = simulate(traffic(40.0, 590.0), [Pool(Affine(), 6)], Policy(cold_start_s=20.0), failures)
    assert run.done.all() and (run.tries == 0).all()
    assert run.seconds(0, "down") == pytest.approx(60.0 * 6)
    down = run.series[0]["down"] + run.series[0]["warming"] + run.series[0]["draining"]
    assert down.max() <= 4


def test_a_shared_domain_takes_its_replicas_together():
    failures = Failures(0.0, 30.0, (Shared("rack", 4, 1 / 400.0, 30.0),))
    run = simulate(traffic(20.0, 600.0), [Pool(Affine(), 8)], Policy(cold_start_s=5.0), failures, seed=3)
    assert run.books[0, records.FAILURES] % 4 == 0 and run.books[0, records.FAILURES] > 0
    assert run.books[0, records.LOST_PROMPT] > 0


def test_spares_bring_a_lost_replica_back_sooner():
    failures, policy = Failures(1 / 600.0, 600.0), Policy(cold_start_s=5.0, detection_s=5.0)
    without = simulate(traffic(20.0, 600.0), [Pool(Affine(), 4)], policy, failures, seed=1)
    with_two = simulate(traffic(20.0, 600.0), [Pool(Affine(), 4, spares=8)], policy, failures, seed=1)
    assert with_two.seconds(0, "down") < 0.3 * without.seconds(0, "down")


def test_shedding_spares_the_urgent_class():
    requests = traffic(40.0, 60.0, priorities=(1.0, 1.0))
    run = simulate(requests, [Pool(Affine(max_batch=16), 1)], Policy(queue_limit=20.0))
    shed = run.end == ENDS.index("shed")
    assert shed.any()
    assert shed[requests.priority == 1].mean() > 1.5 * shed[requests.priority == 0].mean()
    assert np.isinf(run.ttft_s[shed]).all()  # they count, as infinitely late


def test_clients_leave_after_their_timeout():
    run = simulate(traffic(200.0, 60.0), [Pool(Affine(max_batch=16), 1)], Policy(timeout_s=5.0))
    assert (run.end == ENDS.index("late")).any()
    assert run.ttft_s[run.done].max() < 6.0


def test_looking_for_prefixes_finds_them():
    requests = traffic(60.0, 60.0, prefix_share=0.8)
    found = {}
    for router in ("round-robin", "prefix-aware"):
        run = simulate(requests, [Pool(Affine(), 8)], Policy(router=router))
        found[router] = run.books[0, records.CACHED_TOKENS] / requests.prefix_tokens.sum()
    assert found["round-robin"] == pytest.approx(1 / 8, abs=0.02)
    assert found["prefix-aware"] > 0.8


def test_requests_beyond_memory_are_turned_away_and_counted():
    requests = traffic(10.0, 60.0)
    run = simulate(requests, [Pool(Affine(kv_capacity_tokens=1500), 2)], Policy())
    beyond = requests.input_tokens + requests.output_tokens > 1500
    assert beyond.any()
    assert (run.end[beyond] == ENDS.index("shed")).all()
    assert run.done[requests.input_tokens + requests.output_tokens < 1490].all()


@pytest.mark.parametrize("seed", range(6))
def test_invariants_of_random_fleets(seed):
    luck = np.random.default_rng(seed)
    engine = Affine(
        kv_capacity_tokens=int(luck.integers(12_000, 200_000)), max_batch=int(luck.integers(4, 200)),
        base=float(luck.uniform(2e-3, 2e-2)), tokens_per_step=float(luck.choice([1.0, 1.0, 1.8])),
    )  # fmt: skip
    pools = [
        Pool(engine, int(luck.integers(1, 9)), evicts=bool(luck.integers(2)), mixed=bool(luck.integers(2)))
    ]
    if luck.integers(2):
        pools = [Pool(engine, 3, prefill_only=True), *pools]
    policy = Policy(router=ROUTERS[seed % 4], transfer_s=1e-3)
    requests = traffic(
        float(luck.uniform(5, 60)), 60.0, seed, cv=float(luck.uniform(0.3, 4.0)), prefix_share=0.3
    )
    run = simulate(requests, pools, policy, seed=seed)
    assert run.done.all()
    inside = run.books[:, records.INSIDE_SECONDS].sum()
    travel = policy.transfer_s * len(requests) if len(pools) > 1 else 0.0
    assert inside == pytest.approx((run.finish_s - requests.arrival_s).sum() - travel, rel=1e-9)  # Little
    for pool, book in zip(pools, run.books, strict=True):
        assert book[records.KV_PEAK] <= engine.kv_capacity_tokens
        assert book[: records.DOWN + 1].sum() == pytest.approx(pool.count * run.end_s)
        assert book[records.PREFILL_S] + book[records.DECODE_S] <= book[records.UP] * (1 + 1e-12)
    seen = run.books[:, records.PROMPT_TOKENS].sum() + run.books[0, records.CACHED_TOKENS]
    again = run.books[:, records.PREEMPTIONS].sum()
    assert seen == requests.input_tokens.sum() if not again else seen > requests.input_tokens.sum()
    least = engine.decode_s(1.0, requests.input_tokens.astype(float)) / engine.tokens_per_step
    more = requests.output_tokens > np.ceil(engine.tokens_per_step) * 4
    assert (run.tpot_s[more] >= 0.7 * least[more]).all()
    if engine.tokens_per_step == 1.0:
        assert (run.tpot_s[more] >= least[more] * (1 - 1e-9)).all()


def test_more_replicas_do_not_worsen_load_blind_routing():
    requests = traffic(60.0, 120.0, 5, cv=2.0)
    values = []
    for count in (3, 4, 6, 9, 14):
        run = simulate(requests, [Pool(Affine(), count)], Policy(router="round-robin"))
        values.append((quantile(run.ttft_s, 0.99), quantile(run.tpot_s, 0.95)))
    for before, after in pairwise(values):
        assert after[0] <= before[0] * 1.1 and after[1] <= before[1] * 1.1


def test_the_same_seed_gives_the_same_run():
    requests, failures = traffic(40.0, 60.0), Failures(1 / 100.0, 10.0)
    runs = [simulate(requests, [Pool(Affine(), 4)], Policy(), failures, seed=2) for _ in range(2)]
    assert (runs[0].finish_s == runs[1].finish_s).all()
