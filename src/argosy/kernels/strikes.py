"""What strikes a job: nodes that fail, shared shocks, bursts, slow episodes; and what it does to the job."""

from __future__ import annotations

import numpy as np

from argosy.kernels import clocks, heap, stock, views
from argosy.kernels.compiled import compiled
from argosy.kernels.records import (
    EVENT,
    FIRST_SHOCK,
    FOLLOW_CLOCK,
    HEAP_CLOCK,
    JOB_CLOCK,
    LEMON_CLOCK,
    NODE_CLOCK,
)

# What a strike does to the job.
NOTHING, PAUSES, STOPS = range(3)


@compiled()
def strike(key, w, j, stopped):  # type: ignore[no-untyped-def]
    """Lets what is due happen now; returns what it does to the job. `stopped`: the job does not compute."""
    s, clock = views.runs(w)[j], views.runs(w)[j].clock
    first_slow = FIRST_SHOCK + w.shocks_rows
    first_cohort = first_slow + w.slowdowns_rows
    if clock in (HEAP_CLOCK, NODE_CLOCK, LEMON_CLOCK) or clock >= first_cohort:
        effect = _node_clock(key, w, j, clock, first_cohort, stopped)
    elif clock == JOB_CLOCK:
        category = _which(views.job_causes(w), clocks.chance(key, w, j, clock))
        clocks.wind(key, w, j, clock)
        count(key, w, j, category, -1)
        effect = STOPS
    elif clock == FOLLOW_CLOCK:
        views.clocks(w)[j, clock] = np.inf
        count(key, w, j, s.follows, -1)
        effect = STOPS
    elif clock >= first_slow:
        at = clock - first_slow
        clocks.wind(key, w, j, clock)
        views.slow_until(w)[j, at] = max(views.slow_until(w)[j, at], s.active + views.slowdowns(w)[at].lasts)
        effect = NOTHING
    else:
        effect = _shock(key, w, j, clock)
    clocks.find_next(w, j)
    return effect


@compiled()
def _which(causes, at):  # type: ignore[no-untyped-def]
    """The category of a cause, drawn by its share; `at` uniform in (0, 1)."""
    sought = at * causes[-1].cumulative
    for k in range(len(causes) - 1):
        if sought < causes[k].cumulative:
            return causes[k].category
    return causes[-1].category


