"""Sparse attention in serving: an indexer scores every cached token, and attention reads the best of them.

DeepSeek-V3.2-Exp (technical report, section 2.1; its inference/model.py and kernel.py) and GLM-5: per layer and token an
FP8 index key with an FP32 scale per 128 elements, repeated on every tensor-parallel rank; scores are products in FP8, and
the top-k is taken over FP32 scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.serving.engine import Engine
from argosy.serving.formats import compute_format
from argosy.spec.model import ModelArchitecture
from argosy.training.kernels import Device
from argosy.training.kernels.gemm import product_curve

Array = Any

SCALE_BLOCK, SCALE_BYTES = 128, 4.0
# FP32 scores are written once and read twice: the histogram and the selection of a radix top-k.
SELECT_BYTES = 3 * 4.0
# Query heads that one tile of a sparse attention kernel computes, whether there are as many or not (FlashMLA pads to it).
HEAD_TILE = 64


def index_key_bytes(model: ModelArchitecture) -> float:
    """Bytes of one token's index key in one layer; 0 without an indexer."""
    indexer = model.sparse_attention
    return indexer.head_dim * (1.0 + SCALE_BYTES / SCALE_BLOCK) if indexer else 0.0


def attended(model: ModelArchitecture, window: int | None, keys: Array) -> Array:
    """Keys that a query attends to of the `keys` before it: those in the window, the indexer's best, or all."""
    if window is not None:
        keys = np.minimum(keys, window)
    return np.minimum(keys, model.sparse_attention.top_k) if model.sparse_attention else keys


def index_s(
    model: ModelArchitecture, device: Device, engine: Engine, queries: Array, keys: Array, sequences: Array
) -> Array:
    """Seconds of one layer's scores and top-k: `queries` tokens that see `keys` each, of `sequences` whose keys are read.

    max(sequences·keys·bytes ÷ memory rate, 2·queries·keys·heads·d ÷ FP8 rate) + queries·keys·12 B ÷ memory rate; the
    rates are the device's times the engine's fitted shares. 0 without an indexer.
    """
    indexer = model.sparse_attention
    if indexer is None:
        return 0.0
    fmt = compute_format(device, "fp8")
    rate = device.peak(fmt) * product_curve(device.curves, fmt).ceiling * engine.compute_efficiency
    work = 2.0 * queries * keys * indexer.heads * indexer.head_dim / rate
    read = (
        sequences
        * keys
        * index_key_bytes(model)
        / (device.memory_bandwidth * engine.rates(device.generation).kv)
    )
    select = queries * keys * SELECT_BYTES / (device.memory_bandwidth * engine.weight_efficiency)
    return np.maximum(read, work) + select
