"""Why a job is pending: each kind of cause on a case that has just that one."""

from dataclasses import replace

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
