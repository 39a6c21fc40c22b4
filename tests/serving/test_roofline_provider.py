"""The built-in step-time provider: bounds, memory, mixtures, layouts, relatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.serving import ReplicaLayout, Speculation, StepTimeProvider, check_layout, roofline
from argosy.serving.engine import engine
from argosy.serving.experts import busiest_rank
from argosy.serving.steady import added_s
from argosy.spec.architectures import resolve
from argosy.spec.model import MixtureOfExperts
from argosy.workload import count

H100_BANDWIDTH = 3.35e12


def test_single_stream_bounds_of_an_8b_model_on_an_h100() -> None:
    """Seed 004: 208.6 tokens/s if all 8.03 B BF16 parameters are read, 223 if the embedding table is not."""
    provider = roofline(resolve("llama-3.1-8b"), "H100")
    floor = 1 / provider.floor_s(1, 1, 0)
    assert floor == pytest.approx(H100_BANDWIDTH / ((8.03e9 - 128256 * 4096) * 2), rel=1e-3)
    assert floor == pytest.approx(223, abs=0.5)
    assert H100_BANDWIDTH / provider.weight_bytes == pytest.approx(208.6, abs=0.1)
    assert 0.4 * floor < 1 / provider.decode_s(1, 1) < floor


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["llama-3.1-8b", "gpt-oss-120b", "deepseek-v3"]),
    st.sampled_from(["H100", "B200", "H20"]),
    st.sampled_from(["bf16", "fp8", "mxfp4"]),
    st.integers(1, 2000),
    st.integers(1, 100_000),
    st.integers(0, 16_384),
)
def test_no_iteration_beats_bandwidth_or_peak(
    model: str, gpu: str, precision: str, batch: int, context: int, prompt: int
) -> None:
    provider = roofline(resolve(model), gpu, ReplicaLayout(tp=8), precision=precision)
    seconds = provider.mixed_s(prompt, max(prompt / 2, 1), batch, context)
    assert seconds >= provider.floor_s(prompt + batch, batch, context)


def test_cache_bytes_of_latent_attention_and_of_more_ranks_than_heads() -> None:
    latent = roofline(resolve("deepseek-v3"), "H200", ReplicaLayout(tp=8), kv_precision="bf16")
    assert latent.kv_bytes_per_token == 61 * (512 + 64) * 2 == 70272
    grouped = [
        roofline(resolve("llama-3.1-70b"), "H100", ReplicaLayout(tp=tp)).kv_bytes_per_token
        for tp in (1, 8, 16)
    ]
    assert grouped == [80 * 2 * 8 * 128 * 2, 80 * 2 * 128 * 2, 80 * 2 * 128 * 2]


def test_weights_and_capacity_follow_the_layout() -> None:
    model = resolve("llama-3.1-70b")
    whole = roofline(model, "H200", precision="fp8")
    cut = roofline(model, "H200", ReplicaLayout(tp=4), precision="fp8")
    assert cut.weight_bytes == pytest.approx(whole.weight_bytes / 4, rel=0.01)
    assert cut.kv_capacity_tokens > 4 * whole.kv_capacity_tokens
    assert roofline(model, "H100").kv_capacity_tokens == 0, "140 GB of weights do not fit 80 GB"


def test_touched_experts_as_a_drawing_of_tokens_has_them() -> None:
    """E(1 − (1 − k/E)^T) and the busiest rank, against drawn routing that shares no code."""
    moe, ranks, tokens = MixtureOfExperts(experts=64, top_k=4, expert_ffn=8), 8, 12
    rng = np.random.default_rng(7)
    touched, rows, mean = [], [], []
    for _ in range(3000):
        chosen = np.concatenate([rng.choice(64, 4, replace=False) for _ in range(tokens)])
        hit = np.zeros(64, bool)
        hit[chosen] = True
        per_rank = hit.reshape(ranks, -1).sum(axis=1)
        touched.append(per_rank.max())
        mean.append(per_rank.mean())
        rows.append(np.bincount(chosen // 8, minlength=ranks).max())
    found_touched, found_rows = busiest_rank(moe, 8, ranks, tokens)
    one_touched, _ = busiest_rank(moe, 64, 1, tokens)
    busiest_of_one = 64 * (1 - (1 - 4 / 64) ** tokens)
    assert one_touched == pytest.approx(busiest_of_one)
    assert np.mean(mean) * ranks == pytest.approx(busiest_of_one, rel=0.02)
    assert found_touched == pytest.approx(np.mean(touched), rel=0.08)
    assert found_rows == pytest.approx(np.mean(rows), rel=0.1)


def test_decode_grows_with_batch_and_context_and_speculation_pays_at_small_batches() -> None:
    model = resolve("deepseek-v3")
    plain = roofline(model, "B200", ReplicaLayout(tp=8), precision="fp8_block")
    batch = np.array([1.0, 8, 64, 512])
    steps = plain.decode_s(batch, 2000.0)
    assert (np.diff(steps) > 0).all()
    assert (np.diff(plain.decode_s(64.0, np.array([100.0, 1e4, 1e5]))) > 0).all()
    drafting = roofline(
        model, "B200", ReplicaLayout(tp=8), precision="fp8_block", speculation=Speculation(1, 0.85)
    )
    assert drafting.tokens_per_step == pytest.approx(1.85)
    gain = steps / (drafting.decode_s(batch, 2000.0) / drafting.tokens_per_step)
    assert 1.05 < gain[0] < 1.85


def test_prefix_cache_shortens_a_prompt_and_windows_bound_attention() -> None:
    provider = roofline(resolve("llama-3.1-8b"), "H100")
    assert provider.prefill_s(8192, 6144) < 0.5 * provider.prefill_s(8192)
    windowed = roofline(resolve("gpt-oss-120b"), "H100", ReplicaLayout(tp=2), precision="mxfp4")
    kinds = {kind.window: kind for kind in windowed.kinds}
    short, long = (float(windowed.cache_read_s(kinds[128], 64.0, context)) for context in (128.0, 60000.0))
    assert short == long
    assert windowed.window_tokens(1e6) == windowed.window_tokens(128) == 128


def test_draws_of_facts_broadcast() -> None:
    from dataclasses import replace

    provider = roofline(resolve("llama-3.1-8b"), "H100")
    device = replace(provider.device, memory_bandwidth=np.array([3.0e12, 3.35e12, 3.6e12]))
    assert np.diff(replace(provider, device=device).decode_s(4.0, 1000.0)).max() < 0


@pytest.mark.parametrize("gpu", ["MI300X", "A100-80GB-SXM", "GB300", "Gaudi3", "H20"])
def test_accelerators_without_measurements_take_a_relative_and_say_so(gpu: str) -> None:
    provider = roofline(resolve("llama-3.1-8b"), gpu)
    assert isinstance(provider, StepTimeProvider)
    assert provider.grade in ("interpolated", "extrapolated")
    assert 0.001 < provider.decode_s(8, 1000) < 0.1
    assert provider.residual_sigma >= roofline(resolve("llama-3.1-8b"), "B200").residual_sigma


def test_layouts_that_cannot_hold_a_model_name_every_fault() -> None:
    with pytest.raises(ValueError, match=r"tp 3 does not divide 64 attention heads.*dp 2 shares experts"):
        check_layout(resolve("llama-3.1-70b"), ReplicaLayout(tp=3, dp=2))
    with pytest.raises(ValueError, match="ep 8 for a model without experts"):
        roofline(resolve("llama-3.1-70b"), "H100", ReplicaLayout(tp=8, ep=8))
    with pytest.raises(ValueError, match="no engine 'tgi'"):
        roofline(resolve("llama-3.1-8b"), "H100", engine_name="tgi")


def test_sparse_attention_reads_the_chosen_keys_and_the_whole_index() -> None:
    """GLM-5: index weights, 132 bytes of index key per token and layer, and a cache read that stops growing at 2,048."""
    model = resolve("glm-5")
    dense = model.model_copy(update={"sparse_attention": None})
    sparse = roofline(model, "B200", ReplicaLayout(tp=8), precision="fp8_block")
    full = roofline(dense, "B200", ReplicaLayout(tp=8), precision="fp8_block")
    index = 2048 * 32 * 128 + 6144 * (128 + 32) + 2 * 128
    assert count(model).total - count(dense).total == 78 * index
    assert sparse.kv_bytes_per_token == full.kv_bytes_per_token + 78 * 132
    short, long = (np.array(p.decode_s(64.0, np.array([2_000.0, 60_000.0]))) for p in (sparse, full))
    assert short[0] > long[0], "the indexer costs more than it saves while all keys are chosen"
    assert short[1] - short[0] < 0.5 * (long[1] - long[0])
    assert sparse.decode_s(64.0, 60_000.0) > sparse.floor_s(64, 64, 60_000.0)
    assert sparse.floor_s(1, 64, 60_000.0) < full.floor_s(1, 64, 60_000.0)


def test_norms_over_all_heads_need_one_reduction_more_where_heads_are_cut() -> None:
    model = resolve("minimax-m2.5")
    without = model.model_copy(update={"qk_norm": "none"})
    for tp, kernels in ((1, 1), (8, 2)):
        more, less = (
            roofline(m, "H200", ReplicaLayout(tp=tp), precision="fp8_block") for m in (model, without)
        )
        added = more.decode_s(16.0, 1000.0) - less.decode_s(16.0, 1000.0)
        sums = more.network.collective("all_reduce", 16 * 8.0, tp, 1) if tp > 1 else 0.0
        wanted = 62 * (kernels * more.engine.kernel_s + more.engine.collective_factor * sums)
        assert added == pytest.approx(wanted, rel=1e-6)


def test_the_hosts_work_on_sequences_follows_the_devices() -> None:
    slow, quick = (
        roofline(resolve("llama-3.1-8b"), "H100", precision="fp8", sequence_s=s) for s in (1e-3, 0.0)
    )
    assert slow.decode_s(64.0, 500.0) - quick.decode_s(64.0, 500.0) == pytest.approx(0.064)


def test_an_engine_that_keeps_whole_sequences_in_windowed_layers_holds_fewer() -> None:
    """GPT-OSS: 18 of its 36 layers attend to 128 tokens; TensorRT-LLM keeps all of them unless told."""
    whole, windowed = (
        roofline(resolve("gpt-oss-120b"), "H100", ReplicaLayout(tp=2), precision="mxfp4", full_cache=full)
        for full in (True, False)
    )
    assert whole.kv_bytes_per_token == 2 * windowed.kv_bytes_per_token
    assert whole.window_tokens(1e6) == 0
    assert windowed.window_tokens(1e6) == 128
    assert engine("trtllm").full_cache
    assert not engine("vllm").full_cache


def test_exchanges_within_a_host_move_every_token_to_every_rank_whatever_the_experts_of_each() -> None:
    """Two models that differ in top_k alone, with nothing else that the experts cost."""
    model = resolve("deepseek-v3")
    assert model.moe is not None
    narrow = model.model_copy(update={"moe": model.moe.model_copy(update={"top_k": 1})})
    costs = []
    for each in (model, narrow):
        with_exchange, without = (
            roofline(each, "H100", ReplicaLayout(dp=8, ep=8), precision="fp8", exchange_factor=x)
            for x in (1.0, 0.0)
        )
        costs.append(float(with_exchange.decode_s(512.0, 100.0) - without.decode_s(512.0, 100.0)))
    assert costs[0] == pytest.approx(costs[1])
    sent = with_exchange.network.collective("all_to_all", 512 / 8 * 7168 * 2.0 * 8, 8, 1)
    assert costs[0] == pytest.approx(58 * 2 * float(sent), rel=1e-6)
    wide = [
        float(roofline(each, "H100", ReplicaLayout(dp=32, ep=32), precision="fp8").decode_s(8192.0, 100.0))
        for each in (model, narrow)
    ]
    assert wide[0] > wide[1], "beyond a host a token goes to the ranks of its experts only"


def test_mxfp4_experts_widened_before_blackwell_slow_computing_and_not_reading() -> None:
    model = resolve("gpt-oss-120b")
    for gpu, slows in (("H100", True), ("B200", False)):
        slow, quick = (
            roofline(model, gpu, ReplicaLayout(tp=2), precision="mxfp4", older_widening_efficiency=x)
            for x in (0.5, 1.0)
        )
        assert slow.decode_s(8.0, 1000.0) == quick.decode_s(8.0, 1000.0), "bound by reading"
        experts = [
            sum(float(p._experts_s(q, 65536.0)) for q in p.kinds[0].products if q.experts)
            for p in (slow, quick)
        ]
        assert experts[0] == pytest.approx(experts[1] * (2 if slows else 1))


def test_prompts_that_share_an_iteration_share_what_it_costs_once() -> None:
    """Launching kernels from the host costs an iteration with prompts once, however many there are."""
    model = resolve("llama-3.1-8b")
    slow = roofline(model, "H100", precision="fp8", engine_name="trtllm", launch_s=1e-3)
    alone, shared = (
        float(added_s(slow, slow.engine, 128.0, 64.0, 500.0, together=together)) for together in (1.0, 8.0)
    )
    assert shared == pytest.approx(alone / 8, rel=0.05)
    full = float(added_s(slow, slow.engine, 8000.0, 64.0, 500.0, together=8.0))
    assert full == pytest.approx(alone, rel=0.05), "no room for a second prompt of 8,000 tokens"
