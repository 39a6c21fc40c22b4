"""Peak memory of one accelerator, stage by stage of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy.training.blocks import layer_sequence
from argosy.training.host import kept_on_device
from argosy.training.job import Job
from argosy.training.layout import FULL, SELECTIVE, Layouts
from argosy.training.memory_stages import Stages, column, in_flight
from argosy.training.memory_traits import MemoryTraits, StateBytes, memory_traits
from argosy.workload import (
    Shard,
    Storage,
    backward_working_bytes,
    layer_parameters,
    layer_work,
    saved_tensors,
)

Array = Any  # float or numpy array
# Of gathered weights, of weight gradients before they are accumulated, of what pipeline stages send.
COMPUTE_BYTES = 2.0
REDUCED_BYTES = 4.0  # gradients are reduced in FP32
PROBABILITY_BYTES = 4.0  # a prediction module's FP32 probabilities wait for the backward pass


@dataclass(frozen=True)
class MemoryBreakdown:
    """Bytes on the fullest accelerator of every layout, arrays (L,).

    `stage` is the pipeline rank that it belongs to. `activations`: kept for the backward pass, plus what the
    layer being differentiated holds. `buffers`: placeholder and gathered weights, buckets, sends.
    `peak_allocated` is the sum of these and of the model's state, what `torch.cuda.max_memory_allocated`
    counts; `allocator_reserved` adds fragmentation (`max_memory_reserved`); `peak_reserved` adds the driver's
    context and the communicators, what `nvidia-smi` shows; `overhead` is peak_reserved − peak_allocated.
    `host`: bytes of the host's memory that offloading takes for this accelerator, in none of the others.
    """

    stage: np.ndarray
    weights: np.ndarray
    gradients: np.ndarray
    optimizer: np.ndarray
    activations: np.ndarray
    buffers: np.ndarray
    overhead: np.ndarray
    peak_allocated: np.ndarray
    allocator_reserved: np.ndarray
    peak_reserved: np.ndarray
    host: np.ndarray

    def fits(self, capacity: Array) -> np.ndarray:
        """Whether each layout runs in `capacity` bytes of accelerator memory, bool (L,)."""
        return np.asarray(self.peak_reserved <= capacity)

    def to_dict(self, i: int = 0, capacity: float | None = None) -> dict[str, Any]:
        """Layout `i` as JSON-ready data, with the keys of the contract; `capacity` in bytes."""
        names = ("weights", "gradients", "optimizer", "activations", "buffers", "overhead")
        row: dict[str, Any] = {"stage": int(self.stage[i])}
        for name in (*names, "peak_allocated", "peak_reserved", "host"):
            row[name] = float(getattr(self, name)[i])
        return {**row, "capacity": capacity}


def memory(
    job: Job,
    layouts: Layouts,
    traits: MemoryTraits | str = "generic",
    state: StateBytes | None = None,
    recomputed_share: Array = 1.0,
    recompute_group: Array = 1,
) -> MemoryBreakdown:
    """Peak memory of every layout, in bytes, on the pipeline stage where it is highest.

    `traits`: how the framework uses memory, or the name of a software stack; `state`: bytes per parameter of
    the model's state (none: weights in BF16, gradients as the job reduces them, FP32 master and moments).
    Where a layout recomputes fully, `recomputed_share` (0–1) of a stage's layers do so (Megatron-LM's block
    method), keeping one input per `recompute_group` layers (its uniform method); both broadcast with (L,).

    A stage holds

        state + in_flight · kept activations + what the worst moment adds,

    with the moments: differentiating a layer while everything in flight is kept; the loss and the output
    projection on the last stage; the input embedding's gradient on the first. Stages looked at: the first,
    the second (the fullest of the others that hold no end: it has the most in flight and takes left-over
    layers first), the one in the middle, the last. Valid for balanced routing up to the model's `imbalance`;
    peaks of data loading, evaluation and checkpointing are not in it.
    """
    traits = memory_traits(traits) if isinstance(traits, str) else traits
    state = state or traits.default_state(job.precision, job.gradient_bytes)
    stages = Stages.of(job, layouts)
    parts = _persistent(job, layouts, traits, state, stages)
    recompute = _Recompute(layouts.recompute, recomputed_share, recompute_group)
    kept, moments = _activations(job, layouts, traits, stages, recompute)
    on_device, largest = kept
    left = kept_on_device(on_device, largest, job.offload.activations)
    host = on_device - left + job.offload.optimizer * parts["optimizer"]
    parts["optimizer"] = (1.0 - job.offload.optimizer) * parts["optimizer"]
    parts["activations"] = left + moments
    parts["buffers"] = _buffers(job, layouts, traits, stages)
    return _worst(layouts, traits, stages, parts, host)


@dataclass(frozen=True)
class _Recompute:
    """How much of the forward pass runs again: the layouts' code, and how full recomputation is dosed."""

    code: np.ndarray
    share: Array
    group: Array


