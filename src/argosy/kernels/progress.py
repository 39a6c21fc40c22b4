"""The running job: compute, save, persist, over and over, until a given moment; and the fall back to what was saved."""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import copy, helper
from argosy.kernels.parameters import BLOCK, HELD, PERSIST, REWORK, SAVES, SINCE, WRITING

_TINY = 1e-9  # seconds: two moments that close are one


@helper
def advance(job, life, seconds, speed):  # type: ignore[no-untyped-def]
    """Runs the job for `seconds` at `speed` (1 is whole): returns (seconds used, whether the work is done).

    Of each real second, `speed` · (1 − interference) is productive, the interference belongs to the checkpoint that
    is being written behind, and the rest is lost to the slower speed.
    """
    f, i, now = life.f, life.i, life.now
    used = 0.0
    while True:
        if f[BLOCK] <= 0.0:
            used += _whole_periods(job, life, seconds - used, speed)
        left = seconds - used
        if f[BLOCK] > 0.0:
            step = min(left, f[BLOCK])
            if f[PERSIST] > 0.0:
                step = min(step, f[PERSIST])
                f[PERSIST] -= step
            now[1] += step
            f[BLOCK] -= step
            used += step
            if f[PERSIST] <= _TINY and i[WRITING] == 1:
                _persisted(job, life)
            if f[BLOCK] <= _TINY:
                f[BLOCK] = 0.0
                _saved(job, life)
            elif used >= seconds - _TINY:
                return seconds, False
            continue
        slowed = job.interference if i[WRITING] == 1 else 0.0
        rate = speed * (1.0 - slowed)
        remaining = job.work_s - now[0]
        goal = min(job.interval_s - f[SINCE], remaining)
        step = goal / rate if rate > 0.0 else np.inf
        persisted = i[WRITING] == 1 and f[PERSIST] <= min(step, left)
        if persisted:
            step = f[PERSIST]
        reached = not persisted and step <= left
        step = min(step, left)
        done = goal if reached else step * rate
        now[0] += done
        f[SINCE] += done
        now[1] += step * slowed
        f[HELD] += step * slowed
        now[2] += step * (1.0 - slowed) * (1.0 - speed)
        used += step
        if i[WRITING] == 1:
            f[PERSIST] -= step
        if persisted:
            _persisted(job, life)
        elif reached:
            if goal >= remaining - _TINY:
                return used, True
            _begin_save(job, life)
        else:
            return seconds, False


@helper
def _begin_save(job, life):  # type: ignore[no-untyped-def]
    """The job stops to copy its state; where the copy before is still being written, it waits for that too."""
    f, i = life.f, life.i
    due = not job.fast or i[SAVES] + 1 >= job.storage_every
    f[BLOCK] = max(job.blocking_s, 1e-6)
    if due and i[WRITING] == 1:
        f[BLOCK] = max(f[BLOCK], f[PERSIST] + 1e-6)


@helper
def _saved(job, life):  # type: ignore[no-untyped-def]
    """A copy is complete: it counts in the fast tier at once, and its way to storage begins when that is due."""
    f, i = life.f, life.i
    f[SINCE] = 0.0
    i[SAVES] += 1
    if job.fast:
        copy(life.near, life.now)
        if i[SAVES] < job.storage_every:
            return
    i[SAVES] = 0
    copy(life.pending, life.now)
    f[HELD] = 0.0
    f[PERSIST] = job.persist_s
    i[WRITING] = 1
    if job.persist_s <= 0.0:
        _persisted(job, life)


@helper
def _persisted(job, life):  # type: ignore[no-untyped-def]
    """The copy on its way is safe: from now on it counts, with the slowdown that writing it caused."""
    copy(life.stored, life.pending)
    life.stored[1] += life.f[HELD]
    life.f[HELD] = 0.0
    life.f[PERSIST] = 0.0
    life.i[WRITING] = 0
    if not job.fast:
        copy(life.near, life.stored)


@helper
def _whole_periods(job, life, seconds, speed):  # type: ignore[no-untyped-def]
    """Skips whole periods of compute and save in one step, where nothing else can happen; returns seconds used."""
    f, i, now = life.f, life.i, life.now
    if f[SINCE] != 0.0 or speed <= 0.0:
        return 0.0
    tau, blocking = job.interval_s, max(job.blocking_s, 1e-6)
    if job.fast:
        if i[WRITING] == 1:
            return 0.0
        overhead = blocking
        most = float(job.storage_every - i[SAVES] - 1)
    else:
        fresh = (i[WRITING] == 1 and f[PERSIST] == job.persist_s) or job.persist_s <= 0.0
        if not fresh:
            return 0.0
        overhead = blocking + job.interference * job.persist_s
        most = np.inf
    period = tau / speed + overhead
    if not job.fast and job.persist_s > period - blocking:
        return 0.0
    count = np.floor(min(min((seconds - period * 1e-9) / period, (job.work_s - now[0]) / tau - 1e-9), most))
    if count < 1.0:
        return 0.0
    lost = tau / speed - tau
    now[0] += count * tau
    now[1] += count * overhead
    now[2] += count * lost
    if job.fast:
        copy(life.near, now)
        i[SAVES] += int(count)
        return count * period
    copy(life.pending, now)
    copy(life.stored, now)
    if job.persist_s > 0.0:
        life.stored[0] -= tau
        life.stored[1] -= blocking
        life.stored[2] -= lost
    copy(life.near, life.stored)
    return count * period


@helper
def fall_back(job, life, destroyed):  # type: ignore[no-untyped-def]
    """A stop without warning: back to the last copy that counts; where the fast tier is `destroyed`, to storage."""
    f, i, now = life.f, life.i, life.now
    if destroyed or not job.fast:
        copy(life.near, life.stored)
        i[SAVES] = 0
        i[WRITING] = 0
        f[PERSIST] = 0.0
        f[HELD] = 0.0
    elif i[WRITING] == 1:
        f[PERSIST] = job.persist_s  # the copy is still in the fast tier: writing it starts again
        f[HELD] = 0.0
    saved = life.near
    life.book[REWORK] += (now[0] + now[1] + now[2]) - (saved[0] + saved[1] + saved[2])
    copy(now, saved)
    f[SINCE] = 0.0
    f[BLOCK] = 0.0


@helper
def save_all(job, life):  # type: ignore[no-untyped-def]
    """A planned stop: everything so far is safe in storage. The time that takes is booked by the caller."""
    f, i = life.f, life.i
    copy(life.pending, life.now)
    copy(life.stored, life.now)
    copy(life.near, life.now)
    f[SINCE] = 0.0
    f[BLOCK] = 0.0
    f[HELD] = 0.0
    f[PERSIST] = 0.0
    i[WRITING] = 0
    i[SAVES] = 0
