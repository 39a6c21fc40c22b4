"""One life after another: jobs run, something strikes, they recover, until the work is done.

Each job is in one state at a time and knows when its next event is; the earliest one of all jobs happens next.
"""

from __future__ import annotations

import numpy as np

from argosy.kernels import clocks, stock, strikes, views
from argosy.kernels.beginning import reset
from argosy.kernels.compiled import compiled
from argosy.kernels.progress import advance, fall_back, save_all, until_boundary
from argosy.kernels.records import (
    BOOK,
    CHECKPOINT,
    CUT,
    DEGRADED,
    DETECTION,
    ENDED,
    FINISHED,
    GAVE_UP,
    MAINTENANCE,
    PRODUCTIVE,
    QUEUE,
    RESTART,
    REWORK,
    SPARE_WAIT,
)

# Why a running job is looked at next.
STRIKE, FOUND, SLOW_ENDS, REFILL, PLANNED, LIMIT, BOUNDARY = range(7)


@compiled(nogil=True)
def live(keys, directory, seconds, counts, ends):  # type: ignore[no-untyped-def]
    """Lives one life per key in the world of this directory.

    Fills `seconds` (n, J, 9) by state, `counts` (n, J, categories) and `ends` (n, J).
    """
    w = directory[0]
    for at in range(len(keys)):
        _one(keys[at], w)
        for j in range(w.jobs_rows):
            ends[at, j] = views.runs(w)[j].end
            for state in range(BOOK):
                seconds[at, j, state] = views.runs(w)[j].book[state]
            for category in range(w.counts_columns):
                counts[at, j, category] = views.counts(w)[j, category]


@compiled()
def _one(key, w):  # type: ignore[no-untyped-def]
    reset(key, w)
    for j in range(w.jobs_rows):
        _plan(w, j)
    j = _earliest(w)
    while j >= 0:
        now = views.runs(w)[j].next_at
        _step(key, w, j)
        if views.jobs(w)[j].shared == 1:
            _share_storage(w, j, now)
        if views.runs(w)[j].state != ENDED:
            _plan(w, j)
        j = _earliest(w)


@compiled()
def _earliest(w):  # type: ignore[no-untyped-def]
    """The job whose next event is first, -1 when all have ended; of those that wait for a node, who has waited longest."""
    if w.jobs_rows == 1:
        return 0 if views.runs(w)[0].state != ENDED else -1
    best, first, since = -1, np.inf, np.inf
    for j in range(w.jobs_rows):
        s = views.runs(w)[j]
        if s.state == ENDED:
            continue
        waits = np.inf
        if s.state == SPARE_WAIT:
            s.next_at, waits = _wakes(w, j), s.waits_from
        if best < 0 or s.next_at < first or (s.next_at == first and waits < since):
            best, first, since = j, s.next_at, waits
    return best


@compiled()
def _wakes(w, j):  # type: ignore[no-untyped-def]
    """When a waiting job looks again: at the next repair, or when a copy of a lost group is due."""
    s = views.runs(w)[j]
    at = views.repair_at(w)[0] if s.missing > 0 else views.refill_at(w)[views.jobs(w)[j].first + j]
    return max(at, s.wall)


@compiled()
def _plan(w, j):  # type: ignore[no-untyped-def]
    """Notes when the job's next event is, and for a running one what it is and how fast the job goes until then."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    if s.state == SPARE_WAIT:
        s.next_at = _wakes(w, j)
        return
    if s.state != PRODUCTIVE:
        s.next_at = s.wall + max(min(s.until, s.due) - s.active, 0.0)
        return
    s.speed = 1.0
    step, cause = max(s.due - s.active, 0.0), STRIKE
    for at in range(w.slowdowns_rows):
        until = views.slow_until(w)[j, at] - s.active
        if until > 0.0:
            s.speed = min(s.speed, 1.0 - views.slowdowns(w)[at].by)
            if until < step:
                step, cause = until, SLOW_ENDS
    if s.down > 0:
        s.speed *= (job.replicas - s.down) / job.replicas if job.copies == 1 else 0.0
    if s.corrupt > 0 and s.found_at - s.active < step:
        step, cause = max(s.found_at - s.active, 0.0), FOUND
    if s.refills > 0:
        back = views.refill_at(w)[job.first + j] - s.wall
        if back < step:
            step, cause = max(back, 0.0), REFILL
    if s.next_maintenance - s.wall < step:
        step, cause = max(s.next_maintenance - s.wall, 0.0), PLANNED
    if job.limit_s - s.wall < step:
        step, cause = max(job.limit_s - s.wall, 0.0), LIMIT
    if job.shared == 1 and until_boundary(job, s) < step:
        step, cause = until_boundary(job, s), BOUNDARY
    s.step, s.cause, s.next_at = step, cause, s.wall + step


@compiled()
def _step(key, w, j):  # type: ignore[no-untyped-def]
    """Lets the job's next event happen."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    if s.state == PRODUCTIVE:
        _run(key, w, j)
    elif s.state == SPARE_WAIT:
        _book(w, j, SPARE_WAIT, _wakes(w, j) - s.wall)
        if s.missing == 0:
            strikes.refill(key, w, j)
        _gather(key, w, j)
    elif s.due < s.until:  # something strikes a job that is recovering
        _book(w, j, s.state, max(s.due - s.active, 0.0))
        s.active = s.due
        if strikes.strike(key, w, j, True) == strikes.STOPS:
            _stop(key, w, j)
            _go_down(key, w, j)
    else:
        _book(w, j, s.state, max(s.until - s.active, 0.0))
        s.active = s.until
        if s.state == DETECTION:
            _gather(key, w, j)
        else:
            s.state = PRODUCTIVE
            _misdiagnosed(key, w, j)
    if s.state != ENDED and s.wall >= job.limit_s:
        _end(w, j, CUT)


