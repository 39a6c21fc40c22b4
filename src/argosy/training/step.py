"""The step-time model: one evaluation function over arrays of layouts.

A step is m micro-batches through a pipeline of uneven stages, then what data parallelism leaves exposed, the
optimizer, and the wait for the slowest node. Costs of a layer are computed once per distinct (tp, cp, ep,
etp, micro-batch, …) and picked for every layout that shares them; the composition over stages and replicas
is a few operations per layout.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from argosy.training import communication, kernels
from argosy.training.blocks import Block, blocks, layer_sequence, pick
from argosy.training.communication import Network, Passes
from argosy.training.costs import Parts, compute_costs
from argosy.training.device import Device
from argosy.training.host import exposed_copy
from argosy.training.job import Job
from argosy.training.layer import LayerSeconds, layer_seconds
from argosy.training.layout import Layouts
from argosy.training.memory import kept_of_layer
from argosy.training.memory_traits import memory_traits
from argosy.training.per_step import gradient_exchange, optimizer, transfers, waiting_seconds
from argosy.training.pipeline import stage_classes
from argosy.training.stack import Stack
from argosy.training.stages import Parameters, Stage, pipeline_seconds, stages_of
from argosy.training.utilisation import utilisation
from argosy.workload.operations import LayerWork

Array = Any

BREAKDOWN = (
    "compute",
    "tp_exposed",
    "pp_exposed",
    "bubble",
    "dp_exposed",
    "ep_exposed",
    "cp_exposed",
    "optimizer",
    "straggler",
    "other",
)


@dataclass(frozen=True)
class Steps:
    """The answer for every layout, or every draw of one layout: arrays of shape (L,) or (n,).

    `step_s`: seconds per step. `breakdown`: seconds under the keys BREAKDOWN, mean over the accelerators,
    summing to `step_s`. `compute_parts`: breakdown["compute"] in turn as the ledger needs it: useful_at_peak
    (6 N FLOPs at the nameplate peak of the format they run in), products_beyond_6n, attention_beyond_6n,
    recompute_at_peak, and what kernels lose: gemm_inefficiency, attention_inefficiency, memory_bound,
    launch. `mfu`: parameters_only, attention_causal, attention_full, peak_flops, peak_dtype, parameters;
    `hfu` counts recomputation. `pipeline_s`: the part of the step from the first forward
    to the last backward, sends included: what an event simulation of the schedule replaces.
    """

    layouts: Layouts
    step_s: np.ndarray
    breakdown: dict[str, np.ndarray]
    compute_parts: dict[str, np.ndarray]
    tokens_per_s: np.ndarray
    mfu: dict[str, Any]
    hfu: np.ndarray
    pipeline_s: np.ndarray

    def take(self, index: Array) -> Steps:
        """The layouts that an index array or a mask selects; not for draws."""

        def of(values: dict[str, Any]) -> dict[str, Any]:
            return {name: value[index] if np.ndim(value) else value for name, value in values.items()}

        return Steps(
            self.layouts.take(index),
            self.step_s[index],
            of(self.breakdown),
            of(self.compute_parts),
            self.tokens_per_s[index],
            of(self.mfu),
            self.hfu[index],
            self.pipeline_s[index],
        )

    def to_dict(self, i: int = 0) -> dict[str, Any]:
        """Layout or draw `i` as JSON-ready data, with the keys of the contract."""
        gpus = int(self.layouts.gpus[min(i, len(self.layouts) - 1)])
        tokens = float(self.tokens_per_s[i])
        return {
            "step_time_s": float(self.step_s[i]),
            "tokens_per_s": tokens,
            "tokens_per_gpu_s": tokens / gpus,
            "mfu": {name: float(value[i]) if np.ndim(value) else value for name, value in self.mfu.items()},
            "hfu": float(self.hfu[i]),
            "breakdown_s": {name: float(self.breakdown[name][i]) for name in BREAKDOWN},
            "compute_parts_s": {name: float(value[i]) for name, value in self.compute_parts.items()},
        }


def evaluate(job: Job, device: Device, network: Network, stack: Stack, layouts: Layouts) -> Steps:
    """Step time of every layout, and where it goes.

    `device` and `stack` hold floats, or arrays of draws (n,) when there is one layout; `network` answers for
    the fabric (docs/architecture.md). `layouts` must be valid (`layout.exclusions`); memory is not looked at
    here. Times are in s. ValueError for draws on more than one layout, or a numeric format that the device
    has not.
    """
    if len(layouts) > 1 and (_has_draws(device) or _has_draws(stack)):
        raise ValueError(f"draws go with one layout at a time, not with {len(layouts)}")
    keys, index = _distinct(layouts)
    parts = blocks(job, keys)
    costs = {name: block_seconds(job, device, network, stack, keys, block) for name, block in parts.items()}
    weights = {
        name: Parameters(block.dense_parameters, block.expert_parameters) for name, block in parts.items()
    }
    hidden_state = parts["head"].work.extra["tp_bytes"]
    if len(layouts) > 1:
        costs, weights = (
            {name: pick(value, index) for name, value in each.items()} for each in (costs, weights)
        )
        hidden_state = pick(hidden_state, index)
    kinds = layer_sequence(job)
    classes = stage_classes(kinds, layouts)
    stages = stages_of(kinds, costs, weights, classes)
    return _compose(job, device, network, stack, layouts, kinds, hidden_state, costs, stages)


def _has_draws(numbers: Device | Stack) -> bool:
    """Whether any number is an array of draws."""
    values = [getattr(numbers, f.name) for f in fields(numbers)]
    numbers_in = [value for v in values for value in (v.values() if isinstance(v, dict) else [v])]
    return any(isinstance(value, np.ndarray) and value.size > 1 for value in numbers_in)


def _distinct(layouts: Layouts) -> tuple[Layouts, np.ndarray]:
    """One layout per distinct cost of a layer, and for every layout which of them is its own."""
    sharded = layouts.gathers_per_micro_batch
    columns = [layouts.tp, layouts.cp, layouts.ep, layouts.etp, layouts.micro_batch, layouts.recompute]
    columns += [
        layouts.sequence_parallel,
        layouts.zero * sharded,
        layouts.dp * sharded,
        layouts.shard * sharded,
    ]
    code = np.zeros(len(layouts), np.int64)
    for column in columns:  # all fields in one integer: sorting integers is far faster than sorting rows
        _, rank = np.unique(column, return_inverse=True)
        code = code * (int(rank.max(initial=0)) + 1) + rank
    _, first, index = np.unique(code, return_index=True, return_inverse=True)
    return layouts.take(first), index


def block_seconds(
    job: Job, device: Device, network: Network, stack: Stack, layouts: Layouts, block: Block
) -> LayerSeconds:
    """Seconds of one block (a kind of layer, the embedding, the head) for each distinct layout."""
    work = block.work
    if not block.is_layer:
        layouts = replace(layouts, recompute=np.zeros_like(layouts.recompute))
    compute = compute_costs(device, stack, job.precision, work, layouts.recompute)
    narrow = stack.tp_gather_bytes if block.is_layer else communication.ACTIVATION_BYTES
    tp = communication.tensor_parallel(work, network, layouts, narrow)
    cp = communication.context_parallel(work, network, layouts) if block.is_layer else Passes()
    ep = Passes()
    if block.has_experts:
        ep = communication.expert_parallel(
            job.model, work, network, stack, layouts, device.node_size, stack.dispatch_bytes
        )
        if stack.reserved and job.overlap.ep:
            compute = compute.slowed(np.where(layouts.ep > 1, 1 / (1 - stack.reserved), 1.0))
    gather = scatter = np.float64(0.0)
    sharded = layouts.gathers_per_micro_batch
    if sharded.any():
        gather = _sharded("all_gather", job.parameter_bytes, network, layouts, block) * sharded
        scatter = _sharded("reduce_scatter", job.gradient_bytes, network, layouts, block) * sharded
    queues = stack.host_experts if block.has_experts else float(block.is_layer)
    if stack.unfused:
        queues = queues * _softmax_host(work)
    return layer_seconds(compute, tp, cp, ep, gather, scatter, stack, job.overlap, layouts, queues)


# Host time of a layer whose softmax runs in PyTorch's operations over one with the fused kernel. Measured:
# 5.0 against 3.6 ms per layer of the vTrain runs whose host is the limit (arXiv:2312.12391, single-node
# table).
SOFTMAX_HOST = 1.4


def _softmax_host(work: LayerWork) -> Array:
    """Factor on the host's time of a block with unfused attention."""
    apart = [kernels.softmax_falls_apart(op.sequences, op.heads) for op in work.attentions]
    return np.where(np.any(apart, axis=0), SOFTMAX_HOST, 1.0) if apart else 1.0


