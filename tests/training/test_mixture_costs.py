"""What a mixture layer costs beyond its products: an expert's own kernel, repeated experts, attention by layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argosy.training import Job, Layouts, Overlap, Stack, evaluate
from argosy.training.blocks import blocks
from argosy.training.communication import expert_parallel
from argosy.training.costs import compute_costs

LAYOUT = {"dp": 64, "ep": 64, "micro_batch": 1}


def work_of(model, layout, kind="moe"):
    job = Job(model=model, sequence_length=4096, global_batch_sequences=64)
    return blocks(job, layout)[kind].work


def costs(device, work, recompute=0, precision="bf16", **changes):
    return compute_costs(
        device, Stack.preset("megatron-core", **changes), precision, work, np.array([recompute])
    )


def test_each_expert_loses_a_fixed_time_per_product(device, deepseek_v3):
    work = work_of(deepseek_v3, Layouts.one(**LAYOUT))  # 256 experts on 64 ranks: four each
    without, with_it = (costs(device, work, expert_s=s) for s in (0.0, 1e-4))
    lost = with_it.forward.gemm - without.forward.gemm
    assert lost == pytest.approx(2 * 4 * 1e-4)  # gate with up, and down
    assert with_it.backward.gemm - without.backward.gemm == pytest.approx(2 * lost)


def test_a_group_of_one_expert_is_a_product_like_any_other(device, deepseek_v3):
    work = work_of(deepseek_v3, Layouts.one(**{**LAYOUT, "dp": 256, "ep": 256}))
    slow, fast = (costs(device, work, expert_s=s, expert_rate=r) for s, r in ((1e-3, 0.5), (0.0, 1.0)))
    assert slow.forward.gemm == pytest.approx(fast.forward.gemm)


def test_narrow_products_of_newer_libraries_only_on_blackwell(device, small):
    work = work_of(small, Layouts.one(), "dense")
    blackwell = replace(device, name="B200-SXM", generation="blackwell")
    for machine, gain in ((device, 1.0), (blackwell, 1.25)):
        old, new = (costs(machine, work, precision="fp8", narrow_rate=r).forward.gemm for r in (1.0, 1.25))
        assert old / new == pytest.approx(gain)
    assert costs(blackwell, work, narrow_rate=1.25).forward.gemm == costs(blackwell, work).forward.gemm


def test_repeated_experts_take_their_forward_and_their_exchange_again(device, network, deepseek_v3):
    layout = Layouts.one(**LAYOUT, recompute="selective")
    work = work_of(deepseek_v3, layout)
    whole, none = (costs(device, work, recompute=r) for r in (2, 0))
    again = costs(device, work, recompute=1, recomputes_experts=True).recompute
    assert 0 == none.recompute.seconds < again.seconds < whole.recompute.seconds
    assert again.attention == 0  # attention is not repeated
    stack = Stack.preset("megatron-core", recomputes_experts=True)
    passes = expert_parallel(deepseek_v3, work, network, stack, layout, 8, 2.0)
    assert passes.backward == pytest.approx(2 * passes.forward)


def test_fused_experts_keep_no_activation_or_conversion_of_their_own(device, deepseek_v3):
    work = work_of(deepseek_v3, Layouts.one(**LAYOUT))
    apart, fused = (costs(device, work, precision="fp8", fused_experts=f).forward for f in (False, True))
    assert fused.memory < apart.memory and fused.gemm == pytest.approx(apart.gemm)


def test_a_kernel_may_mask_what_lies_outside_a_window_instead_of_skipping_it(device, small):
    windowed = small.model_copy(update={"sliding_window": 128, "windowed_layers": [0]})
    kinds = blocks(Job(model=windowed, sequence_length=4096, global_batch_sequences=8), Layouts.one())
    names = [name for name in kinds if name not in ("embedding", "head")]
    assert len(names) == 2
    skipped, masked = (
        {name: costs(device, kinds[name].work, masked_windows=m).forward.attention for name in names}
        for m in (False, True)
    )
    short = next(name for name in names if np.all(kinds[name].work.attentions[0].context < 4096))
    whole = next(name for name in names if name != short)
    assert masked[short] == masked[whole] == skipped[whole] > 2 * skipped[short]


def test_a_scale_per_row_converts_the_backwards_operands_along_both_directions(device, small):
    work = work_of(small, Layouts.one(), "dense")
    one, two = (costs(device, work, precision="fp8", cast_orientations=n) for n in (1, 2))
    assert two.forward.memory == pytest.approx(one.forward.memory)
    elements = sum(gemm.m * (gemm.k + gemm.n) for gemm in work.gemms)
    moved = elements * device.curves.gemm["fp8"].cast_bytes / (3.35e12 * device.curves.memory_efficiency)
    assert two.backward.memory - one.backward.memory == pytest.approx(moved)


def test_reserved_multiprocessors_slow_products_and_attention_alone(device, deepseek_v3):
    plain = costs(device, work_of(deepseek_v3, Layouts.one(**LAYOUT)))
    slow = plain.slowed(132 / 112)
    for before, after in ((plain.forward, slow.forward), (plain.backward, slow.backward)):
        assert after.gemm / before.gemm == pytest.approx(132 / 112) == after.attention / before.attention
        assert after.memory == before.memory


def test_multiprocessors_are_reserved_only_where_an_exchange_hides(device, network, deepseek_v3):
    def compute(ep, overlap):
        job = Job(deepseek_v3, 4096, 512, overlap=Overlap(ep=overlap))
        stacks = (Stack.preset("deepseek", reserved=share) for share in (0.0, 20 / 132))
        layout = Layouts.one(dp=64, ep=ep, grad_accumulation=8)
        return [evaluate(job, device, network, stack, layout).breakdown["compute"][0] for stack in stacks]

    free, reserved = compute(64, True)
    assert 1.08 < reserved / free < 132 / 112
    for ep, overlap in ((1, True), (64, False)):
        free, reserved = compute(ep, overlap)
        assert reserved == free


def test_rotary_positions_in_separate_operations_move_six_times_as_much(device, small):
    work = work_of(small, Layouts.one(), "dense")
    fused, apart = (
        costs(device, work, fused_rotary=f, memory_traffic=1.0).forward.memory for f in (True, False)
    )
    rotated = 4096 * (32 + 8) * 128 * 2.0 * 2  # tokens × heads × dimension × BF16, read and written
    assert apart - fused == pytest.approx(5 * rotated / (3.35e12 * device.curves.memory_efficiency))


def test_what_deepseek_drops_is_made_again_without_attention(device, deepseek_v3):
    """Norms, the widening products of latent attention and the activations; the scores' kernel keeps its output."""
    work = work_of(deepseek_v3, Layouts.one(**LAYOUT))
    stack = Stack.preset("deepseek")
    again = compute_costs(device, stack, "bf16", work, np.array([1])).recompute
    assert again.attention == 0
    widening = 2 * 4096 * (1536 * 128 * 192 + 512 * 128 * 256)  # queries, then keys and values, all heads
    assert again.gemm_flops == pytest.approx(widening)
    megatron = costs(device, work, recompute=1).recompute
    assert megatron.attention > 0 and megatron.gemm_flops == 0


def test_dropout_and_early_layer_norms_move_what_their_kernels_do(device, small):
    work = work_of(small, Layouts.one(), "dense")
    plain, early = (costs(device, work, dropout=d, memory_traffic=1.0) for d in (False, True))
    hidden = 4096 * 4096 / (3.35e12 * device.curves.memory_efficiency)  # elements over the memory's rate
    assert early.forward.memory - plain.forward.memory == pytest.approx(2 * 1 * hidden)  # two masks
    # Per residual dropout's gradient reads 2 + 1 and writes 2; per norm the operands are read again, 2 + 2.
    assert early.backward.memory - plain.backward.memory == pytest.approx(2 * (5 + 4) * hidden)