@compiled()
def _run(key, w, j):  # type: ignore[no-untyped-def]
    """The job runs until its next event, which happens; or until its work is done."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    _advance(w, j, s.step)
    cause = s.cause
    if s.state == ENDED:
        return
    if (
        s.now[0] >= job.work_s - 1e-9 or cause == FOUND
    ):  # the last look at the result finds what went wrong before
        _uncover(w, j)
        _go_down(key, w, j)
    elif cause == STRIKE:
        s.active = s.due  # not a rounding error beside it, or the clock would be in the past
        effect = strikes.strike(key, w, j, False)
        if effect == strikes.STOPS:
            _stop(key, w, j)
            _go_down(key, w, j)
        elif effect == strikes.PAUSES:
            s.lost_now = 0
            if job.pause_s > 0.0:
                _book(w, j, RESTART, job.pause_s)
    elif cause == SLOW_ENDS:
        for at in range(w.slowdowns_rows):
            if 0.0 < views.slow_until(w)[j, at] <= s.active + 1e-9:
                views.slow_until(w)[j, at] = 0.0
                if views.slowdowns(w)[at].exchange == 1:
                    _exchange_slow(key, w, j)
    elif cause == REFILL:
        s.wall = max(s.wall, views.refill_at(w)[job.first + j])
        strikes.refill(key, w, j)
    elif cause == PLANNED:
        save_all(job, s)
        _book(w, j, MAINTENANCE, job.maintenance_s)
        s.next_maintenance += job.maintenance_gap_s
    elif cause == LIMIT:
        _end(w, j, CUT)


@compiled()
def _exchange_slow(key, w, j):  # type: ignore[no-untyped-def]
    """A slow node is found: the job saves, another node takes its place, the job restarts; nothing is lost but that time."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    slot = int(clocks.chance(key, w, j, w.clocks_columns) * job.nodes)
    if s.state != PRODUCTIVE or views.slots(w)[job.first + slot].node < 0:
        return
    if job.tolerant == 0:
        save_all(job, s)
        _book(w, j, CHECKPOINT, job.blocking_s + job.persist_s)
    effect = strikes.lose(key, w, j, slot, -1, views.fleet(w)[0].repair_s)
    s.lost_now = 0
    clocks.find_next(w, j)
    if job.tolerant == 0:
        _gather(key, w, j)
    elif effect == strikes.STOPS:  # it was the last copy
        _stop(key, w, j)
        _go_down(key, w, j)


@compiled()
def _advance(w, j, seconds):  # type: ignore[no-untyped-def]
    """Runs for so long; ends the job where its work is done and nothing is wrong with it."""
    s = views.runs(w)[j]
    stored = s.stored[0]
    if j == 0:
        strikes.note(w, s.wall, 0.0, PRODUCTIVE)
    used, done = advance(views.jobs(w)[j], s, seconds)
    s.wall += used
    s.active += used
    if s.stored[0] > stored:
        s.loops = 0
    if done and s.corrupt == 0:
        _end(w, j, FINISHED)


@compiled()
def _end(w, j, how):  # type: ignore[no-untyped-def]
    s = views.runs(w)[j]
    s.state, s.end = ENDED, how
    s.book[PRODUCTIVE] += s.now[0]
    s.book[CHECKPOINT] += s.now[1]
    s.book[DEGRADED] += s.now[2]


