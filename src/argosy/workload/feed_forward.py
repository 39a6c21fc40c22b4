"""The feed-forward half of a layer: dense, or routed to experts, and what it exchanges."""

from __future__ import annotations

from typing import Any

from argosy.spec.model import ModelArchitecture
from argosy.workload.operations import Gemm, MemoryOperation
from argosy.workload.parameters import shared_width
from argosy.workload.shard import Shard

Array = Any
ROUTER_BYTES = 4.0  # router scores are computed in FP32


def dense_products(
    model: ModelArchitecture, shard: Shard, width: float, prefix: str = ""
) -> tuple[Gemm, ...]:
    """Up (with the gate beside it) and down projections, cut over tensor parallelism by the hidden width."""
    if not width:
        return ()
    ups = 2 if model.gated_ffn else 1
    return (
        Gemm(
            prefix + ("gate_up" if model.gated_ffn else "up"),
            shard.tokens,
            ups * width / shard.tp,
            model.hidden,
        ),
        Gemm(prefix + "down", shard.tokens, model.hidden, width / shard.tp),
    )


def activation(
    model: ModelArchitecture, tokens: Array, width: Array, element_bytes: float, name: str
) -> MemoryOperation:
    """The non-linearity over `tokens` × `width`: gated reads two and writes one; backward reads three, writes
    two.
    """
    elements = tokens * width * element_bytes
    forward, backward = (3, 5) if model.gated_ffn else (2, 3)
    return MemoryOperation(name, forward * elements, backward * elements)


def tokens_per_expert(model: ModelArchitecture, shard: Shard, imbalance: Array | None = None) -> Array:
    """Tokens that the mean expert of the busiest rank works on in one micro-batch, (L,).

    The expert group of ep · etp ranks brings `routed_tokens` · ep tokens together; each goes to top_k of the
    experts. `imbalance` (none: the model's) is the busiest rank's load over the mean; with a capacity factor
    every expert computes its padded capacity instead (Switch Transformer, arXiv:2101.03961, section 2.2).
    """
    moe = model.moe
    assert moe is not None
    mean = shard.routed_tokens * shard.ep * moe.top_k / moe.experts
    if moe.capacity_factor is not None:
        return mean * moe.capacity_factor
    return mean * (moe.imbalance if imbalance is None else imbalance)


def mixture_products(model: ModelArchitecture, shard: Shard) -> tuple[Gemm, ...]:
    """Router, shared experts, and the grouped products of the routed experts on one rank."""
    moe = model.moe
    assert moe is not None
    ups = 2 if model.gated_ffn else 1
    rows, local, width = tokens_per_expert(model, shard), moe.experts / shard.ep, moe.expert_ffn / shard.etp
    return (
        Gemm("router", shard.own_tokens, moe.experts, model.hidden, quantised=False),
        *dense_products(model, shard, shared_width(model), "shared_"),
        Gemm(
            "experts_gate_up" if model.gated_ffn else "experts_up",
            rows,
            ups * width,
            model.hidden,
            experts=local,
        ),
        Gemm("experts_down", rows, model.hidden, width, experts=local),
    )


def dense_memory_operations(model: ModelArchitecture, shard: Shard) -> tuple[MemoryOperation, ...]:
    """The activation function of a dense feed-forward."""
    if not model.ffn:
        return ()
    return (activation(model, shard.tokens, model.ffn / shard.tp, shard.element_bytes, "activation"),)


def mixture_memory_operations(model: ModelArchitecture, shard: Shard) -> tuple[MemoryOperation, ...]:
    """Router scores, the two permutations around the exchange, expert activations, and the weighted sum."""
    moe = model.moe
    assert moe is not None
    sent = shard.own_tokens * moe.top_k * model.hidden * shard.element_bytes
    own = shard.own_tokens * model.hidden * shard.element_bytes
    received_tokens = tokens_per_expert(model, shard) * moe.experts / shard.ep
    received = received_tokens * model.hidden * shard.element_bytes
    scores = shard.own_tokens * moe.experts * ROUTER_BYTES
    operations = [
        # Scores: soft-max or sigmoid (read, write), top-k (read), and the balance statistics (read).
        MemoryOperation("router_scores", 4 * scores, 4 * scores, kernels=4),
        MemoryOperation("permute", own + sent, own + sent, kernels=2),
        # Received tokens are sorted by local expert, and back; both directions read and write everything.
        MemoryOperation("sort_by_expert", 4 * received, 4 * received, kernels=2),
        activation(
            model, received_tokens, moe.expert_ffn / shard.etp, shard.element_bytes, "experts_activation"
        ),
        MemoryOperation("unpermute", sent + own, 2 * sent + own, kernels=2),
    ]
    if model.ffn_bias:
        operations.append(_expert_bias(model, received_tokens * model.hidden))
    width = shared_width(model)
    if width:
        operations.append(
            activation(model, shard.tokens, width / shard.tp, shard.element_bytes, "shared_activation")
        )
        operations.append(MemoryOperation("shared_add", 3 * own, 2 * own))
    return tuple(operations)


def _expert_bias(model: ModelArchitecture, elements: Array) -> MemoryOperation:
    """The bias of the experts' down projections over `elements`, each scaled by its routing probability.

    Megatron-Core adds it expert by expert in FP32 (TEGroupedMLP._apply_bias): bias times probability (writes 4
    bytes), addition (reads 2 + 4, writes 4), joining (4 + 4), conversion (4 + 2); backward the conversions (2 +
    4, 4 + 2), two products with the gradient, each written and summed (4 + 4 + 4), and joining (2 + 2).
    """
    return MemoryOperation("experts_bias", 28.0 * elements, 40.0 * elements, kernels=4)


def bias_gradient_elements(model: ModelArchitecture, shard: Shard, routed: bool) -> Array:
    """Elements of output gradients whose columns are summed for the feed-forward's biases, on one rank."""
    if not model.ffn_bias:
        return 0.0
    ups = 2 if model.gated_ffn else 1
    moe = model.moe
    if not routed or moe is None:
        return shard.tokens * ups * model.ffn / shard.tp + shard.own_tokens * model.hidden
    received = tokens_per_expert(model, shard) * moe.experts / shard.ep
    return received * ups * moe.expert_ffn / shard.etp


def dispatched_bytes(model: ModelArchitecture, shard: Shard) -> Array:
    """Bytes that one rank sends to the experts in a forward dispatch: its own tokens, once per expert
    visited.
    """
    moe = model.moe
    assert moe is not None
    return shard.own_tokens * moe.top_k * model.hidden * shard.element_bytes
