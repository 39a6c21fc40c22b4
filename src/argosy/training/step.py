"""The step-time model: one evaluation function over arrays of layouts.

A step is m micro-batches through a pipeline of uneven stages, then what data parallelism leaves exposed, the
optimizer, and the wait for the slowest node. Costs of a layer are computed once per distinct (tp, cp, ep,
etp, micro-batch, …) and picked for every layout that shares them; the composition over stages and replicas
is a few operations per layout.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from argosy.training import communication, kernels
from argosy.training.blocks import Block, blocks, layer_sequence, pick
from argosy.training.communication import Network, Passes, exposed
from argosy.training.costs import Parts, compute_costs
from argosy.training.device import Device
from argosy.training.job import Job
from argosy.training.layer import LayerSeconds, layer_seconds
from argosy.training.layout import DUALPIPE, GPIPE, ONE_FORWARD_ONE_BACKWARD, Layouts
from argosy.training.pipeline import StageClasses, schedule_seconds, stage_classes
from argosy.training.stack import Stack
from argosy.training.utilisation import utilisation

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
    `hfu` counts recomputation.
    """

    layouts: Layouts
    step_s: np.ndarray
    breakdown: dict[str, np.ndarray]
    compute_parts: dict[str, np.ndarray]
    tokens_per_s: np.ndarray
    mfu: dict[str, Any]
    hfu: np.ndarray

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
        name: _Parameters(block.dense_parameters, block.expert_parameters) for name, block in parts.items()
    }
    hidden_state = parts["head"].work.extra["tp_bytes"]
    if len(layouts) > 1:
        costs, weights = (
            {name: pick(value, index) for name, value in each.items()} for each in (costs, weights)
        )
        hidden_state = pick(hidden_state, index)
    kinds = layer_sequence(job)
    classes = stage_classes(kinds, layouts)
    stages = _stages(kinds, costs, weights, classes)
    return _compose(job, device, network, stack, layouts, kinds, hidden_state, costs, stages)


@dataclass(frozen=True)
class _Parameters:
    """Parameters of one block on one rank."""

    dense_parameters: Array
    expert_parameters: Array


def _has_draws(numbers: Device | Stack) -> bool:
    """Whether any number is an array of draws."""
    values = [getattr(numbers, f.name) for f in fields(numbers)]
    return any(np.size(value) > 1 for v in values for value in (v.values() if isinstance(v, dict) else [v]))


def _distinct(layouts: Layouts) -> tuple[Layouts, np.ndarray]:
    """One layout per distinct cost of a layer, and for every layout which of them is its own."""
    sharded = layouts.zero >= 2
    columns = [layouts.tp, layouts.cp, layouts.ep, layouts.etp, layouts.micro_batch, layouts.recompute]
    columns += [layouts.sequence_parallel, layouts.zero * sharded, layouts.dp * sharded]
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
    tp = communication.tensor_parallel(work, network, layouts)
    cp = communication.context_parallel(work, network, layouts) if block.is_layer else Passes()
    ep = Passes()
    if block.has_experts:
        ep = communication.expert_parallel(
            job.model, work, network, stack, layouts, device.node_size, job.dispatch_bytes
        )
    gather = scatter = np.float64(0.0)
    if (layouts.zero >= 2).any():
        gather = _sharded("all_gather", job.parameter_bytes, network, layouts, block) * (layouts.zero == 3)
        scatter = _sharded("reduce_scatter", job.gradient_bytes, network, layouts, block) * (
            layouts.zero >= 2
        )
    queues = stack.host_experts if block.has_experts else float(block.is_layer)
    return layer_seconds(compute, tp, cp, ep, gather, scatter, stack, job.overlap, layouts, queues)


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


@dataclass(frozen=True)
class _Stage:
    """What the ranks of one class do: seconds for one micro-batch, and parameters on one rank."""

    ranks: Array
    forward: Array
    backward: Array
    weight_gradient: Array
    dense_parameters: Array
    expert_parameters: Array

    @property
    def seconds(self) -> Array:
        return self.forward + self.backward


