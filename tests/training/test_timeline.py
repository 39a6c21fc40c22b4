"""The simulated pipeline of a layout beside the closed form of the same layout."""

import numpy as np
import pytest

from argosy.training import Job, Layouts, evaluate, simulate_layout

PIPELINE = ("compute", "tp_exposed", "cp_exposed", "ep_exposed", "bubble", "pp_exposed")


@pytest.mark.parametrize(
    "fields",
    [
        {"pp": 4},
        {"pp": 4, "schedule": "gpipe"},
        {"pp": 4, "vp": 2},
        {"pp": 2, "tp": 4, "recompute": "full"},
        {"pp": 1},
    ],
)
def test_simulation_and_formula_agree(small, device, network, stack, fields):
    layout = Layouts.one(grad_accumulation=32, **fields)
    job = Job(small, 4096, 32)
    steps = evaluate(job, device, network, stack, layout)
    host = steps.breakdown["other"][0] - stack.step_overhead_s
    formula = sum(steps.breakdown[name][0] for name in PIPELINE) + host
    assert simulate_layout(job, device, network, stack, layout).seconds == pytest.approx(formula, rel=0.03)


def test_a_slow_stage_shows(small, device, network, stack):
    layout, job = Layouts.one(pp=4, grad_accumulation=8), Job(small, 4096, 8)
    slow = np.ones((4, 8))
    slow[3] = 1.5  # the slowest already: it holds the output head
    even = simulate_layout(job, device, network, stack, layout)
    limped = simulate_layout(job, device, network, stack, layout, slow)
    assert limped.seconds > 1.2 * even.seconds
    assert limped.busy[3] == pytest.approx(1.5 * even.busy[3])


def test_one_layout_at_a_time(small, device, network, stack):
    with pytest.raises(ValueError, match="one layout"):
        simulate_layout(
            Job(small, 4096, 8), device, network, stack, Layouts.one(pp=[1, 2], grad_accumulation=8)
        )


@pytest.mark.parametrize("schedule", ["zero-bubble-h2", "zero-bubble-v", "dualpipe"])
def test_other_schedules_of_one_layout(small, device, network, stack, schedule):
    layout, job = Layouts.one(pp=4, grad_accumulation=16), Job(small, 4096, 16)
    plain = simulate_layout(job, device, network, stack, layout)
    other = simulate_layout(job, device, network, stack, layout, schedule=schedule)
    assert other.busy.sum() == pytest.approx(plain.busy.sum())
    assert other.bubble_fraction < plain.bubble_fraction
