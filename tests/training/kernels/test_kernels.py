"""Kernel laws against limits, against counting tiles one by one, and against measured kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.training import kernels
from argosy.training.kernels import Device
from argosy.training.kernels.curves import GemmCurve, curves_for, table
from argosy.training.kernels.gemm import product_time

H100 = Device("H100-SXM", "hopper", {"bf16": 989e12, "fp8": 1979e12}, 3.35e12)
A100 = Device("A100-80GB-SXM", "ampere", {"bf16": 312e12}, 2.039e12)
B200 = Device("B200-SXM", "blackwell", {"bf16": 2250e12, "fp8": 4500e12, "fp4": 9000e12}, 8e12)

# Milliseconds measured on single GPUs by ai-dynamo/aiconfigurator (GitHub, 095f58a), TensorRT-LLM kernels:
# m, n, k. The narrow formats' times hold the conversion of the left operand.
MEASURED_PRODUCTS = [
    (A100, "bf16", 8192, 8192, 8192, 4.1885),
    (A100, "bf16", 2048, 5120, 8192, 0.60771),
    (H100, "bf16", 8192, 8192, 8192, 1.40478),
    (H100, "bf16", 2048, 1024, 8192, 0.04577),
    (H100, "fp8", 8192, 8192, 8192, 0.88491),
    (H100, "fp8", 8192, 1024, 8192, 0.26692),
    (H100, "fp8_block", 8192, 5120, 8192, 0.66161),
    (B200, "bf16", 8192, 8192, 8192, 0.73715),
    (B200, "nvfp4", 8192, 8192, 8192, 0.28456),
]
# Milliseconds of one causal sequence, 32 query heads, 8 key/value heads of dimension 128 (same source).
MEASURED_ATTENTION = [(H100, 8192, 1.0845), (H100, 16384, 4.3367), (B200, 16384, 1.9279)]


@pytest.mark.parametrize(("device", "dtype", "m", "n", "k", "milliseconds"), MEASURED_PRODUCTS)
def test_a_product_takes_what_was_measured(device, dtype, m, n, k, milliseconds):
    predicted = kernels.gemm_time(device, m, n, k, dtype=dtype) + kernels.cast_time(device, m * k, dtype)
    assert predicted * 1e3 == pytest.approx(milliseconds, rel=0.12)


@pytest.mark.parametrize(("device", "tokens", "milliseconds"), MEASURED_ATTENTION)
def test_attention_takes_what_was_measured(device, tokens, milliseconds):
    """The measured curve itself; a training library's kernel on Hopper is faster, up to FlashAttention-3's 75 % of peak."""
    curve = kernels.AttentionKernel("measured", None, 0.8)
    predicted = kernels.attention_time(device, 1, tokens, tokens, 32, 8, 128, 128, kernel_generation=curve)
    assert predicted * 1e3 == pytest.approx(milliseconds, rel=0.12)
    trained = kernels.attention_time(device, 1, tokens, tokens, 32, 8, 128, 128, kernel_generation="flash3")
    flops = kernels.attention_flops(1, tokens, tokens, 32, 128, 128, True)
    assert flops / (0.75 * device.peak("bf16")) < trained <= predicted


def test_full_wave_quantisation_is_counting_tiles():
    """An oracle that hands out tiles to processors one wave at a time."""
    curve = GemmCurve(0.5, 64.0, 1.0, 0.0, 10, 2.0, 0.0, 0.0)
    for m, n, k in ((128, 256, 512), (1280, 512, 4096), (1408, 256, 1024), (1281, 257, 8192)):
        tiles = [(i, j) for i in range(0, m, 128) for j in range(0, n, 256)]
        waves = 0
        while tiles:
            tiles, waves = tiles[10:], waves + 1
        tile_seconds = 2 * 128 * 256 * (k + 64) / (1e15 / 10 * 0.5)
        assert product_time(curve, 1e15, 1e30, m, n, k) == pytest.approx(waves * tile_seconds, rel=1e-12)


def test_an_endless_product_reaches_the_ceiling():
    side = 128 * 256 * 40
    rate = 2 * side**3 / kernels.gemm_time(H100, side, side, side)
    assert rate / 989e12 == pytest.approx(H100.curves.gemm["bf16"].ceiling, rel=2e-3)


@given(
    st.integers(1, 20000),
    st.integers(1, 20000),
    st.integers(1, 20000),
    st.sampled_from(["bf16", "fp8", "fp8_block"]),
)
@settings(max_examples=60, deadline=None)
def test_nothing_beats_its_bounds_and_more_never_slows(m, n, k, dtype):
    seconds = kernels.gemm_time(H100, m, n, k, dtype=dtype)
    assert 2 * m * n * k / seconds < H100.peak(dtype)
    assert seconds > m * n * 2 / 3.35e12  # the result alone must be written
    for better in (
        replace(H100, memory_bandwidth=4e12),
        replace(H100, peak_flops={"bf16": 2e15, "fp8": 4e15}),
    ):
        assert kernels.gemm_time(better, m, n, k, dtype=dtype) <= seconds


def test_a_thin_product_is_bound_by_its_weights():
    seconds = kernels.gemm_time(H100, 1, 16384, 16384)
    assert seconds == pytest.approx(2 * 16384**2 / (3.35e12 * H100.curves.memory_efficiency), rel=0.03)


def test_arrays_are_the_scalars_side_by_side():
    sizes = np.array([128.0, 4096.0, 5000.0])
    together = kernels.gemm_time(H100, sizes, 8192, 1024, 3)
    assert together.tolist() == [kernels.gemm_time(H100, s, 8192, 1024, 3) for s in sizes]
    draws = replace(H100, sustained_clock=np.array([0.8, 0.9]))
    assert kernels.attention_time(draws, 1, 4096, 4096, 8, 8, 128, 128).shape == (2,)
    assert kernels.memory_time(draws, np.ones(2) * 1e9, 2).shape == (2,)


def test_no_work_takes_no_time():
    assert kernels.gemm_time(H100, 0, 1024, 1024) == 0
    assert kernels.grouped_gemm_time(H100, 0, 1024, 1024, 0) == 0
    assert kernels.cast_time(H100, 1e9, "bf16") == 0


def test_grouped_products_cost_more_per_flop_the_smaller_the_groups():
    total = 65536.0
    experts = np.array([8, 32, 128, 512])
    seconds = kernels.grouped_gemm_time(H100, total / experts, 2048, 4096, experts)
    assert (np.diff(seconds) > 0).all()
    assert (2 * total * 2048 * 4096 / seconds < H100.curves.grouped["bf16"].ceiling * 989e12).all()


def test_a_grouped_product_without_curve_of_its_own_uses_the_dense_one():
    grouped = kernels.grouped_gemm_time(B200, 128 * 100, 4096, 4096, 2)
    dense = kernels.gemm_time(B200, 128 * 100, 4096, 4096, 2)
    assert grouped == pytest.approx(dense, rel=0.03)


def test_causal_flops_are_counted_pairs():
    tokens, heads, dim = 64, 3, 16
    pairs = sum(1 for q in range(tokens) for key in range(tokens) if key <= q)
    counted = 2 * pairs * heads * dim * 2  # scores and values, multiply and add
    flops = kernels.attention_flops(1, tokens, tokens, heads, dim, dim, True)
    assert flops == pytest.approx(counted, rel=1 / tokens)
    assert kernels.attention_flops(1, tokens, tokens, heads, dim, dim, False) == 2 * flops


def test_attention_kernels_keep_their_order():
    """Later kernels are faster on their device; the backward takes at least its 2.5-fold FLOPs."""
    seconds = {
        name: kernels.attention_time(H100, 2, 4096, 4096, 16, 16, 128, 128, kernel_generation=name)
        for name in kernels.ATTENTION_KERNELS
    }
    assert seconds["unfused"] > seconds["triton"] >= seconds["flash2"] > seconds["flash3"]
    for name in ("flash2", "flash3"):
        backward = kernels.attention_time(
            H100, 2, 4096, 4096, 16, 16, 128, 128, backward=True, kernel_generation=name
        )
        assert 2.5 < backward / seconds[name] < 4


def test_a_softmax_of_pytorchs_operations_moves_its_scores_eight_times_more():
    """16 heads (a multiple of four: fused) against 18 of the same tokens, per score; counted from the operations."""
    scores = {heads: heads * 2048 * 2048 for heads in (16, 18)}
    for backward, extra in ((False, 33.0), (True, 35.0)):
        taken = {
            heads: kernels.attention_time(
                A100, 1, 2048, 2048, heads, heads, 128, 128, True, backward, "unfused"
            )
            for heads in scores
        }
        per_score = {heads: taken[heads] / scores[heads] for heads in scores}
        traffic = kernels.attention_kernel("unfused", "ampere").score_traffic
        lost = extra * traffic / (2.039e12 * A100.curves.memory_efficiency)
        assert per_score[18] - per_score[16] == pytest.approx(lost, rel=0.1)


def test_unknown_kernels_and_formats_are_named():
    with pytest.raises(ValueError, match="flash9"):
        kernels.attention_time(H100, 1, 1024, 1024, 8, 8, 128, 128, kernel_generation="flash9")
    with pytest.raises(ValueError, match="fp8"):
        kernels.gemm_time(A100, 1024, 1024, 1024, dtype="fp8")


def test_a_device_without_measurements_borrows_and_says_so():
    assert curves_for("H100-SXM").relative_of is None
    h800 = curves_for("H800-SXM")
    assert h800.relative_of == "H100-SXM"
    assert h800.note
    mi300 = curves_for("MI300X")
    # 668.4 of 1307.4 TFLOP/s reached against 794.5 of 989: the published rates' shares of peak
    expected = curves_for("H100-SXM").gemm["bf16"].ceiling * (668.4 / 1307.4) / (794.5 / 989)
    assert mi300.gemm["bf16"].ceiling == pytest.approx(expected, rel=1e-3)
    assert curves_for("Somebody's own", "blackwell").relative_of == "B200-SXM"


def test_the_table_states_what_each_fit_is_worth():
    for device, entry in table()["devices"].items():
        fits = [*entry["gemm"].values(), *entry["grouped"].values(), *entry["attention"]["bf16"].values()]
        for found in fits:
            assert found["fit"]["held_out_rows"] >= 40, device
            assert abs(found["fit"]["held_out_bias"]) < found["fit"]["held_out_mape"] < 0.15, device
            assert all({"value", "standard_error"} <= set(p) for p in found["parameters"].values())


def test_catalog_names_find_curves_of_their_own():
    from argosy.facts import load_catalog

    facts = load_catalog().facts
    for name in ("A100-80GB-SXM", "A100-40GB-SXM", "H100-SXM", "H200-SXM", "B200-SXM", "B300-SXM", "GB200"):
        curves = curves_for(name)
        assert curves.relative_of is None, name
        measured = next(e for n, e in table()["devices"].items() if name in (n, *e["aliases"]))
        assert measured["gemm"]["bf16"]["reference_peak"] == pytest.approx(
            facts[f"accelerators.{name}.peak_bf16"].value, rel=0.02
        )