def _stages(
    kinds: tuple[str, ...],
    costs: dict[str, LayerSeconds],
    weights: dict[str, _Parameters],
    classes: StageClasses,
) -> list[_Stage]:
    """The classes of pipeline ranks, each with the sum of its layers and, at the ends, the embedding and the
    head.
    """

    def stage(c: int) -> _Stage:
        amounts = {kind: classes.layers[:, c, k] for k, kind in enumerate(sorted(set(kinds)))}
        amounts |= {"embedding": classes.first[:, c], "head": classes.last[:, c]}

        def total(field: str, source: Any) -> Array:
            return sum(amounts[name] * getattr(source[name], field) for name in amounts)

        times = [total(field, costs) for field in ("forward", "backward", "weight_gradient")]
        return _Stage(
            classes.ranks[:, c],
            *times,
            *(total(f, weights) for f in ("dense_parameters", "expert_parameters")),
        )

    return [stage(c) for c in range(classes.ranks.shape[1])]


def _compose(
    job: Job,
    device: Device,
    network: Network,
    stack: Stack,
    layouts: Layouts,
    kinds: tuple[str, ...],
    hidden_state: Array,
    costs: dict[str, LayerSeconds],
    stages: list[_Stage],
) -> Steps:
    """Stages to a step: the pipeline, then everything that happens once per step."""
    m = layouts.grad_accumulation
    means = _mean_amounts(kinds, layouts.pp)

    def mean(field: str) -> Array:
        """Seconds per step of one field, mean over the pipeline's ranks."""
        return m * sum(amount * getattr(costs[name], field) for name, amount in means.items())

    breakdown = {f"{field}_exposed": mean(field) for field in ("tp", "cp", "ep")}
    breakdown["compute"] = mean("compute")
    breakdown["other"] = mean("host") + stack.step_overhead_s
    busy = mean("forward") + mean("backward")
    breakdown["bubble"] = _pipeline_seconds(layouts, stages) - busy
    breakdown["pp_exposed"] = _transfers(job, network, stack, layouts, hidden_state, stages)
    breakdown["dp_exposed"] = mean("fsdp") + _gradient_exchange(job, network, stack, layouts, stages)
    breakdown["optimizer"] = _optimizer(job, device, layouts, stages)
    nodes = np.maximum(layouts.gpus / device.node_size, 1)
    breakdown["straggler"] = stack.jitter * expected_maximum(nodes) * breakdown["compute"]
    step = sum(breakdown[name] for name in BREAKDOWN)
    shape = np.shape(step)
    breakdown = {name: np.broadcast_to(breakdown[name], shape) for name in BREAKDOWN}
    tokens = job.global_batch_sequences * job.sequence_length / step
    first, again = (_mean_parts(costs, means, m, field) for field in ("parts", "again"))
    mfu = utilisation(job, device, tokens / layouts.gpus)
    recomputed = again.gemm_flops / mfu["peak_flops"] + again.attention_ideal
    hfu = mfu["attention_causal"] + recomputed / step
    useful = 6 * mfu["parameters"] * job.global_batch_sequences * job.sequence_length / layouts.gpus
    return Steps(layouts, step, breakdown, _compute_parts(first, again, useful, shape), tokens, mfu, hfu)


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


def _pipeline_seconds(layouts: Layouts, stages: list[_Stage]) -> Array:
    """All micro-batches through all stages, without transfers. The slowest stage governs; DualPipe pairs
    opposite stages.
    """
    total = sum(stage.ranks * stage.seconds for stage in stages)
    seconds, backward, weight = (getattr(stages[0], f) for f in ("seconds", "backward", "weight_gradient"))
    paired = seconds
    if len(stages) > 1:
        paired = np.where(layouts.pp > 1, (seconds + stages[1].seconds) / 2, seconds)
    for stage in stages[1:]:
        slower = (stage.ranks > 0) & (stage.seconds > seconds)
        seconds = np.where(slower, stage.seconds, seconds)
        backward = np.where(slower, stage.backward, backward)
        weight = np.where(slower, stage.weight_gradient, weight)
    for stage in stages[2:]:
        paired = np.where(stage.ranks > 0, np.maximum(paired, stage.seconds), paired)
    slowest = np.where(layouts.schedule == DUALPIPE, paired, seconds)
    return schedule_seconds(total, slowest, backward, weight, layouts)


