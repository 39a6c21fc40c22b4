"""The two sites beforehand: cables, laws, schedules; without torch and without root."""

from __future__ import annotations

import json

import numpy as np
import pytest

from argosy.laws import wide_area
from argosy.testbed.hosts import TestbedError
from argosy.testbed.predict import Baseline
from argosy.testbed.sites import experiment, plan
from argosy.testbed.sites.predict import World, expected_overhead, share_of, stage_seconds
from argosy.testbed.wiring import Wiring


@pytest.fixture(scope="module")
def world():
    return World(plan.fabric(), Baseline(1.0, 0.0), 0.002)


def test_one_long_cable_between_two_sites_of_two_hosts():
    fabric = plan.fabric()
    (far,) = fabric.delay_s
    ends = {end.node for end in Wiring.of(fabric).ends[far]}
    assert ends == {"leaf-2", "spine-1"}
    assert (plan.site_bps(fabric), plan.card_bps(fabric)) == (100e6, 400e6)
    ways = [fabric.delay_of(a, b) for a, b in ((0, 1), (2, 3), (0, 2), (1, 3), (3, 0))]
    assert ways == [0.0, 0.0, 0.04, 0.04, 0.04]


def test_exchange_between_leaders_is_the_law_and_the_way_back(world):
    size = plan.model_bytes()
    assert world.law_s() == pytest.approx(size / 12.5e6 + 2 * 0.04)
    assert world.between_s() - world.law_s() == pytest.approx(size / 50e6)
    assert world.within_s() == pytest.approx(size / 50e6)


def test_a_ring_over_both_sites_message_by_message(world):
    slow, fast = (plan.model_bytes() / 4 / rate for rate in (12.5e6, 50e6))
    step = world.ring_step_s(0.06)
    assert step == pytest.approx(
        0.06 + 3 * (0.04 + slow) + 3 * fast
    )  # six hops, every other of them between the sites
    assert world.ring_s() == pytest.approx(
        3 * 0.04 + 6 * slow
    )  # the busiest link's bytes of all rounds, and the ways


def test_the_interval_holds_the_overhead_and_one_step_less_does_not(world):
    steps, step, between = world.interval(), world.step_s(), world.between_s()
    assert (
        expected_overhead(steps, step, between) <= plan.OVERHEAD < expected_overhead(steps - 1, step, between)
    )
    assert world.diloco_s(steps) == pytest.approx((steps * step + between) / steps)


def test_weights_come_well_between_two_ends_of_steps(world):
    ratio = world.way_s() / world.step_s(plan.QUICK)
    assert world.behind() == int(np.ceil(ratio)) == 3
    assert 0.3 < ratio % 1 < 0.9  # a little noise does not change the answer


def test_the_pipelines_law_and_its_events(world):
    law = world.pipeline_law()
    assert world.pipeline_s("gpipe") == pytest.approx(
        law["step"], rel=0.005
    )  # events know the short hops, too
    assert world.pipeline_s("1f1b") > 1.3 * law["step"]
    assert law["in_flight"] == np.ceil(2 * (0.04 + plan.micro_batch_bytes() / 12.5e6) / 0.045)
    assert stage_seconds() == (pytest.approx([0.015] * 4), pytest.approx([0.03] * 4))


def test_plans_are_as_long_as_they_say():
    short, full = plan.cases(True, 9), plan.cases(False, 9)
    assert [case.get("name") for case in short] == [case.get("name") for case in full]
    json.dumps(full)
    for case in short:
        if case.get("method") in ("diloco", "late"):
            assert case["steps"] % case["interval"] == 0
    assert plan.BATCH % plan.RANKS == plan.BATCH % plan.MICRO_BATCHES == 0


def found(world, spread=0.0):
    """What the ranks would have told, were everything as predicted; `spread`: of the steps."""
    interval = world.interval()
    cases = plan.cases(True, interval)
    said = experiment._predicted(world, interval)
    told = []
    for case in cases:
        name = case.get("name", "messages")
        if name == "messages":
            large = plan.BASELINE_BYTES * 8 / plan.card_bps(world.fabric)
            told.append([{"small_s": [0.0, 0.0], "large_s": [large, large], "stalled": 0.0}])
            continue
        steps = np.full(case["steps"], said.get(name, 0.7))
        if name == "diloco":
            steps[:] = world.step_s()
            steps[interval - 1 :: interval] += world.between_s()
        ends = np.concatenate([[0.0], np.cumsum(steps * (1 + spread))]).tolist()
        way, behind = [world.way_s()], [world.behind()]
        one = {
            "ends_s": ends,
            "loss": 2.0,
            "outer_s": [world.law_s()],
            "way_s": way,
            "behind": behind,
            "stalled": 0.001,
        }
        told.append([one] * plan.RANKS)
    alone = {"together": 2.0, "diloco": 2.0, "late": 2.0, "together, as many samples": 1.9}
    return {"found": told, "alone": alone}


def test_what_is_as_predicted_is_within_and_what_is_not_is_not(monkeypatch, world):
    monkeypatch.setattr(experiment, "why_not", lambda: None)
    monkeypatch.setattr(experiment, "_run", lambda cases, seconds: found(world))
    answer = experiment.run(True)
    assert answer["summary"]["within_bar"] == answer["summary"]["judged"] == 15
    assert answer["baseline"]["overhead_s"] == pytest.approx(0.002)
    json.dumps(answer)
    told = found(world)
    told["alone"]["diloco"] = 2.0001
    told["found"][-1][0] = {**told["found"][-1][0], "ends_s": [0.3 * step for step in range(9)]}
    monkeypatch.setattr(experiment, "_run", lambda cases, seconds: told)
    missed = [row["what"] for row in experiment.run(True)["comparisons"] if row["within"] is False]
    assert missed == ["pipeline cut between sites, 1F1B, simulated", "loss, DiLoCo, as in one process"]


def test_the_steadiest_of_several_runs_counts(monkeypatch, world):
    shares = iter([0.5, 0.1, 0.3, 0.015, 0.2])

    def ran(cases, seconds):
        told, share = found(world), next(shares)
        told["found"][2] = [{**one, "stalled": share} for one in told["found"][2]]
        return told

    monkeypatch.setattr(experiment, "why_not", lambda: None)
    monkeypatch.setattr(experiment, "_run", ran)
    assert experiment.run(False)["stalled"] == 0.1  # three tries, none of them quiet
    assert experiment.run(False)["stalled"] == 0.015
    assert experiment.run(True)["stalled"] == 0.2  # the short form is not run again


def test_without_namespaces_it_is_said(monkeypatch):
    monkeypatch.setattr(experiment, "why_not", lambda: "root is needed")
    with pytest.raises(TestbedError, match="root is needed"):
        experiment.run(True)


def test_the_share_that_outer_steps_take():
    steps = ([0.1] * 8 + [0.3]) * 3
    assert share_of(steps, 9) == pytest.approx(0.2 / 1.1)
    assert experiment._rounds(steps, 9) == pytest.approx(1.1 / 9)
    assert expected_overhead(9, 0.1, 0.2) == pytest.approx(0.2 / 1.1)


def test_forty_milliseconds_are_some_eight_thousand_kilometres():
    assert wide_area.fibre_distance(plan.DELAY_S) == pytest.approx(8.17e6, rel=0.01)
