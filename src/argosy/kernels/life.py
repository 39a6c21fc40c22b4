"""One life after another: the job runs, something strikes, the job recovers, until the work is done."""

from __future__ import annotations

import numpy as np
from numba import njit

from argosy.kernels import nodes
from argosy.kernels.compiled import copy, helper, set_all
from argosy.kernels.parameters import (
    ACTIVE,
    CHECKPOINT,
    CORRUPT,
    CUT,
    DEGRADED,
    DETECTION,
    DOWN,
    FINISHED,
    FOUND_AT,
    GAVE_UP,
    LOOPS,
    MAINTENANCE,
    MISSING,
    NEXT_MAINTENANCE,
    PRODUCTIVE,
    QUEUE,
    REFILLS,
    RESTART,
    REWORK,
    ROWS,
    SLOW_UNTIL,
    SPARE_WAIT,
    WALL,
)
from argosy.kernels.progress import advance, fall_back, save_all


@njit(cache=True, nogil=True)
def live(keys, fleet, job, life, seconds, counts, ends):  # type: ignore[no-untyped-def]
    """Lives one life per key: fills `seconds` (n, 9) by state, `counts` (n, categories) and `ends` (n,)."""
    for at in range(len(keys)):
        ends[at] = _one(keys[at], fleet, job, life)
        for state in range(len(life.book)):
            seconds[at, state] = life.book[state]
        for category in range(len(life.counts)):
            counts[at, category] = life.counts[category]


@helper
def _one(key, fleet, job, life):  # type: ignore[no-untyped-def]
    nodes.reset(key, fleet, job, life)
    f, i = life.f, life.i
    f[NEXT_MAINTENANCE] = job.maintenance_gap_s
    end = FINISHED
    while True:
        done = _run(key, fleet, job, life)
        if done and i[CORRUPT] == 0:
            break
        if f[WALL] >= job.limit_s:
            end = CUT
            break
        if job.give_up_after > 0 and i[LOOPS] >= job.give_up_after:
            end = GAVE_UP
            break
    life.book[PRODUCTIVE] = life.now[0]
    life.book[CHECKPOINT] = life.now[1]
    life.book[DEGRADED] = life.now[2]
    return end


@helper
def _run(key, fleet, job, life):  # type: ignore[no-untyped-def]
    """Runs until the next thing happens, and lets it happen; True when the work is done."""
    f, i = life.f, life.i
    due, clock = nodes.next_strike(life)
    step = max(due - f[ACTIVE], 0.0)
    cause = 0
    found = f[FOUND_AT] - f[ACTIVE] if i[CORRUPT] > 0 else np.inf
    slow = f[SLOW_UNTIL] > f[ACTIVE]
    until_fast = f[SLOW_UNTIL] - f[ACTIVE] if slow else np.inf
    back = life.refill_at[0] - f[WALL] if i[REFILLS] > 0 else np.inf
    planned = max(f[NEXT_MAINTENANCE] - f[WALL], 0.0)
    limit = max(job.limit_s - f[WALL], 0.0)
    if found < step:
        step, cause = max(found, 0.0), 1
    if until_fast < step:
        step, cause = until_fast, 2
    if back < step:
        step, cause = max(back, 0.0), 3
    if planned < step:
        step, cause = planned, 4
    if limit < step:
        step, cause = limit, 5
    speed = 1.0 - fleet.slow_by if slow else 1.0
    if i[DOWN] > 0:
        speed *= (job.replicas - i[DOWN]) / job.replicas
    stored = life.stored[0]
    _note(life, PRODUCTIVE)
    used, done = advance(job, life, step, speed)
    f[WALL] += used
    f[ACTIVE] += used
    if life.stored[0] > stored:
        i[LOOPS] = 0
    if done and i[CORRUPT] == 0:
        return True
    down = False
    if done or cause == 1:  # the last look at the result finds what went wrong, if nothing did before
        _uncover(job, life)
        down = True
    elif cause == 0:
        f[ACTIVE] = due  # not a rounding error beside it, or the heap's entry would be in the past
        effect = nodes.strike(key, fleet, job, life, clock, False)
        if effect == nodes.STOPS:
            _stop(key, fleet, job, life)
            down = True
        elif effect == nodes.PAUSES and job.pause_s > 0.0:
            _book(life, RESTART, job.pause_s)
    elif cause == 2:
        f[SLOW_UNTIL] = 0.0
    elif cause == 3:
        f[WALL] = max(f[WALL], life.refill_at[0])
        nodes.refill(key, fleet, job, life)
    elif cause == 4:
        save_all(job, life)
        _book(life, MAINTENANCE, job.maintenance_s)
        f[NEXT_MAINTENANCE] += job.maintenance_gap_s
    if down:
        _recover(key, fleet, job, life)
    return False


