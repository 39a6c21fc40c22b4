"""What the forward pass of a layer must keep for its backward pass, in bytes on one rank.

The list follows Korthikanti et al. 2022 (arXiv:2205.05198, section 4): every input of a product, a norm or a
non-linearity is kept once. Their s·b·h·(34 + 5·a·s/h) for a GPT layer with dropout, unfused attention and no
parallelism is the limit case; grouped and latent attention, gated feed-forwards, experts and narrow formats
follow the same rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.spec.model import ModelArchitecture
from argosy.workload import feed_forward
from argosy.workload.kinds import is_moe
from argosy.workload.parameters import shared_width
from argosy.workload.shard import Shard

Array = Any  # float or numpy array (L,)
STATISTICS_BYTES = 4.0  # log-sum-exp of fused attention, FP32 per query and head
MASK_BYTES = 1.0  # dropout mask per element
INDEX_BYTES = 4.0  # one row index of a permutation


@dataclass(frozen=True)
class Storage:
    """How a framework keeps activations. Bytes per element.

    `fused_attention`: scores are never stored (FlashAttention, arXiv:2205.14135). `linear_input_bytes`:
    format in which the inputs of the big products are kept (1: FP8 copies, as Transformer Engine keeps
    them). `dropout`: masks are kept, and the dropped scores. `probabilities_after_experts`: the router's
    weights multiply the experts' outputs, which must then be kept; otherwise they multiply the experts'
    activations. `nonlinearity_input_bytes`: format of what the feed-forward's non-linearity reads.
    `gathered_inputs`: sequence-parallel inputs of the products are kept whole instead of gathered again.
    """

    fused_attention: bool = True
    dropout: bool = False
    element_bytes: float = 2.0
    linear_input_bytes: float = 2.0
    nonlinearity_input_bytes: float = 2.0
    probabilities_after_experts: bool = False
    gathered_inputs: bool = False


def saved_tensors(model: ModelArchitecture, kind: str, shard: Shard, storage: Storage) -> dict[str, Array]:
    """Name → bytes of everything that one layer of `kind` keeps for one micro-batch on one rank, (L,) each.

    `layer_input` is the only part that full recomputation keeps; `scores` is what selective recomputation
    drops (Korthikanti et al. 2022, section 5).
    """
    saved = _attention(model, shard, storage)
    own_hidden = shard.own_tokens * model.hidden
    input_tokens = shard.tokens if storage.gathered_inputs else shard.own_tokens
    if not model.parallel_block:
        saved["feed_forward_input"] = own_hidden * storage.element_bytes
    if is_moe(kind):
        saved |= _mixture(model, shard, storage)
    elif model.ffn:
        if not model.parallel_block:
            saved["feed_forward_norm"] = input_tokens * model.hidden * storage.linear_input_bytes
        saved |= _feed_forward(model, shard.tokens, model.ffn / shard.tp, storage, "")
    if model.norms_per_layer == 4:  # norms after attention and after the feed-forward keep their inputs
        saved["output_norms"] = 2 * own_hidden * storage.element_bytes
    if storage.dropout:
        masks = 1 if model.parallel_block else 2
        saved["dropout_masks"] = masks * own_hidden * MASK_BYTES
    return saved


def _attention(model: ModelArchitecture, shard: Shard, storage: Storage) -> dict[str, Array]:
    own_hidden, tokens, heads = shard.own_tokens * model.hidden, shard.tokens, model.heads / shard.tp
    wide, narrow = storage.element_bytes, storage.linear_input_bytes
    mla = model.mla
    if mla:
        qk, v = mla.qk_nope_head_dim + mla.qk_rope_head_dim, mla.v_head_dim
        kv_heads = heads
        ranks = mla.kv_lora_rank + (mla.q_lora_rank or 0)
        # Norms keep the latents (keys' with the shared rotary part beside it); the widening products, their
        # outputs.
        latent = shard.own_tokens * ((ranks + mla.qk_rope_head_dim) * wide + ranks * narrow)
    else:
        qk = v = model.head_dim
        kv_heads = shard.key_value_heads(model.kv_heads)
        latent = 0.0
    saved = {
        "layer_input": own_hidden * wide,
        "attention_norm": (tokens * model.hidden if storage.gathered_inputs else own_hidden) * narrow,
        "latents": latent,
        "queries": tokens * heads * qk * wide,
        "keys": tokens * kv_heads * qk * wide,
        "values": tokens * kv_heads * v * wide,
        # Fused attention keeps its output in full width; a product with narrow inputs keeps its own copy
        # besides.
        "attention_output": tokens
        * heads
        * v
        * (wide + (narrow if narrow < wide and storage.fused_attention else 0)),
    }
    if not mla and model.qk_norm != "none":
        saved["qk_norm_inputs"] = tokens * (heads + kv_heads) * qk * wide
    if storage.fused_attention:
        saved["attention_statistics"] = tokens * heads * STATISTICS_BYTES
    else:
        # Soft-max output, and under dropout its mask and the dropped scores: 2 + 1 + 2 bytes per score.
        per_score = wide + (MASK_BYTES + wide if storage.dropout else 0.0)
        saved["scores"] = shard.micro_batch * heads * shard.queries * shard.sequence_length * per_score
    return saved


def _feed_forward(
    model: ModelArchitecture, tokens: Array, width: Array, storage: Storage, prefix: str
) -> dict[str, Array]:
    """The input of the non-linearity and of the down projection, for `tokens` × `width`."""
    ups = 2 if model.gated_ffn else 1
    return {
        prefix + "gate_up": tokens * width * ups * storage.nonlinearity_input_bytes,
        prefix + "activation": tokens * width * storage.linear_input_bytes,
    }


def _mixture(model: ModelArchitecture, shard: Shard, storage: Storage) -> dict[str, Array]:
    """Router, dispatched tokens as the experts' input, the experts, and the shared experts."""
    moe = model.moe
    assert moe is not None
    received = received_tokens(model, shard)
    saved = {
        "feed_forward_norm": shard.own_tokens * model.hidden * storage.element_bytes,
        # FP32 logits and probabilities, and one byte of the routing map, per token and expert.
        "router": shard.own_tokens * moe.experts * (2 * feed_forward.ROUTER_BYTES + MASK_BYTES),
        "permutations": 2 * INDEX_BYTES * (shard.own_tokens * moe.top_k + received),
        "expert_inputs": received * model.hidden * storage.linear_input_bytes,
        **_feed_forward(model, received, moe.expert_ffn / shard.etp, storage, "experts_"),
    }
    if storage.probabilities_after_experts:
        saved["expert_outputs"] = shard.own_tokens * moe.top_k * model.hidden * storage.element_bytes
    width = shared_width(model)
    if width:
        saved |= _feed_forward(model, shard.tokens, width / shard.tp, storage, "shared_")
    return saved


