"""Why a job is pending: each kind of cause on a case that has just that one."""

from dataclasses import replace

import numpy as np
import pytest

from argosy.scheduling import Job, Planned, Quota, blockers, no_outages, preset, simulate, uniform

TWO = uniform(2, 8)


def kinds(outcome, job: str, at_s: float | None = None) -> list[str]:  # type: ignore[no-untyped-def]
    return [one.kind for one in blockers(outcome, job, at_s)]


def test_too_few_free_and_who_must_end():
    outcome = simulate(TWO, [Job("a", 0, 100, 8), Job("b", 1, 10, 16)], preset("fifo"))
    found = blockers(outcome, "b")
    assert [one.kind for one in found] == ["gang-size"]
    assert "needs 16" in found[0].detail and "8 are free" in found[0].detail
    assert (
        "the end of a" in found[0].unblocked_by
        and "in fact it started at 100 s, when a gave" in found[0].unblocked_by
    )


def test_free_in_pieces():
    jobs = [Job("a", 0, 100, 5), Job("b", 0, 50, 5), Job("whole", 1, 10, 6)]
    found = blockers(simulate(TWO, jobs, preset("fifo")), "whole")
    assert found[0].kind == "fragmentation" and "the end of b" in found[0].unblocked_by


def test_no_common_leaf():
    leaves = uniform(4, 8, nodes_per_leaf=2)
    jobs = [
        Job("a", 0, 100, 8),
        Job("filler", 0, 1, 8),
        Job("b", 0.5, 100, 8),
        Job("two", 2, 10, 16, topology="leaf"),
    ]
    assert kinds(simulate(leaves, jobs, preset("fifo")), "two") == ["topology"]
    found = blockers(simulate(leaves, jobs, preset("fifo")), "two")
    assert "topology any would start it now" in found[0].unblocked_by


def test_quota_and_priority_and_order():
    cluster = replace(TWO, quotas=(Quota("t", 8),))
    jobs = [Job("a", 0, 100, 8, tenant="t"), Job("b", 1, 10, 8, tenant="t")]
    assert kinds(simulate(cluster, jobs, replace(preset("fifo"), quota="limit")), "b") == ["quota"]
    high = [Job("a", 0, 100, 16, priority=5), Job("b", 1, 10, 16, priority=5)]
    found = blockers(simulate(TWO, high, preset("priority")), "b")
    assert [one.kind for one in found] == ["gang-size", "priority"] and found[1].unblocked_by.startswith(
        "priority 6"
    )
    queue = [Job("a", 0, 100, 8), Job("b", 1, 10, 16), Job("c", 2, 200, 8)]
    assert kinds(simulate(TWO, queue, preset("fifo")), "c") == ["order"]
    found = blockers(simulate(TWO, queue, preset("easy")), "c")
    assert found[0].kind == "order" and "reservation" in found[0].detail


def test_nodes_away_and_what_can_never_run():
    gone = no_outages((Planned(0.5, 1, 50),))
    jobs = [Job("b", 1, 10, 16), Job("huge", 2, 10, 24), Job("loop", 3, 10, 8, crash_after_s=2)]
    outcome = simulate(TWO, jobs, preset("fgd"), gone)
    assert kinds(outcome, "b") == ["gang-size", "nodes"]
    assert kinds(outcome, "huge") == ["cluster"]
    assert kinds(outcome, "loop", 6.0) == ["crash-loop"]
    assert kinds(outcome, "loop") == []
    with pytest.raises(KeyError):
        blockers(outcome, "nobody")


def test_room_alone_is_not_all_where_others_wait_before():
    jobs = [Job("a", 0, 100, 8), Job("b", 0, 300, 8), Job("both", 1, 10, 16), Job("c", 2, 10, 8)]
    strict = blockers(simulate(TWO, jobs, preset("fifo")), "c")
    assert [one.kind for one in strict] == ["gang-size", "order"]
    assert "nobody passes the first" in strict[1].detail
    assert strict[1].unblocked_by.startswith("the start of both") and "at 310 s" in strict[1].unblocked_by
    easy = blockers(simulate(TWO, jobs, preset("easy")), "c")  # backfilled when a ends: done before b
    assert [one.kind for one in easy] == ["gang-size", "order"] and "at 100 s" in easy[1].unblocked_by
    assert kinds(simulate(TWO, jobs, preset("fifo")), "both") == ["gang-size"]


def test_nobody_waits_for_those_whom_their_quota_holds_back():
    cluster = replace(TWO, quotas=(Quota("t", 8),))
    jobs = [
        Job("a", 0, 100, 8, tenant="t"),
        Job("x", 0, 100, 8),
        Job("held", 1, 10, 8, tenant="t"),
        Job("free", 2, 10, 8),
    ]
    assert kinds(simulate(cluster, jobs, replace(preset("fifo"), quota="limit")), "free") == ["gang-size"]


@pytest.mark.parametrize(
    ("job", "detail", "way"),
    [
        (Job("r", 0, 10, 24), "the cluster has 16 on 2 nodes", "a smaller request"),
        (Job("r", 0, 10, 16, topology="leaf"), "within one leaf", "a wider topology"),
        (Job("r", 0, 10, 12, topology="node"), "within one node", "a wider topology"),
        (Job("r", 0, 10, 16, worker=16), "16 on each node", "smaller workers"),
        (Job("r", 0, 10, 8, accelerator="TPU"), "asks for 8 TPU; the cluster has H", "a type that is there"),
        (Job("r", 0, 10, 16, tenant="t"), "tenant t may have 8 at most", "a larger quota"),
        (Job("r", 0, 10, 8, cpus=999.0), "processors or memory", "less of both"),
    ],
)
def test_rejected_for_what(job, detail, way):
    cluster = uniform(2, 8, nodes_per_leaf=1, accelerator="H", quotas=(Quota("t", 8),))
    cluster = replace(cluster, cpus=np.full(2, 64.0), memory_bytes=np.full(2, 1e12))
    outcome = simulate(cluster, [job], replace(preset("fifo"), quota="limit"))
    (found,) = blockers(outcome, "r")
    assert found.kind == "cluster" and detail in found.detail and found.unblocked_by.startswith(way)
