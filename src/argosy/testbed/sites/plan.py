"""What is run on the two sites, and their cables. No torch: predictions and tests read it, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.fabric.names import node_names
from argosy.fabric.topologies import Design, build
from argosy.testbed.fabrics import CARD_BPS, Fabric
from argosy.testbed.training.shape import Pace, Shape

DELAY_S = 0.04  # one way between the sites: the α of the document's table, some 8,200 km of fibre
SCALE = 1000.0  # a card has 400 Mb/s
LONG_SHARE = 0.25  # of which the cable between the sites keeps this: 100 Mb/s
RANKS, SITES = 4, 2
SHAPE = Shape(
    layers=4, hidden=48, dtype="float64"
)  # float64: the order of sums across sites does not show in the loss
PACE = Pace.even(SHAPE, 0.005)  # 60 ms a step
QUICK = Pace.even(SHAPE, 0.0018)  # where updates shall be several steps late
PIPELINE_PACE = Pace.even(SHAPE, 0.015)
BOUNDS = (
    0,
    2,
    3,
    4,
    6,
)  # first block of every stage: a layer each, embeddings and head beside the outer ones
MICRO_BATCHES = 8
BATCH = 16  # samples of a step over all ranks
OVERHEAD = 0.2  # share of the time that local SGD may spend on talking
OUTER_RATE, OUTER_MOMENTUM = 0.7, 0.9  # DiLoCo's (Douillard et al., arXiv 2311.08105)
EVALUATION = (1_000_000, 64)  # first sample, and how many, on which the finished models are compared
BASELINE_BYTES = 4 << 20  # of a large message
WARM_UP = 3  # steps left out: connections open their windows


def fabric() -> Fabric:
    """Two leaves of two hosts; the cable from the second to the spine is long, slow for its kind, and takes DELAY_S."""
    design = Design(
        "fat-tree", RANKS, 1, 8, CARD_BPS, tiers=2, hosts_per_leaf=RANKS // SITES,
        oversubscription=(("leaf-uplink", float(RANKS // SITES)),),
    )  # fmt: skip
    topology = build(design)
    names = node_names(topology.cables)
    ends = [{names[a], names[b]} for a, b in zip(topology.cables.a, topology.cables.b, strict=True)]
    far = ends.index({"leaf-2", "spine-1"})
    return Fabric("two-sites", topology, 1, (), SCALE, degraded={far: LONG_SHARE}, delay_s={far: DELAY_S})


def site_bps(one: Fabric) -> float:
    """Bit/s of the cable between the sites."""
    (far,) = one.delay_s
    return float(one.graph.rate[2 * far])


def card_bps(one: Fabric) -> float:
    """Bit/s of a card."""
    return float(one.graph.rate[one.graph.endpoints.up].min())


def model_bytes() -> int:
    """Gradients, or weights, of the whole model."""
    return sum(SHAPE.gradient_bytes(block) for block in range(SHAPE.blocks))


def micro_batch_bytes() -> int:
    """Activations of a micro-batch at a cut."""
    return BATCH // MICRO_BATCHES * SHAPE.activation_bytes


def cases(short: bool, interval: int) -> list[dict[str, Any]]:
    """What the ranks run, in order. `interval`: local steps between outer ones."""
    steps = 9 if short else 24
    rounds = 2 if short else 6
    common = {"shape": SHAPE.to_dict(), "batch": BATCH}
    parallel = {**common, "kind": "parallel", "pace": PACE.to_dict(), "steps": WARM_UP + steps}
    local = {**parallel, "interval": interval, "steps": rounds * interval}
    pipeline = {
        **common, "kind": "pipeline", "pace": PIPELINE_PACE.to_dict(), "bounds": list(BOUNDS),
        "micro_batches": MICRO_BATCHES, "steps": WARM_UP + (4 if short else 15),
    }  # fmt: skip
    return [
        {"kind": "messages", "bytes": BASELINE_BYTES},
        {**parallel, "name": "alone", "method": "alone"},
        {**parallel, "name": "within", "method": "within"},
        {**parallel, "name": "ring", "method": "ring"},
        {**parallel, "name": "gloo", "method": "gloo", "steps": WARM_UP + 4},
        {**parallel, "name": "sites", "method": "sites"},
        {**local, "name": "diloco", "method": "diloco"},
        {**local, "name": "late", "method": "late", "pace": QUICK.to_dict()},
        {**pipeline, "name": "gpipe", "schedule": "gpipe"},
        {**pipeline, "name": "1f1b", "schedule": "1f1b"},
    ]


def by_name(found: list[list[dict[str, Any]]], plan: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What each rank gave, by the name of the case."""
    return {case.get("name", case["kind"]): every for case, every in zip(plan, found, strict=True)}


def step_seconds(ends_s: list[float], skipped: int = WARM_UP) -> np.ndarray:
    """Seconds of every step after those that are left out."""
    return np.asarray(np.diff(ends_s)[skipped:])
