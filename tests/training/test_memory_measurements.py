"""Predicted against measured peak memory.

A few measurements of our own table always run; the full published set runs where it lies beside the checkout.
One number of the model is calibrated on measurements (DeepSpeed's fragmentation, on three of four BLOOM
runs); every fourth run was set aside and is asserted on its own.
"""

import csv

import numpy as np
import pytest

from argosy.spec.model import MixtureOfExperts, ModelArchitecture, MultiHeadLatentAttention
from argosy.training.job import Job
from argosy.training.layout import Layouts
from argosy.training.memory import MemoryBreakdown, memory

GIB = 2.0**30
A100 = 81251 * 2.0**20  # what nvidia-smi reports


def dense(layers, hidden, heads, kv_heads, ffn, vocab, **more):
    fields = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": hidden // heads,
    }
    return ModelArchitecture(**fields, ffn=ffn, vocab=vocab, **more)


def bloom(layers, hidden, heads):
    """A GPT of the BLOOM tuning runs: tied embedding of 250,880 words, ALiBi, biases everywhere."""
    more = dict.fromkeys(("tied_embeddings", "attention_bias", "attention_output_bias", "ffn_bias"), True)
    return dense(
        layers,
        hidden,
        heads,
        heads,
        4 * hidden,
        250880,
        gated_ffn=False,
        norm="layernorm",
        position="alibi",
        **more,
    )


def deepseek(layers, hidden, ffn, vocab, experts, top_k, expert_ffn, shared):
    """Truncated DeepSeek V2 or V3 as SimuMax ran them; its first layer alone is dense."""
    return ModelArchitecture(
        layers=layers, hidden=hidden, heads=128, kv_heads=128, head_dim=128, ffn=ffn, vocab=vocab,
        mla=MultiHeadLatentAttention(
            q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128
        ),
        moe=MixtureOfExperts(
            experts=experts, top_k=top_k, expert_ffn=expert_ffn, shared_experts=shared, dense_layers=(0,)
        ),
    )  # fmt: skip


def megatron_core(model, sequence_length=4096, **layout) -> MemoryBreakdown:
    layouts = Layouts.one(**{"grad_accumulation": 8, **layout})
    return memory(Job(model, sequence_length, 8, fused_cross_entropy=True), layouts, "megatron-core")


def deepspeed(model, precision, **layout) -> MemoryBreakdown:
    layouts = Layouts.one(**{"grad_accumulation": 64, **layout}, recompute="full", sequence_parallel=False)
    return memory(Job(model, 2048, 2048, precision=precision), layouts, "megatron-deepspeed")


def fsdp2(model, sequence_length, recompute, **layout) -> MemoryBreakdown:
    return memory(Job(model, sequence_length, 8), Layouts.one(zero=3, recompute=recompute, **layout), "fsdp2")


LLAMA_8B = dense(32, 4096, 32, 8, 14336, 128256)
LLAMA_70B = dense(12, 8192, 64, 8, 28672, 128256)