@compiled()
def _node_clock(key, w, j, clock, first_cohort, stopped):  # type: ignore[no-untyped-def]
    """One node fails: of a memoryless cause, or of a worn part; a node that is not there fails nobody."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    wearing, slot = -1, -1
    if clock == NODE_CLOCK:
        slot = int(clocks.chance(key, w, j, clock) * job.nodes)
        clocks.wind(key, w, j, clock)
    elif clock == LEMON_CLOCK:
        node = views.lemons(w)[1 + int(clocks.chance(key, w, j, clock) * views.lemons(w)[0])]
        clocks.wind(key, w, j, clock)
        slot = (
            views.nodes(w)[node].slot - job.first
            if views.nodes(w)[node].lemon == 1 and views.nodes(w)[node].slot >= 0
            else -1
        )
    elif clock == HEAP_CLOCK:
        slot = views.heap_slot(w)[job.heap_base]
        s.heap = heap.pop(views.heap_at(w), views.heap_slot(w), job.heap_base, s.heap)
        wearing = views.slots(w)[job.first + slot].wearing
        views.slots(w)[job.first + slot].next_at = np.inf
    else:
        k = clock - first_cohort
        wearing = k // 2
        slot = clocks.pick_original(key, w, j, k, clock)
        if slot < 0:
            clocks.wind_cohort(key, w, j, k)
    effect = NOTHING
    if 0 <= slot < job.nodes and views.slots(w)[job.first + slot].node >= 0:
        category = (
            views.wear(w)[wearing].category
            if wearing >= 0
            else _which(views.node_causes(w), clocks.chance(key, w, j, NODE_CLOCK))
        )
        effect = node_fails(key, w, j, slot, category, wearing, stopped)
        if clock >= first_cohort:
            clocks.wind_cohort(key, w, j, clock - first_cohort)
    return effect


@compiled()
def node_fails(key, w, j, slot, category, wearing, stopped):  # type: ignore[no-untyped-def]
    """The node in `slot` fails: it is lost, or computes wrongly from now on."""
    s, job, fleet = views.runs(w)[j], views.jobs(w)[j], views.fleet(w)[0]
    count(key, w, j, category, views.slots(w)[job.first + slot].node)
    if category == fleet.silent and job.silent_latency_s > 0.0 and not stopped:
        if s.corrupt == 0:
            s.corrupt = slot + 1
            s.found_at = s.active + job.silent_latency_s
            for part in range(3):
                s.clean[part] = s.stored[part]
        return NOTHING
    if fleet.misdiagnosed > 0.0 and s.culprit == 0 and job.tolerant == 0 and not stopped:
        healthy = int(clocks.chance(key, w, j, w.clocks_columns) * job.nodes)
        if clocks.chance(key, w, j, w.clocks_columns) < fleet.misdiagnosed and healthy != slot:
            s.culprit = slot + 1  # the guilty one fails again when the job is back
            return lose(key, w, j, healthy, -1, fleet.repair_s)
    return lose(key, w, j, slot, wearing, fleet.repair_s)


@compiled()
def _shock(key, w, j, clock):  # type: ignore[no-untyped-def]
    """A shared cause strikes one domain: each of its nodes in the job is lost with the shock's reach."""
    shock, job = views.shocks(w)[clock - FIRST_SHOCK], views.jobs(w)[j]
    start = int(clocks.chance(key, w, j, clock) * shock.domains) * shock.size
    effect, counted = NOTHING, False
    for node in range(start, min(start + shock.size, w.nodes_rows)):
        slot = views.nodes(w)[node].slot - job.first if views.nodes(w)[node].slot >= 0 else -1
        if 0 <= slot < job.nodes and clocks.chance(key, w, j, clock) < shock.reach:
            if not counted:
                count(key, w, j, shock.category, node)
                counted = True
            effect = max(effect, lose(key, w, j, slot, -1, shock.repair_s))
    clocks.wind(key, w, j, clock)
    return effect


@compiled()
def count(key, w, j, category, node):  # type: ignore[no-untyped-def]
    """Books a failure, writes it into the timeline, and may light another one (a burst)."""
    s, fleet = views.runs(w)[j], views.fleet(w)[0]
    views.counts(w)[j, category] += 1
    if j == 0:
        note(w, s.wall, node, EVENT + category)
    if fleet.burst_share > 0.0 and clocks.chance(key, w, j, FOLLOW_CLOCK) < fleet.burst_share:
        at = s.active + fleet.burst_delay_s * clocks.luck(key, w, j, FOLLOW_CLOCK)
        if at < views.clocks(w)[j, FOLLOW_CLOCK]:
            views.clocks(w)[j, FOLLOW_CLOCK] = at
            s.follows = category


@compiled()
def note(w, wall, value, code):  # type: ignore[no-untyped-def]
    """One row of the timeline, while there is room."""
    pool = views.pool(w)[0]
    if pool.rows < w.rows_rows:
        views.rows(w)[pool.rows, 0] = wall
        views.rows(w)[pool.rows, 1] = value
        views.rows(w)[pool.rows, 2] = code
        pool.rows += 1


