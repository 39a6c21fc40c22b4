"""FLOPs per step as other programs count them, to undo their conversion from time to FLOP/s."""

from __future__ import annotations

from argosy.spec.model import ModelArchitecture


def megatron_step_flops(
    model: ModelArchitecture, sequence_length: int, batch: int, recompute: bool, causal: bool = False
) -> float:
    """FLOPs of one step by the formula of Narayanan et al. 2021 (arXiv:2104.04473, equation 3), for any
    transformer.

    Per token and layer 2 FLOPs per weight of the products, attention over the full square
    (2·2·s·heads·d), the head 2·hidden·vocab; times 3 for forward and backward, the layers times 4 where
    `recompute` counts the second forward.
    `causal`: attention over the half of the square that a causal mask leaves, as Megatron-Core counts since 2025
    (rows that state both a step time and a FLOP/s agree with it within 1 %, and with the full square not at all).
    `sequence_length` in tokens, `batch` in sequences. For GPT this is 96·B·s·l·h²·(1 + s/6h + V/16lh)
    with recompute.
    """
    tokens = float(batch) * sequence_length
    layers = sum(_layer_weights(model, layer) for layer in range(model.layers))
    attention = (2.0 if causal else 4.0) * sequence_length * model.heads * _score_width(model) * model.layers
    head = 2.0 * model.hidden * model.vocab
    passes = 4.0 if recompute else 3.0
    return tokens * (passes * (2.0 * layers + attention) + 3.0 * head)


def _score_width(model: ModelArchitecture) -> float:
    """Mean of the widths of queries (scores) and values, per head."""
    if model.mla is None:
        return float(model.head_dim)
    mla = model.mla
    return (mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim) / 2.0


def _layer_weights(model: ModelArchitecture, layer: int) -> float:
    """Weights that one token's products touch in one layer."""
    h = model.hidden
    if model.mla is None:
        attention = h * model.head_dim * (2 * model.heads + 2 * model.kv_heads)
    else:
        mla = model.mla
        queries = model.heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim)
        attention = (h * mla.q_lora_rank + mla.q_lora_rank * queries) if mla.q_lora_rank else h * queries
        attention += h * (mla.kv_lora_rank + mla.qk_rope_head_dim)
        attention += mla.kv_lora_rank * model.heads * (mla.qk_nope_head_dim + mla.v_head_dim)
        attention += model.heads * mla.v_head_dim * h
    matrices = 3 if model.gated_ffn else 2
    if model.moe is None or layer in model.moe.dense_layers:
        return attention + matrices * h * model.ffn
    moe = model.moe
    shared = moe.shared_ffn if moe.shared_ffn is not None else moe.shared_experts * moe.expert_ffn
    return attention + matrices * h * (moe.top_k * moe.expert_ffn + shared) + h * moe.experts
