"""Rates of aligned collectives: what each group's exchanges reach from the last arrival on, and what they should."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from argosy.laws.collectives import bus_bandwidth
from argosy.observe import thresholds
from argosy.observe.align import Alignment
from argosy.observe.matching import POINT_TO_POINT
from argosy.observe.observed import Observed

LARGE = 4 << 20  # bytes from which a collective is limited by bandwidth and not by its start
LONG_S = (
    1e-3  # of an exchange from which it is taken as a large one, whatever its size: starts take microseconds
)
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


@dataclass(frozen=True)
class GroupRate:
    """Collectives of one group, operation and size: median transfer (s) and all of them, the bus bandwidth (byte/s; of one
    byte where the size is not told, a measure of speed alone), the members' indices in the alignment, and whether the group
    leaves a node (None unknown).
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
    """Every group's large collectives, by operation and size: large in bytes, or long on links that are slow."""
    alignment = observed.alignment
    if alignment is None or not len(alignment.matched.operation):
        return []
    matched = alignment.matched
    size = np.diff(matched.first)
    end = matched.end_ns
    took = (np.minimum.reduceat(end, matched.first[:-1]) - matched.last_ns) * 1e-9
    kept: dict[tuple[tuple[int, ...], str, int], list[int]] = defaultdict(list)
    for i in np.flatnonzero(((matched.bytes > 0) | (took > LONG_S)) & (size > 1) & (took > 0)):
        if matched.operation[i] not in _KINDS:
            continue
        who = tuple(int(x) for x in matched.who[matched.first[i] : matched.first[i + 1]])
        kept[who, str(matched.operation[i]), int(matched.bytes[i])].append(int(i))
    found = []
    for (who, operation, bytes_), each in kept.items():
        middle = float(np.median(took[each]))
        if bytes_ < LARGE and middle <= LONG_S:
            continue
        members = len(alignment.groups.get(str(matched.group[each[0]]), who))
        bus = float(bus_bandwidth(operation, float(bytes_ or 1), max(members, len(who)), middle))
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


def slow_handovers(observed: Observed) -> set[int]:
    """Traces all of whose sends and receives are slower than the median hand-over, by the gate of links."""
    alignment = observed.alignment
    if alignment is None or not len(alignment.matched.operation):
        return set()
    matched = alignment.matched
    own = np.flatnonzero(np.isin(matched.operation, list(POINT_TO_POINT)))
    took: dict[tuple[int, int], list[float]] = defaultdict(list)
    for i in own.tolist():
        low, high = matched.first[i], matched.first[i + 1]
        pair = (int(matched.who[low]), int(matched.who[low + 1]))
        took[pair].append(float(matched.end_ns[low:high].min() - matched.start_ns[low:high].max()))
    middle = {
        pair: float(np.median(each)) for pair, each in took.items() if len(each) >= thresholds.ENOUGH_STEPS
    }
    if len(middle) < thresholds.ENOUGH_PEERS:
        return set()
    usual = float(np.median(list(middle.values())))
    slow = {pair for pair, each in middle.items() if each * thresholds.LINK_SHORTFALL > usual}
    members = {who for pair in middle for who in pair}
    return {who for who in members if all(pair in slow for pair in middle if who in pair)}
