"""Spares and repairs, which all jobs share: nodes come back from the shop, and step in for lost ones."""

from __future__ import annotations

import numpy as np

from argosy.kernels import heap, views
from argosy.kernels.compiled import compiled
from argosy.kernels.records import UNKNOWN
from argosy.kernels.streams import exponential

REPAIR_STREAM = np.int64(1) << np.int64(40)


@compiled()
def to_repair(key, w, node, now, repair_s):  # type: ignore[no-untyped-def]
    """`node` goes to the shop at `now`; a crew may have to come free first."""
    fleet, pool = views.fleet(w)[0], views.pool(w)[0]
    item = node
    if fleet.rack_used > 0:
        item += views.epochs(w)[rack_of(w, node)] * (
            w.nodes_rows + 1
        )  # it belongs to this generation of its rack
    lasts = repair_s
    if fleet.repair_random == 1:
        pool.repair_luck += 1
        lasts *= exponential(key, REPAIR_STREAM, pool.repair_luck)
    starts = now
    if fleet.crews > 0:
        at = 0
        for crew in range(1, w.crew_at_rows):
            if views.crew_at(w)[crew] < views.crew_at(w)[at]:
                at = crew
        starts = max(now, views.crew_at(w)[at])
        views.crew_at(w)[at] = starts + lasts
    pool.repairs = heap.push(views.repair_at(w), views.repair_node(w), 0, pool.repairs, starts + lasts, item)


@compiled()
def take(w, slot, now):  # type: ignore[no-untyped-def]
    """A healthy node for `slot` that is there at `now`, -1 where there is none: of its rack, or of the spares."""
    fleet, pool = views.fleet(w)[0], views.pool(w)[0]
    while pool.repairs > 0 and views.repair_at(w)[0] <= now:
        _come_back(w, views.repair_node(w)[0])
        pool.repairs = heap.pop(views.repair_at(w), views.repair_node(w), 0, pool.repairs)
    if fleet.rack_used > 0:
        rack = slot // fleet.rack_used
        if views.shelved(w)[rack] == 0:
            if pool.racks == 0:
                return -1
            _exchange(w, rack)
        views.shelved(w)[rack] -= 1
        return views.shelf(w)[rack, views.shelved(w)[rack]]
    if pool.free == 0:
        return -1
    node = views.free(w)[pool.head]
    pool.head = (pool.head + 1) % w.free_rows
    pool.free -= 1
    return node


@compiled()
def _come_back(w, item):  # type: ignore[no-untyped-def]
    """A repaired node goes to the shelf of its rack, or to the spares; a repaired rack to the spare racks."""
    fleet, pool = views.fleet(w)[0], views.pool(w)[0]
    if fleet.rack_used == 0:
        views.free(w)[(pool.head + pool.free) % w.free_rows] = item
        pool.free += 1
        return
    node, epoch = item % (w.nodes_rows + 1), item // (w.nodes_rows + 1)
    if node == w.nodes_rows:
        pool.racks += 1
        return
    rack = rack_of(w, node)
    if epoch == views.epochs(w)[rack]:  # else it left with its rack, which was exchanged meanwhile
        views.shelf(w)[rack, views.shelved(w)[rack]] = node
        views.shelved(w)[rack] += 1


@compiled()
def rack_of(w, node):  # type: ignore[no-untyped-def]
    """The rack that `node` belongs to: the first nodes work, the spares inside racks follow them."""
    fleet = views.fleet(w)[0]
    if node < fleet.nodes:
        return node // fleet.rack_used
    return (node - fleet.nodes) // fleet.rack_spares


@compiled()
def _exchange(w, rack):  # type: ignore[no-untyped-def]
    """A spare rack takes the place of `rack`, which is a spare itself as soon as the first of its nodes is repaired."""
    fleet, pool = views.fleet(w)[0], views.pool(w)[0]
    pool.racks -= 1
    back = np.inf
    for at in range(pool.repairs):
        item = views.repair_node(w)[at]
        node, epoch = item % (w.nodes_rows + 1), item // (w.nodes_rows + 1)
        if node < w.nodes_rows and rack_of(w, node) == rack and epoch == views.epochs(w)[rack]:
            back = min(back, views.repair_at(w)[at])
    pool.repairs = heap.push(views.repair_at(w), views.repair_node(w), 0, pool.repairs, back, w.nodes_rows)
    views.epochs(w)[rack] += 1
    views.shelved(w)[rack] = 0
    first = rack * fleet.rack_used
    for node in range(first, min(first + fleet.rack_used, fleet.nodes)):
        _shelve_idle(w, rack, node)
    first = fleet.nodes + rack * fleet.rack_spares
    for node in range(first, first + fleet.rack_spares):
        _shelve_idle(w, rack, node)


@compiled()
def _shelve_idle(w, rack, node):  # type: ignore[no-untyped-def]
    if views.nodes(w)[node].slot < 0:
        for wearing in range(w.ages_rows):
            views.ages(w)[wearing, node] = UNKNOWN
        views.shelf(w)[rack, views.shelved(w)[rack]] = node
        views.shelved(w)[rack] += 1
