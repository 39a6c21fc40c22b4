"""The step model: sums, limits, invariants, and an ideal machine whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_fixtures import PlainNetwork, h100

from argosy.training import BREAKDOWN, Device, Job, Layouts, Overlap, Stack, evaluate
from argosy.training.communication import exposed
from argosy.training.kernels.curves import AttentionCurve, Curves, GemmCurve
from argosy.training.layout import concatenate
from argosy.training.per_step import expected_maximum, waiting_seconds


def layouts_of(batch=64, moe=False):
    """A mixed bag of valid layouts on 64 accelerators."""
    rows = [
        {"tp": 1, "dp": 64},
        {"tp": 8, "dp": 8},
        {"tp": 8, "dp": 8, "sequence_parallel": False} if not moe else {"tp": 1, "dp": 64},
        {"tp": 2, "pp": 4, "dp": 8},
        {"tp": 2, "pp": 4, "vp": 2, "dp": 8},
        {"pp": 4, "dp": 16, "schedule": "gpipe"},
        {"pp": 4, "dp": 16, "schedule": "zero-bubble"},
        {"pp": 2, "dp": 32, "schedule": "dualpipe"} if batch >= 128 else {"pp": 2, "dp": 32},
        {"tp": 4, "cp": 2, "dp": 8, "recompute": 1},
        {"dp": 64, "zero": 3, "recompute": 2},
        {"dp": 64, "zero": 2},
        {"dp": 64, "zero": 3, "shard": 8},
        {"dp": 16, "pp": 4, "zero": 3},
        {"dp": 64, "zero": 0},
        {"tp": 2, "dp": 32, "micro_batch": 2},
    ]
    if moe:
        rows = [{**row, "ep": 8} for row in rows]
    filled = [{"grad_accumulation": batch // row["dp"] // row.get("micro_batch", 1), **row} for row in rows]
    return concatenate([Layouts.one(**row) for row in filled])


@pytest.fixture(params=["dense", "moe"])
def job_and_layouts(request, small, deepseek_v3):
    if request.param == "dense":
        return Job(small, 4096, 64), layouts_of()
    return Job(deepseek_v3, 4096, 128), layouts_of(128, moe=True)


def test_breakdown_sums_to_the_step_and_nothing_is_negative(job_and_layouts, device, network, stack):
    job, layouts = job_and_layouts
    steps = evaluate(job, device, network, stack, layouts)
    assert tuple(steps.breakdown) == BREAKDOWN
    np.testing.assert_allclose(sum(steps.breakdown.values()), steps.step_s, rtol=1e-12)
    for name, value in steps.breakdown.items():
        assert (value >= -1e-12).all(), name


def test_compute_parts_sum_to_compute(job_and_layouts, device, network, stack):
    job, layouts = job_and_layouts
    steps = evaluate(job, device, network, stack, layouts)
    np.testing.assert_allclose(sum(steps.compute_parts.values()), steps.breakdown["compute"], rtol=1e-9)
    for name, value in steps.compute_parts.items():  # no kernel beats the peak of its format
        # N counts norms and biases, which multiply nothing: a trace of products below 6 N.
        slack = 1e-4 * steps.step_s if name == "products_beyond_6n" else 1e-9
        assert (value >= -slack).all(), name


def test_useful_share_is_the_utilisation(small, device, network, stack):
    steps = evaluate(Job(small, 4096, 64), device, network, stack, layouts_of())
    np.testing.assert_allclose(
        steps.compute_parts["useful_at_peak"] / steps.step_s, steps.mfu["parameters_only"], rtol=1e-12
    )


def test_an_array_of_one_equals_its_entry_in_a_long_array(job_and_layouts, device, network, stack):
    job, layouts = job_and_layouts
    together = evaluate(job, device, network, stack, layouts)
    for i in range(len(layouts)):
        alone = evaluate(job, device, network, stack, layouts.take(i))
        assert alone.step_s[0] == pytest.approx(together.step_s[i], rel=1e-12)
        for name in BREAKDOWN:
            assert alone.breakdown[name][0] == pytest.approx(together.breakdown[name][i], rel=1e-9, abs=1e-12)


def test_draws_equal_one_scalar_evaluation_each(small, network):
    job, layout = Job(small, 4096, 64), Layouts.one(tp=2, pp=2, dp=16, grad_accumulation=4)
    bandwidths, hidden = np.array([2e12, 3e12, 4e12]), np.array([0.1, 0.5, 0.9])
    drawn = evaluate(
        job, h100(memory_bandwidth=bandwidths), network, Stack.preset("generic", tp_hidden=hidden), layout
    )
    for i in range(3):
        single = Stack.preset("generic", tp_hidden=hidden[i])
        alone = evaluate(job, h100(memory_bandwidth=bandwidths[i]), network, single, layout)
        assert drawn.step_s[i] == pytest.approx(alone.step_s[0], rel=1e-12)
    assert drawn.to_dict(2)["step_time_s"] == pytest.approx(drawn.step_s[2])


def test_draws_on_several_layouts_are_refused(small, network, stack):
    with pytest.raises(ValueError, match="one layout"):
        evaluate(Job(small, 4096, 64), h100(memory_bandwidth=np.ones(5) * 3e12), network, stack, layouts_of())


@settings(max_examples=30, deadline=None)
@given(
    better=st.sampled_from(["flops", "memory", "inside", "outside", "launch"]), factor=st.floats(1.01, 4.0)
)
def test_better_hardware_is_never_slower(small, stack, better, factor):
    job, layouts = Job(small, 4096, 64), layouts_of()
    base, network = h100(), PlainNetwork()
    device = base
    if better == "flops":
        device = h100(peak_flops={k: v * factor for k, v in base.peak_flops.items()})
    elif better == "memory":
        device = h100(memory_bandwidth=base.memory_bandwidth * factor)
    elif better == "launch":
        stack_better = replace(stack, host_layer_s=stack.host_layer_s / factor)
        before = evaluate(job, base, network, stack, layouts).step_s
        assert (evaluate(job, base, network, stack_better, layouts).step_s <= before * (1 + 1e-12)).all()
        return
    else:
        network = replace(network, **{better: getattr(network, better) * factor})
    before = evaluate(job, base, PlainNetwork(), stack, layouts).step_s
    assert (evaluate(job, device, network, stack, layouts).step_s <= before * (1 + 1e-12)).all()


def test_more_overlap_is_never_slower(job_and_layouts, device, network, stack):
    job, layouts = job_and_layouts
    off = replace(job, overlap=Overlap(False, False, False, False, False))
    assert (
        evaluate(job, device, network, stack, layouts).step_s
        <= evaluate(off, device, network, stack, layouts).step_s
    ).all()


def test_achieved_never_exceeds_the_kernel_ceiling(job_and_layouts, device, network, stack):
    job, layouts = job_and_layouts
    steps = evaluate(job, device, network, stack, layouts)
    ceiling = (
        max(device.curves.gemm["bf16"].ceiling, *device.curves.attention["bf16"].ceiling)
        * device.sustained_clock
    )
    assert (steps.mfu["attention_causal"] < ceiling).all()
    assert (steps.hfu >= steps.mfu["attention_causal"]).all()
    assert (steps.hfu < ceiling).all()


def test_one_accelerator_exchanges_nothing(small, device, network, stack):
    steps = evaluate(Job(small, 4096, 4), device, network, stack, Layouts.one(grad_accumulation=4))
    for name in ("tp_exposed", "pp_exposed", "dp_exposed", "cp_exposed", "ep_exposed", "bubble"):
        assert steps.breakdown[name][0] == pytest.approx(0.0, abs=1e-12), name


def ideal_device() -> Device:
    """A machine that reaches its peak on every product, with memory that costs nothing."""
    gemm = GemmCurve(1.0, 0.0, 0.0, 0.0, 1, 2.0, 0.0, 0.0)
    attention = AttentionCurve((128.0,), (1.0,), (0.0,), 0.0)
    curves = Curves("ideal", "none", {"bf16": gemm}, {}, {"bf16": attention}, 1.0)
    device = Device("ideal", "none", {"bf16": 1e15}, 1e30, 1e30)
    device.__dict__["curves"] = curves
    return device


def test_an_ideal_machine_takes_six_n_d_over_peak_and_attention(small):
    """The oracle counts by hand: weights of a dense model without code of the workload room."""
    job, batch, s = Job(small, 4096, 32), 32, 4096
    stack = Stack.preset("megatron-core", host_layer_s=0.0, step_overhead_s=0.0, jitter=0.0, hiccup_s=0.0)
    steps = evaluate(job, ideal_device(), PlainNetwork(), stack, Layouts.one(grad_accumulation=32))
    per_layer = 4096 * 4096 * 2 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    products = 6 * (8 * per_layer + 4096 * 32000) * batch * s / 1e15
    without_attention = steps.step_s[0] - sum(
        steps.compute_parts[name][0] for name in ("attention_beyond_6n", "attention_inefficiency")
    )
    assert without_attention == pytest.approx(products, rel=1e-6)
    # Causal scores and values: 6 · layers · hidden · sequence per token.
    assert steps.compute_parts["attention_beyond_6n"][0] == pytest.approx(
        6 * 8 * 4096 * s * batch * s / 1e15, rel=1e-9
    )


def test_pipeline_step_on_the_ideal_machine_is_the_textbook_formula(small):
    stack = Stack.preset("megatron-core", host_layer_s=0.0, step_overhead_s=0.0, jitter=0.0, hiccup_s=0.0)
    even = small.model_copy(update={"vocab": 1})  # no head: stages are even
    network = PlainNetwork(inside=1e30, outside=1e30, latency=0.0)
    times = [
        evaluate(
            Job(even, 4096, 16), ideal_device(), network, stack, Layouts.one(pp=pp, grad_accumulation=16)
        ).step_s[0]
        for pp in (1, 4)
    ]
    assert times[1] / (times[0] / 4) == pytest.approx((16 + 3) / 16, rel=1e-3)


def test_recomputation_costs_a_forward(small, device, network, stack):
    def compute(mode):
        steps = evaluate(
            Job(small, 4096, 8), device, network, stack, Layouts.one(grad_accumulation=8, recompute=mode)
        )
        return steps.breakdown["compute"][0]

    none, selective, full = (compute(mode) for mode in ("none", "selective", "full"))
    assert none < selective < full
    assert 1.2 < full / none < 1.35  # a forward is a third of forward and backward, less in the head


def test_sharded_weights_cost_communication_per_micro_batch(small, device, network, stack):
    job = replace(Job(small, 4096, 512), overlap=Overlap(dp=False))
    layouts = Layouts.one(dp=64, grad_accumulation=8, zero=[1, 3])
    exposed_s = evaluate(job, device, network, stack, layouts).breakdown["dp_exposed"]
    assert exposed_s[1] > 5 * exposed_s[0]


def test_waiting_for_the_longest_delay_against_a_simulation():
    stack = Stack.preset("generic", jitter=0.0)
    rng = np.random.default_rng(2)
    for nodes, seconds in ((16, 10.0), (256, 15.0), (2048, 5.0)):
        counts = rng.poisson(nodes * seconds * stack.hiccup_rate, 5000)
        drawn = np.mean([rng.exponential(stack.hiccup_s, k).max() if k else 0.0 for k in counts])
        assert waiting_seconds(stack, nodes * 8, 8, 1.0, seconds) == pytest.approx(drawn, rel=0.25)


def test_short_steps_hardly_wait():
    stack = Stack.preset("generic", jitter=0.0)
    assert waiting_seconds(stack, 8, 8, 0.4, 0.4) < 2e-4


def test_hybrid_sharding_keeps_gathers_inside_the_node(small, device, network, stack):
    job = replace(Job(small, 4096, 512), overlap=Overlap(dp=False))
    layouts = Layouts.one(dp=64, zero=3, shard=[0, 8, 64], grad_accumulation=8)
    exposed_s = evaluate(job, device, network, stack, layouts).breakdown["dp_exposed"]
    assert exposed_s[0] == exposed_s[2] > exposed_s[1] > 0


def test_under_a_pipeline_sharded_weights_travel_once_per_step(small, device, network, stack):
    job = replace(Job(small, 4096, 1024), overlap=Overlap(dp=False))
    layouts = Layouts.one(dp=16, pp=4, grad_accumulation=64, zero=[1, 3])
    exposed_s = evaluate(job, device, network, stack, layouts).breakdown["dp_exposed"]
    assert exposed_s[0] == exposed_s[1]


def test_expected_maximum_of_normals():
    rng = np.random.default_rng(1)
    for n in (2, 8, 64, 2048):
        drawn = rng.standard_normal((4000, n)).max(axis=1).mean()
        assert expected_maximum(np.array([n]))[0] == pytest.approx(drawn, rel=0.06 if n == 2 else 0.02)
    assert expected_maximum(np.array([1.0]))[0] == 0.0


@given(st.floats(0, 10), st.floats(0, 1.5), st.floats(0, 10), st.floats(0, 0.5))
def test_exposed_time_stays_within_its_bounds(seconds, hidden, window, drag):
    left = exposed(seconds, hidden, window, drag)
    assert max(0.0, seconds - window) * (1 - 1e-9) <= left + 1e-12
    assert left <= seconds + 1e-12


def test_public_anchor(llama3_405b):
    """Llama 3 405B: 400 TFLOP/s per GPU on 16,384 H100 (arXiv:2407.21783, table 4). A sanity band, not a
    fit.
    """
    job = Job(llama3_405b, 8192, 2048)
    layout = Layouts.one(tp=8, pp=16, vp=4, dp=128, grad_accumulation=16)
    steps = evaluate(job, h100(), PlainNetwork(), Stack.preset("llama3"), layout)
    assert 400 * 0.88 < steps.mfu["attention_causal"][0] * 989.4 < 400 * 1.15
