"""Model FLOPs utilisation in its several conventions, so that figures of different papers compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.training.device import Device
from argosy.training.job import Job
from argosy.training.layout import FULL, SELECTIVE
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


def utilisation(
    job: Job, device: Device, tokens_per_gpu_s: Array, recompute: Array
) -> tuple[dict[str, Any], Array]:
    """MFU in three conventions, and HFU.

    parameters_only = 6 N · tokens/s ÷ peak, with N the parameters that multiply (without the input
    embedding, the active ones of a mixture); attention_causal and attention_full add attention's products.
    `peak` is the nameplate dense BF16 rate: a step in FP8 still runs attention, router and head in BF16, so
    its formats are mixed, and only against one peak do runs compare. HFU adds what is recomputed to
    attention_causal: all of the forward, or attention. `tokens_per_gpu_s` and `recompute` are (L,) or (n,).
    """
    parameters = count(job.model).without_input_embedding
    peak = device.peak("bf16") / device.sustained_clock
    causal, full = (attention_flops_per_token(job, c) for c in (True, False))
    per_token = {
        "parameters_only": 6 * parameters,
        "attention_causal": 6 * parameters + causal,
        "attention_full": 6 * parameters + full,
    }
    rate = tokens_per_gpu_s / peak
    mfu: dict[str, Any] = {name: flops * rate for name, flops in per_token.items()}
    again = np.where(
        recompute == FULL,
        per_token["attention_causal"] / 3,
        np.where(recompute == SELECTIVE, causal / 3, 0.0),
    )
    hfu = (per_token["attention_causal"] + again) * rate
    return {**mfu, "peak_flops": peak, "peak_dtype": "bf16", "parameters": parameters}, hfu
