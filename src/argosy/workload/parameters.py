"""Parameters of a transformer: in all, active per token, per layer, and on one rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.spec.model import ModelArchitecture
from argosy.workload.kinds import is_moe, layer_kind_sequence, layer_kinds

Array = Any  # float or numpy array (L,)


@dataclass(frozen=True)
class LayerParameters:
    """Parameters of one layer (or embedding, head), by how parallelism divides them. All are counts.

    `sharded` divide by tensor parallelism; `key_value` divide by it until each rank holds one key/value head;
    `replicated` are on every rank (norms, router, the narrow projections of latent attention); `experts`
    divide by expert and expert-tensor parallelism. `active_experts` of the expert parameters work on one
    token.
    """

    sharded: float = 0.0
    key_value: float = 0.0
    replicated: float = 0.0
    experts: float = 0.0
    active_experts: float = 0.0
    kv_heads: int = 1

    @property
    def total(self) -> float:
        """All parameters of the layer."""
        return self.sharded + self.key_value + self.replicated + self.experts

    @property
    def active(self) -> float:
        """Parameters that one token passes through."""
        return self.sharded + self.key_value + self.replicated + self.active_experts

    def dense_on_rank(self, tp: Array) -> Array:
        """Parameters outside the experts on one of `tp` tensor-parallel ranks; (L,) as `tp`."""
        return self.sharded / tp + self.key_value / np.minimum(tp, self.kv_heads) + self.replicated

    def experts_on_rank(self, ep: Array, etp: Array) -> Array:
        """Expert parameters on one of `ep` · `etp` ranks; (L,)."""
        return self.experts / (ep * etp)

    def __add__(self, other: LayerParameters) -> LayerParameters:
        return LayerParameters(
            self.sharded + other.sharded,
            self.key_value + other.key_value,
            self.replicated + other.replicated,
            self.experts + other.experts,
            self.active_experts + other.active_experts,
            max(self.kv_heads, other.kv_heads),
        )


@dataclass(frozen=True)
class ParameterCount:
    """Parameters of a model. Multi-token-prediction modules are counted apart, in `mtp`, and in no other
    field.

    `without_input_embedding` is the N of 6·N·tokens (`mfu.parameters_only`): the parameters that multiply,
    that is the active ones of the layers, the final norm and the output projection, but not the input
    embedding, which is a look-up, nor learned positions. In a mixture of experts it counts the *active*
    experts. A tied embedding counts once, as the output projection.
    """

    total: float
    active: float
    without_input_embedding: float
    embedding: float  # input embedding and learned positions
    head: float  # output projection; 0 where it is tied to the embedding
    mtp: float
    layers: dict[str, LayerParameters]  # per kind, one layer
    layer_counts: dict[str, int]  # per kind, how many

    @property
    def total_with_mtp(self) -> float:
        """Everything in the checkpoint."""
        return self.total + self.mtp


def count(model: ModelArchitecture) -> ParameterCount:
    """Count the parameters of `model`: exact for what the architecture describes, with biases and norms."""
    kinds = layer_kinds(model)
    layers = {kind: layer_parameters(model, kind) for kind in kinds}
    counts = {kind: len(indices) for kind, indices in kinds.items()}
    embedding, head = embedding_parameters(model), head_parameters(model)
    final_norm = _norm(model)
    projection = 0.0 if model.tied_embeddings else head.sharded
    stack = sum(layers[kind].total * n for kind, n in counts.items())
    active_stack = sum(layers[kind].active * n for kind, n in counts.items())
    mtp = layer_parameters(model, "mtp").total * model.mtp_modules if model.mtp_modules else 0.0
    return ParameterCount(
        total=embedding.total + stack + final_norm + projection,
        active=embedding.total + active_stack + final_norm + projection,
        without_input_embedding=active_stack + final_norm + head.sharded,
        embedding=embedding.total,
        head=projection,
        mtp=mtp,
        layers=layers,
        layer_counts=counts,
    )


def embedding_parameters(model: ModelArchitecture) -> LayerParameters:
    """The input embedding (divided over the vocabulary by tensor parallelism) and learned positions
    (replicated).
    """
    return LayerParameters(
        sharded=float(model.vocab * model.hidden), replicated=float(model.learned_positions * model.hidden)
    )


def head_parameters(model: ModelArchitecture) -> LayerParameters:
    """The final norm and the output projection, as the last stage holds them (tied or not: it needs the
    matrix).
    """
    return LayerParameters(sharded=float(model.vocab * model.hidden), replicated=_norm(model))


def layer_parameters(model: ModelArchitecture, kind: str) -> LayerParameters:
    """Parameters of one layer of `kind` (`dense`, `moe`, windowed or not, `mtp`; `embedding` and `head` too).

    `mtp` is one module: a layer like the model's last, a projection from 2·hidden to hidden and three norms;
    embedding and output projection are the main model's (DeepSeek-V3, arXiv:2412.19437, section 2.2).
    """
    if kind == "embedding":
        return embedding_parameters(model)
    if kind == "head":
        return head_parameters(model)
    if kind == "mtp":
        extra = LayerParameters(sharded=2.0 * model.hidden**2, replicated=3.0 * _norm(model))
        return layer_parameters(model, layer_kind_sequence(model)[-1]) + extra
    feed_forward = _mixture(model) if is_moe(kind) else _dense_feed_forward(model, model.ffn)
    norms = LayerParameters(replicated=model.norms_per_layer * _norm(model))
    return _attention(model) + feed_forward + norms


def _norm(model: ModelArchitecture) -> float:
    """One normalisation over the hidden width: a weight, and a bias in layer norm."""
    return float(model.hidden * (2 if model.norm == "layernorm" else 1))


def _attention(model: ModelArchitecture) -> LayerParameters:
    return _latent_attention(model) if model.mla else _grouped_attention(model)


def _grouped_attention(model: ModelArchitecture) -> LayerParameters:
    """Multi-head, grouped-query and multi-query attention: query (and gate), key, value, output."""
    h, d = model.hidden, model.head_dim
    queries, keys = model.heads * d, model.kv_heads * d
    bias = 1 if model.attention_bias else 0
    gates = 2 if model.attention_gate else 1
    qk_norm = {"none": 0, "per_head": 2 * d, "full": queries + keys}[model.qk_norm]
    output_bias = h if model.attention_output_bias else 0
    return LayerParameters(
        sharded=float(gates * queries * (h + bias) + queries * h),
        key_value=float(2 * keys * (h + bias)),
        replicated=float(qk_norm + output_bias),
        kv_heads=model.kv_heads,
    )


def _latent_attention(model: ModelArchitecture) -> LayerParameters:
    """Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): narrow down, norm, widen per
    head.
    """
    mla = model.mla
    assert mla is not None
    h, heads = model.hidden, model.heads
    query_width = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim)
    rank = mla.q_lora_rank
    down = float(h * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank)
    down += h * rank + rank if rank else 0
    up = (rank or h) * query_width + mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim)
    output = heads * mla.v_head_dim * h
    if model.sparse_attention:
        down += indexer_weights(model) + 2 * model.sparse_attention.head_dim  # and its key's layer norm
    output_bias = h if model.attention_output_bias else 0
    return LayerParameters(
        sharded=float(up + output), replicated=float(down + output_bias), kv_heads=model.heads
    )


def indexer_weights(model: ModelArchitecture) -> float:
    """Weights of a layer's indexer: queries from their latent, one key and a weight per head from the hidden state
    (DeepSeek-V3.2-Exp, inference/model.py); 0 without one.
    """
    indexer, mla = model.sparse_attention, model.mla
    if indexer is None or mla is None:
        return 0.0
    queries = (mla.q_lora_rank or model.hidden) * indexer.heads * indexer.head_dim
    return float(queries + model.hidden * (indexer.head_dim + indexer.heads))


def _dense_feed_forward(model: ModelArchitecture, width: float) -> LayerParameters:
    """Up (and gate) and down projections of a feed-forward of the given width."""
    ups = 2 if model.gated_ffn else 1
    weights = (ups + 1) * model.hidden * width
    biases = (ups * width, model.hidden) if model.ffn_bias and width else (0, 0)
    return LayerParameters(sharded=float(weights + biases[0]), replicated=float(biases[1]))


def _mixture(model: ModelArchitecture) -> LayerParameters:
    """Routed experts, shared experts (cut like a dense feed-forward) and the router."""
    moe = model.moe
    assert moe is not None
    expert = _dense_feed_forward(model, moe.expert_ffn).total
    router = LayerParameters(
        replicated=float(model.hidden * moe.experts),
        experts=expert * moe.experts,
        active_experts=expert * moe.top_k,
    )
    return router + _dense_feed_forward(model, shared_width(model))


def shared_width(model: ModelArchitecture) -> float:
    """Hidden width of all shared experts of a mixture layer together; 0 without any."""
    moe = model.moe
    if moe is None or not moe.shared_experts:
        return 0.0
    return float(moe.shared_ffn or moe.shared_experts * moe.expert_ffn)
