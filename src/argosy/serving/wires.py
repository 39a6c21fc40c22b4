"""The network inside a replica, by accelerator name alone: for whoever has no scenario's fabric at hand."""

from __future__ import annotations

import math

from argosy.fabric import TieredNetwork, pairs
from argosy.fabric.build import Outer, tiered_network
from argosy.facts import Values, load_catalog


def replica_network(values: Values, accelerator: str, gpus: int) -> TieredNetwork:
    """Scale-up domains of `accelerator` (a catalog name) joined by its cards over a tree without oversubscription.

    A scenario's own fabric (`fabric.build_network`) takes its place where there is one.
    """
    prefix = f"accelerators.{accelerator}."
    measured = pairs.links_of_chip(
        load_catalog().entry("accelerators", accelerator).text.get("generation", "")
    )
    scale_up = values[f"{prefix}scale_up_bandwidth"]
    domain = int(values.facts[f"{prefix}scale_up_domain"].value)
    card = values.get(f"{prefix}nic_bandwidth", 0.0) / 8 or scale_up
    return tiered_network(
        measured or pairs.nearest_generation(float(values.facts[f"{prefix}scale_up_bandwidth"].value)),
        domain,
        scale_up,
        [Outer("all", math.inf, card, values["transports.infiniband.delivered"])],
        values["transports.infiniband.latency_scale"],
        max(gpus, domain),
        reduces=measured is not None,
    )
