"""The running job: compute, save, persist, over and over, until a given moment; and the fall back to what was saved."""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import compiled
from argosy.kernels.records import REWORK

_TINY = 1e-9  # seconds: two moments that close are one


@compiled()
def advance(job, s, seconds):  # type: ignore[no-untyped-def]
    """Runs the job for `seconds` at `s.speed` (1 is whole): returns (seconds used, whether the work is done).

    Of each real second, `speed` · (1 − interference) is productive, the interference belongs to the checkpoint that
    is being written behind, and the rest is lost to the slower speed. Writing goes on at `s.pace` (1: nobody shares).
    """
    now, speed, used = s.now, s.speed, 0.0
    while True:
        if s.block <= 0.0:
            used += _whole_periods(job, s, seconds - used)
        left = seconds - used
        if s.block > 0.0:
            step = min(left, s.block)
            if s.persist > 0.0:
                step = min(step, s.persist / s.pace)
                s.persist -= step * s.pace
            now[1] += step
            s.block -= step
            used += step
            if s.persist <= _TINY and s.writing == 1:
                _persisted(job, s)
            if s.block <= _TINY and s.writing == 1 and _goes_to_storage(job, s):
                s.block = s.persist / s.pace  # others at the storage have slowed the copy before meanwhile
            if s.block <= _TINY:
                s.block = 0.0
                _saved(job, s)
            elif used >= seconds - _TINY:
                return seconds, False
            continue
        slowed = job.interference if s.writing == 1 else 0.0
        rate = speed * (1.0 - slowed)
        remaining = job.work_s - now[0]
        goal = min(job.interval_s - s.since, remaining)
        step = goal / rate if rate > 0.0 else np.inf
        persisted = s.writing == 1 and s.persist / s.pace <= min(step, left)
        if persisted:
            step = s.persist / s.pace
        reached = not persisted and step <= left
        step = min(step, left)
        done = goal if reached else step * rate
        now[0] += done
        s.since += done
        now[1] += step * slowed
        s.held += step * slowed
        now[2] += step * (1.0 - slowed) * (1.0 - speed)
        used += step
        if s.writing == 1:
            s.persist -= step * s.pace
        if persisted:
            _persisted(job, s)
        elif reached:
            if goal >= remaining - _TINY:
                return used, True
            _begin_save(job, s)
        else:
            return seconds, False


@compiled()
def until_boundary(job, s):  # type: ignore[no-untyped-def]
    """Seconds until the job begins or ends a save or a write, or its work: what others at its storage must know."""
    written = s.persist / s.pace if s.writing == 1 else np.inf
    if s.block > 0.0:
        return min(s.block, written)
    rate = s.speed * (1.0 - (job.interference if s.writing == 1 else 0.0))
    goal = min(job.interval_s - s.since, job.work_s - s.now[0])
    return min(goal / rate if rate > 0.0 else np.inf, written)


@compiled()
def _copy(to, source):  # type: ignore[no-untyped-def]
    for part in range(3):
        to[part] = source[part]


@compiled()
def _goes_to_storage(job, s):  # type: ignore[no-untyped-def]
    """Whether the next save is one that storage gets."""
    return job.fast == 0 or s.saves + 1 >= job.storage_every


@compiled()
def _begin_save(job, s):  # type: ignore[no-untyped-def]
    """The job stops to copy its state. Where the copy before is still being written, it waits for that first: its memory is
    in use until then (torch's asynchronous saves, Megatron's; measured by `argosy testbed checkpoints`).
    """
    s.block = max(job.blocking_s, 1e-6)
    if s.writing == 1 and _goes_to_storage(job, s):
        s.block += s.persist / s.pace


@compiled()
def _saved(job, s):  # type: ignore[no-untyped-def]
    """A copy is complete: it counts in the fast tier at once, and its way to storage begins when that is due."""
    s.since = 0.0
    s.saves += 1
    if job.fast == 1:
        _copy(s.near, s.now)
        if s.saves < job.storage_every:
            return
    s.saves = 0
    _copy(s.pending, s.now)
    s.held = 0.0
    s.persist = job.persist_s
    s.writing = 1
    if job.persist_s <= 0.0:
        _persisted(job, s)


@compiled()
def _persisted(job, s):  # type: ignore[no-untyped-def]
    """The copy on its way is safe: from now on it counts, with the slowdown that writing it caused."""
    _copy(s.stored, s.pending)
    s.stored[1] += s.held
    s.held = 0.0
    s.persist = 0.0
    s.writing = 0
    if job.fast == 0:
        _copy(s.near, s.stored)


@compiled()
def _whole_periods(job, s, seconds):  # type: ignore[no-untyped-def]
    """Skips whole periods of compute and save in one step, where nothing else can happen; returns seconds used."""
    now, speed = s.now, s.speed
    if s.since != 0.0 or speed <= 0.0 or job.shared == 1:
        return 0.0
    tau, blocking = job.interval_s, max(job.blocking_s, 1e-6)
    if job.fast == 1:
        if s.writing == 1:
            return 0.0
        overhead = blocking
        most = float(job.storage_every - s.saves - 1)
    else:
        fresh = (s.writing == 1 and s.persist == job.persist_s) or job.persist_s <= 0.0
        if not fresh:
            return 0.0
        overhead = blocking + job.interference * job.persist_s
        most = np.inf
    period = tau / speed + overhead
    if job.fast == 0 and job.persist_s > period - blocking:
        return 0.0
    count = np.floor(min(min((seconds - period * 1e-9) / period, (job.work_s - now[0]) / tau - 1e-9), most))
    if count < 1.0:
        return 0.0
    lost = tau / speed - tau
    now[0] += count * tau
    now[1] += count * overhead
    now[2] += count * lost
    if job.fast == 1:
        _copy(s.near, now)
        s.saves += int(count)
        return count * period
    _copy(s.pending, now)
    _copy(s.stored, now)
    if job.persist_s > 0.0:
        s.stored[0] -= tau
        s.stored[1] -= blocking
        s.stored[2] -= lost
    _copy(s.near, s.stored)
    return count * period


@compiled()
def fall_back(job, s, destroyed):  # type: ignore[no-untyped-def]
    """A stop without warning: back to the last copy that counts; where the fast tier is `destroyed`, to storage."""
    now = s.now
    if destroyed or job.fast == 0:
        _copy(s.near, s.stored)
        s.saves = 0
        s.writing = 0
        s.persist = 0.0
        s.held = 0.0
    elif s.writing == 1:
        s.persist = job.persist_s  # the copy is still in the fast tier: writing it starts again
        s.held = 0.0
    saved = s.near
    s.book[REWORK] += (now[0] + now[1] + now[2]) - (saved[0] + saved[1] + saved[2])
    _copy(now, saved)
    s.since = 0.0
    s.block = 0.0


@compiled()
def save_all(job, s):  # type: ignore[no-untyped-def]
    """A planned stop: everything so far is safe in storage. The time that takes is booked by the caller."""
    _copy(s.pending, s.now)
    _copy(s.stored, s.now)
    _copy(s.near, s.now)
    s.since = 0.0
    s.block = 0.0
    s.held = 0.0
    s.persist = 0.0
    s.writing = 0
    s.saves = 0
