"""What one iteration asks of one accelerator of a replica, per token: products, element-wise bytes, exchanges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.serving.layout import ReplicaLayout
from argosy.spec.model import ModelArchitecture
from argosy.workload import is_moe, layer_kinds, layer_work
from argosy.workload.kinds import window
from argosy.workload.parameters import shared_width

Array = Any
ACTIVATION_BYTES = 2.0  # hidden states travel and rest in BF16
# Of a sparse attention's indexer besides its products: key norm, rotary, queries and keys to FP8 (keys into the cache),
# head weights scaled, scores, top-k, indices to cache slots (vLLM, model_executor/models/deepseek_v2.py, Indexer).
INDEX_KERNELS = 8.0


@dataclass(frozen=True)
class Product:
    """A product of (tokens × k) by (k × n) on one accelerator; `experts`: local experts where it is a grouped one.

    `attention`: belongs to the attention block, whose weights may have a format of their own; `quantised` False: always
    BF16.
    """

    n: float
    k: float
    experts: float = 0.0
    attention: bool = False
    quantised: bool = True


@dataclass(frozen=True)
class LayerKind:
    """All layers of one kind: how many, their products, element-wise bytes per token, kernels, and exchanges.

    `quantised`: how many products of the attention block and of the rest may be narrower than BF16, each of which then
    has a kernel that converts its input; `window`: keys that a query sees at most (None: all); `reductions`: all-reduces
    over tp; `exchanges`: all-to-all over tp · dp (dispatch and combine); `norm_reductions`: all-reduces over tp of two
    numbers per token, the sums of squares of queries and keys that are normalised over their full width.
    """

    count: int
    products: tuple[Product, ...]
    element_bytes: float
    kernels: float
    quantised: tuple[int, ...]
    reductions: float
    exchanges: float
    window: int | None
    norm_reductions: float = 0.0


def layer_shapes(model: ModelArchitecture, layout: ReplicaLayout) -> tuple[LayerKind, ...]:
    """The layers of a model as one accelerator of a replica works on them, by kind."""
    found = []
    for kind, indices in layer_kinds(model).items():
        work = layer_work(
            model, kind, sequence_length=1.0, micro_batch=1.0, tp=layout.tp, ep=layout.ep, etp=layout.moe_tp,
            sequence_parallel=False,
        )  # fmt: skip
        attention = (
            *("qkv", "attention_output", "kv_down", "q_down", "q_up", "kv_up"),
            *("index_query", "index_key", "index_weight"),
        )
        products = tuple(
            Product(float(g.n), float(g.k), float(g.experts), g.name in attention, g.quantised)
            for g in work.gemms
            if g.has_weight
        )
        routed = is_moe(kind)
        found.append(
            LayerKind(
                count=len(indices),
                products=products,
                element_bytes=_element_bytes(model, layout, routed),
                kernels=_kernels(model, layout, routed, len(products)),
                quantised=tuple(
                    sum(p.quantised for p in products if p.attention is own) for own in (True, False)
                ),
                reductions=_reductions(model, layout, routed),
                exchanges=2.0 if routed and layout.dp > 1 else 0.0,
                window=window(model, kind),
                norm_reductions=1.0 if model.qk_norm == "full" and layout.tp > 1 else 0.0,
            )
        )
    return tuple(found)


def _element_bytes(model: ModelArchitecture, layout: ReplicaLayout, routed: bool) -> float:
    """Bytes per token that a layer's element-wise work moves.

    Norm with the residual added (reads two, writes two hidden states) before attention and feed-forward; rotary
    positions and the write of keys and values (read and write once); the activation function (reads gate and up,
    writes one); in a mixture the copies to and from the experts.
    """
    hidden = model.norms_per_layer * 4.0 * model.hidden
    mla = model.mla
    heads = model.heads / layout.tp
    if mla:
        queries = (
            heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim) + mla.kv_lora_rank + mla.qk_rope_head_dim
        )
    else:
        queries = (heads + 2.0 * np.ceil(model.kv_heads / layout.tp)) * model.head_dim
    ups = 3.0 if model.gated_ffn else 2.0
    moe = model.moe
    if routed and moe:
        copies = moe.top_k / layout.ep * (layout.dp if layout.dp > 1 else 1.0)
        width = copies * moe.expert_ffn / layout.moe_tp + shared_width(model) / layout.tp
        moved = 4.0 * copies * model.hidden
    else:
        width, moved = model.ffn / layout.tp, 0.0
    return float(ACTIVATION_BYTES * (hidden + 2.0 * queries + ups * width + moved))


def _kernels(model: ModelArchitecture, layout: ReplicaLayout, routed: bool, products: int) -> float:
    """Kernels of one layer: its products, attention (two passes when split over the context), norms, rotary and cache
    write, activation; in a mixture top-k, sorting, and the weighted sum; norms of queries and keys together, and the sums of
    squares before their reduction (vLLM, MiniMaxText01RMSNormTP.forward_qk).
    """
    return (
        products
        + 2.0
        + model.norms_per_layer
        + 2.0
        + 1.0
        + (4.0 if routed else 0.0)
        + (2.0 if model.mla else 0.0)
        + (INDEX_KERNELS if model.sparse_attention else 0.0)
        + (0.0 if model.qk_norm == "none" else 2.0 if model.qk_norm == "full" and layout.tp > 1 else 1.0)
    )


def _reductions(model: ModelArchitecture, layout: ReplicaLayout, routed: bool) -> float:
    """All-reduces per layer over tp: after attention and after the feed-forward (one, where both run side by side)."""
    if routed and layout.dp > 1:
        return 1.0 if layout.tp > 1 else 0.0
    cut = layout.tp > 1 or (routed and layout.tp * layout.dp > 1)
    return (1.0 if model.parallel_block else 2.0) if cut else 0.0