def _sharded(kind: str, element_bytes: float, network: Network, layouts: Layouts, block: Block) -> Array:
    """A collective over the replicas of one block's weights or gradients, dense and expert parts one after
    the other.
    """
    dense = communication.data_parallel(kind, block.dense_parameters * element_bytes, network, layouts)
    if not block.has_experts:
        return dense
    return dense + communication.expert_data_parallel(
        kind, block.expert_parameters * element_bytes, network, layouts
    )


def _compose(
    job: Job,
    device: Device,
    network: Network,
    stack: Stack,
    layouts: Layouts,
    kinds: tuple[str, ...],
    hidden_state: Array,
    costs: dict[str, LayerSeconds],
    stages: list[Stage],
) -> Steps:
    """Stages to a step: the pipeline, then everything that happens once per step."""
    m = layouts.grad_accumulation
    means = _mean_amounts(kinds, layouts.pp)

    def mean(field: str) -> Array:
        """Seconds per step of one field, mean over the pipeline's ranks."""
        return m * sum(amount * getattr(costs[name], field) for name, amount in means.items())

    breakdown = {f"{field}_exposed": mean(field) for field in ("tp", "cp", "ep")}
    breakdown["compute"] = mean("compute")
    breakdown["other"] = (
        mean("host") + stack.step_overhead_s + _activation_copies(job, device, stack, layouts, costs, means)
    )
    busy = mean("forward") + mean("backward")
    pipeline = pipeline_seconds(layouts, stages)
    breakdown["bubble"] = pipeline - busy
    breakdown["pp_exposed"] = transfers(job, network, stack, layouts, hidden_state, stages)
    breakdown["dp_exposed"] = mean("fsdp") + gradient_exchange(job, network, stack, layouts, stages)
    breakdown["optimizer"] = optimizer(job, device, layouts, stages)
    rest = sum(breakdown[name] for name in BREAKDOWN if name != "straggler")
    breakdown["straggler"] = waiting_seconds(
        stack, layouts.gpus, device.node_size, breakdown["compute"], rest
    )
    step = rest + breakdown["straggler"]
    shape = np.shape(step)
    breakdown = {name: np.broadcast_to(breakdown[name], shape) for name in BREAKDOWN}
    tokens = job.global_batch_sequences * job.sequence_length / step
    first, again = (_mean_parts(costs, means, m, field) for field in ("parts", "again"))
    mfu = utilisation(job, device, tokens / layouts.gpus)
    recomputed = again.gemm_flops / mfu["peak_flops"] + again.attention_ideal
    hfu = mfu["attention_causal"] + recomputed / step
    useful = 6 * mfu["parameters"] * job.global_batch_sequences * job.sequence_length / layouts.gpus
    parts = _compute_parts(first, again, useful, shape)
    pipeline = np.broadcast_to(pipeline + breakdown["pp_exposed"], shape)
    return Steps(layouts, step, breakdown, parts, tokens, mfu, hfu, pipeline)


