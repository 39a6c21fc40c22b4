"""The α-β pairs of collectives: measured ones for scale-up links, NCCL's own constants for the network.

Scale-up pairs come from `data/collectives.json`, which `python -m argosy.fabric.fit_collectives` writes with
its errors by size. Network hops are the constants of NCCL's tuning model (NVIDIA/nccl@b6475625
src/graph/tuning.cc): NCCL chooses its algorithms by them. Protocols in order: LL, LL128, Simple, and Simple
with its buffers full.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from argosy.fabric.network import InNetwork, Pair

Array = Any

TABLE = Path(__file__).parent / "data" / "collectives.json"
US = 1e-6
NET_RING_S = (2.7 * US, 4.0 * US, 14.0 * US, 14.0 * US)
NET_TREE_S = (5.0 * US, 8.5 * US, 28.0 * US, 28.0 * US)
NET_SHARE = (
    0.25,
    0.92,
    1.0,
    1.0,
)  # LL sends 4 bytes of flag per 4 of data and halves again; LL128 120 of 128
NODE_TREE_S = (0.6 * US, 1.25 * US, 28.0 * US, 28.0 * US)
TREE_BASE_S = (6.8 * US, 14.0 * US, 0.0, 0.0)
RELAY_S = (
    1.0 * US,
    1.0 * US,
    3.0 * US,
    3.0 * US,
)  # a ring that leaves the node posts to a card in every round
PEER_S = 1.0 * US  # posting one more message to a card
EXCHANGE_NET_S = (2.7 * US, 14.0 * US, 14.0 * US)
EXCHANGE_NET_SHARE = (0.25, 1.0, 1.0)
NVLS_TREE_HOP_S = 14.0 * US


@dataclass(frozen=True)
class ScaleUpPairs:
    """The measured pairs of one generation of scale-up links; `few_ranks` κ: delivered(N) = delivered·(1 −
    κ/N).
    """

    generation: str
    ring: tuple[Pair, ...]
    ring_base_s: tuple[float, ...]
    ring_few_ranks: float
    exchange: tuple[Pair, ...]
    exchange_base_s: tuple[float, ...]
    exchange_few_ranks: float
    in_network: tuple[InNetwork, ...]


@cache
def scale_up_pairs(generation: str) -> ScaleUpPairs:
    """The shipped pairs of a generation: nvlink3, nvlink4 or nvlink5 (KeyError for another)."""
    entry = _table()[generation]
    ring, exchange = entry["ring"], entry["exchange"]
    ordered = sorted(ring["protocols"], key=lambda pair: float(pair["delivered"]))
    swaps = sorted(exchange["protocols"], key=lambda pair: float(pair["delivered"]))
    return ScaleUpPairs(
        generation,
        tuple(Pair(p["delivered"], p["round_s"], hop) for p, hop in zip(ordered, NODE_TREE_S, strict=True)),
        tuple(p["base_s"] for p in ordered),
        ring["few_ranks"],
        tuple(Pair(p["delivered"], p["round_s"], 0.0) for p in swaps),
        tuple(p["base_s"] for p in swaps),
        exchange["few_ranks"],
        tuple(
            InNetwork(p["rank_s"], p["delivered"], p["members"], NVLS_TREE_HOP_S)
            for p in ring.get("in_network", ())
        ),
    )


# Chips of a generation share its switches and protocols, also where an export version has fewer links.
_CHIP_LINKS = {"ampere": "nvlink3", "hopper": "nvlink4", "blackwell": "nvlink5", "blackwell-ultra": "nvlink5"}


def links_of_chip(generation: str) -> str | None:
    """The measured link generation of an accelerator generation of the catalog, or None: not measured."""
    return _CHIP_LINKS.get(generation)


def nearest_generation(link_bytes_per_s: float) -> str:
    """The measured generation whose link rate is nearest in ratio to this one (byte/s one way per
    accelerator).
    """
    rates = {name: float(entry["link_bytes_per_s"]) for name, entry in _table().items()}
    return min(rates, key=lambda name: abs(math.log(rates[name] / link_bytes_per_s)))


def network_ring_pairs(delivered: Array, latency_scale: Array, hop_s: Array = 0.0) -> tuple[Pair, ...]:
    """Pairs over network cards: NCCL's hop latencies times `latency_scale`, its protocol shares times
    `delivered`.
    """
    return tuple(
        Pair(share * delivered, ring * latency_scale + hop_s, tree * latency_scale + hop_s)
        for share, ring, tree in zip(NET_SHARE, NET_RING_S, NET_TREE_S, strict=True)
    )


def network_exchange_pairs(delivered: Array, latency_scale: Array, hop_s: Array = 0.0) -> tuple[Pair, ...]:
    """Pairs of all-to-all and point-to-point over network cards."""
    return tuple(
        Pair(share * delivered, PEER_S, hop * latency_scale + hop_s)
        for share, hop in zip(EXCHANGE_NET_SHARE, EXCHANGE_NET_S, strict=True)
    )


@cache
def _table() -> dict[str, Any]:
    return dict(json.loads(TABLE.read_text(encoding="utf-8")))
