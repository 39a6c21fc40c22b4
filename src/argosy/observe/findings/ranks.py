"""Ranks that are slow by themselves, worked out once for the findings that blame a rank, a node or a cause on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from argosy.observe import thresholds
from argosy.observe.observed import Observed
from argosy.observe.records import Place


@dataclass(frozen=True)
class SlowRank:
    """A rank above all gates: its index in the alignment, rank, excess seconds a step, scores, and the seconds saved a step."""

    index: int
    rank: int
    node: str | None
    excess_s: float
    z: float
    persistence: float
    saved_s: float
    leading: str  # the activity that makes most of the excess


def slow_ranks(observed: Observed) -> list[SlowRank]:
    """Ranks whose own time stands out among their peers, matters, lasts, and exceeds what the clocks can tell."""
    late, alignment = observed.lateness, observed.alignment
    if late is None or alignment is None or not late.own_s.size:
        return []
    step = float(np.median(late.step_s))
    found = []
    for i, rank in enumerate(alignment.ranks):
        excess = float(late.typical_excess_s[i])
        sure = thresholds.CLOCK_FACTOR * alignment.uncertainty_ns(i) * 1e-9
        lasting = float(late.persistence[i])
        if len(late.steps) == 1:
            barriers = int(late.barriers[i])
            lasting = float(late.last_in[i]) / barriers if barriers else 0.0
        if (
            late.z[i] < thresholds.ROBUST_Z
            or excess < max(thresholds.LEAST_SHARE * step, sure)
            or lasting <= thresholds.PERSISTENCE
        ):
            continue
        saved = saved_s(observed, [i]) if late.barriers[i] else excess
        if saved < thresholds.LEAST_SHARE * step:
            continue
        parts = {
            kind: float(values[i])
            for kind, values in late.activity_excess_s.items()
            if kind != "communication"
        }
        leading = max(parts, key=lambda kind: parts[kind])
        node, score = observed.node_of(rank), float(late.z[i])
        found.append(SlowRank(i, rank, node, excess, score, lasting, min(saved, excess), leading))
    return found


def saved_s(observed: Observed, indices: Sequence[int]) -> float:
    """Seconds a step saved by replay, had these traces' own work taken what their peers' does; their excess without one."""
    late, chains = observed.lateness, observed.chains
    if late is None:
        return 0.0
    own, excess = np.median(late.own_s, axis=1), late.typical_excess_s
    if chains is None or not len(chains.who):
        return float(max(excess[i] for i in indices))
    outside = [i for i in range(len(own)) if i not in indices]
    above = float(np.median(excess[outside])) if outside else 0.0  # the peers' median, the blamed left out
    return chains.saved_s({i: float((own[i] - excess[i] + above) / own[i]) for i in indices if own[i] > 0})


@dataclass(frozen=True)
class SlowNode:
    """A node whose ranks are slow together."""

    node: str
    indices: tuple[int, ...]
    ranks: tuple[int, ...]
    excess_s: float
    z: float
    persistence: float
    saved_s: float


def slow_nodes(observed: Observed) -> list[SlowNode]:
    """Nodes whose ranks' own time lies above the other nodes', by more than ranks of one node differ."""
    late, alignment = observed.lateness, observed.alignment
    if late is None or alignment is None or not late.own_s.size:
        return []
    nodes: dict[str, list[int]] = {}
    for i, rank in enumerate(alignment.ranks):
        if node := observed.node_of(rank):
            nodes.setdefault(node, []).append(i)
    if len(nodes) < 2 or min(len(members) for members in nodes.values()) < 2:
        return []
    # Stages that lie on one node each cannot be told from the node: peers must be on other nodes too.
    index = {i: node for node, members in nodes.items() for i in members}
    if any(
        len({index.get(peer) for peer in late.peers[i]}) < 2 for members in nodes.values() for i in members
    ):
        return []
    step = float(np.median(late.step_s))
    middle = {node: np.median(late.excess_s[members], axis=0) for node, members in nodes.items()}
    typical = {node: float(np.median(values)) for node, values in middle.items()}
    inside = np.concatenate(
        [np.abs(late.typical_excess_s[members] - typical[node]) for node, members in nodes.items()]
    )
    spread = max(
        float(np.median(inside)), 0.6745 * thresholds.NOISE_FLOOR * float(np.median(late.own_s)), 1e-12
    )
    found = []
    for node, members in nodes.items():
        rest = [other for other in nodes if other != node]
        others = float(np.median([typical[other] for other in rest]))
        excess = typical[node] - others
        base = np.median(np.stack([middle[other] for other in rest]), axis=0)
        lasting = float(np.mean(middle[node] - base >= thresholds.LEAST_SHARE * step))
        together = np.mean(late.typical_excess_s[members] - others >= 0.5 * excess)
        z = 0.6745 * excess / spread
        if (
            z < thresholds.ROBUST_Z
            or excess < thresholds.LEAST_SHARE * step
            or lasting <= thresholds.PERSISTENCE
            or together < 0.75
        ):
            continue
        saved = saved_s(observed, members)
        if saved < thresholds.LEAST_SHARE * step:
            continue
        ranks = tuple(alignment.ranks[i] for i in members)
        found.append(SlowNode(node, tuple(members), ranks, excess, z, lasting, min(saved, excess)))
    return found


def explained(observed: Observed, node: str | None) -> list[tuple[str, Place]]:
    """What hardware messages and counters say of a node: joins the finding that blames it."""
    if node is None:
        return []
    told: list[tuple[str, Place]] = []
    for fault in observed.faults:
        if same_node(fault.node, node):
            name = f"Xid {fault.code}" if fault.code is not None else fault.kind
            told.append((f"{name} on {node}", Place(fault.path, fault.line)))
    from argosy.observe.findings.throttling import throttled

    told += [(text, place) for host, text, place in throttled(observed) if same_node(host, node)]
    return told


def same_node(a: str | None, b: str | None) -> bool:
    """Whether two names are one node: with or without domain."""
    if not a or not b:
        return False
    return a == b or a.partition(".")[0] == b.partition(".")[0]