@compiled()
def _stop(key, w, j):  # type: ignore[no-untyped-def]
    """The job falls back to what it saved; several nodes lost at once may take each other's copies along."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    loss = job.loss_job if s.lost_now == 0 else job.loss_node if s.lost_now == 1 else job.loss_many
    s.lost_now = 0
    before = s.book[REWORK]
    fall_back(job, s, job.fast == 1 and clocks.chance(key, w, j, w.clocks_columns) < loss)
    if s.corrupt > 0 and s.now[0] <= s.clean[0]:
        s.corrupt = -s.corrupt  # what it fell back to is older than the corruption
    if j == 0:
        strikes.note(w, s.wall, s.book[REWORK] - before, REWORK)


@compiled()
def _uncover(w, j):  # type: ignore[no-untyped-def]
    """Silent corruption is found: back to a copy older than it, if one that old was kept, else to the start."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    if s.stored[0] - s.clean[0] > job.kept * job.interval_s * (job.storage_every if job.fast == 1 else 1):
        for part in range(3):
            s.clean[part] = 0.0
    for part in range(3):
        s.stored[part] = s.clean[part]
    before = s.book[REWORK]
    fall_back(job, s, True)
    s.corrupt = -abs(s.corrupt)
    if j == 0:
        strikes.note(w, s.wall, s.book[REWORK] - before, REWORK)


@compiled()
def _go_down(key, w, j):  # type: ignore[no-untyped-def]
    """The job has stopped without warning: detection begins; a job that never gets on is given up."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    if s.corrupt < 0:  # the node that computed wrongly is taken out too
        slot = -s.corrupt - 1
        s.corrupt = 0
        if views.slots(w)[job.first + slot].node >= 0:
            strikes.lose(key, w, j, slot, -1, views.fleet(w)[0].repair_s)
            clocks.find_next(w, j)
    s.lost_now = 0
    s.loops += 1
    s.state, s.until = DETECTION, s.active + job.detection_s
    if job.give_up_after > 0 and s.loops >= job.give_up_after:
        _end(w, j, GAVE_UP)


@compiled()
def _gather(key, w, j):  # type: ignore[no-untyped-def]
    """Fills the places of lost nodes, and restarts; without enough nodes the job waits."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    if s.state != SPARE_WAIT:
        s.waits_from = s.wall
    while s.missing > 0:
        slot = views.missing(w)[job.first + s.missing - 1]
        node = stock.take(w, job.first + slot, s.wall)
        if node < 0:
            s.state = SPARE_WAIT
            return
        s.missing -= 1
        strikes.enter(key, w, j, slot, node)
    if job.copies > 1:
        strikes.refill_all(key, w, j)
        if s.down > 0:
            s.state = SPARE_WAIT
            return
    clocks.find_next(w, j)
    if job.queue_s > 0.0:
        _book(w, j, QUEUE, job.queue_s)
    s.state, s.until = RESTART, s.active + job.restart_s


@compiled()
def _misdiagnosed(key, w, j):  # type: ignore[no-untyped-def]
    """The node that was guilty all along fails the job again, as soon as it computes."""
    s, job = views.runs(w)[j], views.jobs(w)[j]
    if s.culprit > 0:
        slot = s.culprit - 1
        s.culprit = 0
        if views.slots(w)[job.first + slot].node >= 0:
            strikes.lose(key, w, j, slot, -1, views.fleet(w)[0].repair_s)
            clocks.find_next(w, j)
            _go_down(key, w, j)


@compiled()
def _share_storage(w, j, now):  # type: ignore[no-untyped-def]
    """All jobs that write now share the storage: where that changed, the others go on at another pace from `now` on."""
    load = 0.0
    for k in range(w.jobs_rows):
        if (
            views.jobs(w)[k].shared == 1
            and views.runs(w)[k].state == PRODUCTIVE
            and views.runs(w)[k].writing == 1
        ):
            load += views.jobs(w)[k].storage_load
    pace = 1.0 / max(load, 1.0)
    for k in range(w.jobs_rows):
        s = views.runs(w)[k]
        if s.pace == pace or views.jobs(w)[k].shared == 0:
            continue
        if k != j and s.state == PRODUCTIVE and now > s.wall:
            _advance(w, k, now - s.wall)
        s.pace = pace
        if k != j and s.state != ENDED:
            _plan(w, k)


@compiled()
def _book(w, j, state, seconds):  # type: ignore[no-untyped-def]
    """Spends `seconds` of wall-clock time in `state`."""
    s = views.runs(w)[j]
    if j == 0:
        strikes.note(w, s.wall, 0.0, state)
    s.book[state] += seconds
    s.wall += seconds
