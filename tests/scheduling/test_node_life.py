"""Failures, replacement inside a gang, drains, upgrades with floors: small cases by hand."""

from dataclasses import replace

import numpy as np
import pytest

from argosy.scheduling import (
    CODE,
    STATUSES,
    Job,
    Outages,
    Planned,
    Upgrade,
    no_outages,
    preset,
    simulate,
    uniform,
)


def failing(at: float, node: int, away: float) -> Outages:
    return Outages(np.array([at]), np.array([node]), np.array([away]))


def part(outcome, name: str) -> float:  # type: ignore[no-untyped-def]
    return next(one.amount for one in outcome.ledger.children if one.name == name)


GANG = Job("gang", 0, 100, 16, checkpoint_interval_s=30, restart_s=5)


def test_a_lost_node_is_replaced_inside_the_gang():
    policy = replace(preset("fifo"), detection_s=2)
    outcome = simulate(uniform(3, 8), [GANG], policy, failing(40, 0, 1000))
    assert outcome.end_s[0] == 40 + 2 + 5 + 70
    assert part(outcome, "lost") == 10 * 16 and part(outcome, "restart") == 7 * 16
    assert part(outcome, "down") == 8 * (outcome.horizon_s - 40)
    assert outcome.restarts[0] == 1


def test_without_a_spare_the_gang_waits_for_the_repair():
    outcome = simulate(uniform(2, 8), [GANG], preset("fifo"), failing(40, 0, 60))
    assert outcome.end_s[0] == 100 + 5 + 70
    batch = simulate(uniform(3, 8), [GANG], preset("hpc"), failing(40, 0, 60))
    assert batch.end_s[0] == 40 + 5 + 70  # requeued, and started on other nodes
    assert (batch.log.event == CODE["fail"]).sum() == 1


def test_replacement_keeps_the_topology():
    leaves = uniform(4, 8, nodes_per_leaf=2)
    job = replace(GANG, topology="leaf")
    outcome = simulate(leaves, [job], preset("fifo"), failing(40, 0, 1000))
    log = outcome.log
    again = np.flatnonzero(log.event == CODE["start"])[1]
    assert log.node[log.first[again] : log.first[again] + 2].tolist() == [2, 3]


def test_an_elastic_job_goes_on_with_fewer():
    job = Job("e", 0, 100, 16, kind="elastic", worker=8, elastic_min=1, resize_s=4)
    outcome = simulate(uniform(2, 8), [job], preset("fifo"), failing(40, 0, 1e6))
    assert outcome.end_s[0] == 40 + 4 + 120 and part(outcome, "lost") == 0


def test_a_service_loses_a_replica_and_gets_it_back():
    job = Job("s", 0, 100, 16, kind="service", worker=8, floor=1)
    outcome = simulate(uniform(2, 8), [job], preset("fifo"), failing(40, 0, 20))
    assert outcome.end_s[0] == 100 and outcome.restarts[0] == 0
    assert part(outcome, "productive") == 16 * 100 - 8 * 20


def test_a_crash_loop_ends_at_the_limit():
    policy = replace(preset("fifo"), crash_limit=3, backoff_s=10, backoff_most_s=15)
    outcome = simulate(uniform(1, 8), [Job("bad", 0, 100, 8, crash_after_s=20)], policy)
    assert STATUSES[outcome.status[0]] == "gave-up"
    assert outcome.end_s[0] == 20 + 10 + 20 + 15 + 20
    assert part(outcome, "productive") == 0 and part(outcome, "lost") == 60 * 8


def test_a_drain_waits_for_jobs_or_evicts_them():
    job = Job("j", 0, 100, 8, checkpoint_s=5)
    patient = simulate(
        uniform(1, 8), [job, Job("k", 10, 10, 8)], preset("fifo"), no_outages((Planned(20, 0, 50),))
    )
    assert patient.end_s.tolist() == [100, 160]
    hasty = simulate(uniform(1, 8), [job], preset("fifo"), no_outages((Planned(20, 0, 50, patience_s=10),)))
    assert hasty.end_s[0] == 35 + 50 + 70 and hasty.preemptions[0] == 1
    assert part(hasty, "lost") == 0 and part(hasty, "drained") == 8 * 50


def floors(outcome, nodes: int) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    """The fewest nodes in service, and the fewest replicas of the first job after its start."""
    log, out, held, fewest, replicas = outcome.log, set(), 0, nodes, 10**9
    for row in range(len(log)):
        name = int(log.event[row])
        where = log.node[log.first[row] : log.first[row] + log.size[row]]
        amount = log.amount[log.first[row] : log.first[row] + log.size[row]].sum() / 8
        if name in (CODE["node-drain"], CODE["node-down"]):
            out.add(int(where[0]))
        elif name == CODE["node-up"]:
            out.discard(int(where[0]))
        elif log.job[row] == 0 and name in (CODE["start"], CODE["grow"]):
            held += amount
        elif log.job[row] == 0 and name == CODE["shrink"]:
            held -= amount
        fewest = min(fewest, nodes - len(out))
        replicas = min(replicas, held) if held else replicas
    return fewest, int(replicas)


@pytest.mark.parametrize("floor", [0.5, 0.8])
def test_a_rolling_upgrade_keeps_its_floors(floor):
    service = Job("s", 0, 2000, 48, kind="service", worker=8, floor=5)
    batch = [Job(str(i), i * 10.0, 60, 8) for i in range(20)]
    upgrade = Upgrade(100, 30, floor, patience_s=20)
    outcome = simulate(uniform(10, 8), [service, *batch], preset("ml-fleet"), no_outages((), (upgrade,)))
    assert (outcome.log.event == CODE["node-maintenance"]).sum() == 10
    fewest, replicas = floors(outcome, 10)
    assert fewest == 10 * floor and replicas >= 5


def test_pets_during_a_job_and_cattle_between():
    """A job keeps its nodes while it runs; after a requeue any others will do."""
    outcome = simulate(uniform(4, 8), [GANG, Job("x", 1, 500, 8)], preset("hpc"), failing(40, 1, 20))
    log = outcome.log
    rows = [r for r in range(len(log)) if log.job[r] == 0 and log.event[r] == CODE["start"]]
    sets = [set(log.node[log.first[r] : log.first[r] + 2].tolist()) for r in rows]
    assert sets[0] == {0, 1} and sets[1] == {0, 3}


def test_what_can_never_go_on_ends():
    """A node for good away, and a job without gangs that needs it: it does not hold the other one in turns for ever."""
    gone = no_outages((Planned(0, 1, float("inf")),))
    outcome = simulate(uniform(2, 8), [Job("both", 1, 10, 16)], preset("wsc"), gone)
    assert STATUSES[outcome.status[0]] == "pending" and outcome.horizon_s < 1e5
    gang = simulate(uniform(2, 8), [Job("both", 1, 10, 16)], preset("fifo"), gone)
    assert STATUSES[gang.status[0]] == "pending" and part(gang, "held") == 0
