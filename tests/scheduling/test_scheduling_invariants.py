"""Random workloads under every policy, with failures, drains and upgrades: an independent judge replays each log.

What it holds against a log: no node above its capacity, no part of a gang, topologies and quotas kept, nobody on nodes that are
away, the ledger equal to the log's own areas, and nobody waiting whom the policy's own rule could start.
"""

import numpy as np
import pytest
import random_load
from hypothesis import given, settings
from hypothesis import strategies as st
from replay import Replay

from argosy.scheduling import PRESETS, STATUSES, Outcome, Random, simulate

NAMES = list(PRESETS)


def played(seed: int) -> Outcome:
    luck = np.random.default_rng([seed, 5])
    cluster, jobs = random_load.cluster(luck), random_load.jobs(luck)
    policy = random_load.policy(luck, NAMES[seed % len(NAMES)])
    span = 2 * max(job.submit_s for job in jobs) + 100
    outages = random_load.outages(luck, cluster.nodes, span)
    return simulate(cluster, jobs, policy, outages)


def sound(outcome: Outcome) -> list[str]:
    """Problems of an outcome, by the judge and by Little's law."""
    problems = Replay(outcome).run()
    submitted = np.array([job.submit_s for job in outcome.jobs])
    inside = np.where(np.isnan(outcome.end_s), outcome.horizon_s, outcome.end_s) - submitted
    there = submitted <= outcome.horizon_s
    steps = np.concatenate(
        [submitted[there], np.minimum(outcome.end_s[there & ~np.isnan(outcome.end_s)], outcome.horizon_s)]
    )
    signs = np.concatenate(
        [np.ones(int(there.sum())), -np.ones(int((there & ~np.isnan(outcome.end_s)).sum()))]
    )
    order = np.argsort(steps, kind="stable")
    number, times = np.cumsum(signs[order]), np.append(steps[order], outcome.horizon_s)
    area = float((number * np.diff(times)).sum())
    if abs(area - inside[there].sum()) > 1e-6 * max(area, 1.0):
        problems.append(f"Little: mean number × time is {area}, sum of stays {inside[there].sum()}")
    return problems


def test_the_judge_sees_what_is_broken():
    outcome = played(2)
    amounts = outcome.log.amount.copy()
    outcome.log.amount[:] = amounts * 2
    assert any("gang" in text or "holds more" in text for text in Replay(outcome).run())
    outcome.log.amount[:] = amounts
    assert not Replay(outcome).run()


def test_random_workloads_under_every_policy():
    broken = {seed: problems[:2] for seed in range(300) if (problems := sound(played(seed)))}
    assert not broken


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(300, 2**31 - 1))
def test_any_workload(seed):
    assert not sound(played(seed))


@pytest.mark.slow
def test_ten_thousand_random_workloads():
    broken = {seed: problems[:2] for seed in range(10_000, 20_000) if (problems := sound(played(seed)))}
    assert not broken


def test_failures_drawn_on_the_way_are_those_of_the_seed():
    luck = np.random.default_rng(1)
    cluster, jobs = random_load.cluster(luck), random_load.jobs(luck, 40)
    first, again, other = (
        simulate(cluster, jobs, PRESETS["ml-fleet"], Random(1 / 60, 120.0), seed) for seed in (3, 3, 4)
    )
    assert len(first.failures.at_s) > 3
    assert np.array_equal(first.log.time_s, again.log.time_s)
    assert not np.array_equal(first.failures.at_s, other.failures.at_s)
    assert not sound(first)


def test_everything_ends_when_nothing_fails():
    for seed in range(60):
        luck = np.random.default_rng([seed, 6])
        cluster, jobs = random_load.cluster(luck), random_load.jobs(luck)
        outcome = simulate(cluster, jobs, random_load.policy(luck, NAMES[seed % len(NAMES)]))
        ends = {STATUSES[code] for code in outcome.status}
        assert ends <= {"finished", "rejected", "gave-up"}, (seed, outcome.policy.name, ends)
