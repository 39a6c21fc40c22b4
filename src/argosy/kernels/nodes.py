"""Nodes that fail, go to repair, and are replaced; and what else strikes the job."""

from __future__ import annotations

import numpy as np

from argosy.kernels import heap
from argosy.kernels.compiled import copy, helper, set_all
from argosy.kernels.parameters import (
    ACTIVE,
    CORRUPT,
    DOWN,
    EVENT,
    FIRST_SHOCK,
    FOLLOW_CLOCK,
    FOLLOWS,
    FOUND_AT,
    FREE,
    FREE_HEAD,
    HEAP,
    JOB_CLOCK,
    MISSING,
    REFILLS,
    REPAIRS,
    ROWS,
    SLOW_CLOCK,
    SLOW_UNTIL,
    WALL,
)
from argosy.kernels.streams import exponential, uniform

# What a strike does to the job.
NOTHING, PAUSES, STOPS, CORRUPTS = range(4)


@helper
def luck(key, life, stream):  # type: ignore[no-untyped-def]
    """The next exponential number of a stream."""
    life.draws[stream] += 1
    return exponential(key, stream, life.draws[stream])


@helper
def chance(key, life, stream):  # type: ignore[no-untyped-def]
    """The next uniform number of a stream."""
    life.draws[stream] += 1
    return uniform(key, stream, life.draws[stream])


@helper
def _fuse(key, fleet, life, slot):  # type: ignore[no-untyped-def]
    """Decides when the node in `slot` fails next, on the active clock, and of what (-1: memoryless)."""
    node = life.node_in[slot]
    active, weight = life.f[ACTIVE], life.weight[node]
    first, category = np.inf, -1
    if fleet.node_rate > 0.0:
        first = luck(key, life, node) / (fleet.node_rate * weight)
    for w in range(len(fleet.shape)):
        aged = life.age[w, node] / fleet.scale[w]
        power = aged ** fleet.shape[w] + luck(key, life, node) / weight
        lasts = (power ** (1.0 / fleet.shape[w]) - aged) * fleet.scale[w]
        if lasts < first:
            first, category = lasts, w
    life.next_at[slot] = active + first
    life.next_category[slot] = category


@helper
def _enter(key, fleet, life, slot, node):  # type: ignore[no-untyped-def]
    life.node_in[slot] = node
    life.slot_of[node] = slot
    life.entered[node] = life.f[ACTIVE]
    _fuse(key, fleet, life, slot)
    # Entries of nodes that left early stay in the heap; when it is full of them, it is made anew.
    if life.i[HEAP] >= len(life.heap_at):
        _rebuild(fleet, life)
    else:
        life.i[HEAP] = heap.push(life.heap_at, life.heap_slot, life.i[HEAP], life.next_at[slot], slot)


@helper
def _rebuild(fleet, life):  # type: ignore[no-untyped-def]
    size = 0
    for slot in range(fleet.nodes):
        if life.node_in[slot] >= 0 and life.next_at[slot] < np.inf:
            life.heap_at[size] = life.next_at[slot]
            life.heap_slot[size] = slot
            size += 1
    heap.heapify(life.heap_at, life.heap_slot, size)
    life.i[HEAP] = size


@helper
def reset(key, fleet, job, life):  # type: ignore[no-untyped-def]
    """A fleet at the start of a life: ages, lemons, spares, and everyone's first failure."""
    total = fleet.nodes + fleet.spares
    set_all(life.f, 0.0)
    set_all(life.i, 0)
    set_all(life.book, 0.0)
    set_all(life.counts, 0)
    set_all(life.now, 0.0)
    set_all(life.stored, 0.0)
    set_all(life.near, 0.0)
    set_all(life.draws, 0)
    set_all(life.holes, 0)
    set_all(life.failed, 0)
    set_all(life.entered, 0.0)
    set_all(life.crew_at, 0.0)
    normal = 1.0 / (1.0 - fleet.lemon_share + fleet.lemon_share * fleet.lemon_factor)
    points = fleet.age_table.shape[1]
    for node in range(total):
        life.weight[node] = normal
        if fleet.lemon_share > 0.0 and chance(key, life, node) < fleet.lemon_share:
            life.weight[node] = normal * fleet.lemon_factor
        life.slot_of[node] = -1
        for w in range(len(fleet.shape)):
            if fleet.ages.shape[1] == 0:
                at = chance(key, life, node) * (points - 1)
                low = min(int(at), points - 2)
                part = at - low
                life.age[w, node] = (
                    fleet.age_table[w, low] * (1.0 - part) + fleet.age_table[w, low + 1] * part
                )
            else:
                life.age[w, node] = fleet.ages[w, node]
    for slot in range(fleet.nodes):
        life.node_in[slot] = slot
        life.slot_of[slot] = slot
        _fuse(key, fleet, life, slot)
    _rebuild(fleet, life)
    for spare in range(fleet.spares):
        life.free[spare] = fleet.nodes + spare
    life.i[FREE] = fleet.spares
    set_all(life.clocks, np.inf)
    _wind(key, fleet, life, JOB_CLOCK, fleet.job_rate)
    _wind(key, fleet, life, SLOW_CLOCK, fleet.slow_rate)
    for s in range(len(fleet.shock_rate)):
        _wind(key, fleet, life, FIRST_SHOCK + s, fleet.shock_rate[s])


