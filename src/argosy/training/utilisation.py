"""Model FLOPs utilisation in its several conventions, so that figures of different papers compare."""

from __future__ import annotations

from typing import Any

from argosy.training.device import Device
from argosy.training.job import Job
from argosy.workload import count, layer_kind_sequence
from argosy.workload.attention import windowed_context
from argosy.workload.kinds import window

Array = Any


def attention_flops_per_token(job: Job, causal: bool) -> float:
    """Forward and backward FLOPs of scores and values per token, over all layers.

    3 · 2 · context · heads · (d_qk + d_v), with context the sequence (a window limits it); halved where the
    causal mask is counted as what it saves. For head dimension d and hidden = heads · d: 12 · layers ·
    hidden · sequence, or 6.
    """
    model = job.model
    mla = model.mla
    widths = (mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim) if mla else 2 * model.head_dim
    contexts = sum(
        float(windowed_context(job.sequence_length, window(model, kind)))
        for kind in layer_kind_sequence(model)
    )
    return (3.0 if causal else 6.0) * contexts * model.heads * widths


def utilisation(job: Job, device: Device, tokens_per_gpu_s: Array) -> dict[str, Any]:
    """MFU in three conventions; `tokens_per_gpu_s` is (L,) or (n,).

    parameters_only = 6 N · tokens/s ÷ peak, with N the parameters that multiply (without the input embedding,
    the active ones of a mixture); attention_causal and attention_full add attention's products. `peak` is the
    nameplate dense BF16 rate: a step in FP8 still runs attention, router and head in BF16, so its formats are
    mixed, and only against one peak do runs compare.
    """
    parameters = count(job.model).without_input_embedding
    peak = device.peak("bf16") / device.sustained_clock
    rate = tokens_per_gpu_s / peak
    causal, full = (attention_flops_per_token(job, c) for c in (True, False))
    return {
        "parameters_only": 6 * parameters * rate,
        "attention_causal": (6 * parameters + causal) * rate,
        "attention_full": (6 * parameters + full) * rate,
        "peak_flops": peak,
        "peak_dtype": "bf16",
        "parameters": parameters,
    }
