"""The seconds of one layer on one rank: compute, the communication it waits for, the host that feeds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.training.communication import Passes, exposed
from argosy.training.costs import Compute, Parts
from argosy.training.job import Overlap
from argosy.training.layout import FULL, Layouts
from argosy.training.stack import Stack

Array = Any
# Kernels that a backward pass queues over those of a forward: input and weight gradients for each product,
# one for the rest; autograd queues them from C++. Between 1 (all element-wise) and 2 (all products).
BACKWARD_HOST = 1.5


@dataclass(frozen=True)
class LayerSeconds:
    """One layer (or the embedding, or the head), one micro-batch, one rank; each field (U,) or (n,), in s.

    `forward` and `backward` hold everything; `tp`, `cp`, `ep`, `fsdp` are the exposed communication of both
    passes and `host` what the device waits for the host; the rest of them is `compute`. `weight_gradient` is
    a part of `backward`.
    """

    forward: Array
    backward: Array
    compute: Array
    tp: Array
    cp: Array
    ep: Array
    fsdp: Array
    host: Array
    weight_gradient: Array
    parts: Parts  # of the first forward and the backward
    again: Parts  # of what is recomputed


def layer_seconds(
    compute: Compute,
    tp: Passes,
    cp: Passes,
    ep: Passes,
    gather: Array,
    scatter: Array,
    stack: Stack,
    overlap: Overlap,
    layouts: Layouts,
    queues: Array = 1.0,
) -> LayerSeconds:
    """Compose one layer. `gather`, `scatter`: seconds of the sharded weights' and gradients' collectives
    (ZeRO-2, ZeRO-3).

    Windows: tensor-parallel collectives hide behind the layer's matrix products and element-wise work, the
    exchange of keys and values behind attention, tokens' dispatch behind the layer of another micro-batch,
    and what is sharded behind all of the neighbouring layer. `queues`: layers' worth of kernels that the
    host queues. Device and host run side by side: (device^p + host^p)^(1/p).
    """
    forward, backward = compute.forward, compute.backward + compute.recompute
    pairs = (("tp", tp, stack.tp_hidden), ("cp", cp, stack.cp_hidden), ("ep", ep, stack.ep_hidden))
    waits: dict[str, tuple[Array, Array]] = {}
    for name, passes, share in pairs:
        hidden = share if getattr(overlap, name) else 0.0
        waits[name] = tuple(
            exposed(seconds, hidden, _window(name, part), stack.overlap_drag)
            for seconds, part in ((passes.forward, forward), (passes.backward, backward))
        )
    busy = [
        part.seconds + sum(waits[name][i] for name in waits) for i, part in enumerate((forward, backward))
    ]
    hidden = stack.fsdp_hidden if overlap.dp else 0.0
    regather = np.where(layouts.zero == 3, gather, 0.0)
    sharded = [
        exposed(regather, hidden, busy[0], stack.overlap_drag),
        exposed(regather + scatter, hidden, busy[1], stack.overlap_drag),
    ]
    device = [b + s for b, s in zip(busy, sharded, strict=True)]
    host = (queues, queues * (BACKWARD_HOST + (layouts.recompute == FULL)))
    both = [
        _side_by_side(d, stack.host_layer_s * h, stack.host_norm) for d, h in zip(device, host, strict=True)
    ]
    return LayerSeconds(
        forward=both[0],
        backward=both[1],
        compute=forward.seconds + backward.seconds,
        tp=sum(waits["tp"]),
        cp=sum(waits["cp"]),
        ep=sum(waits["ep"]),
        fsdp=sum(sharded),
        host=both[0] + both[1] - device[0] - device[1],
        weight_gradient=compute.weight_gradient,
        parts=compute.forward + compute.backward,
        again=compute.recompute,
    )


def _window(name: str, part: Parts) -> Array:
    """The compute that a communication can run behind."""
    if name == "cp":
        return part.attention
    return part.seconds if name == "ep" else part.seconds - part.attention


def _side_by_side(device: Array, host: Array, norm: Array) -> Array:
    """(device^p + host^p)^(1/p), scaled so that nothing overflows; `device` where the host costs nothing."""
    larger = np.maximum(np.maximum(device, host), 1e-30)
    return larger * ((device / larger) ** norm + (host / larger) ** norm) ** (1 / norm)
