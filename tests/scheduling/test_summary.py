"""Summaries, holdings and comparisons agree with the outcome that they are made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argosy.facts import FactError
from argosy.scheduling import Job, Policy, Random, preset, simulate, uniform
from argosy.scheduling.compare import FIGURES, Case, compare, interval
from argosy.scheduling.holdings import binned, by_leaf, holdings, occupancy
from argosy.scheduling.load import drawn_load
from argosy.scheduling.summary import (
    asked_share,
    by_size,
    by_tenant,
    group_row,
    job_rows,
    ledger_rows,
    recorded_rows,
    waits,
    whole,
)
from argosy.spec import JobClass, Scheduling
from argosy.spec.scheduling import Durations

DAY = 86400.0
MIX = (
    JobClass(name="small", share=8, tenants={"a": 1, "b": 1}, duration=Durations(median=600, mean=1200)),
    JobClass(name="gang", sizes={32: 1, 64: 1}, duration=Durations(median=7200, mean=9000), deadline=2.0),
    JobClass(name="bit", sizes={1: 1}, fraction=0.25, duration=Durations(median=600, mean=900)),
    JobClass(name="bend", kind="elastic", sizes={16: 1}, duration=Durations(median=3600, mean=4000)),
)
LOAD = Scheduling(mix=MIX, load=1.1, horizon=2 * DAY)


def outcome(policy: Policy | None = None, seed: int = 0):
    return simulate(
        uniform(16, 8, nodes_per_leaf=4),
        drawn_load(LOAD, 128, 8, seed).jobs,
        policy or preset("ml-fleet"),
        Random(4 / DAY, 7200.0),
        seed,
        LOAD.horizon,
    )


def test_groups_add_up_to_the_whole() -> None:
    played = outcome()
    for rows in (by_size(played), by_tenant(played)):
        for key in ("jobs", "finished", "pending", "preemptions", "restarts", "lost_gpu_s", "allocation"):
            assert sum(row[key] for row in rows) == pytest.approx(whole(played)[key]), key
    row = whole(played)
    assert row["utilization"] == pytest.approx(played.totals["utilization"])
    assert row["allocation"] == pytest.approx(played.totals["allocation"])
    assert row["goodput"] == pytest.approx(played.totals["goodput"])
    assert row["deadlines_missed"] >= 1
    assert sum(ledger_rows(played).values()) == pytest.approx(128 * LOAD.horizon)


def test_those_who_wait_still_are_counted_with_their_waits_so_far() -> None:
    played = outcome()
    pending = [number for number, row in enumerate(job_rows(played)) if row["status"] == "pending"]
    assert pending
    waited = waits(played)
    for number in pending:
        if np.isnan(played.start_s[number]):
            assert waited[number] == played.horizon_s - played.jobs[number].submit_s


def test_an_empty_group_has_no_quantiles() -> None:
    played = outcome()
    row = group_row(played, "none", np.zeros(len(played.jobs), dtype=bool), waits(played))
    assert row["wait_s"] == {"p50": None, "p90": None, "p99": None}
    assert row["goodput"] is None


def test_recorded_waits_stand_beside_simulated_ones() -> None:
    played = outcome()
    assert recorded_rows(played, [None] * len(played.jobs)) is None
    found = recorded_rows(played, [1.0] + [None] * (len(played.jobs) - 1))
    assert found is not None and (found["jobs"], found["recorded_wait_s"]["p50"]) == (1, 1.0)


def test_holdings_are_what_the_ledger_counts() -> None:
    for name in ("ml-fleet", "wsc", "easy", "shortest-remaining"):
        played = outcome(preset(name))
        found = holdings(played)
        jobs = found.job >= 0
        held = float((found.amount * (found.to_s - found.from_s))[jobs].sum())
        ledger = ledger_rows(played)
        assert held == pytest.approx(played.totals["allocation"] * played.ledger.amount, rel=1e-9), name
        away = float((found.amount * (found.to_s - found.from_s))[~jobs].sum())
        assert away == pytest.approx(ledger["down"] + ledger["drained"], rel=1e-9), name
        series = occupancy(played, found, bins=48)
        mean = sum(np.mean(values) for values in series["held"].values())
        assert mean == pytest.approx(played.totals["allocation"] * 128, rel=1e-9), name
        assert np.mean(series["away"]) == pytest.approx(away / played.horizon_s, rel=1e-9)
        queued = sum(
            played.queued_s[n] * job.accelerators * (job.fraction or 1) for n, job in enumerate(played.jobs)
        )
        if name != "wsc":  # where a part of a job may run and the rest wait
            assert np.mean(series["queued"]) == pytest.approx(queued / played.horizon_s, rel=1e-6), name
        leaves = by_leaf(played, found, bins=10)["leaves"]
        assert len(leaves) == 4
        assert np.mean([row["held"] for row in leaves]) == pytest.approx(played.totals["allocation"])


def test_no_node_holds_more_than_it_has() -> None:
    played = outcome()
    found = holdings(played)
    for node in range(16):
        mine = found.node == node
        moments = np.concatenate([found.from_s[mine], found.to_s[mine]])
        change = np.concatenate([found.amount[mine], -found.amount[mine]])
        order = np.lexsort((change, moments))  # what is given back at a moment comes first
        assert np.cumsum(change[order]).max() <= 8 + 1e-9


def test_bins_are_means_of_what_falls_into_them() -> None:
    edges = np.array([0.0, 5.0, 10.0])
    found = binned(np.array([0.0, 5.0]), np.array([10.0, 7.0]), np.array([2.0, 4.0]), edges)
    assert found.tolist() == [2.0, 3.6]


def test_asked_is_size_times_time() -> None:
    jobs = [Job("a", 0.0, 50.0, 8), Job("b", 10.0, np.inf, 4, kind="service")]
    played = simulate(uniform(2), jobs, preset("fifo"), horizon_s=100.0)
    assert asked_share(played) == pytest.approx((50 * 8 + 90 * 4) / 1600)


def case() -> Case:
    return Case(
        uniform(16, 8, nodes_per_leaf=4),
        lambda seed: drawn_load(LOAD, 128, 8, seed).jobs,
        Random(4 / DAY, 7200.0),
        LOAD.horizon,
    )


def test_a_policy_differs_from_itself_by_nothing_and_pairs_beat_luck() -> None:
    same = replace(preset("easy"), name="same")
    found = compare(case(), [preset("easy"), same, preset("fifo")], range(4))
    first, again, other = found["policies"]
    assert first["against_first"] is None
    for name in FIGURES:
        assert again["figures"][name] == first["figures"][name]
        assert again["against_first"][name]["mean"] in (0.0, None)

    def width(row):
        return row["high"] - row["low"]

    assert width(other["against_first"]["utilization"]) < width(other["figures"]["utilization"])
    assert other["figures"]["wait_p50_s"]["mean"] > first["figures"]["wait_p50_s"]["mean"]


def test_intervals() -> None:
    assert interval(np.array([np.nan])) == {"mean": None, "low": None, "high": None}
    assert interval(np.array([2.0, np.nan])) == {"mean": 2.0, "low": None, "high": None}
    found = interval(np.array([1.0, 2.0, 3.0]))
    assert found["high"] - found["mean"] == pytest.approx(4.302653 * 1.0 / 3**0.5, rel=1e-6)


def test_what_cannot_be_is_told_all_at_once() -> None:
    bad = Case(uniform(2), lambda seed: (Job("a", 0.0, -1.0, 8), Job("b", 0.0, 1.0, 0)))
    with pytest.raises(FactError) as caught:
        bad.played(preset("fifo"), 0)
    assert len(caught.value.problems) == 2
