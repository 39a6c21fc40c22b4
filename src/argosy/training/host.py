"""The host as the step model sees it: the link to it, its memory's bandwidth, and what offloading to it costs.

Sources of the forms: ZeRO-Offload (Ren et al. 2021, arXiv:2101.06840: optimizer state and the update on the
host, copies overlapped with it), and the layer-wise offloading of activations behind the computation of the
neighbouring layer (vDNN, Rhu et al. 2016, arXiv:1602.08124).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts.fact import Fact

Array = Any

# Bytes per parameter that cross the host's memory in one update of Adam with FP32 master: the gradient comes
# in and is read (8), master and both moments are read and written (24), the new weight is written and read by
# the copy (4).
UPDATE_TRAFFIC = 36.0
# Layers whose activations are on their way at once: the one that is copied and the one that is being made.
LAYERS_IN_TRANSIT = 2.0

_LINK = "training.host_link."
_MEMORY = "training.host_memory_bandwidth."
_CAPACITY = "training.host_memory_bytes."
_DELIVERED = 0.8  # assumption: share of a link's nameplate that large pinned copies reach
_STREAMED = 0.7  # assumption: share of the host memory's nameplate that a vectorised update reaches

# By catalog name, else by generation: link one way (GB/s, nameplate), host memory bandwidth (GB/s, nameplate),
# host memory (GB), each per accelerator, and the machine they are read of.
_HOSTS: dict[str, tuple[float, float, float, str]] = {
    "ampere": (31.5, 409.6 / 8, 2000 / 8, "DGX A100 640GB: PCIe 4.0 x16, 16 channels of DDR4-3200, 2 TB"),
    "hopper": (63.0, 614.4 / 8, 2000 / 8, "DGX H100: PCIe 5.0 x16, 16 channels of DDR5-4800, 2 TB"),
    "blackwell": (63.0, 716.8 / 8, 2000 / 8, "DGX B200: PCIe 5.0 x16, 16 channels of DDR5-5600, 2 TB"),
    "GH200": (450.0, 512.0, 480.0, "GH200: NVLink-C2C, LPDDR5X, one Hopper per Grace"),
    "GB200": (225.0, 512.0 / 2, 480.0 / 2, "GB200: NVLink-C2C and LPDDR5X of one Grace for two GPUs"),
    "GB300": (225.0, 512.0 / 2, 480.0 / 2, "GB300: NVLink-C2C and LPDDR5X of one Grace for two GPUs"),
    "other": (63.0, 614.4 / 8, 2000 / 8, "assumption: as a DGX H100"),
}


def host_facts() -> dict[str, Fact]:
    """The host's numbers per accelerator, by catalog name or generation, to be joined with the catalog's.

    `training.host_link.<name>`: byte/s one way that a large copy reaches; `training.host_memory_bandwidth.<name>`:
    byte/s of the host's memory that an update reaches; `training.host_memory_bytes.<name>`: its capacity.
    """
    facts: dict[str, Fact] = {}
    for name, (link, bandwidth, capacity, machine) in _HOSTS.items():
        wide = (0.6 / _DELIVERED, 0.95 / _DELIVERED)
        one_way = link * 1e9 * _DELIVERED
        source = f"{machine}; assumption: {_DELIVERED:.0%} of nameplate"
        facts[_LINK + name] = Fact(
            one_way, "byte/s", one_way * wide[0], one_way * wide[1], "one-way per accelerator", source
        )
        streamed = bandwidth * 1e9 * _STREAMED
        source = f"{machine}; assumption: {_STREAMED:.0%} of nameplate"
        facts[_MEMORY + name] = Fact(
            streamed, "byte/s", streamed * 0.6, streamed * 1.25, "per accelerator", source
        )
        facts[_CAPACITY + name] = Fact(capacity * 1e9, "byte", None, None, "per accelerator", machine)
    return facts


@dataclass(frozen=True)
class Offload:
    """What lives in the host's memory instead of the accelerator's.

    `optimizer`: share (0–1) of the optimizer's state, which the host then updates; `activations`: share (0–1)
    of the activations kept for the backward pass, copied out behind the forward pass and back behind the
    backward pass.
    """

    optimizer: float = 0.0
    activations: float = 0.0


def kept_on_device(kept: Array, largest_layer: Array, share: Array) -> Array:
    """Bytes of activations left on the accelerator when `share` of `kept` bytes is offloaded, same shape.

    (1 − s) kept + s · 2 layers in transit, and never more than without offloading. `largest_layer`: bytes that
    the largest layer keeps of one micro-batch.
    """
    return np.minimum(kept, (1.0 - share) * kept + share * LAYERS_IN_TRANSIT * largest_layer)


def update_seconds(
    parameters: Array, copied_bytes: float, link: Array, host_memory_bandwidth: Array
) -> Array:
    """Seconds in which the host updates `parameters` (count on this rank), copies overlapped with the update.

    max(P · 36 bytes ÷ host memory bandwidth, P · `copied_bytes` ÷ link): gradients go out and weights come back
    on the two directions of one link, so that `copied_bytes` per parameter is the larger of both.
    `link`, `host_memory_bandwidth` in byte/s. Infinite where either is 0.
    """
    count = np.asarray(parameters, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        update = np.where(count > 0, count * UPDATE_TRAFFIC / host_memory_bandwidth, 0.0)
        copy = np.where(count > 0, count * copied_bytes / link, 0.0)
    return np.maximum(update, copy)


def exposed_copy(kept: Array, share: Array, link: Array, forward: Array, backward: Array) -> Array:
    """Seconds per layer and micro-batch that copying activations adds: what does not hide behind the layer's
    own forward (out) and backward (back) pass.

    `kept`: bytes that the layer keeps for its backward pass; `share` (0–1) of them is copied; `link` in byte/s;
    `forward`, `backward` in s. Result in s, ≥ 0.
    """
    copy = share * kept / link
    return np.maximum(copy - forward, 0.0) + np.maximum(copy - backward, 0.0)
