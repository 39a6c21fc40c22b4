"""A link or a card that is slower than its like: groups whose transfers lag behind the same exchange of other groups."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings import socket_fallback
from argosy.observe.findings.finding import Bound, Culprit, Finding, listed, span
from argosy.observe.observed import Observed
from argosy.observe.rates import GroupRate, group_rates, slow_handovers
from argosy.observe.records import Place

ID = "slow-link"


def find(observed: Observed) -> list[Finding]:
    """Groups below the gate against the median of their peers; the ranks that all slow groups share are the culprit."""
    alignment = observed.alignment
    if alignment is None or socket_fallback.find(observed):
        return []  # sockets are the cause, and named already
    peers: dict[tuple[str, int, int, bool | None, int], list[GroupRate]] = defaultdict(list)
    for each in group_rates(observed):
        often = (
            0 if each.bytes else len(each.transfers_s)
        )  # exchanges of unknown size are alike where they are as many
        peers[each.operation, each.bytes, len(each.members), each.crosses, often].append(each)
    slow: dict[tuple[int, ...], list[tuple[GroupRate, float]]] = defaultdict(list)
    for rates in peers.values():
        if len(rates) < 3:
            continue
        for each in rates:
            others = float(np.median([other.bus for other in rates if other is not each]))
            lasting = float(np.mean(each.transfers_s * thresholds.LINK_SHORTFALL > _time(rates, each)))
            if each.bus < thresholds.LINK_SHORTFALL * others and lasting > thresholds.PERSISTENCE:
                slow[each.members].append((each, others))
    if not slow or 2 * len(slow) > len({each.members for rates in peers.values() for each in rates}):
        return []
    count = Counter(member for members in slow for member in members)
    shared = [member for member, times in count.items() if times == len(slow)] if len(slow) > 1 else []
    if not shared:
        shared = sorted(set(count) & slow_handovers(observed))
    step = observed.step_s or 0.0
    return [_finding(observed, members, rates, shared, step) for members, rates in slow.items()][
        : 1 if shared else 4
    ]


def _time(rates: list[GroupRate], own: GroupRate) -> float:
    return float(np.median([other.transfer_s for other in rates if other is not own]))


def _finding(
    observed: Observed,
    members: tuple[int, ...],
    rates: list[tuple[GroupRate, float]],
    shared: list[int],
    step: float,
) -> Finding:
    alignment = observed.alignment
    assert alignment is not None
    rate, others = min(rates, key=lambda pair: pair[0].bus / pair[1])
    steps = max(len(alignment.traces[members[0]].step_number), 1)
    lost = sum(each.transfers_s.sum() * max(1.0 - each.bus / peer, 0.0) for each, peer in rates) / steps
    blamed = shared or list(members)
    ranks = tuple(alignment.ranks[i] for i in blamed)
    nodes = {observed.node_of(rank) for rank in ranks} - {None} if shared else set()
    peer_s = rate.transfer_s * rate.bus / others
    told = f"takes {span(rate.transfer_s)}, the same exchange elsewhere {span(peer_s)}"
    bound = Bound(peer_s, rate.transfer_s, "s", "median of the same exchange in other groups")
    if rate.bytes:
        size = f"{rate.bytes / 2**20:.4g} MiB"
        told = f"reaches {rate.bus / 1e9:.3g} GB/s at {size}, the same exchange elsewhere {others / 1e9:.3g} GB/s"
        bound = Bound(others, rate.bus, "byte/s", "median bus bandwidth of the same exchange in other groups")
    ratio = thresholds.LINK_SHORTFALL * others / max(rate.bus, 1e-30)
    return Finding(
        ID,
        f"{rate.operation} among ranks {listed(alignment.ranks[i] for i in members)} {told}",
        "test the cards and cables of these ranks pair by pair; look for lane width, error counters, a downgraded or "
        "flapping link, PCIe speed and ACS",
        thresholds.confidence(thresholds.INFERRED if shared else thresholds.WEAK, (ratio,)),
        lost / step if step else None,
        lost,
        Culprit(
            rank=ranks[0] if len(ranks) == 1 else None,
            node=str(next(iter(nodes))) if len(nodes) == 1 else None,
            link=f"rank {ranks[0]}'s link" if len(ranks) == 1 else f"a link among {len(ranks)} ranks",
            ranks=ranks if shared else (),  # which of a group's links it is, the group alone does not tell
        ),
        tuple(Place(alignment.traces[i].path) for i in blamed[:4]),
        bound,
    )