@compiled()
def lose(key, w, j, slot, wearing, repair_s):  # type: ignore[no-untyped-def]
    """The node in `slot` goes to repair; returns what that does to the job.

    Its place is filled when the job gathers its nodes or, under a tolerant policy, one detection and restart later.
    """
    s, job, fleet = views.runs(w)[j], views.jobs(w)[j], views.fleet(w)[0]
    at = views.slots(w)[job.first + slot].node
    node = views.nodes(w)[at]
    views.slots(w)[job.first + slot].node = -1
    views.slots(w)[job.first + slot].next_at = np.inf
    clocks.grow_older(key, w, j, at, wearing)
    node.slot = -1
    node.failed += 1
    if fleet.evict_after > 0 and node.failed >= fleet.evict_after:  # it is exchanged for a usual, new one
        node.failed = 0
        node.lemon = 0
        for c in range(w.wear_rows):
            views.ages(w)[c, at] = 0.0
    stock.to_repair(key, w, at, s.wall, repair_s)
    s.lost_now += 1
    if job.tolerant == 0:
        views.missing(w)[job.first + s.missing] = slot
        s.missing += 1
        return STOPS
    back = s.wall + job.detection_s + job.restart_s
    base = job.first + j
    s.refills = heap.push(views.refill_at(w), views.refill_slot(w), base, s.refills, back, slot)
    return _leave_group(w, j, slot)


@compiled()
def _place(w, j, slot):  # type: ignore[no-untyped-def]
    """(copy, group) that the node in `slot` works for: consecutive nodes share one; copies of a group lie apart."""
    job = views.jobs(w)[j]
    which = slot * job.replicas * job.copies // job.nodes
    return job.replica_base + which, which % job.replicas


@compiled()
def _whole_copies(w, j, group):  # type: ignore[no-untyped-def]
    job, whole = views.jobs(w)[j], 0
    for copy in range(job.copies):
        whole += views.holes(w)[job.replica_base + copy * job.replicas + group] == 0
    return whole


@compiled()
def _leave_group(w, j, slot):  # type: ignore[no-untyped-def]
    """A group without a whole copy is down: that slows replicas, and stops a job that keeps copies to avoid it."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    copy, group = _place(w, j, slot)
    views.holes(w)[copy] += 1
    if views.holes(w)[copy] > 1 or _whole_copies(w, j, group) > 0:
        return PAUSES
    s.down += 1
    return STOPS if job.copies > 1 else PAUSES


@compiled()
def enter(key, w, j, slot, node):  # type: ignore[no-untyped-def]
    """Puts `node` to work in `slot`."""
    job = views.jobs(w)[j]
    views.slots(w)[job.first + slot].node = node
    views.nodes(w)[node].slot = job.first + slot
    views.nodes(w)[node].entered = views.runs(w)[j].active
    clocks.light_fuses(key, w, j, slot)


@compiled()
def refill(key, w, j):  # type: ignore[no-untyped-def]
    """A tolerant policy's replacement is due: the place is filled, or tried again when the next repair is done."""
    s, base = views.runs(w)[j], views.jobs(w)[j].first + j
    slot = views.refill_slot(w)[base]
    s.refills = heap.pop(views.refill_at(w), views.refill_slot(w), base, s.refills)
    if not _replace(key, w, j, slot):
        back = max(views.repair_at(w)[0], s.wall)
        s.refills = heap.push(views.refill_at(w), views.refill_slot(w), base, s.refills, back, slot)


@compiled()
def refill_all(key, w, j):  # type: ignore[no-untyped-def]
    """A job that keeps copies has stopped: its restart starts the replacements too, as far as there are spares."""
    s, base = views.runs(w)[j], views.jobs(w)[j].first + j
    places, left = s.refills, 0
    for at in range(places):
        slot = views.refill_slot(w)[base + at]
        if not _replace(key, w, j, slot):
            back = max(views.repair_at(w)[0], s.wall)
            left = heap.push(views.refill_at(w), views.refill_slot(w), base, left, back, slot)
    s.refills = left


@compiled()
def _replace(key, w, j, slot):  # type: ignore[no-untyped-def]
    """Puts a spare into `slot` of a job that tolerates losses; False where there is none."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    node = stock.take(w, job.first + slot, s.wall)
    if node < 0:
        return False
    enter(key, w, j, slot, node)
    copy, group = _place(w, j, slot)
    views.holes(w)[copy] -= 1
    if views.holes(w)[copy] == 0 and _whole_copies(w, j, group) == 1:
        s.down -= 1
    clocks.find_next(w, j)
    return True
