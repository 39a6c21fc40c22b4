"""Attention: fused kernels of several generations, and the unfused kind that writes its scores to memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from argosy.training.kernels.device import Device
from argosy.training.kernels.fitted import fitted
from argosy.training.kernels.gemm import gemm_time

Array = Any  # float or numpy array

ATTENTION_KERNELS = ("unfused", "flash1", "triton", "flash2", "flash3")

BACKWARD_FLOPS = (
    2.5  # five products (recomputed scores, dV, dP, dQ, dK) for the forward's two (FlashAttention-2, §3.1)
)

# Bytes per score that unfused half-precision attention moves between its products, which write and read
# scores themselves: reads and writes in the masked softmax and in dropout (with its one-byte mask); backward
# likewise for the gradients.
UNFUSED_FORWARD_BYTES = (2 + 2) + (2 + 2 + 1)
UNFUSED_BACKWARD_BYTES = (2 + 1 + 2) + (2 + 2 + 2)
# Where Megatron-LM's fused softmax cannot run, PyTorch's operations take its place one by one, in FP32
# (megatron/model/fused_softmax.py, forward_torch_softmax with softmax_in_fp32): conversion 2 + 4, scale 4 + 4,
# mask 4 + 1 + 4, softmax 4 + 4, conversion 4 + 2 against the fused 2 + 2; backward conversion 2 + 4, softmax
# 4 + 4 + 4, mask 4 + 1 + 4, scale 4 + 4, conversion 4 + 2 against the fused 2 + 2 + 2.
APART_FORWARD_BYTES = (2 + 4) + (4 + 4) + (4 + 1 + 4) + (4 + 4) + (4 + 2) - (2 + 2)
APART_BACKWARD_BYTES = (2 + 4) + (4 + 4 + 4) + (4 + 1 + 4) + (4 + 4) + (4 + 2) - (2 + 2 + 2)


@dataclass(frozen=True)
class AttentionKernel:
    """What a kernel generation reaches on one accelerator generation.

    `forward_ceiling`: share of peak of long forward sequences, None where the measured curve is this
    kernel's;
    `backward_ratio`: backward FLOP/s over forward FLOP/s; `score_traffic`: for unfused attention, bytes
    moved per score over those of UNFUSED_FORWARD_BYTES and UNFUSED_BACKWARD_BYTES. Floats or arrays of
    draws (n,).
    """

    name: str
    forward_ceiling: Array | None
    backward_ratio: Array
    score_traffic: Array = 1.0
    source: str = ""


def attention_flops(
    sequences: Array,
    queries: Array,
    context: Array,
    heads: Array,
    qk_head_dim: Array,
    v_head_dim: Array,
    causal: bool,
) -> Array:
    """Forward FLOPs of scores and values: 2·sequences·queries·context·heads·(d_qk + d_v), halved when
    causal.
    """
    return (1.0 if causal else 2.0) * sequences * queries * context * heads * (qk_head_dim + v_head_dim)


def attention_time(
    device: Device,
    sequences: Array,
    queries: Array,
    context: Array,
    heads: Array,
    kv_heads: Array,
    qk_head_dim: float,
    v_head_dim: float,
    causal: bool = True,
    backward: bool = False,
    kernel_generation: str | AttentionKernel = "flash2",
) -> Array:
    """Seconds of one attention call on one rank, forward or backward; array arguments broadcast.

    `sequences` in the micro-batch, `queries` tokens per sequence on this rank, `context` keys that a
    query sees before causality halves it, `heads` and `kv_heads` on this rank. Fused kernels:
        FLOPs · (1 + ramp/context) ÷ (peak · clock · ceiling), not below bytes(Q, K, V, O) ÷ memory rate,
        + overhead,
    where the clock is that of work which keeps the matrix units busy by its ceiling over a large product's
    (`Device.clock`): the power that slows products down leaves attention more room,
    with ceiling and ramp by head dimension from the forward measurements; the backward has 2.5 times the
    FLOPs at the generation's `backward_ratio`. `kernel_generation`: one of
    ATTENTION_KERNELS, or an AttentionKernel of one's own; the unfused one computes the full square in
    batched products and moves every score through memory. Fitted for 1,024–16,384 tokens, head dimensions
    64–256.
    """
    curves = device.curves
    kernel = (
        attention_kernel(kernel_generation, curves.generation)
        if isinstance(kernel_generation, str)
        else kernel_generation
    )
    if kernel.name == "unfused":
        return _unfused(device, kernel, sequences, queries, context, heads, qk_head_dim, v_head_dim, backward)
    curve = curves.attention["bf16"]
    ceiling = np.interp(qk_head_dim, curve.head_dims, curve.ceiling)
    if (
        kernel.forward_ceiling is not None
    ):  # published at head dimension 128; other dimensions by the curve's shape
        ceiling = ceiling * kernel.forward_ceiling / np.interp(128.0, curve.head_dims, curve.ceiling)
    ramp = np.interp(qk_head_dim, curve.head_dims, curve.ramp)
    work = attention_flops(sequences, queries, context, heads, qk_head_dim, v_head_dim, causal)
    work = work * (BACKWARD_FLOPS / kernel.backward_ratio) if backward else work
    clock = device.clock(np.minimum(ceiling / curves.gemm["bf16"].ceiling, 1.0))
    compute = work * (1.0 + ramp / context) / (device.nameplate("bf16") * clock * ceiling)
    streams = 2.0 * sequences * (queries * heads + context * kv_heads) * (qk_head_dim + v_head_dim)
    streams = streams * (2.0 if backward else 1.0)  # the backward also reads dO and O and writes dQ, dK, dV
    memory = streams / (device.memory_bandwidth * curves.memory_efficiency)
    return np.maximum(compute, memory) + curves.gemm["bf16"].overhead_s


def _unfused(
    device: Device,
    kernel: AttentionKernel,
    sequences: Array,
    queries: Array,
    context: Array,
    heads: Array,
    qk: float,
    v: float,
    backward: bool,
) -> Array:
    """Scores and values as batched products over the full square, plus the scores' traffic through memory."""
    batch = np.multiply(sequences, heads)
    rows = batch * queries  # a batched product fills the device with the tiles of all heads together
    products = gemm_time(device, rows, context, qk) + gemm_time(device, rows, v, context)
    passes = UNFUSED_BACKWARD_BYTES if backward else UNFUSED_FORWARD_BYTES
    apart = APART_BACKWARD_BYTES if backward else APART_FORWARD_BYTES
    passes = passes + apart * softmax_falls_apart(sequences, heads)
    scores = rows * context * passes * kernel.score_traffic
    return products * (2.0 if backward else 1.0) + scores / (
        device.memory_bandwidth * device.curves.memory_efficiency
    )


