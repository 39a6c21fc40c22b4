"""Sizing against trying every number of replicas; the autoscaler's gap and the ledger on random small fleets."""

import numpy as np
import pytest
from affine_engine import Affine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argosy.serving.account import autoscaler_gap, checks, ledger, utilisation
from argosy.serving.failures import Failures, Shared
from argosy.serving.fleet import Policy, Pool
from argosy.serving.objectives import met, objectives
from argosy.serving.option import Limits, Option
from argosy.serving.sizing import ScalingRule, Service, run, size
from argosy.serving.traffic import LengthShape, Synthetic, made

QUICK = settings(
    derandomize=True, max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
PROMISES = ({"ttft_p99": 0.5, "tpot_p95": 0.02}, {"ttft_p90": 0.2}, {"e2e_p95": 2.0}, {"tpot_p50": 0.008}, {})


@st.composite
def asked(draw, failures=False):
    """A service of a few thousand requests, and an engine small enough that it needs several replicas."""
    shape = Synthetic(
        draw(st.floats(5.0, 200.0)), draw(st.sampled_from([0.5, 1.0, 3.0])),
        (LengthShape(draw(st.floats(50.0, 1500.0)), 1.0),), (LengthShape(draw(st.floats(5.0, 150.0)), 1.0),), longest=8000,
    )  # fmt: skip
    seeds = draw(st.integers(1, 2))
    fails = Failures(1 / 2000.0, 30.0, (Shared("rack", 4, 1 / 3000.0, 30.0, draw(st.sampled_from([0, 3]))),))
    service = Service(
        "small", tuple(made(shape, 60.0, seed) for seed in range(seeds)), objectives(draw(st.sampled_from(PROMISES))),
        0.99, fails if failures else Failures(0.0, 60.0), draw(st.sampled_from([1, 2, 8])), tuple(range(seeds)),
        scaling=draw(st.sampled_from([None, ScalingRule(0.7, 15.0, 30.0)])) if failures else None,
    )  # fmt: skip
    engine = Affine(max_batch=draw(st.sampled_from([4, 32])))
    decode = Pool(engine, 1) if draw(st.booleans()) else None
    pool = Pool(engine, 1, prefill_only=decode is not None)
    policy = Policy(router=draw(st.sampled_from(["round-robin", "least-work"])), cold_start_s=5.0)
    return service, Option(pool, decode, 16e9, 989e12, "bf16", policy)


@QUICK
@given(asked())
def test_the_smallest_fleet_is_the_one_that_force_finds(world):
    service, option = world
    if not all(len(trace) for trace in service.traces):
        return
    stretch = service.trial()[:1]

    def keeps(*counts):
        return met(run(service, option, counts, stretch), service.wanted)

    found = size(service, option)
    if found is None:
        few = Limits(option, service.mean, service.tpot_limit_s).replicas(stretch[0].rate_per_s)
        assert not keeps(*(8 * each for each in few))
        return
    assert keeps(*found.needed)
    if option.decode is None:
        fewest = next(count for count in range(1, found.needed[0] + 1) if keeps(count))
        if fewest < found.needed[0]:  # only where more replicas are now and then worse
            assert not all(keeps(count) for count in range(fewest, found.needed[0]))
            assert found.needed[0] - fewest <= max(1, 0.1 * fewest)
    else:  # neither pool has one too many
        for fewer in ((found.needed[0] - 1, found.needed[1]), (found.needed[0], found.needed[1] - 1)):
            assert min(fewer) == 0 or not keeps(*fewer)


@QUICK
@given(asked(failures=True))
def test_ledger_gap_and_checks_of_random_fleets(world):
    service, option = world
    if not all(len(trace) > 5 for trace in service.traces):
        return
    sized = size(service, option, whole=True)
    if sized is None:
        return
    whole = sized.whole_gpus(service.node_size)
    tree = ledger(service, sized, whole)  # a ledger that does not close raises
    assert tree.amount > 0.0
    gap = autoscaler_gap(service, sized, whole)
    parts = gap["parts_gpu_s"]
    assert set(parts) == {"fragmentation", "objective_slack", "lag", "redundancy"}
    assert sum(parts.values()) == pytest.approx(gap["gap_gpu_s"], rel=1e-9, abs=1e-6)
    assert gap["held_gpu_s"] == pytest.approx(gap["bound_gpu_s"] + gap["gap_gpu_s"])
    assert (
        parts["fragmentation"] >= -1e-6 and parts["objective_slack"] >= -1e-6 and parts["redundancy"] >= -1e-6
    )
    for check in checks(sized):
        assert check["holds"], check
    for span in ("warm-up", "window", "run-out"):
        assert 0.0 <= utilisation(sized, whole, span) <= 1.0 + 1e-9
    # held by brute force: the time series of states, within a sample's width at its changes
    first = sized.runs[0]
    for number, pool in enumerate(first.pools):
        series = first.series[number]
        inside = series[series["at"] <= first.requests.horizon_s]
        seen = sum(inside[name].mean() for name in ("up", "warming", "draining", "down"))
        held = first.held_s(number) / first.requests.horizon_s
        assert abs(held - seen) <= max(2.0, 0.3 * pool.count)
    assert np.isfinite(list(parts.values())).all()
