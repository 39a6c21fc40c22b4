"""What a mixture layer costs beyond its products: an expert's own kernel, repeated experts, attention by layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argosy.training import Job, Layouts, Stack
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


def test_windowed_layers_may_have_a_kernel_of_their_own(device, small):
    windowed = small.model_copy(update={"sliding_window": 128, "windowed_layers": [0]})
    job = Job(model=windowed, sequence_length=4096, global_batch_sequences=8)
    kinds = blocks(job, Layouts.one())
    names = [name for name in kinds if name not in ("embedding", "head")]
    assert len(names) == 2
    for name in names:
        work = kinds[name].work
        fused, apart = (
            costs(device, work, windowed_attention=kernel).forward.attention
            for kernel in ("", "unfused-no-dropout")
        )
        short = np.all(work.attentions[0].context < 4096)
        assert (apart > 3 * fused) if short else (apart == fused)
