"""Reading rows: kinds, conversions, and what words mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from argosy.validation import TableError, eras
from argosy.validation.flops import megatron_step_flops
from argosy.validation.models import Skipped, architecture
from argosy.validation.rows import Row, read_table, stated_step_time

GPT = {"model": "GPT 175B", "layers": "96", "hidden": "12288", "heads": "96", "vocab": "51200"}


def test_the_megatron_formula_is_the_published_one():
    """Narayanan et al. 2021, equation 3, written out with the paper's symbols."""
    model, _ = architecture(Row(GPT))
    B, s, l, h, V = 1536, 2048, 96, 12288, 51200
    published = 96 * B * s * l * h**2 * (1 + s / (6 * h) + V / (16 * l * h))
    assert megatron_step_flops(model, s, B, True) == pytest.approx(published, rel=1e-12)


def test_flops_without_recomputation_lose_one_layer_forward():
    model, _ = architecture(Row(GPT))
    full, model_only = (megatron_step_flops(model, 2048, 8, recompute) for recompute in (True, False))
    head = 3 * 2 * 8 * 2048 * 12288 * 51200
    assert (full - head) / (model_only - head) == pytest.approx(4 / 3)


def test_latent_attention_counts_its_own_projections():
    """DeepSeek-V3 does 37 billion parameters' work per token: two FLOPs each, thrice for a step."""
    model, _ = architecture(Row({"model": "DeepSeekV3"}))
    tokens = 4096 * 4
    attention = 3 * 4.0 * 4096 * 128 * (192 + 128) / 2 * 61 * tokens
    weights = (megatron_step_flops(model, 4096, 4, False) - attention) / (6 * tokens)
    assert weights == pytest.approx(37e9, rel=0.03)


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        ({"step_time_s": "3.5", "tokens_per_s": "1"}, 3.5),
        ({"tokens_per_s": "4096"}, 8 * 2048 / 4096),
        ({"tokens_per_s_per_gpu": "100"}, 8 * 2048 / (100 * 64)),
    ],
)
def test_measures_become_step_times(cells, seconds):
    row = Row({**GPT, "n_gpus": "64", **cells})
    model, _ = architecture(row)
    assert stated_step_time(row, model, 2048, 8)[0] == pytest.approx(seconds)


def test_a_flop_rate_is_converted_by_its_own_definition():
    model, _ = architecture(Row(GPT))
    base = {**GPT, "n_gpus": "64", "tflops_per_gpu": "150"}
    hardware = Row({**base, "metric_definition": "achieved FLOP/s; counts activation recomputation"})
    useful = Row({**base, "metric_definition": "Model TFLOP/s per GPU; model FLOPs (no recompute)"})
    slow, fast = (stated_step_time(row, model, 2048, 64)[0] for row in (hardware, useful))
    assert slow / fast == pytest.approx(4 / 3, rel=0.01)


