"""Descriptions of models by others: read into the same fields, counted against the published totals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.spec import ModelError, model_names, resolve_model
from argosy.spec.importers import huggingface, megatron
from argosy.workload.parameters import count

# Configurations as published, with the total that the source states (the number of digits it states).
# Configurations as published, with the total that the source states (with as many digits as it states).
CONFIGS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "published_configs.json").read_text()
)
LLAMA: dict[str, Any] = CONFIGS["Llama 2 7B"]["config"]
# Files of ../shared/samples/hf_configs whose whole stack is described: the total that the makers state.
PUBLISHED: dict[str, tuple[str, str]] = {
    "MiniMaxAI--MiniMax-M2.5": ("228.7e9", "MiniMaxAI/MiniMax-M2.5, safetensors total 228.7B"),
    "Qwen--Qwen3-1.7B": (
        "1.72e9",
        "Qwen3, arXiv:2505.09388, table 1: 1.7B; safetensors total 1,720,574,976, tied",
    ),
    "Qwen--Qwen3-235B-A22B": ("235e9", "Qwen3, arXiv:2505.09388, table 2"),
    "Qwen--Qwen3-30B-A3B": ("30.5e9", "Qwen3, arXiv:2505.09388, table 2"),
    "Qwen--Qwen3-32B": ("32.8e9", "Qwen/Qwen3-32B model card"),
    "Qwen--Qwen3-32B-FP8": ("32.8e9", "Qwen/Qwen3-32B model card"),
    "Qwen--Qwen3-Coder-480B-A35B-Instruct": ("480e9", "Qwen/Qwen3-Coder-480B-A35B-Instruct model card"),
    "deepseek-ai--DeepSeek-V3": ("671e9", "DeepSeek-V3, arXiv:2412.19437"),
    "nvidia--DeepSeek-V3.1-NVFP4": ("671e9", "deepseek-ai/DeepSeek-V3.1 model card"),
    "nvidia--Llama-3.1-70B-Instruct-FP8": (
        "70.6e9",
        "meta-llama/Llama-3.1-70B-Instruct, safetensors total 70.6B",
    ),
    "openai--gpt-oss-120b": ("116.83e9", "gpt-oss model card, arXiv:2508.10925, table 1"),
}


def tolerance(stated: str) -> float:
    """0.5 % of a stated total, or half a unit in its last digit where coarser: "3.6e9" is 3.55 to 3.65."""
    mantissa, _, exponent = stated.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return max(0.005 * float(stated), 0.5 * 10.0 ** (int(exponent) - decimals))


@pytest.mark.parametrize("name", CONFIGS)
def test_parameter_counts_of_published_configurations(name: str) -> None:
    published = CONFIGS[name]
    model = huggingface.from_config(published["config"], name)
    stated = published["stated"]
    assert count(model).total == pytest.approx(float(stated), abs=tolerance(stated)), published["source"]
    assert not model.not_modelled


@pytest.mark.parametrize("name", model_names())
def test_parameter_counts_of_shipped_models(name: str) -> None:
    model = resolve_model(name)
    assert model.source
    if model.published_parameters:
        stated = next(
            line.split()[1]
            for line in (Path(huggingface.__file__).parents[1] / "models" / f"{name}.yaml")
            .read_text()
            .splitlines()
            if line.startswith("published_parameters")
        )
        assert count(model).total == pytest.approx(float(stated), abs=tolerance(stated))


def test_every_shared_configuration_is_read_or_says_what_is_not_modelled(shared_directory: Path) -> None:
    files = sorted((shared_directory / "samples" / "hf_configs").glob("*.json"))
    assert len(files) >= 47
    for file in files:
        try:
            model = huggingface.read(file)
        except ModelError as error:
            quantisation = file.name.endswith("hf_quant_config.json")
            assert ("describes a quantisation" in str(error)) is quantisation
            assert quantisation or error.not_modelled
            continue
        stated = PUBLISHED.get(file.name.removesuffix("_config.json"))
        if stated:
            assert not model.not_modelled or "gpt-oss" in file.name
            assert count(model).total == pytest.approx(float(stated[0]), rel=0.005), stated[1]


def test_what_is_left_out_is_named(shared_directory: Path) -> None:
    folder = shared_directory / "samples" / "hf_configs"
    wanted = {
        "Qwen--Qwen3.5-27B": "linear attention in 48 of 64 layers",
        "Qwen--Qwen3-VL-8B-Instruct": "the vision encoder",
        "openai--gpt-oss-120b": "attention sinks",
        "zai-org--GLM-5.3": "57 layers that use another's index",
    }
    for name, words in wanted.items():
        assert any(words in part for part in huggingface.read(folder / f"{name}_config.json").not_modelled)
    refused = {
        "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8": "Mamba layers (40 of 48 mixers)",
        "deepseek-ai--DeepSeek-V4-Flash": "hyper-connections",
    }
    for name, part in refused.items():
        with pytest.raises(ModelError) as caught:
            huggingface.read(folder / f"{name}_config.json")
        assert any(part in each for each in caught.value.not_modelled)


def test_fields_that_the_count_does_not_show() -> None:
    gemma = huggingface.from_config(CONFIGS["Gemma 2 9B"]["config"])
    assert (gemma.sliding_window, gemma.windowed_layers[:3], gemma.norms_per_layer) == (4096, (0, 2, 4), 4)
    qwen = huggingface.from_config(CONFIGS["Qwen2 7B"]["config"])
    assert (qwen.sliding_window, qwen.attention_bias, qwen.head_dim) == (None, True, 128)
    deepseek = huggingface.from_config(CONFIGS["DeepSeek V2 Lite"]["config"])
    assert deepseek.moe is not None
    assert (deepseek.moe.dense_layers, deepseek.moe.shared_experts, deepseek.head_dim) == ((0,), 2, 192)
    neox = huggingface.from_config(CONFIGS["GPT-NeoX 20B"]["config"])
    assert neox.parallel_block
    assert huggingface.from_config(CONFIGS["Falcon 7B"]["config"]).kv_heads == 1
    assert huggingface.from_config(CONFIGS["MPT 7B"]["config"]).position == "alibi"


def test_a_nested_model_and_a_missing_type() -> None:
    config = LLAMA
    nested = huggingface.from_config(
        {"vision_config": {"hidden_size": 1}, "text_config": config, "model_type": "llava"}
    )
    assert (nested.hidden, nested.not_modelled) == (4096, ("the vision encoder",))
    untyped = {**config, "architectures": ["LlamaForCausalLM"]}
    del untyped["model_type"]
    assert huggingface.from_config(untyped).not_modelled == ()
    stranger = huggingface.from_config({**config, "model_type": "novel"})
    assert "the family novel" in stranger.not_modelled[0]


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(CONFIGS)),
    st.sampled_from(sorted({key for published in CONFIGS.values() for key in published["config"]})),
    st.sampled_from(
        [None, 0, -1, 1, 3, 2.5, 10**30, float("nan"), float("inf"), "x", "", [], [1], {}, True, False]
    ),
)
def test_any_value_in_any_field_is_read_or_refused_in_words(name: str, key: str, value: object) -> None:
    try:
        model = huggingface.from_config({**CONFIGS[name]["config"], key: value})
    except ModelError as error:
        assert str(error).startswith("config.json: ")
    else:
        assert count(model).total > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hidden_size": None}, "has no hidden_size (or n_embd, d_model)"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0; it must be a positive whole number"),
        ({"vocab_size": "many"}, "vocab_size is 'many'"),
        ({"hidden_size": 4097}, "does not divide by 32 heads"),
        ({"intermediate_size": [1, 2]}, "differs from layer to layer"),
        ({"model_type": "bert"}, "is not a decoder-only transformer"),
        ({"is_encoder_decoder": True}, "is not a decoder-only transformer"),
    ],
)
def test_faulty_configurations(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError) as caught:
        huggingface.from_config({**LLAMA, **change})
    assert words in str(caught.value)


def test_a_truncated_file_says_where(tmp_path: Path) -> None:
    text = json.dumps(LLAMA, indent=2)
    path = tmp_path / "config.json"
    path.write_text(text[: text.index('"num_hidden_layers"') + 8])
    with pytest.raises(ModelError, match=r"config\.json:8:3: is cut off"):
        huggingface.read(path)
    for content, words in (
        (b"", "is cut off"),
        (b"[1]", "not a JSON object"),
        (b"\xff\xfe\x00", "is not text"),
        (b"[" * 100_000, "nested too deeply|is cut off"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=words):
            huggingface.read(path)


def test_a_model_that_is_unknown_gets_a_suggestion() -> None:
    with pytest.raises(ModelError, match=r"write llama-3\.1-405b"):
        resolve_model("llama-3.1-450b")
    with pytest.raises(ModelError, match=r"there is no file .*nowhere/config\.json"):
        resolve_model("nowhere/config.json")


MEGATRON_DEEPSEEK = r"""
#!/bin/bash
MODEL_ARGS=(
  --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432   # dense layers
  --num-attention-heads 128 --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512
  --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128
  --num-experts 256 --moe-router-topk 8 --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048
  --moe-layer-freq "([0]*3+[1]*58)" --mtp-num-layers 1
  --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights
  --position-embedding-type rope --vocab-size 129280 --make-vocab-size-divisible-by 1280
)
torchrun pretrain_gpt.py --seq-length=4096 --max-position-embeddings 4096 --micro-batch-size 1 \
  --global-batch-size 15360 --train-samples 3613281250 --pipeline-model-parallel-size 16 \
  --expert-model-parallel-size 64 --use-distributed-optimizer --bf16 --fp8-format hybrid \
  --overlap-grad-reduce --recompute-granularity selective --lr 2.2e-4