@helper
def _wind(key, fleet, life, clock, rate):  # type: ignore[no-untyped-def]
    stream = fleet.nodes + fleet.spares + clock
    life.clocks[clock] = life.f[ACTIVE] + luck(key, life, stream) / rate if rate > 0.0 else np.inf


@helper
def next_strike(life):  # type: ignore[no-untyped-def]
    """(active time, clock) of what strikes next; clock -1 is the node at the top of the heap."""
    while life.i[HEAP] > 0 and life.heap_at[0] != life.next_at[life.heap_slot[0]]:
        life.i[HEAP] = heap.pop(life.heap_at, life.heap_slot, life.i[HEAP])
    first, clock = np.inf, -1
    if life.i[HEAP] > 0:
        first = life.heap_at[0]
    for c in range(len(life.clocks)):
        if life.clocks[c] < first:
            first, clock = life.clocks[c], c
    return first, clock


@helper
def strike(key, fleet, job, life, clock, stopped):  # type: ignore[no-untyped-def]
    """Lets what is due happen now; returns what it does to the job (NOTHING, PAUSES, STOPS, CORRUPTS)."""
    total = fleet.nodes + fleet.spares
    if clock == -1:
        return _node_fails(key, fleet, job, life, stopped)
    if clock == JOB_CLOCK:
        at = np.searchsorted(
            fleet.job_cumulative, chance(key, life, total + clock) * fleet.job_cumulative[-1]
        )
        _wind(key, fleet, life, clock, fleet.job_rate)
        _count(key, fleet, life, fleet.job_category[min(at, len(fleet.job_category) - 1)], -1)
        return STOPS
    if clock == FOLLOW_CLOCK:
        life.clocks[FOLLOW_CLOCK] = np.inf
        _count(key, fleet, life, life.i[FOLLOWS], -1)
        return STOPS
    if clock == SLOW_CLOCK:
        _wind(key, fleet, life, clock, fleet.slow_rate)
        life.f[SLOW_UNTIL] = max(life.f[SLOW_UNTIL], life.f[ACTIVE] + fleet.slow_s)
        return NOTHING
    return _shock(key, fleet, job, life, clock)


@helper
def _node_fails(key, fleet, job, life, stopped):  # type: ignore[no-untyped-def]
    slot = life.heap_slot[0]
    life.i[HEAP] = heap.pop(life.heap_at, life.heap_slot, life.i[HEAP])
    node, weibull = life.node_in[slot], life.next_category[slot]
    if weibull >= 0:
        category = fleet.weibull_category[weibull]
    else:
        at = np.searchsorted(fleet.node_cumulative, chance(key, life, node) * fleet.node_cumulative[-1])
        category = fleet.node_category[min(at, len(fleet.node_category) - 1)]
    if category == fleet.silent and job.silent_latency_s > 0.0 and not stopped:
        life.next_at[slot] = np.inf
        _count(key, fleet, life, category, node)
        if life.i[CORRUPT] == 0:
            life.i[CORRUPT] = slot + 1
            life.f[FOUND_AT] = life.f[ACTIVE] + job.silent_latency_s
            copy(life.clean, life.stored)
            return CORRUPTS
        return NOTHING
    _count(key, fleet, life, category, node)
    lose(key, fleet, job, life, slot, weibull)
    return PAUSES if job.tolerant else STOPS


@helper
def _shock(key, fleet, job, life, clock):  # type: ignore[no-untyped-def]
    """A shared cause strikes one domain: each of its nodes in the job is lost with the shock's reach."""
    s = clock - FIRST_SHOCK
    stream = fleet.nodes + fleet.spares + clock
    size, total = fleet.shock_size[s], fleet.nodes + fleet.spares
    domains = (total + size - 1) // size
    start = int(chance(key, life, stream) * domains) * size
    hits = 0
    for node in range(start, min(start + size, total)):
        slot = life.slot_of[node]
        if slot >= 0 and chance(key, life, stream) < fleet.shock_reach[s]:
            hits += 1
            lose(key, fleet, job, life, slot, -1)
    _wind(key, fleet, life, clock, fleet.shock_rate[s])
    if hits == 0:
        return NOTHING
    _count(key, fleet, life, fleet.shock_category[s], start)
    return PAUSES if job.tolerant else STOPS


