"""When what strikes a job next: one clock for each kind of cause, on the job's active time.

Memoryless causes of all nodes together are one Poisson process, and the node that fails is any of them: only failing
nodes are drawn. Nodes that wear share a clock too while they have worked since the start, because their ages are equal
or equally distributed: a cohort. A node that enters later has its own age and waits in the job's heap.
"""

from __future__ import annotations

import numpy as np

from argosy.kernels import heap, views
from argosy.kernels.compiled import compiled
from argosy.kernels.records import (
    FIRST_SHOCK,
    FOLLOW_CLOCK,
    HEAP_CLOCK,
    JOB_CLOCK,
    LEMON_CLOCK,
    NODE_CLOCK,
    ORIGINAL,
    TABLE_HAZARD,
    UNKNOWN,
)
from argosy.kernels.streams import exponential, uniform

NODE_STREAM = np.int64(1) << np.int64(32)
"""Streams from here on belong to nodes; below are those of the jobs' clocks."""


@compiled()
def luck(key, w, j, clock):  # type: ignore[no-untyped-def]
    """The next exponential number of a clock's stream; the clock after the last one is the job's own stream."""
    views.draws(w)[j, clock] += 1
    return exponential(key, j * w.draws_columns + clock, views.draws(w)[j, clock])


@compiled()
def chance(key, w, j, clock):  # type: ignore[no-untyped-def]
    """The next uniform number of a clock's stream."""
    views.draws(w)[j, clock] += 1
    return uniform(key, j * w.draws_columns + clock, views.draws(w)[j, clock])


@compiled()
def _node_luck(key, node_record, node):  # type: ignore[no-untyped-def]
    node_record.draws += 1
    return exponential(key, NODE_STREAM + node, node_record.draws)


@compiled()
def wind(key, w, j, clock):  # type: ignore[no-untyped-def]
    """Sets a memoryless clock to its next stroke."""
    fleet, job, first_slow = views.fleet(w)[0], views.jobs(w)[j], FIRST_SHOCK + w.shocks_rows
    if clock == NODE_CLOCK:
        rate = fleet.node_rate * fleet.usual * job.nodes
    elif clock == LEMON_CLOCK:  # what lemons fail more often than usual nodes do
        rate = fleet.node_rate * fleet.usual * (fleet.lemon_factor - 1.0) * views.lemons(w)[0]
    elif clock == JOB_CLOCK:
        rate = job.job_rate
    elif clock == FOLLOW_CLOCK:
        rate = 0.0
    elif clock < first_slow:
        rate = views.shocks(w)[clock - FIRST_SHOCK].rate
    else:
        rate = views.slowdowns(w)[clock - first_slow].rate * job.nodes / fleet.nodes
    views.clocks(w)[j, clock] = (
        views.runs(w)[j].active + luck(key, w, j, clock) / rate if rate > 0.0 else np.inf
    )


@compiled()
def find_next(w, j):  # type: ignore[no-untyped-def]
    """Notes in the run which clock strikes next, and when."""
    s, base = views.runs(w)[j], views.jobs(w)[j].heap_base
    s.due, s.clock = np.inf, HEAP_CLOCK
    if w.wear_rows > 0:
        first = views.jobs(w)[j].first
        while (
            s.heap > 0 and views.heap_at(w)[base] != views.slots(w)[first + views.heap_slot(w)[base]].next_at
        ):
            s.heap = heap.pop(
                views.heap_at(w), views.heap_slot(w), base, s.heap
            )  # of a node that left earlier
        if s.heap > 0:
            s.due = views.heap_at(w)[base]
    for clock in range(w.clocks_columns):
        if views.clocks(w)[j, clock] < s.due:
            s.due, s.clock = views.clocks(w)[j, clock], clock


@compiled()
def _hazard_to_time(table, hazard):  # type: ignore[no-untyped-def]
    """Remaining life ÷ scale of a stationary part over cumulative hazard, linear between the table's entries.

    Entry i is at hazard TABLE_HAZARD · (i/(T − 1))²: dense where most failures fall.
    """
    last = len(table) - 1
    low = min(int(np.sqrt(hazard / TABLE_HAZARD) * last), last - 1)
    from_, to = TABLE_HAZARD * (low / last) ** 2, TABLE_HAZARD * ((low + 1) / last) ** 2
    return table[low] + (table[low + 1] - table[low]) * (hazard - from_) / (to - from_)


@compiled()
def _time_to_hazard(table, time):  # type: ignore[no-untyped-def]
    """The inverse of `_hazard_to_time`."""
    last = len(table) - 1
    low = min(max(np.searchsorted(table, time) - 1, 0), last - 1)
    from_, to = TABLE_HAZARD * (low / last) ** 2, TABLE_HAZARD * ((low + 1) / last) ** 2
    return from_ + (to - from_) * (time - table[low]) / (table[low + 1] - table[low])


@compiled()
def weight_of(fleet, lemon):  # type: ignore[no-untyped-def]
    """How many times as often as the mean a node fails."""
    return fleet.usual * (fleet.lemon_factor if lemon == 1 else 1.0)


@compiled()
def _cohort_hazard(w, c, lemon, active):  # type: ignore[no-untyped-def]
    """Cumulative hazard of one original node of wearing category `c` since the start."""
    wear = views.wear(w)[c]
    scale = wear.scale / weight_of(views.fleet(w)[0], lemon)
    if wear.stationary == 1:
        return _time_to_hazard(views.tables(w)[c], active / scale)
    return ((wear.age + active) / scale) ** wear.shape - (wear.age / scale) ** wear.shape


