"""Ties of the search, ordered by the event simulation: the same layouts, near the closed form, stragglers of it told."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.training import Job, search
from argosy.training.rerank import by_schedule


def found(model, device, network, stack, **changes):
    job = Job(model, 8192, 1024)
    return job, search(job, device, network, stack, 2048, lambda layouts: 0.0 * layouts.tp, 1.0, **changes)


@pytest.fixture(scope="module")
def ranked(llama3_405b, device, network, stack):
    job, before = found(llama3_405b, device, network, stack, fixed={"tp": 8, "zero": 1}, tolerance=0.2)
    return before, by_schedule(before, job, device, network, stack)


def test_ties_are_the_same_layouts_in_the_order_of_their_simulated_times(ranked):
    before, after = ranked
    assert before.ties == len(after.simulated_s) > 2
    assert list(after.simulated_s) == sorted(after.simulated_s)
    np.testing.assert_allclose(np.sort(after.best.step_s), np.sort(before.best.step_s))
    assert after.to_dict()["ranked_by"].startswith("closed form, ties by event")
    assert all(tie["slower_by"] >= 0 for tie in after.to_dict()["ties"])


def test_the_simulation_stays_near_the_closed_form(ranked):
    _, after = ranked
    ratio = np.array(after.simulated_s) / after.best.step_s[: after.ties]
    assert np.all(np.abs(ratio - 1) < 0.05)
    assert len(np.unique(ratio.round(6))) > 1  # it sees something that the closed form does not


def test_without_a_pipeline_there_is_nothing_to_simulate(small, device, network, stack):
    job, before = found(small, device, network, stack, fixed={"pp": 1})
    assert by_schedule(before, job, device, network, stack) is before
    assert before.to_dict()["ranked_by"] == "closed form"


def test_a_pipeline_takes_no_longer_than_the_step(llama3_405b, device, network, stack):
    _, before = found(llama3_405b, device, network, stack, fixed={"tp": 8})
    assert np.all(before.best.pipeline_s < before.best.step_s)
    parts = before.best.breakdown
    inside = sum(
        parts[k] for k in ("compute", "tp_exposed", "cp_exposed", "ep_exposed", "bubble", "pp_exposed")
    )
    assert np.all(before.best.pipeline_s >= inside * (1 - 1e-12))
