"""What happens to replicas from outside: failures with lost KV caches, retries, upgrades, and the autoscaler."""

from __future__ import annotations

import math

import numpy as np

from argosy.kernels import serving_views as v
from argosy.kernels.compiled import compiled
from argosy.kernels.serving_records import (
    DECODE_S,
    DECODING,
    DOWN,
    DRAINING,
    FAILED,
    FAILURES,
    IDLE,
    LOST_OUTPUT,
    LOST_PROMPT,
    OFF,
    OUTPUT_TOKENS,
    OUTSIDE_SECONDS,
    PREFILL_S,
    SHED,
    UNFINISHED,
    UP,
    UPGRADE,
    WARMING,
)
from argosy.kernels.serving_replica import (
    _leave,
    _steps_at,
    delay,
    drain,
    enqueue,
    inside,
    schedule,
    set_state,
    show_load,
)
from argosy.kernels.serving_routes import route


@compiled(inline="always")
def _pause(w, q):  # type: ignore[no-untyped-def]
    """Seconds until a client tries again: the setting times 0.5 to 1.5, so that those lost together do not come back at once."""
    return v.settings(w)[0].retry_s * (0.5 + v.requests(w)[q].home)


@compiled()
def submit(key, w, grids, q, now):  # type: ignore[no-untyped-def]
    """A request reaches the router: it goes to a replica, is shed, or waits until one takes requests."""
    request, settings = v.requests(w)[q], v.settings(w)[0]
    if request.end != UNFINISHED:  # turned away beforehand
        return
    p = min(request.stage, settings.pools - 1)
    r = route(key, w, q, p)
    if r >= 0 and v.replicas(w)[r].state != UP:
        _refused(w, q, now)
        return
    if r < 0:
        if now - request.arrival > settings.timeout_s and request.first < 0.0:
            request.end, request.finish = FAILED, now
        else:
            pause = _pause(w, q)
            v.book(w)[p, OUTSIDE_SECONDS] += pause
            delay(w, q, now + pause)
        return
    limit = settings.queue_limit * (1.0 - request.priority / settings.classes)
    if v.replicas(w)[r].waiting >= limit and request.stage == 0:
        request.end, request.finish = SHED, now
        return
    enqueue(w, grids[p], r, q, now)


@compiled()
def _refused(w, q, now):  # type: ignore[no-untyped-def]
    """The request came to a replica that is dead, which the router does not know yet."""
    request = v.requests(w)[q]
    if request.stage == 1:
        v.book(w)[0, LOST_PROMPT] += request.prompt - request.cached
    _again(w, q, now)


@compiled()
def planned(w, event, now):  # type: ignore[no-untyped-def]
    """A failure of one replica or of a domain with several, or the begin of a rolling upgrade.

    An upgrade that is due while another one is under way is left out.
    """
    if event.kind == UPGRADE:
        p = v.replicas(w)[event.first].pool
        pool = v.pools(w)[p]
        if pool.to_upgrade == 0 and pool.away == 0:
            pool.to_upgrade, pool.together, pool.upgrade_s = pool.count, event.together, event.lasts_s
            roll(w, p, now)
        return
    for r in range(event.first, event.last + 1):
        one = v.replicas(w)[r]
        if one.state == UP or one.state == DRAINING or one.state == WARMING:
            _strike(w, r, event.lasts_s, now)


@compiled()
def roll(w, p, now):  # type: ignore[no-untyped-def]
    """A rolling upgrade goes on: once all replicas that it took are back, the next ones that are up drain."""
    pool = v.pools(w)[p]
    if pool.away > 0:
        return
    while pool.to_upgrade > 0 and pool.away < pool.together:
        r = pool.first + pool.count - pool.to_upgrade
        pool.to_upgrade -= 1
        one = v.replicas(w)[r]
        if one.state == UP:
            pool.away += 1
            one.away, one.upgrading, one.upgrade_s = 1, 1, pool.upgrade_s
            drain(w, r, now)


@compiled()
def _strike(w, r, repair_s, now):  # type: ignore[no-untyped-def]
    """The replica loses all that it holds; a spare takes its place after detection, or it comes back repaired."""
    one, settings = v.replicas(w)[r], v.settings(w)[0]
    pool = v.pools(w)[one.pool]
    v.book(w)[one.pool, FAILURES] += 1
    _lose_all(w, r, now)
    one.unnoticed = one.state == UP and settings.unnoticed_s > 0.0
    set_state(w, r, DOWN, now)
    one.upgrading = 0
    one.back_at = now + max(settings.detection_s, settings.unnoticed_s)
    if pool.spares > 0:
        pool.spares -= 1
        delay(w, -1 - one.pool, now + repair_s)
    else:
        one.back_at = max(one.back_at, now + repair_s)
    schedule(w, r, now + settings.unnoticed_s if one.unnoticed else one.back_at)


