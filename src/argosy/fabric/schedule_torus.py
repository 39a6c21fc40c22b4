"""The time of a collective over a whole torus by its flow schedule: neighbour messages on the cables, phase by phase.

The message is cut into a part per axis, in proportion to what a chip can send along it. Part p runs over the axes in
the order p, p + 1, …, so that no two parts share an axis in a phase; on its axis it goes round both ways at once, and
what it carries shrinks by the axis' side. Every phase waits for its busiest link (`argosy.laws.torus` has the closed
form).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.fabric.linkgraph import link_graph
from argosy.fabric.routing_torus import DimensionOrder
from argosy.fabric.topologies.design import Topology
from argosy.fabric.torus import TorusNetwork
from argosy.fabric.traffic import MOST_FLOWS, all_to_all

PASSES = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "broadcast": 2}


def torus_schedule(
    topology: Topology, network: TorusNetwork, kind: str, message: float, ranks: int
) -> dict[str, Any] | str:
    """The key `schedule` of `argosy fabric --collective` on a torus, or why there is none.

    `message`: bytes, as nccl-tests counts; `ranks` must be all chips, and the torus not twisted.
    """
    chips = network.accelerators
    if topology.design.twist or ranks != chips:
        return "no flow schedule here: a twisted torus, or a part of one, goes by the closed form"
    if kind == "all_to_all" and chips * (chips - 1) > MOST_FLOWS:
        return f"no flow schedule here: an all-to-all of {chips:,} chips has more than {MOST_FLOWS:,} flows"
    order = DimensionOrder.of(link_graph(topology.cables), topology)
    steps = _all_to_all(order, message) if kind == "all_to_all" else _phases(order, kind, message)
    wire = sum(row["fabric_s"] for row in steps)
    delivered = float(np.mean(network.delivered))
    latency = float(np.mean(network.algorithms(kind, 0.0, ranks, 1).popitem()[1]))
    return {
        "algorithm": next(iter(network.algorithms(kind, message, ranks, 1))),
        "time_s": latency + wire / delivered,
        "wire_s": wire,
        "routing": "dimension-order",
        "steps": steps,
    }


def _phases(order: DimensionOrder, kind: str, message: float) -> list[dict[str, Any]]:
    """The rows of all phases of all passes."""
    axes = len(order.shape)
    rate = np.array([2.0 if side > 2 else 1.0 if side == 2 else 0.0 for side in order.shape])
    left = message * rate / rate.sum()
    capacity = order.graph.rate / 8
    rows = []
    for phase in range(axes):
        load, most = np.zeros(len(capacity)), 0.0
        for part in range(axes):
            axis = (part + phase) % axes
            side = order.shape[axis]
            if side > 1:
                load += _both_ways(order, axis, left[part] * (side - 1) / side)
                most = max(most, left[part] / side)
                left[part] /= side
        if load.any():
            rows.append(
                {
                    "phase": f"rings, phase {phase + 1}",
                    "messages": len(order.place),
                    "bytes": most,
                    "rounds": float(PASSES[kind] * (max(order.shape) - 1)),
                    "scale_up_s": 0.0,
                    "fabric_s": PASSES[kind] * float((load / capacity).max()),
                }
            )
    return rows


def _both_ways(order: DimensionOrder, axis: int, amount: float) -> np.ndarray:
    """What falls on every link when all chips send `amount` to their neighbours on an axis, half each way round."""
    load = np.zeros(len(order.graph))
    if order.shape[axis] == 2:
        np.add.at(load, order.ahead[:, axis, 0], amount)
    else:
        np.add.at(load, order.ahead[:, axis, :].ravel(), amount / 2)
    return load


def _all_to_all(order: DimensionOrder, message: float) -> list[dict[str, Any]]:
    """Everyone to everyone at once, by dimension order."""
    chips = len(order.place)
    paths = order.paths(*all_to_all(order.graph.endpoints))
    load = paths.load(len(order.graph), message / chips)
    busiest = float((load / (order.graph.rate / 8)).max())
    return [
        {
            "phase": "everyone to everyone", "messages": chips * (chips - 1), "bytes": message / chips,
            "rounds": 1.0, "scale_up_s": 0.0, "fabric_s": busiest,
        }
    ]  # fmt: skip
