"""The fleet simulation as a server with slots, against a queue of our own; what the proxy tries again."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from argosy.testbed.failover import predict
from argosy.testbed.failover.predict import Baseline
from argosy.testbed.failover.trace import Checks, Fleet, Trace, Traffic

NONE = Baseline(0.0, 0.0)


def queue(trace, slots):
    """Waits of a first-come first-served queue before `slots`: the oracle."""
    free, waits = [0.0] * slots, []
    for due, work in zip(trace.due_s, trace.service_s, strict=True):
        begin = max(due, heapq.heappop(free))
        waits.append(begin - due)
        heapq.heappush(free, begin + work)
    return np.array(waits)


@pytest.mark.parametrize("cv", [1.0, 0.25])
def test_one_queue_before_all_slots(cv):
    trace = Traffic(130.0, 0.1, cv).draw(30.0, 3)
    run = predict.fleet_run(trace, Fleet(), "round-robin", NONE, central=True)
    found = predict.waits_s(run, NONE, trace)
    assert np.abs(found - queue(trace, 16)).max() < 0.003  # iterations of 0.1 ms, which add up in a busy time


def test_a_queue_at_every_replica_in_turn():
    trace = Traffic(130.0, 0.1).draw(20.0, 4)
    run = predict.fleet_run(trace, Fleet(), "round-robin", NONE)
    for replica in range(4):
        part = Trace(trace.due_s[replica::4], trace.service_s[replica::4], trace.horizon_s)
        found = predict.waits_s(run, NONE, trace)[replica::4]
        assert np.abs(found - queue(part, 4)).max() < 0.003


def test_what_the_baseline_adds():
    trace = Trace(np.array([0.0, 1.0]), np.array([0.1, 0.1]), 2.0)
    run = predict.fleet_run(trace, Fleet(), "least-work", Baseline(0.002, 0.003))
    assert run.e2e_s.tolist() == pytest.approx([0.105, 0.105], abs=2e-4)
    assert predict.waits_s(run, Baseline(0.002, 0.003), trace).tolist() == pytest.approx([0, 0], abs=2e-4)


def test_policies_in_their_known_order():
    trace = Traffic(140.0, 0.1).draw(120.0, 5)
    waits = [
        predict.fleet_run(trace, Fleet(), one, NONE).e2e_s.mean()
        for one in ("round-robin", "power-of-two", "least-work")
    ]
    assert waits[0] > waits[1] > waits[2]


def test_simulation_and_law_agree_in_the_long_run():
    traffic, fleet = Traffic(130.0, 0.1), Fleet()
    trace = traffic.draw(3000.0, 6)
    run = predict.fleet_run(trace, fleet, "round-robin", NONE, central=True)
    law = predict.law(trace, 1.0, fleet, NONE)
    assert predict.waits_s(run, NONE, trace).mean() == pytest.approx(law.wait_s, rel=0.08)
    assert trace.rate * run.e2e_s.mean() == pytest.approx(law.inside, rel=0.02)
    low, high = predict.spread(traffic, fleet, NONE, 20.0, draws=20)["wait_s"]
    assert low < 1.0 < high


def test_a_rolling_upgrade_takes_each_replica_away_once():
    trace = Traffic(40.0, 0.1).draw(12.0, 7)
    run = predict.fleet_run(trace, Fleet(), "least-work", NONE, upgrade=(2.0, 1.0))
    assert run.seconds(0, "down") == pytest.approx(4.0, abs=1e-6)
    assert run.done.all()


def test_shedding_beyond_the_capacity_that_is_left():
    traffic, fleet = Traffic(96.0, 0.1), Fleet(waiting=4)
    trace = traffic.draw(60.0, 8)
    run = predict.overloaded(trace, fleet, 2, "round-robin", NONE)
    shed = 1 - run.done.mean()
    bound = predict.shed_at_least(traffic, fleet, 2, NONE)
    assert bound == pytest.approx(1 - 80 / 96)
    assert bound * 0.9 < shed < bound + 0.1
    assert run.e2e_s[run.done].max() < 3.0
    assert predict.shed_at_least(traffic, fleet, 4, NONE) == 0.0


def turns(replicas, arrivals):
    """Round robin with one dead replica: whoever is refused takes the next one's turn. Refusals."""
    at, refused = 0, 0
    for _ in range(arrivals):
        if at % replicas == 0:  # the dead one
            refused += 1
            at += 1
        at += 1
    return refused


@pytest.mark.parametrize("replicas", [2, 3, 4, 8])
def test_round_robin_sends_one_of_those_left_to_the_dead(replicas):
    share = predict.drawn_to_dead("round-robin", replicas)
    assert turns(replicas, 8400) == pytest.approx(8400 * share, abs=1)


def test_of_two_draws_the_dead_one_wins_whenever_it_is_drawn():
    drawn = np.random.default_rng(0).integers(0, 4, (100_000, 2))
    assert predict.drawn_to_dead("power-of-two", 4) == pytest.approx((drawn == 0).any(1).mean(), abs=0.01)
    assert predict.drawn_to_dead("least-work", 4) == 1.0


def test_retried_are_those_under_way_and_those_sent_there_unnoticed():
    found = predict.retried(Traffic(80.0, 0.1), Fleet(), "least-work", 0.125, 1.0)
    assert found == pytest.approx(80 / 4 * 0.125 + 80)
    low, high = predict.poisson(found)
    assert low < found < high and high - low == pytest.approx(2 * 2.576 * found**0.5, rel=0.1)


def test_checks_take_between_fall_minus_one_and_fall_intervals():
    assert Checks(0.5, 3, 2).down_s == (1.0, 1.5)
    assert Checks(0.5, 3, 2).up_s == (0.5, 1.0)
    phases = np.random.default_rng(1).random(10_000) * 0.5  # from the kill to the next check
    assert predict.noticed_s(Checks()) == pytest.approx((phases + 2 * 0.5).mean(), abs=0.01)


def test_a_drain_ends_with_the_longest_of_those_under_way():
    # hardly anyone there: one request at most, of which an exponential rest is left; else the longest of several
    alone = predict.away_s(Traffic(2.0, 0.1), Fleet(), "least-work", NONE, 1.0) - 1.0
    many = predict.away_s(Traffic(96.0, 0.1), Fleet(), "least-work", NONE, 1.0) - 1.0
    longest = np.random.default_rng(2).exponential(0.1, (100_000, 3)).max(1).mean()
    assert 0.0 <= alone < 0.03
    assert many == pytest.approx(longest, rel=0.3)


def test_traces_are_the_same_every_time_and_join():
    one, again = (Traffic(100.0, 0.1).draw(10.0, 5) for _ in range(2))
    assert np.array_equal(one.due_s, again.due_s) and np.array_equal(one.service_s, again.service_s)
    assert one.offered == pytest.approx(10.0, rel=0.15)
    both = one.then(Traffic(50.0, 0.1).draw(4.0, 6))
    assert both.horizon_s == 14.0 and (np.diff(both.due_s) > 0).all()
    part = both.part(10.0, 14.0)
    assert part.due_s[0] >= 0 and len(part) + len(one) == len(both)
    assert Fleet().load(Traffic(96.0, 0.1), away=2) == pytest.approx(1.2)
