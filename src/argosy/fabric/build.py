"""From a scenario's fleet to the `Network` that training asks: nested domains, shares, pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from argosy.fabric import pairs
from argosy.fabric.network import Level, TieredNetwork

Array = Any

HABIT = {"infiniband": "adaptive", "roce": "ecmp", "efa": "spray", "ici": "static", "ub": "static"}


def build_network(fleet: Any, values: Any) -> TieredNetwork:
    """The network of a fleet's compute fabric.

    `fleet`: spec.Fleet; `values`: facts.Values (scalars, or draws of shape (n,), which the network then
    carries).
    """
    name = accelerator_name(fleet)
    domain = int(values.facts[f"accelerators.{name}.scale_up_domain"].value)
    scale_up = values[f"accelerators.{name}.scale_up_bandwidth"]
    generation = pairs.nearest_generation(
        float(values.facts[f"accelerators.{name}.scale_up_bandwidth"].value)
    )
    fabric = fleet.compute_fabric
    card = values[f"accelerators.{name}.nic_bandwidth"] / 8  # bit/s to byte/s
    protocol = fabric.protocol or "infiniband"
    delivered = fabric.delivered or values[f"transports.{protocol}.delivered"]
    latency = values[f"transports.{protocol}.latency_scale"]
    routed = delivered * values[f"routing.{fabric.routing or HABIT[protocol]}.share"]
    outer = []
    if fabric.topology == "multi-pod" and fabric.pods:
        pod = fabric.pod_accelerators or math.ceil(fleet.count / fabric.pods)
        outer.append(("pod", pod, card, delivered))
        card = card / fabric.oversubscription.get("pod-uplink", 1.0)
    outer.append(("core", math.inf, card, routed))
    start = values.get(f"transports.{protocol}.start", 0.0)
    return tiered_network(generation, domain, scale_up, outer, latency, fleet.count, start)


def tiered_network(
    generation: str,
    domain: int,
    scale_up: Array,
    outer: list[tuple[str, float, Array, Array]],
    latency_scale: Array,
    accelerators: int,
    leave_s: Array = 0.0,
) -> TieredNetwork:
    """A network from its numbers: scale-up `generation`, `domain` size and rate (byte/s), then the outer
    levels.

    `outer`: per level (name, accelerators in one domain, byte/s one way per accelerator, delivered share);
    `latency_scale`: times NCCL's network latencies; `leave_s`: seconds that the transport takes to start.
    """
    inner = pairs.scale_up_pairs(generation)
    levels = [Level("scale-up", domain, scale_up, inner.ring, inner.exchange)]
    for name, size, bandwidth, delivered in outer:
        ring = pairs.network_ring_pairs(delivered, latency_scale)
        exchange = pairs.network_exchange_pairs(delivered, latency_scale)
        levels.append(Level(name, size, bandwidth, ring, exchange))
    return TieredNetwork(
        tuple(levels),
        accelerators,
        inner.ring_base_s,
        pairs.TREE_BASE_S,
        inner.exchange_base_s,
        pairs.RELAY_S,
        inner.ring_few_ranks,
        inner.exchange_few_ranks,
        tuple(
            replace(reduction, hop_s=reduction.hop_s * latency_scale)
            for reduction in inner.in_network
            if domain >= reduction.members
        ),
        leave_s,
    )


def accelerator_name(fleet: Any) -> str:
    """The catalog's own name of the fleet's accelerator, whatever alias the scenario wrote."""
    from argosy.facts import load_catalog

    return load_catalog().entry("accelerators", fleet.accelerator.name).name
