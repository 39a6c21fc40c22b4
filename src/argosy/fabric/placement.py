"""Ranks on nodes and rails: what an order of the parallel dimensions makes of a layout's traffic.

An order names the dimensions, fastest first: consecutive ranks differ in the first one, and fill a node, then the next.
Expert-parallel groups are consecutive ranks of one pipeline stage, over what the other dimensions span (as
Megatron-Core folds them). Data-, context- and tensor-parallel groups send round rings, as many as a domain has members;
stages to the next and back; experts to all of their group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from argosy.fabric.algorithms import Group, ring_laps, uneven_laps
from argosy.fabric.topologies.design import DesignError, Topology
from argosy.fabric.wires import Wires

Array = np.ndarray
USUAL = ("tp", "cp", "dp", "pp")
DIMENSIONS = (*USUAL, "ep")
RINGS = ("tp", "cp", "dp")


@dataclass(frozen=True)
class Messages:
    """Who sends how many bytes to whom per step, (messages,) each."""

    source: Array
    end: Array
    amount: Array


@dataclass(frozen=True)
class Placement:
    """One order: its messages by dimension, their bytes by how far they go, and seconds of each on the wires alone."""

    order: tuple[str, ...]
    sizes: Mapping[str, int]
    strides: Mapping[str, int]
    messages: Mapping[str, Messages]
    tiers: Mapping[str, Mapping[str, float]]
    seconds: Mapping[str, float]

    @property
    def wire_s(self) -> float:
        """Seconds of all dimensions one after the other on the busiest links: what orders are compared by."""
        return sum(self.seconds.values())


def groups_of(sizes: Mapping[str, int], order: Sequence[str], dimension: str) -> Array:
    """The groups of a dimension, (groups, members), by rank; `sizes`: degrees, `ep` within the rest of a stage."""
    degrees = [sizes[name] for name in order]
    ranks = np.arange(int(np.prod(degrees))).reshape(degrees[::-1])  # the last axis is the fastest
    axis = {name: len(order) - 1 - place for place, name in enumerate(order)}
    if dimension != "ep":
        return np.moveaxis(ranks, axis[dimension], -1).reshape(-1, sizes[dimension])
    stages = np.moveaxis(ranks, axis["pp"], 0).reshape(sizes["pp"], -1)
    blocks = stages.reshape(-1, sizes.get("etp", 1) * sizes["ep"])
    return np.swapaxes(blocks.reshape(len(blocks), sizes["ep"], -1), 1, 2).reshape(-1, sizes["ep"])


def messages_of(dimension: str, groups: Array, sent: float, domain: int) -> Messages:
    """The messages of a dimension's groups when every rank sends `sent` bytes (less at the ends of a pipeline)."""
    if dimension == "ep":
        size = groups.shape[1]
        source = np.repeat(groups, size - 1, axis=1).ravel()
        others = (np.arange(size)[:, None] + np.arange(1, size)[None, :]) % size
        return Messages(source, groups[:, others].ravel(), np.full(source.shape, sent / (size - 1)))
    if dimension == "pp":
        ahead, back = groups[:, :-1].ravel(), groups[:, 1:].ravel()
        source, end = np.concatenate([ahead, back]), np.concatenate([back, ahead])
        return Messages(source, end, np.full(source.shape, sent / 2))
    return _ring_messages(np.sort(groups, axis=1), sent, domain)


