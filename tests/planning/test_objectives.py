"""Layouts by time, money and energy: the plan's own numbers, and a front checked by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argosy
from argosy.planning.context import context
from argosy.planning.job import plan_job
from argosy.planning.objectives import Scorer, pareto, phases

SCENARIO = """
name: small
fleet: {{accelerator: H100-SXM, count: 256}}
prices: {{{prices}}}
training: {{name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok,
  search: {{objective: {objective}}}}}
"""


def planned(objective: str = "time", prices: str = ""):
    scenario = argosy.loads(SCENARIO.format(objective=objective, prices=prices))
    setting = context(scenario)
    return scenario, setting, plan_job(setting, scenario.training[0])


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=25))
@settings(max_examples=60, deadline=None)
def test_front_is_what_no_other_point_dominates(points):
    def dominates(a, b):
        return all(x <= y for x, y in zip(a, b, strict=True)) and a != b

    expected = [not any(dominates(other, point) for other in points) for point in points]
    assert pareto(points).tolist() == expected


def test_phases_sum_to_the_step():
    _, _, job = planned()
    steps = job.main.search.best
    np.testing.assert_allclose(sum(phases(steps).values()), steps.step_s, rtol=1e-12)


@pytest.mark.parametrize("objective", ["time", "cost", "energy"])
def test_the_search_minimises_its_objective(objective):
    _, setting, job = planned(objective)
    scores = Scorer(setting)(job.main.search.best).of(objective)
    assert (np.diff(scores) >= 0).all()
    _, _, fastest = planned("time")
    other = Scorer(setting)(fastest.main.search.best).of(objective)
    assert scores[0] <= other.min() * (1 + 1e-12)


def test_a_rented_fleet_costs_its_rent():
    _, setting, job = planned("cost", "accelerator_hour: 2 USD/h")
    scores = Scorer(setting)(job.main.search.best)
    accelerators = 256 + setting.spare_accelerators
    np.testing.assert_allclose(scores.cost, scores.time * accelerators * 2.0 / 3600.0, rtol=1e-12)


def test_the_score_of_a_step_is_the_plan_where_little_fails():
    """Energy and cost of all steps are the plan's own for the productive share of its time (ETTR 0.99 here)."""
    scenario, setting, job = planned()
    run = argosy.plan(scenario, draws=100).nominal
    scores = Scorer(setting)(job.main.nominal)
    share = float(run.jobs[0].ettr)
    assert share > 0.97
    assert scores.energy[0] * job.main.steps == pytest.approx(
        run.facility["energy_kwh"] * 3.6e6 * share, rel=0.02
    )
    assert scores.cost[0] * job.main.steps == pytest.approx(run.cost["total_usd"] * share, rel=0.02)
