"""What one layer costs on one rank for one micro-batch: seconds of compute, forward and backward, split by
cause.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from argosy.training import kernels
from argosy.training.device import Device
from argosy.training.layout import FULL, SELECTIVE
from argosy.training.memory_traits import MemoryTraits, memory_traits
from argosy.training.stack import Stack
from argosy.workload.operations import Attention, Gemm, LayerWork

Array = Any


@dataclass(frozen=True)
class Parts:
    """Seconds of one pass, (U,) or (n,). `*_ideal` are the same FLOPs at the nameplate dense peak of their
    format.
    """

    gemm: Array = 0.0
    gemm_ideal: Array = 0.0
    gemm_flops: Array = 0.0  # FLOP, not seconds
    attention: Array = 0.0
    attention_ideal: Array = 0.0
    memory: Array = 0.0
    launch: Array = 0.0  # device-side start-up of kernels, in the memory-bound operations

    @property
    def seconds(self) -> Array:
        """All compute of the pass."""
        return self.gemm + self.attention + self.memory + self.launch

    def __add__(self, other: Parts) -> Parts:
        return Parts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, factor: Array) -> Parts:
        return Parts(*(getattr(self, f.name) * factor for f in fields(self)))


@dataclass(frozen=True)
class Compute:
    """One layer's compute: first forward, backward proper, what is computed again, and the backward's weight
    part.
    """

    forward: Parts
    backward: Parts
    recompute: Parts
    weight_gradient: Array

    def slowed(self, factor: Array) -> Compute:
        """The same with products and attention `factor` times as long: on fewer multiprocessors. What is
        bound by memory takes as long as before.
        """

        def of(parts: Parts) -> Parts:
            return replace(parts, gemm=parts.gemm * factor, attention=parts.attention * factor)

        forward, backward, again = of(self.forward), of(self.backward), of(self.recompute)
        return Compute(forward, backward, again, self.weight_gradient * factor)


def compute_costs(device: Device, stack: Stack, precision: str, work: LayerWork, recompute: Array) -> Compute:
    """Seconds of one layer (or embedding, or head) for one micro-batch on one rank.

    `precision`: format of the quantised products; `recompute`: codes of the layouts (U,). Full recomputation
    runs the forward again in the backward pass; selective what the stack selects. Every micro-batch also
    moves `weight_traffic` bytes per parameter outside the products.
    """
    gemms = [_gemm(device, stack, precision, gemm) for gemm in work.gemms]
    attentions = [_attention(device, stack, attention) for attention in work.attentions]
    memory = [_memory(device, stack, operation) for operation in work.memory_operations]
    forward, backward, weight, routed = Parts(), Parts(), 0.0, Parts()
    made, remade = made_again(memory_traits(stack.name)), Parts()
    for gemm, (f, b, w) in zip(work.gemms, gemms, strict=True):
        forward, backward, weight = forward + f, backward + b, weight + w
        routed = routed + f if is_expert(gemm) else routed
        remade = remade + f if gemm.name in made else remade
    core = Parts()
    for f, b in attentions:
        forward, backward, core = forward + f, backward + b, core + f
    for operation, (f, b) in zip(work.memory_operations, memory, strict=True):
        forward, backward = forward + f, backward + b
        routed = routed + f if operation.name in ROUTING else routed
        remade = remade + f if operation.name in made else remade
    parameters = work.extra["dense_parameters"] + work.extra["expert_parameters"]
    backward = backward + Parts(memory=kernels.memory_time(device, parameters * stack.weight_traffic, 0.0))
    selected = remade if made else _selected(forward, core, stack)
    selected = routed if stack.recomputes_experts else selected
    again = forward * (recompute == FULL) + selected * (recompute == SELECTIVE)
    return Compute(forward, backward, again, weight)


# Memory-bound operations of the routed feed-forward (workload/feed_forward.py), and those of them that a fused
# grouped product does on its way.
ROUTING = ("router_scores", "permute", "sort_by_expert", "experts_activation", "experts_bias", "unpermute")
FUSED = ("experts_activation", "experts_bias")
# Bytes that rotary positions move as PyTorch's operations (multiply by cosines; halves negated and joined,
# multiplied by sines; sum; join: 24 bytes per element forward, 20 backward) over the 4 of the fused kernel.
UNFUSED_ROTARY = (6.0, 5.0)
# Bytes of Megatron-LM's kernels of 2021-22 over one pass per fused operation, forward and backward. Bias, dropout and
# residual in one kernel write the mask (2 + 2 + 2 + 1 over 6); dropout's gradient is a kernel of its own (2 + 1 + 2
# beside 6). Apex's layer norm reads its operands once more for the gradients of its weights (2 + 2 beside 6).
EARLY_PASSES = {"residuals": (7 / 6, 11 / 6), "norms": (1.0, 10 / 6)}


# Which operations make a saved tensor (workload/activations.py) again.
_MAKES = {
    "attention_norm": ("norms", "latent_norms"),
    "feed_forward_norm": ("norms",),
    "queries": ("q_up", "rotary"),
    "keys": ("kv_up", "rotary", "key_assembly"),
    "values": ("kv_up",),
    "activation": ("activation",),
    "experts_activation": ("experts_activation",),
    "shared_activation": ("shared_activation",),
}


def made_again(traits: MemoryTraits) -> frozenset[str]:
    """Operations that selective recomputation runs again where a stack drops tensors one by one; none where it
    drops attention's scores alone, or every second product.
    """
    if traits.selective != "core":
        return frozenset()
    return frozenset(name for dropped in traits.selective_drops for name in _MAKES.get(dropped, ()))


def is_expert(gemm: Gemm) -> bool:
    """Whether a product is the grouped one of routed experts."""
    return not (np.ndim(gemm.experts) == 0 and gemm.experts == 0)


def _selected(forward: Parts, core: Parts, stack: Stack) -> Parts:
    """What selective recomputation runs again, by the stack's trait.

    What a stack drops one by one is `made_again`; else `core`: attention's scores and values (Korthikanti et
    al. 2022, arXiv:2205.05198, section 5), or `products`:
    every second matrix product and all that is bound by memory, but not attention (torchtitan's per-operator
    mode).
    """
    if memory_traits(stack.name).selective == "core":
        return core
    second = Parts(gemm=forward.gemm, gemm_ideal=forward.gemm_ideal, gemm_flops=forward.gemm_flops) * 0.5
    return second + Parts(memory=forward.memory, launch=forward.launch)


def _gemm(device: Device, stack: Stack, precision: str, gemm: Gemm) -> tuple[Parts, Parts, Array]:
    """Forward, backward (input and weight gradients), and the weight gradients' share of the backward.

    A quantised product converts its activations before the forward and the gradient of its output before the
    backward.
    """
    dtype = precision if gemm.quantised else "bf16"
    amount = gemm.count * np.maximum(gemm.experts, 1.0)
    # One scale serves both orientations of a tensor. A scale per row does not: the backward contracts other
    # dimensions, so that it converts the input and the gradient once more along their columns.
    again = stack.cast_orientations - 1
    converted = (gemm.k, gemm.n + again * (gemm.k + gemm.n))
    casts = [Parts(memory=kernels.cast_time(device, gemm.m * width * amount, dtype)) for width in converted]
    if stack.fused_experts and is_expert(gemm):
        casts = [Parts(), Parts()]
    forward = _product(device, stack, gemm, gemm.m, gemm.n, gemm.k, dtype)
    inputs = _product(device, stack, gemm, gemm.m, gemm.k, gemm.n, dtype)
    weights = _product(device, stack, gemm, gemm.k, gemm.n, gemm.m, dtype)
    if gemm.has_weight and stack.fused_accumulation:
        weights = replace(weights, gemm=np.maximum(weights.gemm, _accumulation_floor(device, gemm, amount)))
    return forward + casts[0], inputs + weights + casts[1], weights.gemm if gemm.has_weight else 0.0


def _accumulation_floor(device: Device, gemm: Gemm, amount: Array) -> Array:
    """Seconds of memory traffic of a weight gradient that the product itself adds to an FP32 sum: read and
    write.
    """
    inputs = gemm.m * (gemm.k + gemm.n) * 2.0
    return kernels.memory_time(device, (inputs + gemm.k * gemm.n * 8.0) * amount, 0.0)


def _product(device: Device, stack: Stack, gemm: Gemm, m: Array, n: Array, k: Array, dtype: str) -> Parts:
    """One product, or the products of all local experts side by side in one kernel.

    A group of one expert is a product like any other. The measured kernels of Blackwell are those of 2025's
    libraries, which `narrow_rate` brings up to date.
    """
    flops = 2.0 * m * n * k * gemm.count * np.maximum(gemm.experts, 1.0)
    seconds = kernels.gemm_time(device, m, n, k, gemm.count, dtype)
    if is_expert(gemm):
        grouped = kernels.grouped_gemm_time(device, m, n, k, gemm.experts, dtype) * gemm.count
        grouped = grouped / stack.expert_rate + gemm.experts * gemm.count * stack.expert_s
        seconds = np.where(np.asarray(gemm.experts) <= 1, seconds, grouped)
    if device.generation == "blackwell" and dtype not in ("bf16", "fp16"):
        seconds = seconds / stack.narrow_rate
    return Parts(gemm=seconds, gemm_ideal=flops / device.nameplate(dtype), gemm_flops=flops)


def _attention(device: Device, stack: Stack, op: Attention) -> tuple[Parts, Parts]:
    shape = (op.sequences, op.queries, op.context, op.heads)
    flops = kernels.attention_flops(*shape, op.qk_head_dim, op.v_head_dim, op.causal)
    if stack.masked_windows and np.all(op.context < op.queries):
        shape = (op.sequences, op.queries, op.queries, op.heads)
    ideal = flops / device.nameplate("bf16")
    forward, backward = (
        kernels.attention_time(
            device,
            *shape,
            op.kv_heads,
            op.qk_head_dim,
            op.v_head_dim,
            op.causal,
            backward=b,
            kernel_generation=stack.attention,
        )
        for b in (False, True)
    )
    return Parts(attention=forward, attention_ideal=ideal), Parts(
        attention=backward, attention_ideal=2.0 * ideal
    )


def _memory(device: Device, stack: Stack, operation: Any) -> tuple[Parts, Parts]:
    launches = operation.kernels if not (stack.fused and operation.fusible) else 1.0
    launch = kernels.memory_time(device, 0.0, launches)
    traffic = stack.memory_traffic
    passes = (operation.forward_bytes, operation.backward_bytes)
    if stack.fused_experts and operation.name in FUSED:
        passes = (0.0, 0.0)
    factors = UNFUSED_ROTARY if operation.name == "rotary" and not stack.fused_rotary else (1.0, 1.0)
    if stack.dropout:
        factors = EARLY_PASSES.get(operation.name, factors)
    passes = (factors[0] * passes[0], factors[1] * passes[1])
    forward, backward = (
        Parts(memory=kernels.memory_time(device, b * traffic, 0.0), launch=launch) for b in passes
    )
    return forward, backward