"""


def test_megatron_arguments() -> None:
    job = megatron.from_arguments(MEGATRON_DEEPSEEK)
    assert count(job.model).total == pytest.approx(671e9, rel=0.005)
    assert job.model.moe is not None
    assert job.model.moe.dense_layers == (0, 1, 2)
    given = {"tp": 1, "pp": 16, "vp": 1, "cp": 1, "ep": 64, "etp": 1, "micro_batch": 1, "zero": 1}
    assert given.items() <= job.layout.given.items()
    assert (job.layout.recompute, job.layout.schedule, job.layout.sequence_parallel) == (
        "selective",
        "1f1b",
        False,
    )
    assert (job.precision.compute, job.precision.parameters, job.precision.gradients) == (
        "fp8",
        "bf16",
        "fp32",
    )
    assert (job.sequence_length, job.global_batch) == (4096, 15360)
    assert job.tokens == pytest.approx(14.8e12)
    assert job.overlap.dp
    assert not job.overlap.tp
    assert job.ignored == ("--lr 2.2e-4",)


def test_megatron_defaults() -> None:
    job = megatron.from_arguments(
        "--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --fp16"
        " --max-position-embeddings 2048 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 8"
        " --num-layers-per-virtual-pipeline-stage 3 --sequence-parallel --micro-batch-size 1"
        " --vocab-size 50257 --global-batch-size 1536 --train-iters 10"
    )
    assert count(job.model).total == pytest.approx(174.6e9, rel=0.005)  # Narayanan et al. 2021, table 1
    assert (job.model.vocab, job.model.tied_embeddings, job.model.ffn) == (51200, True, 49152)
    assert (job.layout.vp, job.layout.schedule, job.layout.zero) == (4, "interleaved", 0)
    assert job.tokens == 10 * 1536 * 2048


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no Megatron-LM arguments"),
        ("--num-layers 96 --hidden-sze 5", "--seq-length is missing"),
        ("--seq-length 8 --hidden-size $HIDDEN", "is the variable $HIDDEN; write its value"),
        ("--seq-length 8k", "is '8k'; write a whole number"),
        ("--seq-length 'a", "the quotes do not match"),
        (MEGATRON_DEEPSEEK.replace("[0]*3+[1]*58", "[0]*3+[1]*57"), "names 60 layers, --num-layers 61"),
        (MEGATRON_DEEPSEEK.replace("([0]*3+[1]*58)", "__import__('os')"), "is not a number or like"),
    ],
)
def test_faulty_megatron_arguments(text: str, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        megatron.from_arguments(text)
    assert words in str(caught.value)


def test_shapes_that_measured_runs_name_resolve(shared_directory: Path) -> None:
    """Every architecture of the measured runs' table is shipped under that name, with that shape."""
    import csv

    # The table calls a 28-layer variant by the name of the released model of 27 layers, and gives PaLM's one
    # key/value head (arXiv:2204.02311, section 2) as 48. Vocabularies differ by padding.
    different = {"deepseekv2-lite", "palm-540B"}
    with (shared_directory / "data" / "model_configs.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["model"] not in different]
    assert len(rows) > 30
    for row in rows:
        model = resolve_model(row["model"])
        stated = {key: int(row[key]) for key in ("layers", "hidden", "heads", "kv_heads") if row[key]}
        assert {key: getattr(model, key) for key in stated} == stated, row["model"]
        if row["experts"] and model.moe:
            assert (model.moe.experts, model.moe.top_k) == (int(row["experts"]), int(row["topk"])), row[
                "model"
            ]
        if model.ffn:
            assert model.ffn == int(row["ffn"]), row["model"]
