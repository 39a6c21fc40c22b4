"""A healthy job as the step model sees it: who computes what, how long, and what is exchanged between whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from argosy.planning.context import context
from argosy.planning.job import laid_out, machine, training_job
from argosy.spec.load import loads
from argosy.training.layout import SCHEDULES
from argosy.training.timeline import chunk_seconds
from argosy.workload import count

_SCENARIO = """
name: corpus
fleet: {{accelerator: {accelerator}, count: {gpus}, node: {node}}}
training:
  model: {model}
  tokens: 1e12
  sequence_length: {sequence}
  global_batch: {batch} sequences
  stack: {stack}
  layout: {{tp: {tp}, pp: {pp}, vp: {vp}, dp: {dp}, micro_batch: {micro_batch}, zero: {zero}, recompute: none,
           schedule: {schedule}}}
"""


@dataclass(frozen=True)
class Work:
    """What the scenario of a simulated job says; `batch` in sequences, `node` for its NICs; `segments`: pieces that the
    replay cuts a chunk's pass into, the layers of each being one piece.
    """

    model: str
    accelerator: str
    node: str
    tp: int
    pp: int
    dp: int
    micro_batches: int
    vp: int = 1
    micro_batch: int = 1
    zero: int = 1
    sequence: int = 4096
    stack: str = "megatron-core"
    ranks_per_node: int = 8
    segments: int = 2

    @property
    def gpus(self) -> int:
        """Ranks of the job."""
        return self.tp * self.pp * self.dp

    @property
    def batch(self) -> int:
        """Sequences per step."""
        return self.dp * self.micro_batches * self.micro_batch


@dataclass(frozen=True)
class Healthy:
    """Numbers of one healthy step. `forward_s`, `backward_s`: compute of one micro-batch by chunk (p·v,), s; `layers`: by
    chunk; `tp_s`: one layer's tensor-parallel exchange; `send_s`, `send_bytes`: a hand-over between stages; `scatter_s`,
    `gather_s`: of a rank's gradients and weights over its replicas, of `weight_bytes` and `gradient_bytes`;
    `tiny_s`: an exchange without contents; `update_s`: the optimizer; `step_s`: the model's own step.
    `parameters`: of the model; `weights`: of one rank; `flops`: of one step and rank (6·N·tokens ÷ ranks).
    """

    work: Work
    schedule: str
    forward_s: np.ndarray
    backward_s: np.ndarray
    layers: float
    tp_s: float
    tp_bytes: float
    send_s: float
    send_bytes: float
    scatter_s: float
    gather_s: float
    gradient_bytes: float
    weight_bytes: float
    tied_s: float
    tiny_s: float
    update_s: float
    step_s: float
    parameters: float
    weights: float
    hidden: int
    layer_count: int
    vocabulary: int
    peak_flops: float
    nic_bytes_per_s: float

    @property
    def flops(self) -> float:
        """FLOPs of one step on one rank: 6·N·tokens ÷ ranks."""
        work = self.work
        return 6 * self.parameters * work.batch * work.sequence / work.gpus

    @property
    def tokens(self) -> int:
        """Tokens of one step."""
        return self.work.batch * self.work.sequence

    def place(self, rank: int) -> tuple[int, int, int]:
        """A rank's tensor, data and pipeline coordinates: tensor fastest, as Megatron-LM numbers them."""
        tp, dp = self.work.tp, self.work.dp
        return rank % tp, rank // tp % dp, rank // (tp * dp)

    def rank(self, tensor: int, data: int, stage: int) -> int:
        """The rank at a place."""
        return tensor + self.work.tp * (data + self.work.dp * stage)

    def groups(self) -> dict[str, list[tuple[int, ...]]]:
        """Ranks that exchange with one another: world, tensor, data, pipeline, embedding."""
        return groups_of(self.work)