def _activation_copies(
    job: Job, device: Device, stack: Stack, layouts: Layouts, costs: dict[str, LayerSeconds], means: Any
) -> Array:
    """Seconds per step that copying activations to the host and back adds, mean over the pipeline's ranks."""
    share = job.offload.activations
    if not share:
        return 0.0
    traits = memory_traits(stack.name)
    exposed: Array = 0.0
    for kind in set(layer_sequence(job)):
        kept = kept_of_layer(job, kind, layouts, traits)
        cost = costs[kind]
        exposed = exposed + means[kind] * exposed_copy(
            kept, share, device.host_link, cost.forward, cost.backward
        )
    return layouts.grad_accumulation * exposed


def _mean_amounts(kinds: tuple[str, ...], pp: Array) -> dict[str, Array]:
    """How many of each block a pipeline rank holds on average."""
    amounts = {kind: kinds.count(kind) / pp for kind in set(kinds)}
    return amounts | {"embedding": 1 / pp, "head": 1 / pp}


def _mean_parts(costs: dict[str, LayerSeconds], means: dict[str, Array], m: Array, field: str) -> Parts:
    total = Parts()
    for name, amount in means.items():
        total = total + getattr(costs[name], field) * (amount * m)
    return total


def _compute_parts(
    first: Parts, again: Parts, useful: Array, shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """breakdown["compute"] split for the ledger: what is useful at peak, then each kernel loss.

    `useful`: 6 N FLOP per accelerator and step. Products beyond them are prediction modules, the experts'
    imbalance, and what tensor-parallel ranks repeat.
    """
    both = first + again
    at_peak = useful * first.gemm_ideal / first.gemm_flops
    split = {
        "useful_at_peak": at_peak,
        "products_beyond_6n": first.gemm_ideal - at_peak,
        "attention_beyond_6n": first.attention_ideal,
        "recompute_at_peak": again.gemm_ideal + again.attention_ideal,
        "gemm_inefficiency": both.gemm - both.gemm_ideal,
        "attention_inefficiency": both.attention - both.attention_ideal,
        "memory_bound": both.memory,
        "launch": both.launch,
    }
    return {name: np.broadcast_to(np.asarray(value, float), shape) for name, value in split.items()}