# Prediction, measured bytes, tolerance. Sources: SimuMax 1.2, B200 summary (github.com/MooreThreads/SimuMax,
# commit 4dcaae5; peaks of torch.cuda.max_memory_allocated); BLOOM's chronicles
# (github.com/bigscience-workshop/bigscience, commit 9e64ede; GB per accelerator); torchtitan's benchmarks
# (github.com/pytorch/torchtitan, commit b5bcd76; allocator's reserve).
OWN = {
    "70B, 12 layers, pp2": (lambda: megatron_core(LLAMA_70B, pp=2, dp=4).peak_allocated, 66.55 * GIB, 0.02),
    "70B, 12 layers, tp8": (lambda: megatron_core(LLAMA_70B, tp=8).peak_allocated, 28.29 * GIB, 0.02),
    "70B, cp4, 128 K": (
        lambda: megatron_core(LLAMA_70B, 131072, tp=2, cp=4).peak_allocated, 112.67 * GIB, 0.03,
    ),
    "DeepSeek-V2, 4 layers, ep8": (
        lambda: megatron_core(deepseek(4, 5120, 12288, 102400, 160, 6, 1536, 2), dp=8, ep=8).peak_allocated,
        45.63 * GIB,
        0.02,
    ),
    "BLOOM-like 181B, tp8 pp6": (
        lambda: deepspeed(bloom(72, 14336, 64), "fp16", tp=8, pp=6, dp=8, micro_batch=4).peak_reserved, 55 *
        GIB, 0.05,
    ),
    "BLOOM-like 176B, tp4 pp12": (
        lambda: deepspeed(bloom(70, 14336, 64), "bf16", tp=4, pp=12, dp=8, micro_batch=2).peak_reserved, 59 *
        GIB, 0.05,
    ),
    "8B on 8, FSDP2": (
        lambda: fsdp2(LLAMA_8B, 8192, "selective", dp=8, micro_batch=2).allocator_reserved, 77 * GIB, 0.05,
    ),
    "8B on 128, FSDP2": (
        lambda: fsdp2(LLAMA_8B, 8192, "selective", dp=128, micro_batch=2).allocator_reserved, 62 * GIB, 0.05,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_own_measurements(name):
    predict, measured, tolerance = OWN[name]
    assert predict()[0] == pytest.approx(measured, rel=tolerance)


@pytest.mark.parametrize(
    "layout", [{"tp": 8, "pp": 1, "dp": 48}, {"tp": 2, "pp": 6, "dp": 32, "micro_batch": 2}]
)
def test_out_of_memory_is_predicted(layout):
    """Two runs of the 181B model that ended out of memory on 80 GB."""
    assert not deepspeed(bloom(72, 14336, 64), "fp16", **layout).fits(A100)[0]


def number(row, column, default=1):
    text = row[column].strip()
    return int(float(text)) if text else default


def rows(shared_directory, source):
    with open(shared_directory / "data" / "memory_measurements.csv", newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if source in row["source"]]


def layout_of(row):
    dp, micro_batch = number(row, "dp"), number(row, "mbs")
    names = {name: number(row, name) for name in ("tp", "pp", "cp", "ep")}
    batch = number(row, "gbs_seqs", dp * micro_batch)
    return {
        **names,
        "dp": dp,
        "micro_batch": micro_batch,
        "grad_accumulation": max(1, batch // (dp * micro_batch)),
    }


def architecture(row):
    return [number(row, name) for name in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")]


def errors(pairs):
    predicted, measured = np.array(pairs).T
    return predicted / measured - 1


def test_simumax(shared_directory):
    """Every row, dense and mixture: mean error below 1 %, none above 3 %; SimuMax itself states 0.46 %."""
    pairs = []
    for row in rows(shared_directory, "SimuMax"):
        layers, hidden, _, _, ffn, vocab = architecture(row)
        model = dense(*architecture(row))
        if "deepseek" in row["model"]:
            more = (256, 8, 2048, 1) if "v3" in row["model"] else (160, 6, 1536, 2)
            model = deepseek(layers, hidden, ffn, vocab, *more)
        predicted = megatron_core(model, number(row, "seq_len"), **layout_of(row)).peak_allocated[0]
        pairs.append((predicted, float(row["peak_mem_gb"]) * GIB))
    error = errors(pairs)
    assert len(error) >= 20
    assert np.abs(error).mean() < 0.01
    assert np.abs(error).max() < 0.03


def test_bloom(shared_directory):
    """Runs that fitted, calibrated on and set aside; and those that did not fit.

    One of the four runs out of memory is missed: 206B at tp4 pp12 is predicted at 62 GiB of 79.
    """
    pairs, verdicts = [], []
    for row in rows(shared_directory, "BLOOM"):
        if not (row["layers"] and row["hidden"] and row["heads"]):
            continue
        layers, hidden, heads, *_ = architecture(row)
        precision = "bf16" if row["precision"].startswith("bf16") else "fp16"
        result = deepspeed(bloom(layers, hidden, heads), precision, **layout_of(row))
        if row["peak_mem_gb"] == "OOM":
            verdicts.append(not result.fits(A100)[0])
        else:
            pairs.append((result.peak_reserved[0], float(row["peak_mem_gb"]) * GIB))
    error = errors(pairs)
    aside = np.arange(len(error)) % 4 == 3
    assert np.abs(error[aside]).mean() < 0.05
    assert abs(error[aside].mean()) < 0.02
    assert np.abs(error[~aside]).mean() < 0.05
    assert sum(verdicts) == 3
    assert len(verdicts) == 4


def test_torchtitan_without_a_pipeline(shared_directory):
    """FSDP2 alone is within 5 %; tensor parallelism and pipelines of it are 12-21 % too low (not modelled
    well).
    """
    pairs = []
    for row in rows(shared_directory, "torchtitan"):
        if not row["dp"] or row["tp"] != "1.0" or row["recompute"] != "selective":
            continue
        result = fsdp2(LLAMA_8B, number(row, "seq_len"), row["recompute"], **layout_of(row))
        pairs.append((result.allocator_reserved[0], float(row["peak_mem_gb"]) * GIB))
    assert len(pairs) == 4
    assert np.abs(errors(pairs)).max() < 0.05
