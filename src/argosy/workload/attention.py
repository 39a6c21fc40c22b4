"""The attention half of a layer: projections, rotary positions, scores and values, and what they exchange."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.spec.model import ModelArchitecture
from argosy.workload.operations import Attention, Gemm, MemoryOperation
from argosy.workload.shard import Shard

Array = Any


def projections(model: ModelArchitecture, shard: Shard) -> tuple[Gemm, ...]:
    """The matrix products around attention on one rank."""
    return _latent_projections(model, shard) if model.mla else _grouped_projections(model, shard)


def _grouped_projections(model: ModelArchitecture, shard: Shard) -> tuple[Gemm, ...]:
    heads = model.heads / shard.tp
    gates = 2 if model.attention_gate else 1
    width = (gates * heads + 2 * shard.key_value_heads(model.kv_heads)) * model.head_dim
    return (
        Gemm("qkv", shard.tokens, width, model.hidden),
        Gemm("attention_output", shard.tokens, model.hidden, heads * model.head_dim),
    )


def _latent_projections(model: ModelArchitecture, shard: Shard) -> tuple[Gemm, ...]:
    """Latent attention in training: the narrow projections are repeated on every rank, on its own tokens."""
    mla = model.mla
    assert mla is not None
    heads, qk = model.heads / shard.tp, mla.qk_nope_head_dim + mla.qk_rope_head_dim
    own, tokens = shard.own_tokens, shard.tokens
    narrow = [Gemm("kv_down", own, mla.kv_lora_rank + mla.qk_rope_head_dim, model.hidden)]
    if mla.q_lora_rank:
        narrow.append(Gemm("q_down", own, mla.q_lora_rank, model.hidden))
    return (
        *narrow,
        Gemm("q_up", tokens, heads * qk, mla.q_lora_rank or model.hidden),
        Gemm("kv_up", tokens, heads * (mla.qk_nope_head_dim + mla.v_head_dim), mla.kv_lora_rank),
        Gemm("attention_output", tokens, model.hidden, heads * mla.v_head_dim),
        *_index_products(model, shard),
    )


def _index_products(model: ModelArchitecture, shard: Shard) -> tuple[Gemm, ...]:
    """The indexer's projections, repeated on every rank like the narrow ones, and its causal scores; none without it."""
    indexer, mla = model.sparse_attention, model.mla
    if indexer is None or mla is None:
        return ()
    own, heads = shard.own_tokens, indexer.heads
    return (
        Gemm("index_query", own, heads * indexer.head_dim, mla.q_lora_rank or model.hidden),
        Gemm("index_key", own, indexer.head_dim, model.hidden),
        Gemm("index_weight", own, heads, model.hidden, quantised=False),
        Gemm("index_scores", own * heads, shard.sequence_length / 2, indexer.head_dim, has_weight=False),
    )


def core(model: ModelArchitecture, shard: Shard, window: int | None) -> Attention:
    """Scores and values. A window shrinks the mean context of a causal query (see `windowed_context`)."""
    mla = model.mla
    if model.sparse_attention:  # a query sees as many of the keys before it as a window would let it
        window = min(window or model.sparse_attention.top_k, model.sparse_attention.top_k)
    return Attention(
        "attention",
        shard.micro_batch,
        shard.queries,
        windowed_context(shard.sequence_length, window),
        model.heads / shard.tp,
        # Latent attention expands keys and values to one per query head in training.
        model.heads / shard.tp if mla else shard.key_value_heads(model.kv_heads),
        float(mla.qk_nope_head_dim + mla.qk_rope_head_dim if mla else model.head_dim),
        float(mla.v_head_dim if mla else model.head_dim),
    )


def windowed_context(sequence_length: Array, window: int | None) -> Array:
    """Twice the mean number of keys that a causal query sees, in tokens, shape as `sequence_length`.

    s without a window. With a window w < s the first w queries see w/2 keys on average and the others w, so
    that the mean is w (2s − w) / (2s); twice that is s again at w = s. Continuous: off by half a token.
    """
    if window is None:
        return sequence_length
    w = np.minimum(window, sequence_length)
    return w * (2.0 * sequence_length - w) / sequence_length


def memory_operations(model: ModelArchitecture, shard: Shard) -> tuple[MemoryOperation, ...]:
    """Rotary positions and head norms of one layer; scores in memory (unfused attention) belong to the kernel
    model.
    """
    mla = model.mla
    if mla:
        rotated = (model.heads / shard.tp + 1) * mla.qk_rope_head_dim
        # Keys are assembled per head from their two parts, read and written once.
        assembled = model.heads / shard.tp * (mla.qk_nope_head_dim + mla.qk_rope_head_dim)
    else:
        rotated = (model.heads / shard.tp + shard.key_value_heads(model.kv_heads)) * model.head_dim
        assembled = 0.0
    one_pass = shard.tokens * shard.element_bytes
    operations = []
    if model.position == "rope":
        operations.append(
            MemoryOperation("rotary", 2 * rotated * one_pass, 2 * rotated * one_pass, kernels=2)
        )
    if mla:
        operations.append(
            MemoryOperation("key_assembly", 2 * assembled * one_pass, 2 * assembled * one_pass, kernels=2)
        )
        latent = (mla.kv_lora_rank + (mla.q_lora_rank or 0)) * shard.own_tokens * shard.element_bytes
        operations.append(
            MemoryOperation("latent_norms", 2 * latent, 3 * latent, kernels=2 if mla.q_lora_rank else 1)
        )
    if model.qk_norm != "none":
        operations.append(
            MemoryOperation("qk_norm", 2 * rotated * one_pass, 3 * rotated * one_pass, kernels=2)
        )
    return tuple(operations)


def exchanged_key_values(model: ModelArchitecture, shard: Shard) -> Array:
    """Bytes of keys and values of the context-parallel group's whole sequences on one tensor rank."""
    mla = model.mla
    if mla:
        width = model.heads / shard.tp * (mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim)
    else:
        width = 2 * shard.key_value_heads(model.kv_heads) * model.head_dim
    return shard.micro_batch * shard.sequence_length * width * shard.element_bytes
