"""How a framework uses memory: what it stores, what it keeps beside the model's state, what its allocator
wastes.

Traits follow from reading how each framework works; none is fitted per model or per run. The shares and
sizes that cannot be read anywhere are assumptions, marked as such.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from argosy.facts.fact import Fact
from argosy.facts.values import Values
from argosy.spec.training import Precision
from argosy.training.stack import PRESETS
from argosy.workload import Storage

Array = Any  # float or numpy array
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
    optimizer_gradients: float = 0.0  # FP32 copy of the gradients that a rank updates

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

    `selective`: what selective recomputation keeps: `core` all but `selective_drops` (attention's scores in
    Megatron), `products` the outputs of every second product and of attention (torchtitan's per-operator
    checkpointing).
    `narrow_inputs`: in FP8 and FP4 jobs the inputs of the products are kept in one byte.
    `cached_weight_gradients`: Transformer Engine with fused gradient accumulation keeps one placeholder
    gradient, in the weights' format, per distinct weight shape.
    `sharded_parameter_is_master`: FSDP shards FP32 parameters and keeps no second copy; under a pipeline it
    leaves weights whole, and gradients in FP32, from the first micro-batch to the last.
    `gradients_beside_accumulation`: DeepSpeed's ZeRO-1. In FP16 gradients stay in FP16 and the owner makes an
    FP32 copy of its part; in BF16 every rank keeps BF16 gradients and their FP32 sum.
    `loss_bytes`, `parallel_loss_bytes`, `fused_loss_bytes`: bytes per logit alive at the worst moment of the
    loss; `projection_bytes`: while the output projection is differentiated. `bucket_bytes`: communication
    buckets beside the gradients. `gathered_units`: FSDP units (layers) whose weights are whole at once: in
    use and fetched ahead. `fragmentation`: what the allocator reserves beyond the peak in use, as a share of
    it. `context_bytes`: driver context and kernels; `communicator_bytes`: buffers of one communicator;
    `communicators`: those that a rank has besides one per kind of parallelism. `keeps_outputs`:
    the last stage of a pipeline keeps every micro-batch's logits until the step ends, and every stage has
    buffers to receive every micro-batch (`torch.distributed.pipelining`).
    """

    storage: Storage = field(default_factory=Storage)
    selective: str = "core"
    selective_drops: tuple[str, ...] = ("scores",)
    narrow_inputs: bool = True
    cached_weight_gradients: bool = False
    sharded_parameter_is_master: bool = False
    gradients_beside_accumulation: bool = False
    loss_bytes: float = 10.0  # half-precision logits 2, FP32 copy 4, shifted and exponentiated copy 4
    parallel_loss_bytes: float = 10.0  # the same, over a vocabulary divided by tensor parallelism
    fused_loss_bytes: float = 6.0  # half-precision logits 2, FP32 exponentials 4
    projection_bytes: float = 4.0  # logits and their gradient in half precision
    bucket_bytes: float = 0.0
    gathered_units: float = 2.0
    fragmentation: Array = 0.04  # assumption; torchtitan's 8B runs agree
    context_bytes: Array = 0.6e9  # assumption: 0.4-0.7 GB is what nvidia-smi shows for an idle process
    communicator_bytes: Array = 0.25e9  # assumption: NCCL's 4 MiB buffers x channels x peers
    communicators: float = 0.0
    keeps_outputs: bool = False

    def default_state(self, precision: str, gradient_bytes: float) -> StateBytes:
        """The framework's own state for a job's compute format and the format of its gradient exchange."""
        if not self.gradients_beside_accumulation:
            return StateBytes(gradients=gradient_bytes)
        if precision == "fp16":
            return StateBytes(gradients=2.0, optimizer_gradients=4.0)
        return StateBytes(gradients=2.0 + 4.0)


