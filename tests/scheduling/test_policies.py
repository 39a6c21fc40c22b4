"""What each policy is for, on workloads small enough to work out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from argosy.scheduling import PRESETS, STATUSES, Job, Quota, preset, simulate, uniform

NODE = uniform(1, 8)


def starts(outcome) -> dict[str, float]:  # type: ignore[no-untyped-def]
    return {job.job: float(at) for job, at in zip(outcome.jobs, outcome.start_s, strict=True)}


def part(outcome, name: str) -> float:  # type: ignore[no-untyped-def]
    return next(one.amount for one in outcome.ledger.children if one.name == name)


QUEUE = [Job("runs", 0, 100, 6), Job("large", 1, 50, 8), Job("short", 2, 50, 2), Job("long", 3, 200, 2)]


def test_fifo_holds_everybody_back():
    assert starts(simulate(NODE, QUEUE, preset("fifo"))) == {
        "runs": 0,
        "large": 100,
        "short": 150,
        "long": 150,
    }


def test_easy_lets_short_jobs_pass():
    assert starts(simulate(NODE, QUEUE, preset("easy"))) == {"runs": 0, "large": 100, "short": 2, "long": 150}


def test_skipping_starves_the_large_job():
    found = starts(simulate(NODE, QUEUE, preset("fgd")))
    assert found["long"] == 52 and found["large"] == 252


def test_conservative_keeps_the_promise_to_the_second():
    jobs = [
        Job("runs", 0, 100, 6),
        Job("large", 1, 50, 8),
        Job("second", 2, 100, 6),  # promised 150 to 250
        Job("next", 3, 60, 4),  # at 150 it would delay the second under neither rule
        Job("narrow", 4, 300, 2),
    ]
    easy, kept = (
        starts(simulate(NODE, jobs, preset("easy"))),
        starts(simulate(NODE, jobs, preset("conservative"))),
    )
    assert kept["second"] == easy["second"] == 150
    assert kept["narrow"] == 150 and kept["next"] == 250


def test_preemption_by_priority_saves_first():
    low = Job("low", 0, 100, 8, checkpoint_s=10, restart_s=5)
    outcome = simulate(NODE, [low, Job("high", 40, 20, 8, priority=1)], preset("priority"))
    assert starts(outcome) == {"low": 0, "high": 50}
    assert outcome.end_s[0] == 70 + 5 + 60
    assert outcome.preemptions.tolist() == [1, 0]
    assert part(outcome, "checkpoint") == 80 and part(outcome, "restart") == 40 and part(outcome, "lost") == 0


def test_preemption_without_grace_loses_what_is_not_saved():
    low = Job("low", 0, 100, 8, checkpoint_s=10, checkpoint_interval_s=30)
    killed = replace(preset("priority"), grace_s=0.0)
    outcome = simulate(NODE, [low, Job("high", 40, 20, 8, priority=1)], killed)
    assert starts(outcome)["high"] == 40
    assert part(outcome, "lost") == 10 * 8
    assert outcome.end_s[0] == 60 + 70


def test_nobody_is_evicted_in_vain():
    jobs = [Job("low", 0, 100, 4), Job("equal", 0, 100, 4, priority=1), Job("high", 10, 10, 8, priority=1)]
    outcome = simulate(NODE, jobs, preset("priority"))
    assert outcome.preemptions.sum() == 0 and starts(outcome)["high"] == 100


def test_fair_share_goes_to_who_has_least():
    jobs = [Job(f"a{i}", 0, 100, 4, tenant="a") for i in range(4)] + [Job("b", 0, 100, 4, tenant="b")]
    assert starts(simulate(NODE, jobs, preset("fair-share")))["b"] == 0
    assert starts(simulate(NODE, jobs, preset("fifo")))["b"] == 200


def test_dominant_resource_fairness_by_processors():
    """The example of the DRF paper: 9 processors and 18 GB; A wants 1 and 4, B 3 and 1: three of A, two of B."""
    nodes = replace(uniform(1, 16), cpus=np.array([9.0]), memory_bytes=np.array([18e9]))
    jobs = [Job(f"a{i}", 0, 100, 1, tenant="a", cpus=1, memory_bytes=4e9) for i in range(9)]
    jobs += [Job(f"b{i}", 0, 100, 1, tenant="b", cpus=3, memory_bytes=1e9) for i in range(9)]
    outcome = simulate(nodes, jobs, replace(preset("fair-share")), horizon_s=50)
    running = [job.job[0] for job, at in zip(outcome.jobs, outcome.start_s, strict=True) if at == 0]
    assert running.count("a") == 3 and running.count("b") == 2


def test_least_attained_service_gives_way_to_the_new():
    tiresias = replace(preset("tiresias"), thresholds_gpu_s=(400.0,))
    outcome = simulate(NODE, [Job("old", 0, 100, 8), Job("new", 60, 30, 8)], tiresias)
    assert starts(outcome)["new"] == 60 and outcome.end_s.tolist() == [130, 90]
    young = simulate(NODE, [Job("old", 0, 100, 8), Job("new", 40, 30, 8)], tiresias)
    assert starts(young)["new"] == 50  # when the old one falls to the second level


def test_borrowing_and_reclaiming():
    quotas = (Quota("a", 4, "all"), Quota("b", 4, "all"))
    jobs = [
        Job("a1", 0, 100, 4, tenant="a"),
        Job("a2", 1, 100, 4, tenant="a"),
        Job("b1", 10, 50, 4, tenant="b"),
    ]
    cluster = replace(NODE, quotas=quotas)
    kueue = simulate(cluster, jobs, preset("kueue"))
    assert starts(kueue) == {"a1": 0, "a2": 1, "b1": 10}
    assert kueue.preemptions.tolist() == [0, 1, 0]
    assert starts(simulate(cluster, jobs, replace(preset("fifo"), quota="limit"))) == {
        "a1": 0,
        "a2": 100,
        "b1": 10,
    }
    kept = simulate(cluster, jobs, replace(preset("kueue"), reclaim=False))
    assert starts(kept) == {"a1": 0, "a2": 1, "b1": 100}


def test_elastic_jobs_shrink_for_others_and_grow_again():
    elastic = Job("e", 0, 100, 8, kind="elastic", worker=1, elastic_min=2, elastic_max=8)
    outcome = simulate(NODE, [elastic, Job("r", 20, 40, 6)], preset("fgd"))
    assert starts(outcome)["r"] == 20
    assert outcome.end_s[0] == pytest.approx(60 + (100 - 20 - 40 * 2 / 8))


def test_moldable_jobs_take_what_is_there():
    molds = Job("m", 0, 100, 8, kind="moldable", sizes=((8, 1.0), (4, 0.6)))
    assert simulate(NODE, [molds], preset("fifo")).end_s[0] == 100
    busy = simulate(NODE, [Job("r", 0, 500, 4), replace(molds, submit_s=1)], preset("fifo"))
    assert busy.end_s[1] == pytest.approx(1 + 100 / 0.6)


def test_fractions_share_one_accelerator():
    jobs = [Job(str(i), 0, 10, 1, fraction=0.5) for i in range(4)]
    outcome = simulate(uniform(1, 2), jobs, preset("fifo"))
    assert outcome.end_s.tolist() == [10.0] * 4 and part(outcome, "productive") == 20


def test_two_halves_do_not_hold_each_other():
    """Gangs: one of two jobs that need all starts. One by one: each may hold what the other lacks, until it gives up."""
    jobs = [Job("first", 0, 10, 16), Job("second", 0, 10, 16), Job("small", 0, 30, 8)]
    two = uniform(2, 8)
    gang = simulate(two, jobs, preset("fgd"))
    assert part(gang, "held") == 0
    split = simulate(two, [jobs[2], jobs[0], jobs[1]], replace(preset("wsc"), hold_s=600))
    assert part(split, "held") == 8 * 30
    assert all(STATUSES[code] == "finished" for code in split.status)


def test_migration_makes_whole_nodes():
    jobs = [
        Job("a", 0, 100, 4),
        Job("b", 0, 20, 4),
        Job("c", 0, 100, 4),
        Job("d", 0, 20, 4),
        Job("whole", 30, 10, 8),
    ]
    two = uniform(2, 8)
    spread = replace(preset("defragment"), placement="first-fit")
    moved = simulate(two, jobs, spread)
    assert starts(moved)["whole"] == 30 and moved.migrations.sum() == 1
    assert starts(simulate(two, jobs, replace(spread, defragment=False)))["whole"] == 100


def test_types_and_their_speeds():
    from argosy.scheduling import joined

    mixed = replace(
        joined((uniform(1, 8, accelerator="A"), uniform(1, 8, accelerator="B"))), speeds={"B": 2.0}
    )
    outcome = simulate(mixed, [Job("any", 0, 100, 8), Job("a", 0, 100, 8, accelerator="A")], preset("fifo"))
    assert outcome.end_s.tolist() == [50.0, 100.0]


def test_every_fault_of_a_request_is_told_at_once():
    with pytest.raises(ValueError) as caught:
        simulate(
            NODE, [Job("x", -1, 0, 0, kind="odd", topology="room")], replace(PRESETS["fifo"], order="luck")
        )
    assert str(caught.value).count("\n") >= 4
    with pytest.raises(KeyError, match="did you mean tiresias"):
        preset("tiresas")


def test_a_borrower_does_not_shrink_another_tenants_elastic_job():
    """Its owner would reclaim at once, the borrower shrink it again, and so on at one moment for ever."""
    quotas = (Quota("a", 8, "all"), Quota("b", 16, "all"))
    cluster = replace(uniform(3, 8), quotas=quotas)
    elastic = Job("e", 0, 100, 24, tenant="b", kind="elastic", worker=1, elastic_min=1)
    for size, start in ((20, 100.0), (8, 1.0)):
        jobs = [elastic, Job("x", 1, 10, size, tenant="a", priority=5)]
        outcome = simulate(cluster, jobs, preset("kueue"))
        assert outcome.start_s[1] == start
