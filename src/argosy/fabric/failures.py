"""What the loss of any one switch or cable costs a fabric: accelerators cut off, accelerators slowed, rates left.

Nodes that colour refinement cannot tell apart fail alike: one of each class is taken out and the cables that are
left are measured. Rates left are capacities of the cables, whatever the routing makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from argosy.fabric.analysis import bisection_bps, links, node_classes, plain_name
from argosy.fabric.cables import CableList
from argosy.fabric.paths import card_of_cables, hop_histogram
from argosy.fabric.topologies.design import Topology

MOST_CLASSES = 48  # failures that are tried one by one; of more, evenly spread ones
NOT_SHOWN = (
    "what is left after a failure is capacity once routing has converged: packets lost until then, pauses of priority "
    "flow control and their storms are not in it"
)


@dataclass(frozen=True)
class Failure:
    """The loss of one `what` (a kind of switch or cable, of which `count` fail alike).

    `accelerators_cut`: that reach less than half of what they reached; `accelerators_slowed`: the blast
    radius, all below what failed; `host_rate_left`, `uplink_left`: the least share of its cards' rate that a
    host keeps, and of its uplinks that a switch keeps; `bisection_left`: share of the bisection.
    """

    kind: str
    what: str
    count: int
    accelerators_cut: float
    accelerators_slowed: float
    host_rate_left: float
    uplink_left: float
    bisection_left: float


def analysis_payload(topology: Topology) -> dict[str, Any]:
    """The keys that `argosy fabric --analysis` adds: `hops`, `single_failures`, `worst_failure`."""
    hops, sampled = hop_histogram(topology)
    found, all_tried = single_failures(topology)
    notes = [NOT_SHOWN]
    if sampled:
        notes.append("paths are counted from a sample of the switches that have ports, scaled to all pairs")
    if not all_tried:
        notes.append(f"this fabric is irregular: {MOST_CLASSES} failures, evenly spread, were tried")
    notes += [
        f"the loss of one {one.what} switch takes all uplinks of some switches below it, which have no other: their "
        "traffic goes round by their neighbours' (a top of few large switches is wired so)"
        for one in found
        if one.kind == "switch" and one.uplink_left == 0 and one.accelerators_cut == 0
    ]
    worst = max(found, key=lambda one: (one.accelerators_cut, -one.bisection_left), default=None)
    return {
        "hops": [asdict(row) for row in hops],
        "single_failures": [asdict(one) for one in found],
        "worst_failure": None if worst is None else asdict(worst),
        "notes": notes,
    }


def single_failures(topology: Topology) -> tuple[list[Failure], bool]:
    """One row per class of switches and of cables that fail alike, and whether every class was tried."""
    cables = topology.cables
    classes = node_classes(cables)
    candidates = [*_switches(cables, classes), *_cables(cables, classes)]
    tried = np.unique(np.linspace(0, len(candidates) - 1, min(len(candidates), MOST_CLASSES)).astype(int))
    whole = _State.of(topology, cables)
    found = [_impact(topology, whole, *candidates[index]) for index in tried]
    return _alike(found), len(tried) == len(candidates)


def _switches(cables: CableList, classes: np.ndarray) -> Iterator[tuple[str, str, int, np.ndarray]]:
    """(kind, what, how many, cables lost) of every class of switches."""
    for group in cables.groups:
        if not group.tier:
            continue
        kinds, first, counts = np.unique(classes[group.ids], return_index=True, return_counts=True)
        for index, count in zip(first[: len(kinds)], counts, strict=True):
            node = group.first + int(index)
            lost = (cables.a == node) | (cables.b == node)
            yield "switch", plain_name(group.name), int(count), lost


def _cables(cables: CableList, classes: np.ndarray) -> Iterator[tuple[str, str, int, np.ndarray]]:
    """The same of every class of cables; a circuit fails with either of its fibres."""
    ends = np.stack([classes[cables.a], classes[cables.b], cables.boundary], axis=1)
    _, first, counts = np.unique(ends, axis=0, return_index=True, return_counts=True)
    for index, count in zip(first, counts, strict=True):
        lost = np.zeros(len(cables), dtype=bool)
        lost[index] = True
        if cables.circuit[index] >= 0:
            lost |= cables.circuit == cables.circuit[index]
        yield "cable", plain_name(cables.boundaries[int(cables.boundary[index])].name), int(count), lost


@dataclass(frozen=True)
class _State:
    """What is measured before and after: per port the ports it reaches, per node its capacities, the bisection."""

    reaches: np.ndarray
    host_rate: np.ndarray
    uplinks: np.ndarray
    bisection: float

    @classmethod
    def of(cls, topology: Topology, cables: CableList) -> _State:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        tier = cables.tier_of_nodes()
        low, high, rate = links(cables)
        passes = (tier[low] > 0) & (tier[high] > 0) | (tier[low] == 0) & (tier[high] == 0)
        shape = (cables.nodes, cables.nodes)
        _, part = connected_components(csr_array((np.ones(passes.sum()), (low[passes], high[passes])), shape))
        card = card_of_cables(replace(topology, cables=cables))
        at = np.where(tier[cables.b] > 0, cables.b, cables.a)[card >= 0]
        size = np.bincount(part[at], minlength=int(part.max()) + 1)
        reaches = np.zeros(int(topology.design.hosts * topology.design.nics_per_host))
        np.maximum.at(reaches, card[card >= 0], size[part[at]].astype(float))
        both = np.concatenate([low, high])
        of_hosts = np.bincount(both[tier[both] == 0], np.tile(rate, 2)[tier[both] == 0], cables.nodes)
        return cls(reaches, of_hosts, cables.capacity(upwards=True), bisection_bps(cables))


def _impact(topology: Topology, whole: _State, kind: str, what: str, count: int, lost: np.ndarray) -> Failure:
    cables, design = topology.cables, topology.design
    left = cables.kept(~lost)
    state = _State.of(topology, left)
    per_card = (design.accelerators_per_host or design.nics_per_host) / design.nics_per_host
    host = whole.host_rate > 0
    has_uplinks = (whole.uplinks > 0) & (cables.tier_of_nodes() > 0)
    failed = np.intersect1d(cables.a[lost], cables.b[lost]) if kind == "cable" else _common(cables, lost)
    has_uplinks[failed] = False
    return Failure(
        kind,
        what,
        count,
        float((state.reaches < whole.reaches / 2).sum() * per_card),
        float(len(_below(cables, lost)) * per_card),
        float((state.host_rate[host] / whole.host_rate[host]).min(initial=1.0)),
        float((state.uplinks[has_uplinks] / whole.uplinks[has_uplinks]).min(initial=1.0)),
        state.bisection / whole.bisection if whole.bisection else 1.0,
    )


def _common(cables: CableList, lost: np.ndarray) -> np.ndarray:
    """The node at which all lost cables end."""
    ends, counts = np.unique(np.concatenate([cables.a[lost], cables.b[lost]]), return_counts=True)
    return ends[counts == counts.max()] if lost.sum() > 1 else ends[:0]


def _below(cables: CableList, lost: np.ndarray) -> np.ndarray:
    """Ports (a host's number and its port's) whose traffic passes what was lost: those below it, tier by tier."""
    tier = cables.tier_of_nodes()
    a_low = tier[cables.a] <= tier[cables.b]
    low, high = np.where(a_low, cables.a, cables.b), np.where(a_low, cables.b, cables.a)
    touched = np.zeros(cables.nodes, dtype=bool)
    touched[low[lost]] = True
    sideways = lost & (tier[low] == tier[high])
    touched[high[sideways]] = True
    for level in range(int(tier.max()), 1, -1):
        step = touched[high] & (tier[high] == level) & (tier[low] < level)
        touched[low[step]] = True
    below = (touched[high] & (tier[high] > 0) & (tier[low] == 0)) | (lost & (tier[low] == 0))
    ends = np.stack([low[below], np.where(a_low, cables.a_port, cables.b_port)[below]], axis=1)
    if (sideways & (tier[low] == 0)).any():
        ends = np.unique(np.concatenate([cables.a[lost], cables.b[lost]]))[:, None]
    return np.unique(ends, axis=0)


def _alike(found: list[Failure]) -> list[Failure]:
    """Rows that say the same, as one."""
    merged: dict[tuple[Any, ...], int] = {}
    for one in found:
        key = (one.kind, one.what, *(round(number, 9) for number in list(asdict(one).values())[3:]))
        merged[key] = merged.get(key, 0) + one.count
    return [Failure(key[0], key[1], count, *key[2:]) for key, count in merged.items()]