def _ring_messages(groups: Array, sent: float, domain: int) -> Messages:
    """The rings of groups (groups, ranks): every member sends `sent` in all, an equal part on each ring.

    As many rings as a domain has members; where domains hold unequal numbers of them, as many as the one with fewest,
    each domain entered at evenly spread members.
    """
    count = len(np.unique(groups[0] // domain))
    parts = groups.reshape(len(groups), count, -1) if groups.shape[1] % count == 0 else None
    if parts is not None and _in_one_domain(parts, domain):
        laps = ring_laps(parts).reshape(-1, groups.shape[1])
        rings = parts.shape[2]
        return Messages(laps.ravel(), np.roll(laps, -1, axis=1).ravel(), np.full(laps.size, sent / rings))
    found = []
    for ranks in groups:
        laps = uneven_laps(Group.of(ranks, domain).pieces)
        found.append((laps.ravel(), np.roll(laps, -1, axis=1).ravel(), np.full(laps.size, sent / len(laps))))
    return Messages(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _in_one_domain(parts: Array, domain: int) -> bool:
    """Whether every part (groups, domains, members) lies in one domain, and no two of a group in the same one."""
    home = parts // domain
    return bool((home == home[..., :1]).all()) and bool((np.diff(home[..., 0], axis=1) > 0).all())


def place(
    wires: Wires, sizes: Mapping[str, int], sent: Mapping[str, float], order: Sequence[str]
) -> Placement:
    """An order's placement on the wires: ranks on accelerators in order. `sent`: bytes per rank and step by dimension."""
    messages: dict[str, Messages] = {}
    tiers: dict[str, Mapping[str, float]] = {}
    seconds: dict[str, float] = {}
    strides: dict[str, int] = {}
    for dimension in DIMENSIONS:
        if sizes.get(dimension, 1) > 1 and sent.get(dimension, 0.0) > 0:
            groups = groups_of(sizes, order, dimension)
            one = messages_of(dimension, groups, sent[dimension], wires.domain)
            messages[dimension] = one
            strides[dimension] = int(groups[0, 1] - groups[0, 0])
            tiers[dimension] = bytes_by_tier(wires, one)
            seconds[dimension] = busiest_seconds(wires, one)
    return Placement(tuple(order), sizes, strides, messages, tiers, seconds)


def bytes_by_tier(wires: Wires, messages: Messages) -> dict[str, float]:
    """Bytes per step by how far they go: `scale-up`, or the switches that they pass between cards."""
    inside = messages.source // wires.domain == messages.end // wires.domain
    found = {"scale-up": float(messages.amount[inside].sum())}
    relay = wires.relay(messages.source[~inside], messages.end[~inside])
    ends = wires.found.graph.endpoints
    near = ends.switch[wires.cards[relay, 0]]
    far = ends.switch[wires.cards[messages.end[~inside], 0]]
    passed = wires.found.away[wires.found.column[far], wires.found.local[near]] + 1
    total = np.bincount(passed, weights=messages.amount[~inside])
    for switches in np.flatnonzero(total):
        found[f"{switches} switch" + "es" * int(switches > 1)] = float(total[switches])
    return found


def busiest_seconds(wires: Wires, messages: Messages) -> float:
    """Seconds of the busiest link at its full rate when all messages travel at once."""
    load = wires.load(messages.source, messages.end, messages.amount)
    capacity = wires.capacity
    used = load > 0
    return float((load[used] / capacity[used]).max()) if used.any() else 0.0


def rail_locality(placement: Placement, per_host: int, by_bytes: bool = False) -> float | None:
    """Share of data- and pipeline-parallel ring edges between accelerators on one rail; None where there are none.

    Edges are those of one closed ring per group, as `argosy.laws.rails` counts them; the two dimensions weigh alike, or
    by their bytes. An edge inside a node uses no rail: it counts where both ends have cards of one rail.
    """
    shares, weights = [], []
    for dimension in ("dp", "pp"):
        if dimension in placement.messages:
            groups = groups_of(placement.sizes, placement.order, dimension)
            same = groups % per_host == np.roll(groups, -1, axis=1) % per_host
            shares.append(float(same.mean()))
            weights.append(float(placement.messages[dimension].amount.sum()) if by_bytes else 1.0)
    return float(np.average(shares, weights=weights)) if shares else None


def placement_payload(
    topology: Topology,
    network: Any,
    sizes: Mapping[str, int],
    sent: Mapping[str, float],
    *,
    order: Sequence[str] = USUAL,
    routing: str = "static",
    seed: int = 0,
) -> dict[str, Any]:
    """Where a layout's bytes go in the usual rank order, and in every other: the key `placement`.

    `network`: the fabric's `TieredNetwork`, for its scale-up domain; `sizes`: degrees of tp, cp, dp, pp, ep (and etp);
    `sent`: bytes that a rank sends per step, by dimension; `order`: fastest first. Orders are ranked by the seconds of
    all dimensions one after the other, each on its busiest link at full rate. DesignError where the fabric has no cards
    or fewer accelerators than ranks.
    """
    from argosy.fabric.schedule import wires_of

    ranks = int(np.prod([sizes[name] for name in USUAL]))
    wires = wires_of(topology, network, routing, seed)
    if ranks > wires.accelerators:
        raise DesignError(f"a layout of {ranks} ranks does not fit {wires.accelerators} accelerators")
    per_host = wires.accelerators // len(np.unique(wires.found.graph.endpoints.host))
    idle = [name for name in USUAL if sizes[name] == 1]
    moving = [name for name in USUAL if sizes[name] > 1]
    orders = {(*moved, *idle) for moved in permutations(moving)}
    given = tuple([name for name in order if name in moving] + idle)
    found = {one: place(wires, sizes, sent, one) for one in sorted(orders | {given})}
    ranked = sorted(found, key=lambda one: (round(found[one].wire_s, 9), one != given))
    rows = [_row(found[one], per_host) for one in ranked]
    return {
        "placement": {
            "ranks": ranks,
            "sizes": {name: int(sizes.get(name, 1)) for name in DIMENSIONS},
            "bytes_per_rank": {name: float(sent.get(name, 0.0)) for name in DIMENSIONS},
            "routing": routing,
            **_row(found[given], per_host),
            "dimensions": list(_dimension_rows(found[given])),
            "best": rows[0],
            "orders": rows,
        }
    }


def _row(placement: Placement, per_host: int) -> dict[str, Any]:
    """One order: shares of all bytes by how far they go, rail locality, seconds."""
    total: dict[str, float] = {}
    for tiers in placement.tiers.values():
        for name, amount in tiers.items():
            total[name] = total.get(name, 0.0) + amount
    sum_ = sum(total.values())
    return {
        "order": [name for name in placement.order if placement.sizes[name] > 1],
        "wire_s": placement.wire_s,
        "share_by_tier": {name: total[name] / sum_ for name in sorted(total, key=_distance)},
        "rail_locality": rail_locality(placement, per_host),
        "rail_locality_by_bytes": rail_locality(placement, per_host, by_bytes=True),
    }


def _distance(tier: str) -> int:
    """Scale-up links first, then by switches passed."""
    return 0 if tier == "scale-up" else int(tier.partition(" ")[0])


def _dimension_rows(placement: Placement) -> Iterator[dict[str, Any]]:
    """Per dimension that sends: stride, seconds on its busiest link, shares of its bytes by how far they go."""
    for name, tiers in placement.tiers.items():
        total = sum(tiers.values())
        yield {
            "dimension": name,
            "size": int(placement.sizes[name]),
            "stride": placement.strides[name],
            "bytes": total,
            "wire_s": placement.seconds[name],
            "share_by_tier": {tier: tiers[tier] / total for tier in sorted(tiers, key=_distance)},
        }


def layout_pattern(placement: Placement, wires: Wires) -> tuple[Array, Array, Array]:
    """All messages of a placement that leave their domain, card to card: endpoints from and to, and bytes (flows,)."""
    parts = []
    for one in placement.messages.values():
        outside = one.source // wires.domain != one.end // wires.domain
        source, end = one.source[outside], one.end[outside]
        width = wires.cards.shape[1]
        cards = wires.cards[wires.relay(source, end)].ravel(), wires.cards[end].ravel()
        parts.append((*cards, np.repeat(one.amount[outside] / width, width)))
    if not parts or not sum(len(part[0]) for part in parts):
        raise DesignError(
            "this layout's traffic does not leave its scale-up domains: the fabric carries nothing"
        )
    source, end, amount = (np.concatenate(column) for column in zip(*parts, strict=True))
    return source, end, amount
