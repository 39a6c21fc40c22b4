"""How a framework uses memory: what it stores, what it keeps beside the model's state, what its allocator
wastes.

Traits follow from reading how each framework works; none is fitted per model or per run. The shares and
sizes that cannot be read anywhere are assumptions, marked as such.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argosy.spec.training import Precision
from argosy.workload import Storage

FORMAT_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "none": 0.0}


@dataclass(frozen=True)
class StateBytes:
    """Bytes per parameter of the model's state: weights, gradients, master copy, both moments of Adam.

    Mixed precision as in Megatron-Core: 2 + 4 + 4 + 8 = 18 (Micikevicius et al. 2018, arXiv:1710.03740; ZeRO,
    arXiv:1910.02054, section 3.1, counts 16 with 2-byte gradients).
    """

    weights: float = 2.0
    gradients: float = 4.0
    master: float = 4.0
    moments: float = 8.0

    @classmethod
    def of(cls, precision: Precision) -> StateBytes:
        """The state of a scenario's numeric formats."""
        return cls(
            FORMAT_BYTES[precision.parameters],
            FORMAT_BYTES[precision.gradients],
            FORMAT_BYTES[precision.master],
            2 * FORMAT_BYTES[precision.optimizer],
        )


@dataclass(frozen=True)
class MemoryTraits:
    """One framework era's use of memory.

    `selective`: what selective recomputation keeps: `core` drops attention scores (Megatron), `products`
    keeps the outputs of every second product and of attention (torchtitan's per-operator checkpointing).
    `narrow_inputs`: in FP8 and FP4 jobs the inputs of the products are kept in one byte.
    `cached_weight_gradients`: Transformer Engine with fused gradient accumulation keeps one placeholder
    gradient, in the weights' format, per distinct weight shape. `sharded_parameter_is_master`: FSDP shards
    FP32 parameters and keeps no second copy. `loss_bytes`: bytes per logit alive in the loss at its worst
    (half-precision logits, their FP32 copy and the exponentials, …); `projection_bytes`: per logit while the
    output projection is differentiated. `bucket_bytes`: communication buckets beside the gradients.
    `fragmentation`: memory that the allocator reserves beyond the peak in use, as a share of it.
    `context_bytes`: driver context and kernels; `communicator_bytes`: buffers of one communicator.
    """

    storage: Storage = field(default_factory=Storage)
    selective: str = "core"
    narrow_inputs: bool = True
    cached_weight_gradients: bool = False
    sharded_parameter_is_master: bool = False
    loss_bytes: float = 10.0
    fused_loss_bytes: float = 6.0
    projection_bytes: float = 4.0
    bucket_bytes: float = 0.0
    gathered_units: float = (
        2.0  # FSDP units (layers) whose weights are whole at once: in use and fetched ahead
    )
    fragmentation: float = 0.04
    context_bytes: float = 0.6e9
    communicator_bytes: float = 0.25e9


_UNFUSED = Storage(fused_attention=False, dropout=True)
_MEGATRON_CORE = MemoryTraits(cached_weight_gradients=True)
_FSDP = MemoryTraits(
    selective="products",
    narrow_inputs=False,
    sharded_parameter_is_master=True,
    loss_bytes=14.0,
    projection_bytes=8.0,
)

# By the name of the software stack (stack.PRESETS).
_TRAITS: dict[str, MemoryTraits] = {
    "megatron-2021": MemoryTraits(storage=_UNFUSED),
    "megatron-deepspeed": MemoryTraits(storage=_UNFUSED),
    "megatron-core": _MEGATRON_CORE,
    "llama3": _MEGATRON_CORE,
    "deepseek": _MEGATRON_CORE,
    "fsdp1": _FSDP,
    "fsdp2": _FSDP,
    "llm-foundry": _FSDP,
}


def memory_traits(stack: str = "generic") -> MemoryTraits:
    """The traits of a software stack by its name; a name without traits of its own gets Megatron-Core's."""
    return _TRAITS.get(stack, _MEGATRON_CORE)