@compiled()
def _lose_all(w, r, now):  # type: ignore[no-untyped-def]
    one = v.replicas(w)[r]
    book, gain = v.book(w)[one.pool], v.pools(w)[one.pool].tokens_per_step
    over = 0
    if one.phase == DECODING:
        over = max(_steps_at(one, now) - 1, 0)
        book[DECODE_S] += now - one.start
    elif one.phase != IDLE:
        share = min(one.share, now - one.start)
        book[DECODE_S] += share
        book[PREFILL_S] += now - one.start - share
    for place in range(one.base, one.base + one.running):
        q = v.due_request(w)[place]
        request = v.requests(w)[q]
        passed = max(math.ceil(request.rest / gain) - (v.due(w)[place] - one.clock), 0)
        made = min((passed + over) * gain, request.rest)
        book[OUTPUT_TOKENS] += made - passed * gain
        book[LOST_OUTPUT] += made + 1 if request.stage == 0 else made
        if request.stage == 0:
            book[LOST_PROMPT] += request.prompt - request.cached
        else:
            v.book(w)[0, LOST_PROMPT] += request.prompt - request.cached
        _again(w, q, now)
    q = one.first_prefill
    while q >= 0:
        request = v.requests(w)[q]
        behind = request.next
        book[LOST_PROMPT] += request.prompt - min(request.cached, request.prompt - 1) - request.left
        _again(w, q, now)
        q = behind
    for c in range(v.settings(w)[0].classes):
        q = v.queue_first(w)[r, c]
        while q >= 0:
            behind = v.requests(w)[q].next
            _again(w, q, now)
            q = behind
        v.queue_first(w)[r, c] = v.queue_last(w)[r, c] = -1
    inside(w, one.pool, -(one.running + one.prefilling + one.waiting), now)
    one.running = one.prefilling = one.waiting = 0
    one.first_prefill = one.last_prefill = -1
    one.kv = one.pending = one.claimed = one.work = 0.0
    one.phase = IDLE


@compiled()
def _again(w, q, now):  # type: ignore[no-untyped-def]
    """The client sends a lost request once more, from the start, or gives up."""
    request, settings = v.requests(w)[q], v.settings(w)[0]
    request.tries += 1
    if request.tries > settings.tries:
        request.end, request.finish = FAILED, now
        return
    request.first, request.stage = -1.0, 0
    request.prompt, request.rest, request.cached = request.input, request.output - 1, 0
    pause = _pause(w, q)
    v.book(w)[0, OUTSIDE_SECONDS] += pause
    delay(w, q, now + pause)


@compiled()
def awake(w, r, now):  # type: ignore[no-untyped-def]
    """A replica that was down or warming gets to its next state, or its failure is noticed; True where it is up."""
    one = v.replicas(w)[r]
    if one.unnoticed:
        one.unnoticed = 0
        show_load(w, r)
        schedule(w, r, one.back_at)
        return False
    if one.state == DOWN:
        one.upgrading = 0
        set_state(w, r, WARMING, now)
        schedule(w, r, now + v.settings(w)[0].cold_s)
        return False
    set_state(w, r, UP, now)
    return True


@compiled()
def tick(w, number, arrived, now):  # type: ignore[no-untyped-def]
    """Writes the time series and lets the autoscaler act on what it saw some ticks ago."""
    settings = v.settings(w)[0]
    for p in range(settings.pools):
        pool = v.pools(w)[p]
        at = number * settings.pools + p
        if at < w.series_rows:
            _sample(w, p, at, arrived, now)
        roll(w, p, now)  # a replica that was taken may have been switched off
        if not settings.scales:
            continue
        ring = settings.delay_ticks + 1
        wanted = math.ceil(pool.inside / (settings.target * pool.slots))
        v.desired(w)[p, number % ring] = min(max(wanted, pool.least), pool.most)
        if number >= settings.delay_ticks:
            _scale(w, p, v.desired(w)[p, (number + 1) % ring], number, now)


@compiled()
def _sample(w, p, at, arrived, now):  # type: ignore[no-untyped-def]
    row, pool = v.series(w)[at], v.pools(w)[p]
    row.at, row.arrived, row.inside = now, arrived, int(pool.inside)
    for r in range(pool.first, pool.first + pool.count):
        state = v.replicas(w)[r].state
        row.up += state == UP
        row.warming += state == WARMING
        row.draining += state == DRAINING
        row.down += state == DOWN


@compiled()
def _scale(w, p, wanted, number, now):  # type: ignore[no-untyped-def]
    """Starts replicas at once; drains those too many only after `stay_s` below."""
    pool, settings = v.pools(w)[p], v.settings(w)[0]
    there = 0
    for r in range(pool.first, pool.first + pool.count):
        one = v.replicas(w)[r]
        there += one.state == UP or one.state == WARMING or one.state == DOWN or one.upgrading
    if wanted >= there:
        pool.low_since_tick = number
        _start(w, p, wanted - there, now)
    elif (number - pool.low_since_tick) * settings.tick_s >= settings.stay_s:
        _stop(w, p, there - wanted, now)


@compiled()
def _start(w, p, many, now):  # type: ignore[no-untyped-def]
    """First replicas that still drain, which are warm, then those that are off."""
    pool = v.pools(w)[p]
    for state in (DRAINING, OFF):
        for r in range(pool.first, pool.first + pool.count):
            one = v.replicas(w)[r]
            if many == 0:
                return
            if one.state != state or one.upgrading:
                continue
            many -= 1
            if state == DRAINING:
                set_state(w, r, UP, now)
            else:
                set_state(w, r, WARMING, now)
                schedule(w, r, now + v.settings(w)[0].cold_s)


@compiled()
def _stop(w, p, many, now):  # type: ignore[no-untyped-def]
    """First replicas that still warm, then the last ones that are up."""
    pool = v.pools(w)[p]
    for state in (WARMING, UP):
        for r in range(pool.first + pool.count - 1, pool.first - 1, -1):
            if many == 0:
                return
            if v.replicas(w)[r].state != state:
                continue
            many -= 1
            if state == WARMING:
                schedule(w, r, np.inf)
                _leave(w, r, now)
            else:
                drain(w, r, now)
