"""From a scenario's fleet to the `Network` that training asks: levels, shares, delivered fractions, latencies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from argosy.fabric.network import Level, TieredNetwork

Array = Any


@dataclass(frozen=True)
class Measured:
    """What transfers of a kind get of their wire, and what a round costs, with the source of both."""

    delivered: float
    round_s: float
    source: str


# One ring collective over 8 GPUs: 365.6 of 450 GB/s (NVLS off); 25.6 µs for 14 rounds of the smallest message.
_SCALE_UP = Measured(
    365.6 / 450,
    25.6e-6 / 14,
    "8×H200, stas00/ml-engineering@744d01e network/README.md; Azure ND H100 v5 all_reduce",
)
# All-reduce over 4 nodes of 8 GPUs with 8 × 400 Gb/s cards each (bound 400 GB/s).
_SCALE_OUT = {
    "infiniband": Measured(
        330.93 / 400, 357.68e-6 / 62, "4×8 H100, git.onestrm.cn/aigatech/vpbenchmarking README"
    ),
    "efa": Measured(
        381.8 / 400, 357.68e-6 / 62, "4×8 B200 EFA v4, stas00/ml-engineering@744d01e network/README.md"
    ),
}


def build_network(fleet: Any, values: Any) -> TieredNetwork:
    """The network of a fleet's compute fabric.

    `fleet`: spec.Fleet; `values`: facts.Values (scalars or draws (n,)), whose paths name accelerator and switch facts.
    Numbers may be arrays (n,) when `values` holds draws.
    """
    name = fleet.accelerator.name
    scale_up = values[f"accelerators.{name}.scale_up_bandwidth"]
    domain = int(values.facts[f"accelerators.{name}.scale_up_domain"].value)
    card = values[f"accelerators.{name}.nic_bandwidth"] / 8  # bit/s to byte/s
    fabric = fleet.compute_fabric
    share = _SCALE_OUT.get(fabric.protocol or "infiniband", _SCALE_OUT["infiniband"])
    delivered = fabric.delivered or share.delivered
    levels = [Level("scale-up", domain, scale_up, _SCALE_UP.delivered, _SCALE_UP.round_s)]
    uplink = card
    if fabric.topology == "multi-pod" and fabric.pods:
        pod = fabric.pod_accelerators or math.ceil(fleet.count / fabric.pods)
        levels.append(Level("pod", pod, uplink, delivered, share.round_s))
        uplink = uplink / fabric.oversubscription.get("pod-uplink", 1.0)
    levels.append(Level("core", math.inf, uplink, delivered, share.round_s))
    return TieredNetwork(tuple(levels), fleet.count)