@helper
def _count(key, fleet, life, category, node):  # type: ignore[no-untyped-def]
    """Books a failure, writes it into the timeline, and may light another one (a burst)."""
    life.counts[category] += 1
    row = life.i[ROWS]
    if row < len(life.rows):
        life.rows[row, 0] = life.f[WALL]
        life.rows[row, 1] = node
        life.rows[row, 2] = EVENT + category
        life.i[ROWS] += 1
    stream = fleet.nodes + fleet.spares + FOLLOW_CLOCK
    if fleet.burst_share > 0.0 and chance(key, life, stream) < fleet.burst_share:
        at = life.f[ACTIVE] + fleet.burst_delay_s * luck(key, life, stream)
        if at < life.clocks[FOLLOW_CLOCK]:
            life.clocks[FOLLOW_CLOCK] = at
            life.i[FOLLOWS] = category


@helper
def lose(key, fleet, job, life, slot, weibull):  # type: ignore[no-untyped-def]
    """The node in `slot` goes to repair; its place is filled now or, under a tolerant policy, later."""
    f, i = life.f, life.i
    node = life.node_in[slot]
    life.node_in[slot] = -1
    life.slot_of[node] = -1
    life.next_at[slot] = np.inf
    for w in range(len(fleet.shape)):
        life.age[w, node] += f[ACTIVE] - life.entered[node]
    if weibull >= 0:
        life.age[weibull, node] = 0.0  # the part that wore out is replaced; the others keep their age
    life.failed[node] += 1
    if fleet.evict_after > 0 and life.failed[node] >= fleet.evict_after:
        life.failed[node] = 0
        life.weight[node] = 1.0 / (1.0 - fleet.lemon_share + fleet.lemon_share * fleet.lemon_factor)
        for w in range(len(fleet.shape)):
            life.age[w, node] = 0.0
    starts = f[WALL]
    lasts = fleet.repair_s * (luck(key, life, node) if fleet.repair_random else 1.0)
    if fleet.crews > 0:
        at = np.argmin(life.crew_at)
        starts = max(starts, life.crew_at[at])
        life.crew_at[at] = starts + lasts
    i[REPAIRS] = heap.push(life.repair_at, life.repair_node, i[REPAIRS], starts + lasts, node)
    if job.tolerant:
        replica = replica_of(fleet, job, slot)
        if life.holes[replica] == 0:
            i[DOWN] += 1
        life.holes[replica] += 1
        back = f[WALL] + job.detection_s + job.restart_s
        i[REFILLS] = heap.push(life.refill_at, life.refill_slot, i[REFILLS], back, slot)
    else:
        life.missing[i[MISSING]] = slot
        i[MISSING] += 1


@helper
def replica_of(fleet, job, slot):  # type: ignore[no-untyped-def]
    """The data-parallel replica that the node in `slot` works for: consecutive nodes share one."""
    return slot * job.replicas // fleet.nodes


@helper
def take_spare(fleet, life):  # type: ignore[no-untyped-def]
    """A healthy node that is free now, oldest first; -1 where there is none."""
    i, ring = life.i, len(life.free)
    while i[REPAIRS] > 0 and life.repair_at[0] <= life.f[WALL]:
        life.free[(i[FREE_HEAD] + i[FREE]) % ring] = life.repair_node[0]
        i[FREE] += 1
        i[REPAIRS] = heap.pop(life.repair_at, life.repair_node, i[REPAIRS])
    if i[FREE] == 0:
        return -1
    node = life.free[i[FREE_HEAD]]
    i[FREE_HEAD] = (i[FREE_HEAD] + 1) % ring
    i[FREE] -= 1
    return node


@helper
def fill(key, fleet, life, slot, node):  # type: ignore[no-untyped-def]
    """Puts `node` to work in `slot`."""
    _enter(key, fleet, life, slot, node)


@helper
def refill(key, fleet, job, life):  # type: ignore[no-untyped-def]
    """A tolerant policy's replacement is due: the place is filled, or tried again when the next repair is done."""
    i = life.i
    slot = life.refill_slot[0]
    i[REFILLS] = heap.pop(life.refill_at, life.refill_slot, i[REFILLS])
    node = take_spare(fleet, life)
    if node < 0:
        back = life.repair_at[0]
        i[REFILLS] = heap.push(life.refill_at, life.refill_slot, i[REFILLS], back, slot)
        return
    _enter(key, fleet, life, slot, node)
    replica = replica_of(fleet, job, slot)
    life.holes[replica] -= 1
    if life.holes[replica] == 0:
        i[DOWN] -= 1
