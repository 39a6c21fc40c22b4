"""Stacks and devices from facts, and the grade of a prediction."""

from dataclasses import replace

import numpy as np
import pytest
from training_fixtures import h100

from argosy.facts import Values, load_catalog
from argosy.training import (
    GRADES,
    PRESETS,
    Device,
    Job,
    Layouts,
    Stack,
    device_facts,
    evaluate,
    grade,
    residual_draws,
    residual_sigma,
    stack_facts,
)
from argosy.training.kernels import ATTENTION_KERNELS


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_stack_whose_numbers_have_bands_and_sources(name):
    stack = Stack.preset(name)
    assert stack.attention in ATTENTION_KERNELS
    for path, fact in stack_facts().items():
        if path.startswith(f"stacks.{name}."):
            assert fact.low <= fact.value <= fact.high
            assert fact.source
            assert getattr(stack, path.split(".")[-1]) == fact.value


def test_fractions_stay_fractions():
    for path, fact in stack_facts().items():
        if path.endswith(("_hidden", "overlap_drag")):
            assert fact.low >= 0 and fact.high <= 1, path


def test_unknown_preset_says_which_there_are():
    with pytest.raises(KeyError, match="megatron-core"):
        Stack.preset("megatron-corr")


def test_a_stack_is_sampled_like_any_fact():
    drawn = Stack.from_values(Values(stack_facts()).sample(500, seed=3), "generic")
    assert drawn.tp_hidden.shape == (500,)
    assert np.median(drawn.tp_hidden) == pytest.approx(Stack.preset("generic").tp_hidden, abs=0.05)


def test_a_step_over_draws_of_every_fact_is_finite(small, network):
    values = Values({**load_catalog().facts, **device_facts(), **stack_facts()}).sample(3000, seed=1)
    device, stack = Device.from_values(values, "H100-SXM"), Stack.from_values(values, "generic")
    layout = Layouts.one(tp=2, pp=2, cp=2, dp=64, grad_accumulation=4)
    steps = evaluate(Job(small, 4096, 256), device, network, stack, layout)
    assert steps.step_s.shape == (3000,)
    for name, value in steps.breakdown.items():
        assert np.isfinite(value).all() and (value >= -1e-12).all(), name


def test_device_from_the_catalog():
    values = Values({**load_catalog().facts, **device_facts()})
    device = Device.from_values(values, "H100-SXM")
    assert device.peak("bf16") / device.sustained_clock == pytest.approx(989.4e12, rel=0.01)
    assert device.peak("fp8") > 1.9 * device.peak("bf16")
    assert "training.sustained_clock.hopper" in values.used
    assert 80e9 <= device.memory_bytes <= 86e9
    drawn = Device.from_values(values.sample(20), "H100-SXM")
    assert np.shape(drawn.sustained_clock) == (20,)


def test_grade_falls_with_what_was_never_measured(small, deepseek_v3):
    job, stack = Job(small, 4096, 64), Stack.preset("megatron-core")
    assert grade(job, h100(), stack) == ("measured-like", [])
    assert grade(job, h100(), Stack.preset("generic"))[0] == "interpolated"
    assert grade(job, h100(), stack, gpus=3072)[0] == "measured-like"
    assert grade(job, h100(), stack, gpus=16384)[0] == "interpolated"
    assert grade(replace(job, precision="fp8"), h100(), stack)[0] == "interpolated"
    assert grade(Job(deepseek_v3, 4096, 64), h100(), stack)[0] == "extrapolated"
    assert grade(job, replace(h100(), name="H800-SXM"), stack)[0] == "extrapolated"


def test_residuals_widen_with_the_grade_and_have_median_one():
    sigmas = [residual_sigma(name) for name in GRADES]
    assert sigmas == sorted(sigmas)
    draws = residual_draws("interpolated", 4000, seed=1)
    assert np.median(draws) == pytest.approx(1.0, abs=0.01)
    assert np.log(draws).std() == pytest.approx(residual_sigma("interpolated"), rel=0.05)
