"""One layout, micro-batch by micro-batch: the event simulation fed with the step model's own stages."""

from __future__ import annotations

import numpy as np

from argosy.training.blocks import blocks, layer_sequence
from argosy.training.communication import Network, pipeline_transfer
from argosy.training.device import Device
from argosy.training.job import Job
from argosy.training.layout import SCHEDULES, Layouts
from argosy.training.pipeline import chunk_sizes
from argosy.training.schedule import Simulation, simulate
from argosy.training.stack import Stack
from argosy.training.step import block_seconds


def simulate_layout(
    job: Job,
    device: Device,
    network: Network,
    stack: Stack,
    layout: Layouts,
    slowdown: np.ndarray | None = None,
    schedule: str | None = None,
) -> Simulation:
    """The pipeline of one layout as a timeline of operations; what happens once per step is not in it.

    `layout` holds one layout, `device` and `stack` scalars. `slowdown`: factors on the time of every chunk
    and micro-batch (p·v, m), for stragglers and jitter (default: none). `schedule`: another of
    `schedule.SIMULATED` than the layout's own; zero-bubble V makes two chunks of every stage. Unlike the closed
    form it sees that interleaved chunks differ in size. ValueError for several layouts, or a schedule that
    their micro-batches do not fill.
    """
    if len(layout) != 1:
        raise ValueError(f"one layout at a time has a timeline, not {len(layout)}")
    vp, m = int(layout.vp[0]), int(layout.grad_accumulation[0])
    schedule = schedule or SCHEDULES[int(layout.schedule[0])]
    vp = 2 if schedule == "zero-bubble-v" else vp
    passes, hidden_state = chunk_seconds(job, device, network, stack, layout, vp)
    forward, backward, weights = passes.T[..., None] * (1.0 if slowdown is None else slowdown)
    transfer = pipeline_transfer(hidden_state, network, layout)
    return simulate(schedule, forward, backward, m, vp, float(np.ravel(transfer)[0]), weights)


def chunk_seconds(
    job: Job, device: Device, network: Network, stack: Stack, layout: Layouts, vp: int
) -> tuple[np.ndarray, np.ndarray]:
    """What one micro-batch costs on every chunk of one layout: forward, backward and the weight gradients in it, s (p·v, 3).

    Chunks go from the embedding to the head; `vp`: chunks a rank. Exposed communication inside a layer is part of
    them, sends between chunks are not. Second value: bytes of the hidden state that is sent.
    """
    parts = blocks(job, layout)
    costs = {name: block_seconds(job, device, network, stack, layout, block) for name, block in parts.items()}
    fields = ("forward", "backward", "weight_gradient")
    passes = {
        name: np.array([float(np.ravel(getattr(cost, field))[0]) for field in fields])
        for name, cost in costs.items()
    }
    kinds, seconds, start = layer_sequence(job), [], 0
    for size in chunk_sizes(len(kinds), int(layout.pp[0]) * vp):
        seconds.append(sum((passes[kind] for kind in kinds[start : start + size]), np.zeros(3)))
        start += size
    seconds[0] = seconds[0] + passes["embedding"]
    seconds[-1] = seconds[-1] + passes["head"]
    return np.array(seconds), parts["head"].work.extra["tp_bytes"]
