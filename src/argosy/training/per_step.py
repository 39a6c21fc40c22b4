"""What a step pays between stages and once at its end: sends, gradients, the optimizer, the slowest node."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from argosy.training import communication, kernels
from argosy.training.communication import Network, exposed
from argosy.training.device import Device
from argosy.training.host import update_seconds
from argosy.training.job import Job
from argosy.training.layout import GPIPE, ONE_FORWARD_ONE_BACKWARD, Layouts
from argosy.training.stack import Stack
from argosy.training.stages import Stage

Array = Any
BETWEEN_COPIES = "between copies"


def transfers(
    job: Job, network: Network, stack: Stack, layouts: Layouts, hidden_state: Array, stages: list[Stage]
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


def gradient_exchange(
    job: Job, network: Network, stack: Stack, layouts: Layouts, stages: list[Stage]
) -> Array:
    """What the once-per-step exchange of gradients and updated weights leaves exposed (s).

    ZeRO-0 all-reduces gradients; ZeRO-1 scatters them and gathers the updated weights, as do ZeRO-2 and 3
    under a pipeline; without one ZeRO-2 gathers only, and ZeRO-3 neither: they pay per micro-batch. Hybrid
    sharding adds up the shards' sums over its copies. Gradients may hide behind the last micro-batch's
    backward, weights behind the first one's forward; with v chunks, all chunks but the one at the end also
    behind the p micro-batches that pass meanwhile. A stage other than the first ends its backward earlier, by
    at least one stage's backward: slack.
    """
    hidden = stack.dp_hidden if job.overlap.dp else 0.0
    stretch = (1 + layouts.pp * (layouts.vp - 1)) / layouts.vp
    once = (layouts.zero >= 1) & ~layouts.gathers_per_micro_batch
    worst: Array = 0.0
    for c, stage in enumerate(stages):
        late: Array = 0.0
        for kind, applies, size, window in (
            ("all_reduce", layouts.zero == 0, job.gradient_bytes, stage.backward),
            ("reduce_scatter", once, job.gradient_bytes, stage.backward),
            (BETWEEN_COPIES, layouts.zero >= 1, job.gradient_bytes, stage.backward),
            ("all_gather", once | (layouts.zero == 2), job.parameter_bytes, stage.forward),
        ):
            if not applies.any():
                continue
            seconds = _collective(job, kind, size, stage, network, layouts)
            left = exposed(seconds, hidden, window * stretch, stack.overlap_drag)
            slack: Array = 0.0 if c == 0 else window / layouts.vp
            late = late + np.where(applies, np.maximum(left - slack, 0.0), 0.0)
        worst = np.maximum(worst, np.where(stage.ranks > 0, late, 0.0))
    return worst + _tied_embedding(job, network, layouts)


def _collective(
    job: Job, kind: str, element_bytes: float, stage: Stage, network: Network, layouts: Layouts
) -> Array:
    """Seconds of one exchange of all weights, or gradients, of a stage: dense ones, then the experts'."""
    dense = stage.dense_parameters * element_bytes
    if kind == BETWEEN_COPIES:
        return communication.between_copies(dense, network, layouts)
    seconds = communication.data_parallel(kind, dense, network, layouts)
    if not job.model.moe:
        return seconds
    experts = stage.expert_parameters * element_bytes
    return seconds + communication.expert_data_parallel(kind, experts, network, layouts)


def _tied_embedding(job: Job, network: Network, layouts: Layouts) -> Array:
    """First and last stage add up the gradients of an embedding that they share."""
    if not job.model.tied_embeddings:
        return 0.0
    gradients = job.model.vocab * job.model.hidden / layouts.tp * job.gradient_bytes
    stride = layouts.tp * layouts.cp * layouts.dp * np.maximum(layouts.pp - 1, 1)
    return np.where(layouts.pp > 1, network.collective("all_reduce", gradients, 2, stride), 0.0)


def optimizer(job: Job, device: Device, layouts: Layouts, stages: list[Stage]) -> Array:
    """The update, bound by memory: bytes per parameter of this rank's shard, on the stage that has most.

    What is offloaded the host updates at the same time.
    """
    dense = np.where(layouts.zero >= 1, layouts.shards, 1)
    expert = np.where(layouts.zero >= 1, layouts.expert_dp, 1)
    shards = [
        np.where(s.ranks > 0, s.dense_parameters / dense + s.expert_parameters / expert, 0.0) for s in stages
    ]
    most = np.max(np.broadcast_arrays(*shards), axis=0)
    share = job.offload.optimizer
    if not share:
        return kernels.memory_time(device, most * job.optimizer_bytes, 2.0)
    copied = max(job.gradient_bytes, job.parameter_bytes)
    there = update_seconds(share * most, copied, device.host_link, device.host_memory_bandwidth)
    return np.maximum(kernels.memory_time(device, (1 - share) * most * job.optimizer_bytes, 2.0), there)


def waiting_seconds(stack: Stack, gpus: Array, node_size: int, compute: Array, rest: Array) -> Array:
    """What a step waits for the slowest of all: by stage in the pipeline, by replica at the gradients.

    `compute`: seconds per step on the mean accelerator; `rest`: of the whole step without waiting.
    Accelerators differ by the stack's `jitter` (normal). Each node has `hiccup_rate` delays per second, of
    mean length `hiccup_s` (exponential): of the K = nodes · rest · hiccup_rate that fall into a step the
    longest counts, about hiccup_s · ln(1 + K). In all
    jitter · E[max of gpus normals] · compute + hiccup_s · ln(1 + K).
    """
    delays = np.maximum(gpus / node_size, 1.0) * rest * stack.hiccup_rate
    return stack.jitter * expected_maximum(gpus) * compute + stack.hiccup_s * np.log1p(delays)


def expected_maximum(count: Array) -> Array:
    """Mean of the largest of `count` standard normals: Φ⁻¹((n − 0.375) / (n + 0.25)) (Blom 1958).

    Dimensionless, shape of `count`; too large by 5 % at n = 2, by less than 1 % from n = 8; 0 for n ≤ 1.
    """
    distinct, index = np.unique(np.asarray(count, float), return_inverse=True)
    return np.array([_blom(n) for n in distinct])[index].reshape(np.shape(count))


@lru_cache(maxsize=4096)
def _blom(count: float) -> float:
    return 0.0 if count <= 1 else NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