_MEGATRON_CORE = MemoryTraits(cached_weight_gradients=True)
# Megatron-LM's default dropout is 0.1; BLOOM trained without.
_MEGATRON_2021 = MemoryTraits(storage=Storage(fused_attention=False, dropout=True))
_DEEPSPEED = MemoryTraits(
    storage=Storage(fused_attention=False),
    gradients_beside_accumulation=True,
    # A reduce and a gather bucket of 5e8 half-precision elements each: DeepSpeed's documented defaults.
    bucket_bytes=2 * 5e8 * 2.0,
    # World, model-parallel, tied embeddings, pairs of neighbouring stages.
    communicators=4.0,
    # Calibrated: the median share that 24 BLOOM runs held beyond what the rest of this model explains. The
    # allocator of PyTorch 1.x could not grow its segments.
    fragmentation=0.25,
)
# DeepSeek-V3 (arXiv:2412.19437, sections 3.2.3 and 3.3.3): norms, latent attention's widening products and
# SwiGLU's output are computed again; SwiGLU's input is kept in FP8.
_DEEPSEEK = MemoryTraits(
    storage=Storage(nonlinearity_input_bytes=1.0),
    cached_weight_gradients=True,
    selective_drops=(
        "scores",
        "attention_norm",
        "queries",
        "keys",
        "values",
        "feed_forward_norm",
        "activation",
        "experts_activation",
        "shared_activation",
    ),
)
_FSDP = MemoryTraits(
    storage=Storage(gathered_inputs=True),
    keeps_outputs=True,
    selective="products",
    narrow_inputs=False,
    sharded_parameter_is_master=True,
    # PyTorch's cross_entropy backward: FP32 log-probabilities, gradient of the loss, gradient of the logits.
    loss_bytes=12.0,
    # PyTorch's loss_parallel: log-probabilities, one-hot gradient, its sum with their exponential, product.
    parallel_loss_bytes=16.0,
)

# By the name of the software stack (stack.PRESETS).
_TRAITS: dict[str, MemoryTraits] = {
    "megatron-2021": _MEGATRON_2021,
    "megatron-deepspeed": _DEEPSPEED,
    "megatron-core": _MEGATRON_CORE,
    "llama3": _MEGATRON_CORE,
    "deepseek": _DEEPSEEK,
    "fsdp1": _FSDP,
    "fsdp2": _FSDP,
    "llm-foundry": _FSDP,
}


# What no source says for a framework at large: name → the band as factors of the value, and its source.
_OVERHEADS: dict[str, tuple[float, float, str]] = {
    "fragmentation": (0.5, 2.0, "assumption: share that the allocator reserves beyond the peak in use"),
    "context_bytes": (0.7, 1.5, "assumption: what nvidia-smi shows for a process before it allocates"),
    "communicator_bytes": (0.4, 2.5, "assumption: NCCL's 4 MiB buffers times channels and peers"),
}
_CALIBRATED = "calibrated on 24 BLOOM runs (bigscience-workshop/bigscience, chronicles of 2021-22)"


def memory_facts() -> dict[str, Fact]:
    """The overheads of every stack as facts `memory.<stack>.<name>`, to be joined with the catalog's."""
    facts = {}
    for stack in PRESETS:
        for name, (low, high, source) in _OVERHEADS.items():
            value = getattr(memory_traits(stack), name)
            calibrated = stack == "megatron-deepspeed" and name == "fragmentation"
            unit, source = "byte" if name.endswith("bytes") else "", _CALIBRATED if calibrated else source
            band = (value * low, value * high)
            facts[f"memory.{stack}.{name}"] = Fact(value, unit, *band, "framework", source)
    return facts


def memory_traits(stack: str = "generic", values: Values | None = None) -> MemoryTraits:
    """The traits of a software stack by its name; a name without traits of its own gets Megatron-Core's.

    `values`, where given, supplies the overheads (scalars, or draws (n,)) by the paths of `memory_facts`.
    """
    traits = _TRAITS.get(stack, _MEGATRON_CORE)
    if values is None:
        return traits
    paths = {name: f"memory.{stack}.{name}" for name in _OVERHEADS}
    return replace(traits, **{name: values[path] for name, path in paths.items() if path in values})