def _persistent(
    job: Job, layouts: Layouts, traits: MemoryTraits, state: StateBytes, stages: Stages
) -> dict[str, np.ndarray]:
    """Weights, gradients and optimizer state by ZeRO stage (arXiv:1910.02054, section 5), (L, S) each."""
    dense, experts = _parameters(job, layouts, stages)
    zero = column(layouts.zero)
    replicas, expert_replicas = column(layouts.dp * layouts.cp), column(layouts.expert_dp)

    def held(bytes_per_parameter: Array, sharded: np.ndarray) -> np.ndarray:
        whole = np.where(sharded, replicas, 1)
        whole_experts = np.where(sharded, expert_replicas, 1)
        return np.asarray(bytes_per_parameter * (dense / whole + experts / whole_experts))

    optimizer = state.master + state.moments + state.optimizer_gradients
    if not traits.sharded_parameter_is_master:
        return {
            "weights": held(state.weights, zero >= 3),
            "gradients": held(state.gradients, zero >= 2),
            "optimizer": held(optimizer, zero >= 1),
        }
    # FSDP: the sharded FP32 parameters are the master; half-precision weights exist only gathered
    # (`_buffers`), or whole for the length of a step: by choice (stage 2), and where a pipeline would
    # gather them anew for every micro-batch.
    sharded, pipeline = zero >= 2, column(layouts.pp) > 1
    whole = np.where((zero == 2) | (sharded & pipeline), held(state.weights, zero < 0), 0.0)
    weights = np.where(sharded, state.master, state.weights)
    return {
        "weights": held(weights, sharded) + whole,
        "gradients": held(state.gradients, sharded & ~pipeline),
        "optimizer": held(np.where(sharded, optimizer - state.master, optimizer), zero >= 1),
    }


def _parameters(job: Job, layouts: Layouts, stages: Stages) -> tuple[np.ndarray, np.ndarray]:
    """Parameters of a rank outside and inside experts, (L, S) each; a tied embedding is on both ends."""
    model = job.model
    layers = {kind: layer_parameters(model, kind) for kind in stages.kinds}
    dense = stages.total({kind: p.dense_on_rank(layouts.tp) for kind, p in layers.items()}, held=True)
    experts = stages.total(
        {kind: p.experts_on_rank(layouts.ep, layouts.etp) for kind, p in layers.items()}, held=True
    )
    embedding = column(layer_parameters(model, "embedding").dense_on_rank(layouts.tp))
    head = column(layer_parameters(model, "head").dense_on_rank(layouts.tp))
    shared = stages.first & stages.last & model.tied_embeddings
    return dense + stages.first * embedding + (stages.last & ~shared) * head, experts


