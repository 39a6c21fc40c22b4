"""Bytes that a layout's ranks send per step, by kind of parallelism: the step model, asked over a network on which a
byte takes a second, with nothing hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from argosy.training.device import Device
from argosy.training.job import Job, Overlap
from argosy.training.layout import Layouts
from argosy.training.stack import Stack
from argosy.training.step import evaluate

Array = Any
PARALLEL = ("tp", "cp", "ep", "dp", "pp")


@dataclass
class ByteNetwork:
    """Answers with the bytes that a rank sends instead of seconds; remembers one send between stages.

    `node`: only bytes that leave a node of so many ranks count.
    """

    node: int | None = None
    hop: list[Array] = field(default_factory=list)

    def collective(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Bytes that each rank sends: 2(N − 1)/N of an all-reduce, (N − 1)/N of the others."""
        size = np.maximum(size, 1)
        together = 1 if self.node is None else np.clip(self.node // np.maximum(stride, 1), 1, size)
        share = 1 - together / size
        return np.asarray(bytes) * share * (2 if kind == "all_reduce" else 1)

    def point_to_point(self, bytes: Array, stride: Array, size: Array = None) -> Array:
        """The bytes themselves."""
        self.hop.append(np.asarray(bytes))
        return np.asarray(bytes)


def bytes_per_step(job: Job, device: Device, stack: Stack, layouts: Layouts) -> dict[str, float]:
    """Bytes that an accelerator sends per step (mean over the pipeline, the busiest stage for dp), by `PARALLEL`.

    `layouts`: one layout. Sends between stages: 2 · v per micro-batch, an activation one way and its gradient back.
    Experts that span nodes: as many bytes as leave the node if they went evenly to everyone (a node-limited
    dispatcher sends each token once per node, and copies inside).
    """
    network = ByteNetwork()
    alone = replace(job, overlap=Overlap(False, False, False, False, False))
    steps = evaluate(alone, device, network, stack, layouts)
    found = {name: float(steps.breakdown[f"{name}_exposed"][0]) for name in PARALLEL if name != "pp"}
    ep, stride, node = int(layouts.ep[0]), int(layouts.etp[0]), device.node_size
    if ep * stride > node:
        leaving = evaluate(alone, device, ByteNetwork(node), stack, layouts).breakdown["ep_exposed"][0]
        found["ep"] = float(leaving) / (1 - max(node // stride, 1) / ep)
    sends = 2 * layouts.vp * layouts.grad_accumulation * network.hop[-1]
    found["pp"] = float(np.where(layouts.pp > 1, sends, 0.0)[0])
    return found