def _transfers(
    job: Job, network: Network, stack: Stack, layouts: Layouts, hidden_state: Array, stages: list[_Stage]
) -> Array:
    """Sends between stages: 2 v per micro-batch and rank, hidden only where the schedule has other work,
    plus the ramps.

    1F1B and GPipe wait for each send (Narayanan et al. 2021); the first activation reaches the last stage,
    and its gradient the first, over 2 (p − 1) hops that nothing hides.
    """
    hop = communication.pipeline_transfer(hidden_state, network, layouts)
    waits = (
        (layouts.schedule == ONE_FORWARD_ONE_BACKWARD) | (layouts.schedule == GPIPE) | (not job.overlap.pp)
    )
    hidden = np.where(waits, 0.0, stack.pp_hidden)
    per_micro_batch = 2 * layouts.vp * hop
    steady = exposed(per_micro_batch, hidden, stages[0].seconds, stack.overlap_drag)
    return layouts.grad_accumulation * steady + 2 * (layouts.pp - 1) * hop


def _gradient_exchange(
    job: Job, network: Network, stack: Stack, layouts: Layouts, stages: list[_Stage]
) -> Array:
    """What the once-per-step exchange of gradients and updated weights leaves exposed (s).

    ZeRO-0 all-reduces gradients; ZeRO-1 scatters them and gathers the updated weights; ZeRO-2 gathers only,
    ZeRO-3 neither (both pay per micro-batch). Gradients may hide behind the last micro-batch's backward,
    weights behind the first one's forward; with v chunks, all chunks but the one at the end also behind the
    p micro-batches that pass meanwhile. A stage other than the first ends its backward earlier, by at least
    one stage's backward: slack.
    """
    hidden = stack.dp_hidden if job.overlap.dp else 0.0
    stretch = (1 + layouts.pp * (layouts.vp - 1)) / layouts.vp
    worst: Array = 0.0
    for c, stage in enumerate(stages):
        late: Array = 0.0
        for kind, applies, size, window in (
            ("all_reduce", layouts.zero == 0, job.gradient_bytes, stage.backward),
            ("reduce_scatter", layouts.zero == 1, job.gradient_bytes, stage.backward),
            ("all_gather", (layouts.zero == 1) | (layouts.zero == 2), job.parameter_bytes, stage.forward),
        ):
            if not applies.any():
                continue
            seconds = communication.data_parallel(kind, stage.dense_parameters * size, network, layouts)
            if job.model.moe:
                experts = stage.expert_parameters * size
                seconds = seconds + communication.expert_data_parallel(kind, experts, network, layouts)
            left = exposed(seconds, hidden, window * stretch, stack.overlap_drag)
            slack: Array = 0.0 if c == 0 else window / layouts.vp
            late = late + np.where(applies, np.maximum(left - slack, 0.0), 0.0)
        worst = np.maximum(worst, np.where(stage.ranks > 0, late, 0.0))
    return worst + _tied_embedding(job, network, layouts)


def _tied_embedding(job: Job, network: Network, layouts: Layouts) -> Array:
    """First and last stage add up the gradients of an embedding that they share."""
    if not job.model.tied_embeddings:
        return 0.0
    gradients = job.model.vocab * job.model.hidden / layouts.tp * job.gradient_bytes
    stride = layouts.tp * layouts.cp * layouts.dp * np.maximum(layouts.pp - 1, 1)
    return np.where(layouts.pp > 1, network.collective("all_reduce", gradients, 2, stride), 0.0)


def _optimizer(job: Job, device: Device, layouts: Layouts, stages: list[_Stage]) -> Array:
    """The update, bound by memory: bytes per parameter of this rank's shard, on the stage that has most."""
    dense = np.where(layouts.zero >= 1, layouts.dp * layouts.cp, 1)
    expert = np.where(layouts.zero >= 1, layouts.expert_dp, 1)
    shards = [
        np.where(s.ranks > 0, s.dense_parameters / dense + s.expert_parameters / expert, 0.0) for s in stages
    ]
    most = np.max(np.broadcast_arrays(*shards), axis=0)
    return kernels.memory_time(device, most * job.optimizer_bytes, 2.0)


def expected_maximum(count: Array) -> Array:
    """Mean of the largest of `count` standard normals: Φ⁻¹((n − 0.375) / (n + 0.25)) (Blom 1958).

    Dimensionless, shape of `count`; too large by 5 % at n = 2, by less than 1 % from n = 8; 0 for n ≤ 1.
    """
    distinct, index = np.unique(np.asarray(count, float), return_inverse=True)
    return np.array([_blom(n) for n in distinct])[index].reshape(np.shape(count))


@lru_cache(maxsize=4096)
def _blom(count: float) -> float:
    return 0.0 if count <= 1 else NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
