"""The power tree as nested data: what each part is rated for, carries and loses, down to the boards."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.facility.building import Building, other_racks
from argosy.facility.load import ItLoad
from argosy.facts import Values


def drawing(values: Values, building: Building, load: ItLoad) -> dict[str, Any]:
    """The tree at the peak, scalars only. A part stands for all of its `units`, so that loads add:
    `drawn_w` = `load_w` + `loss_w`, a part's `load_w` is the sum of its children's `drawn_w`, the utility's `drawn_w` the meter.

    Every part has `name`, `units`, `rating_w` (at the output of all units; its load where nothing is rated), `usable_w`
    (redundant units out, breakers derated; None where nothing trips), `load_w` (delivered at the peak), `measured_w` (the
    same with every node at its measured maximum), `loss_w`, `drawn_w`, `margin` (share of `usable_w` left) and `children`.
    """
    racks = _racks(values, building, load)
    lower = _level(building, "ups", [_level(building, "pdu", racks)])
    children = [lower, *_plant(building)]
    for name in ("switchboard", "transformer", "utility"):
        children = [_level(building, name, children)]
    return children[0]


def level_table(building: Building, load: ItLoad) -> list[dict[str, Any]]:
    """One row per level, from the utility to the racks: ratings, loads at three powers, losses, margin.

    `carries`: accelerators that the level could carry at the peak, were the rest of the tree no limit.
    """
    accelerators = float(load.nodes + load.spare_nodes) * load.node.accelerators
    rows = []
    for name, level in building.tree.levels.items():
        flows = {"mean_w": building.mean, "measured_w": building.measured, "peak_w": building.peak}
        rows.append(
            {
                "name": name,
                "units": level.units,
                "unit_rating_w": level.rating_w,
                "redundancy": level.redundancy,
                "derating": level.derating,
                "usable_w": level.usable_w,
                **{key: flow.load_w[name] for key, flow in flows.items()},
                "loss_mean_w": building.mean.loss_w[name],
                "loss_peak_w": building.peak.loss_w[name],
                "margin": building.margins[name],
                "carries": np.floor(accelerators * level.usable_w / building.peak.load_w[name] + 1e-6),
                "origin": _origin(level),
            }
        )
    return rows


def _origin(level: Any) -> str:
    if level.given:
        return "scenario"
    if level.oversubscribed:
        return "sized below the peak on purpose"
    return "just what the peak needs" if level.exact else "sized to the peak"


def _part(
    name: str, units: float, load_w: float, measured_w: float, children: Any = (), **more: Any
) -> dict[str, Any]:
    plain = {"rating_w": load_w, "usable_w": None, "loss_w": 0.0, "margin": None}
    part = {"name": name, "units": units, "load_w": load_w, "measured_w": measured_w, **plain, **more}
    return {**part, "drawn_w": load_w + part["loss_w"], "children": list(children)}


def _level(building: Building, name: str, children: list[dict[str, Any]]) -> dict[str, Any]:
    level, peak, measured = building.tree.levels[name], building.peak, building.measured
    return _part(
        name,
        float(level.units),
        float(peak.load_w[name]),
        float(measured.load_w[name]),
        children,
        rating_w=float(level.installed_w),
        usable_w=float(level.usable_w),
        loss_w=float(peak.loss_w[name]),
        margin=building.margins[name],
        redundancy=level.redundancy,
    )


def _plant(building: Building) -> list[dict[str, Any]]:
    """The cooling plant and what else hangs at the boards."""
    if building.plant is None:
        return [
            _part(
                "cooling and the rest, by the given PUE",
                1.0,
                float(building.peak.plant_w),
                float(building.measured.plant_w),
            )
        ]
    other = float(building.plant.other)
    peak, measured = building.peak, building.measured
    rest = [float(flow.it_w) * other for flow in (peak, measured)]
    cooling = [float(flow.plant_w) - each for flow, each in zip((peak, measured), rest, strict=True)]
    return [_part("cooling plant", 1.0, *cooling), _part("lighting and offices", 1.0, *rest)]


def _racks(values: Values, building: Building, load: ItLoad) -> list[dict[str, Any]]:
    """Full racks, the last one, and racks of switches and storage; each with its share of the whips' losses."""
    node, racks, peak, measured = load.node, building.racks, building.peak, building.measured
    nodes, per_rack = float(load.nodes + load.spare_nodes), float(racks.nodes_per_rack)
    full = np.floor(nodes / per_rack)
    groups = [("racks of nodes", full, full * per_rack), ("the last rack", 1.0, nodes - full * per_rack)]
    rating = float(building.tree.levels["rack"].rating_w)
    parts = []
    for name, count, held in groups:
        if count and held:
            children = [_nodes(load, held)]
            parts.append(
                _rack(name, count, rating, building, held * node.capped_w, held * node.measured_w, children)
            )
    others = float(peak.it_w) - nodes * float(node.capped_w)
    others_measured = float(measured.it_w) - nodes * float(node.measured_w)
    if others > 0:
        count = float(other_racks(load, racks, peak.it_w))
        network = float(load.network_w)
        children = [
            _part("switches and optics", float(load.switches) or 1.0, network, network),
            _part("storage and management", 1.0, others - network, others_measured - network),
        ]
        parts.append(
            _rack("racks of switches and storage", count, rating, building, others, others_measured, children)
        )
    return parts


def _rack(
    name: str,
    count: float,
    rating: float,
    building: Building,
    it_w: float,
    measured_w: float,
    children: list[Any],
) -> dict[str, Any]:
    level = building.tree.levels["rack"]
    usable = rating * count * level.derating
    loss = float(building.peak.loss_w["rack"] / building.peak.it_w) * it_w
    return _part(
        name,
        float(count),
        float(it_w),
        float(measured_w),
        children,
        rating_w=rating * count,
        usable_w=usable,
        loss_w=float(loss),
        margin=1.0 - float(it_w) / usable,
        redundancy=level.redundancy,
    )


def _nodes(load: ItLoad, count: float) -> dict[str, Any]:
    """Nodes with what is in them: accelerator boards, and everything else at the inlet."""
    node = load.node
    boards, boards_measured = (
        count * node.accelerators * float(w) for w in (node.board_capped_w, node.board_full_w)
    )
    capped, measured = count * float(node.capped_w), count * float(node.measured_w)
    children = [
        _part("accelerator boards", count * node.accelerators, boards, boards_measured),
        _part("hosts, fans, cards and power supplies", count, capped - boards, measured - boards_measured),
    ]
    nameplate = count * float(node.nameplate_w)
    return _part(
        "nodes",
        count,
        capped,
        measured,
        children,
        rating_w=nameplate,
        usable_w=nameplate,  # a maker's maximum, no breaker: nothing trips here
    )
