"""What no engine can beat: the bound that every prediction of the roofline is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argosy.serving.experts import touched_share
from argosy.serving.indexer import attended, index_key_bytes

if TYPE_CHECKING:
    from argosy.serving.roofline import Roofline

Array = Any


def floor_s(provider: Roofline, tokens: Array, batch: Array, context: Array) -> Array:
    """Seconds: weights touched, caches and FLOPs at nameplate rates, perfectly overlapped.

    `tokens` in the iteration (prompt and decode), of which `batch` sequences decode at `context` tokens.
    """
    model, lay, device = provider.model, provider.layout, provider.device
    tokens, batch = np.asarray(tokens, float), np.asarray(batch, float)
    moved: Array = model.vocab / lay.tp * model.hidden * 2.0
    work: Array = 0.0
    skew = float(np.mean(provider.engine.routing_skew))
    for kind in provider.kinds:
        for product in kind.products:
            fmt, stored = provider.product_format(product)
            size, share = product.n * product.k, 1.0
            rows = tokens / lay.dp
            if product.experts and model.moe:
                share = product.experts * touched_share(model.moe, tokens, skew)
                rows = tokens * model.moe.top_k / model.moe.experts * product.experts
            moved = moved + kind.count * size * stored * share
            work = work + kind.count * 2.0 * rows * size / device.nameplate(fmt)
        cached = attended(model, kind.window, context) * provider.kv_layer_bytes
        cached = cached + context * index_key_bytes(model)
        moved = moved + kind.count * batch / lay.dp * cached
    return np.where(tokens > 0, np.maximum(moved / device.memory_bandwidth, work), 0.0)[()]