@lru_cache(maxsize=32)
def groups_of(work: Work) -> dict[str, list[tuple[int, ...]]]:
    """Groups of more than one rank by their role."""
    tp, pp, dp = work.tp, work.pp, work.dp

    def at(tensor: int, data: int, stage: int) -> int:
        return tensor + tp * (data + dp * stage)

    found: dict[str, list[tuple[int, ...]]] = {"world": [tuple(range(work.gpus))]}
    found["tensor"] = [tuple(at(t, d, s) for t in range(tp)) for s in range(pp) for d in range(dp)]
    found["data"] = [tuple(at(t, d, s) for d in range(dp)) for s in range(pp) for t in range(tp)]
    found["pipeline"] = [tuple(at(t, d, s) for s in range(pp)) for d in range(dp) for t in range(tp)]
    found["embedding"] = [(line[0], line[-1]) for line in found["pipeline"]]
    return {name: [group for group in each if len(set(group)) > 1] for name, each in found.items()}


@lru_cache(maxsize=32)
def group_names(work: Work) -> dict[tuple[str, tuple[int, ...]], str]:
    """The number under which PyTorch keeps each process group: 0 is the world, others in order of creation."""
    every = [(role, group) for role, groups in groups_of(work).items() for group in groups]
    return {key: str(number) for number, key in enumerate(every)}


@lru_cache(maxsize=32)
def healthy(work: Work) -> Healthy:
    """The step model's numbers for a job (training room); chunks are made even, as frameworks do that count the embedding
    and the head as layers, so that a healthy job has no slow stage. FactError for a job that cannot be.
    """
    schedule = "interleaved" if work.vp > 1 else "1f1b"
    fields = {name: getattr(work, name) for name in work.__dataclass_fields__}
    scenario = loads(_SCENARIO.format(gpus=work.gpus, batch=work.batch, schedule=schedule, **fields))
    setting = context(scenario)
    planned = laid_out(setting, training_job(scenario))
    on, stage = machine(setting, planned.stack), planned.main
    layout, job = stage.layouts, stage.job
    passes, hidden_bytes = chunk_seconds(job, on.device, on.network, on.stack, layout, work.vp)
    parts = {name: float(np.ravel(value)[0]) for name, value in stage.nominal.breakdown.items()}
    inside = parts["compute"] + parts["tp_exposed"] + (parts["dp_exposed"] if work.zero == 3 else 0.0)
    even = passes.mean(axis=0) * parts["compute"] / inside
    chunks = work.pp * work.vp
    model, total = job.model, float(count(job.model).total)
    own = total / (work.tp * work.pp)
    sent = float(np.ravel(hidden_bytes)[0])
    stride = work.tp

    def seconds(kind: str, size: float, ranks: int, step: int) -> float:
        if ranks < 2:
            return 0.0
        return _first(on.network.collective(kind, np.array([size]), np.array([ranks]), np.array([step])))

    gradients, weights = own * job.gradient_bytes, own * job.parameter_bytes
    exchange = 2 * (seconds("all_gather", sent, work.tp, 1) + seconds("reduce_scatter", sent, work.tp, 1))
    hop = _first(on.network.point_to_point(np.array([sent / work.tp]), np.array([work.tp * work.dp])))
    return Healthy(
        work=work,
        schedule=SCHEDULES[int(layout.schedule[0])],
        forward_s=np.full(chunks, even[0]),
        backward_s=np.full(chunks, even[1]),
        layers=model.layers / chunks,
        tp_s=exchange,
        tp_bytes=sent,
        send_s=hop if work.pp > 1 else 0.0,
        send_bytes=sent / work.tp,
        scatter_s=seconds("reduce_scatter", gradients, work.dp, stride),
        gather_s=seconds("all_gather", weights, work.dp, stride),
        gradient_bytes=gradients,
        weight_bytes=weights,
        tied_s=seconds("all_reduce", model.vocab * model.hidden / work.tp * 2.0, 2, work.gpus // work.pp),
        tiny_s=seconds("all_reduce", 8.0, work.gpus, 1),
        update_s=parts["optimizer"],
        step_s=float(stage.nominal.step_s[0]),
        parameters=float(stage.nominal.mfu["parameters"]),
        weights=own,
        hidden=model.hidden,
        layer_count=model.layers,
        vocabulary=model.vocab,
        peak_flops=float(np.ravel(stage.nominal.mfu["peak_flops"])[0]),
        nic_bytes_per_s=hop and sent / work.tp / hop,
    )


def _first(values: Any) -> float:
    return float(np.ravel(values)[0])