def softmax_falls_apart(sequences: Array, heads: Array) -> Array:
    """Whether unfused attention must also convert, scale and mask its scores in kernels of their own, bool.

    Megatron-LM's fused softmax runs only where sequences · heads on a rank is a multiple of four
    (megatron/model/fused_softmax.py, is_kernel_available); elsewhere PyTorch's operations take its place.
    """
    return np.multiply(sequences, heads) % 4 != 0


@cache
def attention_kernel(kernel_generation: str, device_generation: str) -> AttentionKernel:
    """The published efficiency of a kernel generation on an accelerator generation.

    ValueError for an unknown kernel generation; an accelerator generation without an entry uses the
    `default`.
    """
    text = (files("argosy.training.kernels") / "data" / "attention_kernels.json").read_text(encoding="utf-8")
    kernels = json.loads(text)["kernels"]
    if kernel_generation not in kernels:
        raise ValueError(
            f"no attention kernel {kernel_generation!r}; there are {', '.join(ATTENTION_KERNELS)}"
        )
    entry = kernels[kernel_generation]
    row = dict(entry.get(device_generation, entry["default"]))
    for field in ("forward_ceiling", "backward_ratio", "score_traffic"):
        if found := fitted(f"attention.{kernel_generation}.{device_generation}.{field}"):
            row |= {field: found["value"], "source": found["source"]}
    return AttentionKernel(
        kernel_generation,
        row["forward_ceiling"],
        row["backward_ratio"],
        row.get("score_traffic", 1.0),
        row["source"],
    )