@compiled()
def _cohort_time(w, c, lemon, hazard):  # type: ignore[no-untyped-def]
    """The inverse: active time at which an original node has lived through `hazard`."""
    wear = views.wear(w)[c]
    scale = wear.scale / weight_of(views.fleet(w)[0], lemon)
    if wear.stationary == 1:
        return _hazard_to_time(views.tables(w)[c], hazard) * scale
    return ((hazard + (wear.age / scale) ** wear.shape) ** (1.0 / wear.shape)) * scale - wear.age


@compiled()
def wind_cohort(key, w, j, k):  # type: ignore[no-untyped-def]
    """Sets a cohort's clock: the first of its members' lifetimes, given how long they all have lived."""
    cohort = views.cohorts(w)[j, k]
    clock = FIRST_SHOCK + w.shocks_rows + w.slowdowns_rows + k
    cohort.drawn = cohort.members
    if cohort.members == 0:
        views.clocks(w)[j, clock] = np.inf
        return
    cohort.hazard += luck(key, w, j, clock) / cohort.members
    views.clocks(w)[j, clock] = max(_cohort_time(w, k // 2, k % 2, cohort.hazard), views.runs(w)[j].active)


@compiled()
def pick_original(key, w, j, k, clock):  # type: ignore[no-untyped-def]
    """The slot of the cohort's member that failed: any of them, -1 where it was one that left meanwhile."""
    cohort, job, c, lemon = views.cohorts(w)[j, k], views.jobs(w)[j], k // 2, k % 2
    if chance(key, w, j, clock) * cohort.drawn >= cohort.members:
        return -1
    while True:
        at = chance(key, w, j, clock)
        if lemon == 1:
            node = views.lemons(w)[1 + int(at * views.lemons(w)[0])]
        else:
            node = views.slots(w)[job.first + int(at * job.nodes)].node
        if node >= 0 and views.ages(w)[c, node] == ORIGINAL and views.nodes(w)[node].lemon == lemon:
            slot = views.nodes(w)[node].slot - job.first
            if 0 <= slot < job.nodes:
                return slot


@compiled()
def light_fuses(key, w, j, slot):  # type: ignore[no-untyped-def]
    """Decides when the wearing parts of the node that entered `slot` fail next, and puts that into the heap."""
    s, job, place = views.runs(w)[j], views.jobs(w)[j], views.slots(w)[views.jobs(w)[j].first + slot]
    node = views.nodes(w)[place.node]
    place.next_at, place.wearing = np.inf, -1
    for c in range(w.wear_rows):
        if views.ages(w)[c, place.node] == ORIGINAL:
            continue  # the cohort's clock speaks for it
        wear, scale = views.wear(w)[c], views.wear(w)[c].scale / weight_of(views.fleet(w)[0], node.lemon)
        if views.ages(w)[c, place.node] == UNKNOWN:
            views.ages(w)[c, place.node] = wear.age
            if wear.stationary == 1:
                views.ages(w)[c, place.node] = scale * _hazard_to_time(
                    views.tables(w)[c], _node_luck(key, node, place.node)
                )
        aged = views.ages(w)[c, place.node] / scale
        power = _node_luck(key, node, place.node)
        if aged > 0.0:
            power += aged**wear.shape
        at = s.active + (power ** (1.0 / wear.shape) - aged) * scale
        if at < place.next_at:
            place.next_at, place.wearing = at, c
    if w.wear_rows == 0:
        return
    if s.heap >= 2 * job.nodes + 64:  # mostly entries of nodes that left: make it anew
        rebuild(w, j)
    else:
        s.heap = heap.push(views.heap_at(w), views.heap_slot(w), job.heap_base, s.heap, place.next_at, slot)


@compiled()
def rebuild(w, j):  # type: ignore[no-untyped-def]
    """Makes the heap of a job anew from its slots."""
    s, job, size = views.runs(w)[j], views.jobs(w)[j], 0
    for slot in range(job.nodes):
        place = views.slots(w)[job.first + slot]
        if place.node >= 0 and place.next_at < np.inf:
            views.heap_at(w)[job.heap_base + size] = place.next_at
            views.heap_slot(w)[job.heap_base + size] = slot
            size += 1
    heap.heapify(views.heap_at(w), views.heap_slot(w), job.heap_base, size)
    s.heap = size


@compiled()
def grow_older(key, w, j, node, failed):  # type: ignore[no-untyped-def]
    """Notes the ages of a node that leaves; of the wearing category `failed` (-1: none) it comes back new."""
    s = views.runs(w)[j]
    for c in range(w.wear_rows):
        age, lemon = views.ages(w)[c, node], views.nodes(w)[node].lemon
        if age == ORIGINAL:
            views.cohorts(w)[j, 2 * c + lemon].members -= 1
        if c == failed:
            age = 0.0
        elif age == ORIGINAL and views.wear(w)[c].stationary == 1:
            # Its age now is that of a stationary part, given that it has worked all this time.
            scale = views.wear(w)[c].scale / weight_of(views.fleet(w)[0], lemon)
            hazard = _cohort_hazard(w, c, lemon, s.active) + _node_luck(key, views.nodes(w)[node], node)
            age = scale * _hazard_to_time(views.tables(w)[c], hazard)
        elif age == ORIGINAL:
            age = views.wear(w)[c].age + s.active
        else:
            age += s.active - views.nodes(w)[node].entered
        views.ages(w)[c, node] = age