def received_tokens(model: ModelArchitecture, shard: Shard) -> Array:
    """Token copies that all experts of the busiest rank work on in one micro-batch, (L,)."""
    moe = model.moe
    assert moe is not None
    return feed_forward.tokens_per_expert(model, shard) * moe.experts / shard.ep


def backward_working_bytes(model: ModelArchitecture, kind: str, shard: Shard, storage: Storage) -> Array:
    """Most bytes that the backward pass of one layer holds beyond what the forward pass kept, (L,).

    The backward starts at the feed-forward: the gradient of the hidden state and of the residual, gathered
    over tensor parallelism, and the gradient of the non-linearity's input, while the gradient of its output
    takes the place of the activation that was just used. When attention's turn comes, the feed-forward's
    tensors are gone.
    """
    saved = saved_tensors(model, kind, shard, storage)
    wide = storage.element_bytes
    hidden = shard.tokens * model.hidden * wide + shard.own_tokens * model.hidden * wide
    freed = sum(saved.get(name, 0.0) for name in _FEED_FORWARD)
    if is_moe(kind):
        dispatched = received_tokens(model, shard) * model.hidden * wide
        # The gradients of the experts' outputs or inputs exist twice while they are permuted.
        feed_forward_bytes = hidden + np.maximum(saved["experts_gate_up"] + dispatched, 2 * dispatched)
    else:
        feed_forward_bytes = hidden + saved.get("gate_up", 0.0)
    qkv = saved["queries"] + saved["keys"] + saved["values"]
    output = shard.tokens * model.heads / shard.tp * wide
    output = output * (model.mla.v_head_dim if model.mla else model.head_dim)
    # Gradients of queries, keys, values and output, and the FP32 sum of the queries' gradient.
    attention_bytes = hidden + output + qkv + 2 * saved["queries"] + saved.get("scores", 0.0)
    return np.maximum(feed_forward_bytes, attention_bytes - freed)


_FEED_FORWARD = (
    "feed_forward_input",
    "feed_forward_norm",
    "gate_up",
    "activation",
    "expert_inputs",
    "experts_gate_up",
    "experts_activation",
    "expert_outputs",
    "shared_gate_up",
    "shared_activation",
)
