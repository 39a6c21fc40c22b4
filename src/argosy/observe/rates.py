"""Rates of aligned collectives: what each group's exchanges reach from the last arrival on, and what they should."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from argosy.laws.collectives import bus_bandwidth
from argosy.observe.align import Alignment
from argosy.observe.observed import Observed

LARGE = 4 << 20  # bytes from which a collective is limited by bandwidth and not by its start
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


@dataclass(frozen=True)
class GroupRate:
    """Collectives of one group, operation and size: median transfer (s), its bus bandwidth (byte/s), how many, the
    members' indices in the alignment, and whether the group leaves a node (None unknown).
    """

    group: str
    operation: str
    bytes: int
    transfer_s: float
    transfers_s: np.ndarray
    bus: float
    members: tuple[int, ...]
    crosses: bool | None


def group_rates(observed: Observed) -> list[GroupRate]:
    """Every group's large collectives, by operation and size; empty where no trace tells sizes."""
    alignment = observed.alignment
    if alignment is None or not len(alignment.matched.operation):
        return []
    matched = alignment.matched
    size = np.diff(matched.first)
    end = matched.end_ns
    took = (np.minimum.reduceat(end, matched.first[:-1]) - matched.last_ns) * 1e-9
    kept: dict[tuple[tuple[int, ...], str, int], list[int]] = defaultdict(list)
    for i in np.flatnonzero((matched.bytes >= LARGE) & (size > 1) & (took > 0)):
        if matched.operation[i] not in _KINDS:
            continue
        who = tuple(int(x) for x in matched.who[matched.first[i] : matched.first[i + 1]])
        kept[who, str(matched.operation[i]), int(matched.bytes[i])].append(int(i))
    found = []
    for (who, operation, bytes_), each in kept.items():
        middle = float(np.median(took[each]))
        members = len(alignment.groups.get(str(matched.group[each[0]]), who))
        bus = float(bus_bandwidth(operation, float(bytes_), max(members, len(who)), middle))
        found.append(
            GroupRate(
                str(matched.group[each[0]]),
                operation,
                bytes_,
                middle,
                took[each],
                bus,
                who,
                _crosses(observed, alignment, who),
            )
        )
    return found


def _crosses(observed: Observed, alignment: Alignment, who: tuple[int, ...]) -> bool | None:
    """Whether the members lie on several nodes: by their names, else by the device's domain and the order of ranks."""
    ranks = [alignment.ranks[i] for i in who]
    nodes = {observed.node_of(rank) for rank in ranks}
    if None not in nodes:
        return len(nodes) > 1
    device = observed.device()
    domain = observed.fact(f"accelerators.{device}.scale_up_domain") if device else None
    return None if not domain else len({rank // int(domain) for rank in ranks}) > 1