@helper
def _stop(key, fleet, job, life):  # type: ignore[no-untyped-def]
    """The job falls back to what it saved."""
    before = life.book[REWORK]
    loss = job.loss_node if life.i[MISSING] > 0 else job.loss_job
    stream = fleet.nodes + fleet.spares + len(life.clocks)
    fall_back(job, life, job.fast and nodes.chance(key, life, stream) < loss)
    if life.i[CORRUPT] > 0 and life.now[0] <= life.clean[0]:
        life.i[CORRUPT] = -life.i[CORRUPT]  # what it fell back to is older than the corruption
    _note_lost(life, life.book[REWORK] - before)


@helper
def _uncover(job, life):  # type: ignore[no-untyped-def]
    """Silent corruption is found: back to a copy older than it, if one that old was kept, else to the start."""
    i = life.i
    if life.stored[0] - life.clean[0] > job.kept * job.interval_s * (job.storage_every if job.fast else 1):
        set_all(life.clean, 0.0)
    copy(life.stored, life.clean)
    before = life.book[REWORK]
    fall_back(job, life, True)
    _note_lost(life, life.book[REWORK] - before)
    i[CORRUPT] = -abs(i[CORRUPT])


@helper
def _recover(key, fleet, job, life):  # type: ignore[no-untyped-def]
    """Detection, the wait for nodes and for the queue, restart; what strikes meanwhile begins it all anew."""
    f, i = life.f, life.i
    if i[CORRUPT] < 0:  # the node that computed wrongly is taken out too
        slot = -i[CORRUPT] - 1
        i[CORRUPT] = 0
        if life.node_in[slot] >= 0:
            nodes.lose(key, fleet, job, life, slot, -1)
    state, seconds = DETECTION, job.detection_s
    while f[WALL] < job.limit_s:
        if state == DETECTION:
            i[LOOPS] += 1
            if job.give_up_after > 0 and i[LOOPS] >= job.give_up_after:
                return
        # One place calls this, for both states: the compiler copies what it calls into every caller.
        if not _endures(key, fleet, job, life, state, seconds):
            state, seconds = DETECTION, job.detection_s
        elif state == RESTART:
            return
        else:
            _gather(key, fleet, job, life)
            if job.queue_s > 0.0:
                _book(life, QUEUE, job.queue_s)
            state, seconds = RESTART, job.restart_s


@helper
def _endures(key, fleet, job, life, state, seconds):  # type: ignore[no-untyped-def]
    """Spends `seconds` of the active clock in `state`; False when a failure cuts them short."""
    f = life.f
    end = f[ACTIVE] + seconds
    while True:
        due, clock = nodes.next_strike(life)
        if due >= end:
            _book(life, state, end - f[ACTIVE])
            f[ACTIVE] = end
            return True
        _book(life, state, max(due - f[ACTIVE], 0.0))
        f[ACTIVE] = due
        if nodes.strike(key, fleet, job, life, clock, True) == nodes.STOPS:
            return False


@helper
def _gather(key, fleet, job, life):  # type: ignore[no-untyped-def]
    """Fills the places of lost nodes: from the spares, else as soon as a repair is done."""
    f, i = life.f, life.i
    while i[MISSING] > 0:
        node = nodes.take_spare(fleet, life)
        if node < 0:
            _book(life, SPARE_WAIT, max(life.repair_at[0] - f[WALL], 0.0))
            f[WALL] = max(f[WALL], life.repair_at[0])
            continue
        i[MISSING] -= 1
        nodes.fill(key, fleet, life, life.missing[i[MISSING]], node)


@helper
def _book(life, state, seconds):  # type: ignore[no-untyped-def]
    """Spends `seconds` of wall-clock time in `state`."""
    _note(life, state)
    life.book[state] += seconds
    life.f[WALL] += seconds


@helper
def _note(life, state):  # type: ignore[no-untyped-def]
    """The timeline: from now on, this state."""
    row = life.i[ROWS]
    if row < len(life.rows):
        life.rows[row, 0] = life.f[WALL]
        life.rows[row, 1] = 0.0
        life.rows[row, 2] = state
        life.i[ROWS] += 1


@helper
def _note_lost(life, seconds):  # type: ignore[no-untyped-def]
    """The timeline: the last `seconds` of running are lost; the state keeps them as its second number."""
    row = life.i[ROWS]
    if row < len(life.rows):
        life.rows[row, 0] = life.f[WALL]
        life.rows[row, 1] = seconds
        life.rows[row, 2] = REWORK
        life.i[ROWS] += 1