def test_kinds_are_recognised_and_missing_columns_named(tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text("row_id,model,accelerator,n_gpus,seq_len,gbs_seqs,step_time_s\n1,GPT,A100,8,2048,8,1.0\n")
    assert read_table(runs)[0] == "runs"
    serving = tmp_path / "serving.csv"
    serving.write_text("engine,model,gpu,isl,osl\nx,y,z,1,1\n")
    assert read_table(serving)[0] == "serving"
    other = tmp_path / "other.csv"
    other.write_text("model,accelerator,n_gpus\na,b,1\n")
    with pytest.raises(TableError, match="peak_mem_gb"):
        read_table(other)
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(TableError, match="empty"):
        read_table(empty)
    with pytest.raises(TableError, match="cannot be read"):
        read_table(Path(tmp_path / "none.csv"))


def test_names_in_the_wild_find_their_architecture():
    for name, hidden, layers in (
        ("Llama 3.1 405b 24.09 BF16", 16384, 126),
        ("LLAMA3_70B", 8192, 80),
        ("Nemotron4 340b FP8", 18432, 96),
        ("Qwen3_30B_a3B (tokendrop)", 2048, 48),
        ("Grok1 314b BF16", 6144, 64),
        ("Paxml GPT175B 24.11 FP8", 12288, 96),
    ):
        model, _ = architecture(Row({"model": name}))
        assert (model.hidden, model.layers) == (hidden, layers), name
    short, remarks = architecture(Row({"model": "deepseekv3 truncated to 4 layers", "layers": "4"}))
    assert (short.layers, short.moe.dense_layers) == (4, (0,))
    assert "4 of 61 layers" in remarks


@pytest.mark.parametrize(
    "name", ["Nemotron_3_Super", "Nemotron-H 56B", "DeepSeekV4 Flash", "Qwen3 Next-80B-A3B"]
)
def test_models_that_are_not_modelled_are_refused(name):
    with pytest.raises(Skipped):
        architecture(Row({"model": name}))


def test_words_of_a_row():
    a100 = Row(
        {"accelerator": "A100 (SXM 80GB per paper; not stated in file)", "notes": "inter-node 800 Gb/s"}
    )
    assert eras.accelerator(a100) == ("A100-80GB-SXM", {})
    assert eras.wires(a100).card_bytes_per_s == 800e9 / 8 / 8
    odd = Row({"accelerator": "H100 96GB HBM2e 2.4TB/s (non-standard)"})
    assert eras.accelerator(odd) == (
        "H100-SXM",
        {"power": eras.META_H100_WATTS, "memory_bandwidth": 2.4e12, "memory_bytes": 96e9},
    )
    for framework, stack in (
        ("NeMo/Megatron-Core (v24.11.1)", "megatron-core"),
        ("Megatron-Bridge 26.04 NeMo Container", "megatron-bridge"),
        ("Megatron-DeepSpeed", "megatron-deepspeed"),
        ("llm-foundry/Composer FSDP", "llm-foundry"),
        ("torchtitan", "fsdp2"),
        ("somebody's own", "generic"),
    ):
        assert eras.era(Row({"framework": framework})).stack == stack
    june = {
        "framework": "Megatron-Bridge 26.06.01 NeMo Container",
        "precision": "MXFP8",
        "model": "LLAMA3_70B",
    }
    for row, stack in (
        ({**june, "accelerator": "GB200"}, "megatron-bridge-fused"),
        ({**june, "accelerator": "B300"}, "megatron-bridge"),
        ({**june, "accelerator": "B300", "model": "Qwen3_30B"}, "megatron-bridge-fused"),
        ({**june, "accelerator": "GB200", "precision": "BF16"}, "megatron-bridge"),
        ({**june, "accelerator": "GB200", "framework": "Megatron-Bridge 26.04"}, "megatron-bridge"),
        ({**june, "accelerator": "H100", "precision": "FP8", "model": "Qwen3_30B"}, "megatron-core"),
        ({**june, "accelerator": "H100", "precision": "FP8"}, "megatron-bridge"),
    ):
        assert eras.era(Row(row)).stack == stack
    for text, format in (
        ("FP8-CS", "fp8"), ("MXFP8", "mxfp8"), ("NVFP4", "nvfp4"), ("amp_bf16", "bf16"),
        ("fp16 (assumed)", "fp16"), ("bf16 (fp32 grad accumulation)", "bf16"),
    ):  # fmt: skip
        assert eras.precision(Row({"precision": text})) == format
    assert eras.gradient_bytes(Row({"precision": "bf16 (fp32 grad accumulation)"}), eras.GENERIC) == 4.0
    core = eras.era(Row({"framework": "NeMo"}))
    assert eras.recompute_modes(Row({"recompute": ""}), core) == (("none", "selective", "full"), False)
    assert eras.recompute_modes(Row({"recompute": "norm, act"}), core) == (("none",), True)
    assert eras.zero_stage(Row({"zero_fsdp": "DDP/dist-opt (FSDP=0)"}), core) == 1
    assert eras.zero_stage(Row({"zero_fsdp": "FSDP FULL_SHARD PURE"}), core) == 3
    assert eras.shard_size(Row({"zero_fsdp": "FSDP2 shard=32"})) == 32


def test_a_causal_count_halves_attention_alone():
    s, batch = 4096, 4
    llama_like, _ = architecture(Row(GPT))
    full, half = (megatron_step_flops(llama_like, s, batch, False, causal) for causal in (False, True))
    square = 4 * s * llama_like.heads * llama_like.head_dim * llama_like.layers  # FLOP per token, forward
    assert full - half == pytest.approx(3 * batch * s * square / 2)


@pytest.mark.parametrize(
    ("framework", "causal"),
    [
        ("Megatron-Core", True),
        ("Megatron-Core r0.8.0", False),
        ("Megatron-Core r0.13", True),
        ("torchtitan", False),
    ],
)
def test_which_frameworks_count_the_causal_half(framework, causal):
    llama_like, _ = architecture(Row(GPT))
    row = Row(
        {
            "n_gpus": "64",
            "tflops_per_gpu": "400",
            "metric_definition": "model TFLOP/s/GPU",
            "framework": framework,
        }
    )
    expected = megatron_step_flops(llama_like, 8192, 64, False, causal) / (400e12 * 64)
    assert stated_step_time(row, llama_like, 8192, 64)[0] == pytest.approx(expected)


def test_published_pairs_of_time_and_flops_agree_with_the_causal_count():
    """A step time and a FLOP/s of the same run (facts of Megatron-MoE-ModelZoo's table): 19.7 s and 245."""
    row = Row({"model": "Qwen3 235B"})
    model, _ = architecture(row)
    work = megatron_step_flops(model, 4096, 2048, False, causal=True)
    assert work / 19.7 / 256 / 1e12 == pytest.approx(245, rel=0.01)


def test_what_a_rows_words_change_in_its_stack():
    core = eras.era(Row({"framework": "Megatron-Core"}))
    assert eras.stack_changes(Row({"notes": "dispatcher DeepEP; "}), core) == {"dispatcher": "node-limited"}
    assert eras.stack_changes(Row({"notes": "dispatcher A2A; "}), core) == {"dispatcher": "all-to-all"}
    again = Row({"recompute": "selective (layernorm, moe)"})
    assert eras.stack_changes(again, core) == {"recomputes_experts": True}
    assert eras.recompute_modes(again, core) == (("selective",), True)
    sinks = eras.stack_changes(Row({"model": "GPT OSS 120B"}), core)
    assert sinks == {"masked_windows": True, "fused_rotary": False, "dispatcher": "all-to-all"}
    assert eras.stack_changes(Row({"model": "DeepSeekV3"}), core) == {"node_limit": 4.0}
    assert eras.fused_loss(Row({"recompute": "none (cef)"}), core) and not eras.fused_loss(Row({}), core)
    titan = eras.era(Row({"framework": "torchtitan"}))
    for words, changes in (
        ("fp8 rowwise", {"cast_orientations": 2}),
        ("fp8 tensorwise", {"tp_gather_bytes": 1.0}),
    ):
        assert eras.stack_changes(Row({"precision": words}), titan) == changes
    for notes, overlaps in (("vanilla TP; seq 8192 assumed", False), ("AsyncTP, 1F1B", True), ("", False)):
        assert eras.asynchronous_tp(Row({"notes": notes}), titan) is overlaps
    assert eras.asynchronous_tp(Row({}), core)
    assert eras.imbalance(Row({"notes": "dropless (unforced); NNODES=32"})) == eras.UNFORCED_IMBALANCE
    assert eras.imbalance(Row({"notes": "forced balance"})) is None
    assert eras.expert_tensor_parallel(Row({"framework": "Megatron-Bridge 25.09"}), 4, True)[0] == 1
    assert eras.expert_tensor_parallel(Row({"framework": "NeMo"}), 4, True)[0] == 4
    assert eras.expert_tensor_parallel(Row({"framework": "NeMo"}), 4, False)[0] == 1
