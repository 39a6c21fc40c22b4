"""The start of a life: nodes in their places, spares on the shelf, every age and every clock."""

from __future__ import annotations

import numpy as np

from argosy.kernels import clocks, views
from argosy.kernels.compiled import compiled
from argosy.kernels.records import BOOK, FINISHED, FIRST_SHOCK, ORIGINAL, PRODUCTIVE, UNKNOWN
from argosy.kernels.streams import uniform


@compiled()
def reset(key, w):  # type: ignore[no-untyped-def]
    """The fleet at the start of a life: ages, lemons, spares, and every clock."""
    fleet, pool, shocks = views.fleet(w)[0], views.pool(w)[0], w.shocks_rows
    _set(views.draws(w), 0)
    _set(views.counts(w), 0)
    _set(views.holes(w), 0)
    _set(views.crew_at(w), 0.0)
    _set(views.slow_until(w), 0.0)
    _set(views.epochs(w), 0)
    pool.repairs, pool.head, pool.repair_luck, pool.rows = 0, 0, 0, 0
    pool.free = fleet.spares
    pool.racks = fleet.spares // (fleet.rack_used + fleet.rack_spares) if fleet.rack_used > 0 else 0
    for spare in range(fleet.spares if fleet.rack_used == 0 else 0):
        views.free(w)[spare] = fleet.nodes + spare
    for rack in range(w.shelved_rows):
        views.shelved(w)[rack] = fleet.rack_spares
        for spare in range(fleet.rack_spares):
            views.shelf(w)[rack, spare] = fleet.nodes + rack * fleet.rack_spares + spare
    _reset_nodes(key, w)
    for j in range(w.jobs_rows):
        _reset_run(w, j)
        for clock in range(FIRST_SHOCK + shocks + w.slowdowns_rows):
            clocks.wind(key, w, j, clock)
        for k in range(w.cohorts_columns):
            views.cohorts(w)[j, k].hazard, views.cohorts(w)[j, k].members = 0.0, 0
        _reset_ages(key, w, j)
        clocks.find_next(w, j)


@compiled()
def _reset_nodes(key, w):  # type: ignore[no-untyped-def]
    fleet = views.fleet(w)[0]
    views.lemons(w)[0] = 0
    for at in range(w.nodes_rows):
        node = views.nodes(w)[at]
        node.slot, node.failed, node.draws, node.lemon, node.entered = -1, 0, 0, 0, 0.0
        if fleet.lemon_share > 0.0 and uniform(key, clocks.NODE_STREAM + at, 0) < fleet.lemon_share:
            node.lemon = 1
            views.lemons(w)[0] += 1
            views.lemons(w)[views.lemons(w)[0]] = at
    for slot in range(fleet.nodes):
        views.slots(w)[slot].node = slot
        views.slots(w)[slot].next_at = np.inf
        views.nodes(w)[slot].slot = slot


@compiled()
def _reset_ages(key, w, j):  # type: ignore[no-untyped-def]
    """Cohorts of nodes that share an age; those that each have their own light their fuses at once."""
    job, fleet, single = views.jobs(w)[j], views.fleet(w)[0], w.given_columns > 0
    for c in range(w.wear_rows):
        own = single and views.given(w)[c, 0] >= 0.0
        usual, lemons = views.cohorts(w)[j, 2 * c], views.cohorts(w)[j, 2 * c + 1]
        for at in range(job.first, job.first + job.nodes):
            views.ages(w)[c, at] = views.given(w)[c, at] if own else ORIGINAL
            lemons.members += views.nodes(w)[at].lemon
        for at in range(fleet.nodes, w.nodes_rows):
            views.ages(w)[c, at] = views.given(w)[c, at] if own else UNKNOWN
        usual.members = 0 if own else job.nodes - lemons.members
        lemons.members = 0 if own else lemons.members
        clocks.wind_cohort(key, w, j, 2 * c)
        clocks.wind_cohort(key, w, j, 2 * c + 1)
    if single:
        for slot in range(job.nodes):
            clocks.light_fuses(key, w, j, slot)


@compiled()
def _reset_run(w, j):  # type: ignore[no-untyped-def]
    s = views.runs(w)[j]
    s.wall, s.active, s.since, s.block, s.persist, s.held = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    s.found_at, s.until, s.pace, s.speed = np.inf, 0.0, 1.0, 1.0
    s.next_maintenance = views.jobs(w)[j].maintenance_gap_s
    s.state, s.heap, s.missing, s.lost_now, s.down, s.saves, s.writing = PRODUCTIVE, 0, 0, 0, 0, 0, 0
    s.corrupt, s.loops, s.refills, s.culprit, s.end, s.follows = 0, 0, 0, 0, FINISHED, 0
    for part in range(3):
        s.now[part], s.stored[part], s.near[part], s.pending[part], s.clean[part] = 0.0, 0.0, 0.0, 0.0, 0.0
    for state in range(BOOK):
        s.book[state] = 0.0


@compiled()
def _set(array, value):  # type: ignore[no-untyped-def]
    """Sets every entry of an array of any shape."""
    flat = array.reshape(array.size)
    for at in range(len(flat)):
        flat[at] = value