def _activations(
    job: Job, layouts: Layouts, traits: MemoryTraits, stages: Stages, recompute: _Recompute
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Kept activations of all micro-batches in flight, with those of the largest layer, and the most that one
    moment adds, (L, S) each.
    """
    shard, storage = shard_of(job, layouts), storage_of(job, traits)
    kept, working = {}, {}
    for kind in stages.kinds:
        kept[kind], working[kind] = _layer_activations(job, kind, recompute, traits, shard, storage)
    one = stages.total(kept)
    flying = in_flight(layouts, stages.rank)
    layer_moment = stages.largest(working)
    head = _head_bytes(job, layouts, shard, traits)
    head_moment = np.where(stages.last, column(head), 0.0)
    # The embedding's gradient comes when its micro-batch's activations are gone.
    gradient = COMPUTE_BYTES * job.model.vocab * job.model.hidden / shard.tp
    embedding_moment = np.where(stages.first, column(gradient) - one, 0.0)
    moments = np.maximum(np.maximum(layer_moment, head_moment), embedding_moment)
    return (flying * one, stages.largest(kept)), moments


def kept_of_layer(job: Job, kind: str, layouts: Layouts, traits: MemoryTraits) -> Array:
    """Bytes that one layer of a kind keeps of one micro-batch for its backward pass, (L,)."""
    recompute = _Recompute(layouts.recompute, 1.0, 1)
    shard, storage = shard_of(job, layouts), storage_of(job, traits)
    return _layer_activations(job, kind, recompute, traits, shard, storage)[0]


def shard_of(job: Job, layouts: Layouts) -> Shard:
    """What one rank sees of a micro-batch."""
    x = layouts
    return Shard(job.sequence_length, x.micro_batch, x.tp, x.cp, x.ep, x.etp, x.sequence_parallel)


def storage_of(job: Job, traits: MemoryTraits) -> Storage:
    """The framework's storage; in FP8 and FP4 jobs it may keep the products' inputs in one byte."""
    narrow = job.precision.startswith(("fp8", "mxfp8", "nvfp4", "fp4"))
    if narrow and traits.narrow_inputs:
        return replace(traits.storage, linear_input_bytes=1.0)
    return traits.storage


def _layer_activations(
    job: Job, kind: str, recompute: _Recompute, traits: MemoryTraits, shard: Shard, storage: Storage
) -> tuple[np.ndarray, np.ndarray]:
    """Bytes that a layer keeps, and bytes that appear while it is differentiated, (L,) each."""
    base = layer_sequence(job)[job.model.layers - 1] if kind == "mtp" else kind
    saved = saved_tensors(job.model, base, shard, storage)
    everything = sum(saved.values())
    differentiating = backward_working_bytes(job.model, base, shard, storage)
    selective = _selective(saved, traits)
    inputs = saved["layer_input"]
    dosed = recompute.share * inputs / recompute.group + (1.0 - recompute.share) * everything
    again = (
        recompute.group * everything - inputs
    )  # a group's layers exist while one of them is differentiated
    codes = [recompute.code == SELECTIVE, recompute.code == FULL]
    kept = np.select(codes, [selective, dosed], everything)
    return kept, differentiating + np.select(codes, [everything - selective, again], 0.0)


def _selective(saved: dict[str, Array], traits: MemoryTraits) -> Array:
    """Bytes that selective recomputation keeps of a layer."""
    if traits.selective == "core":
        return sum(bytes for name, bytes in saved.items() if name not in traits.selective_drops)
    return sum(share * saved.get(name, 0.0) for name, share in _ALTERNATE_PRODUCTS.items())


# torchtitan's per-operator checkpointing keeps attention and every second product in the order query, key,
# value, output, gate, up, down; the last one's output has the size of the feed-forward's input.
_ALTERNATE_PRODUCTS = {
    "layer_input": 1.0,
    "queries": 1.0,
    "values": 1.0,
    "attention_output": 1.0,
    "attention_statistics": 1.0,
    "scores": 1.0,
    "gate_up": 0.5,
    "feed_forward_input": 1.0,
    "expert_inputs": 1.0,
    "experts_gate_up": 0.5,
    "shared_gate_up": 0.5,
}


def _head_bytes(job: Job, layouts: Layouts, shard: Shard, traits: MemoryTraits) -> Array:
    """The worst of two moments at the end: in the loss, and in the output projection's backward, (L,).

    The projection's backward holds the logits' gradient, that of its weights, its gathered input and that
    input's gradient; both moments hold the final norm's input and output, and each prediction module's
    probabilities.
    """
    model = job.model
    logits = shard.tokens * model.vocab / shard.tp
    hidden = shard.tokens * model.hidden * COMPUTE_BYTES
    norm = 2 * shard.own_tokens * model.hidden * COMPUTE_BYTES
    unfused = np.where(layouts.tp > 1, traits.parallel_loss_bytes, traits.loss_bytes)
    loss = logits * (traits.fused_loss_bytes if job.fused_cross_entropy else unfused)
    weights = model.vocab * model.hidden / shard.tp * COMPUTE_BYTES
    projection = logits * traits.projection_bytes + weights + 2 * hidden
    outputs = logits * PROBABILITY_BYTES * model.mtp_modules
    if traits.keeps_outputs:
        outputs = outputs + logits * COMPUTE_BYTES * layouts.grad_accumulation * (layouts.pp > 1)
    return norm + outputs + np.maximum(loss, projection)


def _buffers(job: Job, layouts: Layouts, traits: MemoryTraits, stages: Stages) -> np.ndarray:
    """Placeholders, gathered units, buckets and pipeline sends, (L, S)."""
    x, model = layouts, job.model
    total = np.full(stages.rank.shape, traits.bucket_bytes)
    # One activation and one gradient are in transit, or have a buffer each for every micro-batch of the step.
    waiting = x.grad_accumulation if traits.keeps_outputs else 1
    sent = 2 * waiting * shard_of(job, x).own_tokens * model.hidden * COMPUTE_BYTES
    total = total + column(np.where(x.pp > 1, sent, 0.0))
    if traits.cached_weight_gradients:
        total = total + _placeholders(job, x, stages)
    parameters = {kind: layer_parameters(model, kind) for kind in stages.kinds}
    units = {k: p.dense_on_rank(x.tp) + p.experts_on_rank(x.ep, x.etp) for k, p in parameters.items()}
    # A gathered unit is in the compute format; its gradient is in that format and, being reduced, in FP32.
    unit = stages.largest(units) * (COMPUTE_BYTES * (traits.gathered_units + 1) + REDUCED_BYTES)
    ends = column(layer_parameters(model, "head").dense_on_rank(x.tp)) * COMPUTE_BYTES
    ends = ends * (stages.first * 1.0 + stages.last)
    gathered = column(x.zero) >= 2
    if traits.sharded_parameter_is_master:  # under a pipeline weights are whole, see `_persistent`
        gathered = gathered & (column(x.pp) == 1)
    return np.asarray(total + np.where(gathered, unit + ends, 0.0))


def _placeholders(job: Job, layouts: Layouts, stages: Stages) -> np.ndarray:
    """One placeholder gradient per distinct weight matrix of the layers that a stage has, (L, S)."""
    x = layouts
    sizes: dict[str, np.ndarray] = {}
    for k, kind in enumerate(stages.kinds):
        work = layer_work(
            job.model,
            kind,
            sequence_length=job.sequence_length,
            micro_batch=x.micro_batch,
            tp=x.tp,
            cp=x.cp,
            ep=x.ep,
            etp=x.etp,
            sequence_parallel=x.sequence_parallel,
        )
        for gemm in work.gemms:
            if gemm.quantised:
                size = np.where(stages.layers[..., k] > 0, column(gemm.n * gemm.k + 0 * x.tp), 0.0)
                sizes[gemm.name] = np.maximum(sizes.get(gemm.name, 0.0), size)
    return np.asarray(COMPUTE_BYTES * np.sum(list(sizes.values()), axis=0))


def _worst(
    layouts: Layouts, traits: MemoryTraits, stages: Stages, parts: dict[str, np.ndarray], host: np.ndarray
) -> MemoryBreakdown:
    """The fullest stage of every layout."""
    total = np.sum(np.broadcast_arrays(*parts.values()), axis=0)
    worst = np.argmax(total, axis=1)
    rows = np.arange(len(layouts))

    def of(value: np.ndarray) -> np.ndarray:
        return np.asarray(np.broadcast_to(value, total.shape)[rows, worst])

    allocated = of(total)
    reserved = allocated * (1 + traits.fragmentation)
    x = layouts
    groups = (x.tp, x.cp, x.pp, x.dp * x.cp, np.where(x.ep > 1, x.ep, 1))
    communicators = sum((group > 1).astype(float) for group in groups) + traits.communicators
    peak = reserved + traits.context_bytes + traits.communicator_bytes * communicators
    named = {name: of(value) for name, value in parts.items()}
    return MemoryBreakdown(
        stage=of(stages.rank),
        **named,
        overhead=peak - allocated,
        peak_allocated=allocated,
        allocator_reserved=reserved,
        peak_reserved=peak,
        host=of(host),
    )
