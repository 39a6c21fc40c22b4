"""One replica of an inference fleet: continuous batching with chunked prompts, iteration by iteration, in leaps.

Between two changes of the batch all decode iterations are alike but for the growing context; such a stretch is one event, and an
arrival cuts it at the next boundary. Iterations that carry prompt tokens are events of their own.
"""

from __future__ import annotations

import math

import numpy as np

from argosy.kernels import heap, tournament
from argosy.kernels import serving_views as v
from argosy.kernels.compiled import compiled
from argosy.kernels.serving_preemption import claim, make_room
from argosy.kernels.serving_records import (
    CACHED_TOKENS,
    DECODE_S,
    DECODING,
    DONE,
    DOWN,
    DRAINING,
    IDLE,
    INSIDE_SECONDS,
    KV_PEAK,
    KV_SECONDS,
    LATE,
    LEAST_WORK,
    OFF,
    OUTPUT_TOKENS,
    PREFILL_S,
    PREFIX_AWARE,
    PROMPT_TOKENS,
    STEPPING,
    UP,
)
from argosy.kernels.step_table import decode_time, mixed_time


@compiled(inline="always")
def schedule(w, r, at):  # type: ignore[no-untyped-def]
    """Something happens at replica `r` at time `at` next (infinity: nothing)."""
    tournament.change(v.next_at(w), v.next_winner(w), r, at)


@compiled()
def set_state(w, r, state, now):  # type: ignore[no-untyped-def]
    """The replica enters a state; the seconds in the old one are booked."""
    one = v.replicas(w)[r]
    pool = v.pools(w)[one.pool]
    v.book(w)[one.pool, one.state] += now - one.since
    one.since = now
    pool.up += (state == UP) - (one.state == UP)
    one.state = state
    if one.away and state in (UP, OFF):
        one.away = 0
        pool.away -= 1
    show_load(w, r)


@compiled(inline="always")
def show_load(w, r):  # type: ignore[no-untyped-def]
    """What a router that compares all replicas sees: outstanding tokens of those that take requests, or seem to."""
    one, router = v.replicas(w)[r], v.settings(w)[0].router
    if router != LEAST_WORK and router != PREFIX_AWARE:
        return
    shown = one.work if one.state == UP or one.unnoticed else np.inf
    tournament.change(v.load(w)[one.pool], v.load_winner(w)[one.pool], r, shown)


@compiled(inline="always")
def inside(w, p, more, now):  # type: ignore[no-untyped-def]
    """Requests in pool `p` change by `more`; their integral over time is booked."""
    pool = v.pools(w)[p]
    v.book(w)[p, INSIDE_SECONDS] += pool.inside * (now - pool.inside_since)
    pool.inside_since = now
    pool.inside += more


@compiled()
def enqueue(w, grids, r, q, now):  # type: ignore[no-untyped-def]
    """Request `q` waits at replica `r`, behind those of its class, and is admitted at the next boundary where there is room."""
    one, request = v.replicas(w)[r], v.requests(w)[q]
    pool, c = v.pools(w)[one.pool], request.priority
    request.next, request.replica = -1, r
    if v.queue_first(w)[r, c] < 0:
        v.queue_first(w)[r, c] = q
    else:
        v.requests(w)[v.queue_last(w)[r, c]].next = q
    v.queue_last(w)[r, c] = q
    one.waiting += 1
    one.work += request.input + pool.expected_output
    inside(w, one.pool, 1, now)
    show_load(w, r)
    if one.phase == IDLE:
        begin(w, grids, r, now)
    elif one.phase == DECODING and _has_room(w, r, q):
        _cut(w, r, now)


@compiled(inline="always")
def _has_room(w, r, q):  # type: ignore[no-untyped-def]
    one, request = v.replicas(w)[r], v.requests(w)[q]
    pool = v.pools(w)[one.pool]
    if one.running + one.prefilling >= pool.max_batch:
        return False
    held = one.kv + one.pending if pool.evicts else one.claimed
    return held + claim(pool, request) + (one.running + 1 if pool.evicts else 0) <= pool.kv_capacity


@compiled(inline="always")
def _elapsed(one, steps):  # type: ignore[no-untyped-def]
    """Seconds of the first `steps` iterations of a stretch: the i-th takes step + i · slope."""
    return steps * one.step + one.slope * (steps * (steps - 1) / 2.0)


@compiled()
def _steps_at(one, now):  # type: ignore[no-untyped-def]
    """Iterations of the stretch that have ended, or end first, at `now` or after it."""
    gone, base = now - one.start, one.step - one.slope / 2.0
    root = math.sqrt(max(base * base + 2.0 * one.slope * gone, 0.0)) + base
    steps = math.ceil(2.0 * gone / root) if root > 0.0 else one.steps
    steps = min(max(steps, 0), one.steps)
    while steps > 0 and one.start + _elapsed(one, steps - 1) >= now:
        steps -= 1
    while steps < one.steps and one.start + _elapsed(one, steps) < now:
        steps += 1
    return steps


@compiled()
def _cut(w, r, now):  # type: ignore[no-untyped-def]
    """The stretch ends at the first boundary from `now` on."""
    one = v.replicas(w)[r]
    steps = _steps_at(one, now)
    if steps < one.steps:
        one.steps = steps
        schedule(w, r, one.start + _elapsed(one, steps))


@compiled()
def begin(w, grids, r, now):  # type: ignore[no-untyped-def]
    """At a boundary: admits what fits, and starts the next iteration with prompt tokens, or a stretch without."""
    one = v.replicas(w)[r]
    pool = v.pools(w)[one.pool]
    _admit(w, r, now)
    v.book(w)[one.pool, KV_PEAK] = max(v.book(w)[one.pool, KV_PEAK], one.kv + one.pending)
    one.start = now
    context = one.kv / one.running if one.running > 0 else 0.0
    if one.prefilling > 0:
        _take(w, grids, r, context)
        schedule(w, r, now + one.step)
    elif one.running > 0:
        steps = int(v.due(w)[one.base]) - one.clock
        gain = pool.tokens_per_step
        if pool.evicts:
            steps = min(steps, int((pool.kv_capacity - one.kv) / (one.running * gain)))
        steps = max(steps, 1)
        one.phase, one.steps = DECODING, steps
        one.step = decode_time(grids, one.running, context)
        last = decode_time(grids, one.running, context + (steps - 1) * gain)
        one.slope = (last - one.step) / (steps - 1) if steps > 1 else 0.0
        schedule(w, r, now + _elapsed(one, steps))
    else:
        one.phase = IDLE
        schedule(w, r, np.inf)
        if one.state == DRAINING:
            _leave(w, r, now)


@compiled()
def _take(w, grids, r, context):  # type: ignore[no-untyped-def]
    """The next iteration's prompt tokens, first come first served up to the chunk, and what it takes."""
    one = v.replicas(w)[r]
    pool = v.pools(w)[one.pool]
    beside = one.running if pool.mixed else 0
    budget = max(pool.chunk - beside, pool.least_chunk)
    taken, keys, q = 0, 0.0, one.first_prefill
    while q >= 0 and taken < budget:
        request = v.requests(w)[q]
        part = min(request.left, budget - taken)
        keys += part * (request.prompt - request.left + part / 2.0)
        taken += part
        q = request.next
    one.phase, one.steps = STEPPING, taken
    one.step = mixed_time(grids, taken, keys / taken, beside, context)
    one.share = decode_time(grids, beside, context)


@compiled()
def _admit(w, r, now):  # type: ignore[no-untyped-def]
    """Waiting requests enter the batch, the most urgent class first, each class in order, while memory and batch allow."""
    one = v.replicas(w)[r]
    settings = v.settings(w)[0]
    for c in range(settings.classes):
        q = v.queue_first(w)[r, c]
        while q >= 0:
            request = v.requests(w)[q]
            late = now - request.arrival > settings.timeout_s and request.first < 0.0
            if not late and not _has_room(w, r, q):
                return
            v.queue_first(w)[r, c] = request.next
            one.waiting -= 1
            if late:
                request.end, request.finish = LATE, now
                _forget(w, r, q, now)
            else:
                _enter(w, r, q)
            q = v.queue_first(w)[r, c]


@compiled()
def _enter(w, r, q):  # type: ignore[no-untyped-def]
    """An admitted request has its prompt seen, or, where another pool did so, runs at once."""
    one, request = v.replicas(w)[r], v.requests(w)[q]
    pool = v.pools(w)[one.pool]
    request.next, request.order = -1, one.admitted
    one.admitted += 1
    one.claimed += claim(pool, request)
    if request.stage == 1:
        _run(w, r, q)
        return
    cached = min(request.cached, request.prompt - 1)
    request.left = request.prompt - cached
    v.book(w)[one.pool, CACHED_TOKENS] += cached
    one.pending += request.prompt
    if one.first_prefill < 0:
        one.first_prefill = q
    else:
        v.requests(w)[one.last_prefill].next = q
    one.last_prefill = q
    one.prefilling += 1


@compiled(inline="always")
def _run(w, r, q):  # type: ignore[no-untyped-def]
    """The request generates from here on."""
    one, request = v.replicas(w)[r], v.requests(w)[q]
    pool = v.pools(w)[one.pool]
    iterations = math.ceil(request.rest / pool.tokens_per_step)
    heap.push(v.due(w), v.due_request(w), one.base, one.running, float(one.clock + iterations), q)
    one.running += 1
    one.kv += request.prompt + pool.kv_per_sequence


@compiled(inline="always")
def _forget(w, r, q, now):  # type: ignore[no-untyped-def]
    """The request leaves the replica's load."""
    one, request = v.replicas(w)[r], v.requests(w)[q]
    left = one.work - request.input - v.pools(w)[one.pool].expected_output
    # nothing at all where nothing is left, not the rounding of sums: idle replicas are alike
    one.work = max(left, 0.0) if one.running + one.prefilling + one.waiting > 0 else 0.0
    inside(w, one.pool, -1, now)
    show_load(w, r)


@compiled()
def boundary(w, grids, r, now):  # type: ignore[no-untyped-def]
    """The running iteration or stretch of replica `r` ends at `now`; the next one begins."""
    one = v.replicas(w)[r]
    if one.phase != IDLE:
        stepping, amount = one.phase == STEPPING, one.steps
        decoded = amount if not stepping else v.pools(w)[one.pool].mixed
        _book_busy(w, r, now, decoded, stepping)
        _pass(w, r, decoded, now)
        if stepping:
            _see(w, r, amount, now)
        one.phase = IDLE
    make_room(w, r)
    begin(w, grids, r, now)


@compiled(inline="always")
def _book_busy(w, r, now, steps, stepping):  # type: ignore[no-untyped-def]
    """Seconds, and tokens held over them, of the iterations since the last boundary."""
    one = v.replicas(w)[r]
    book, gone = v.book(w)[one.pool], now - one.start
    decode = min(one.share, gone) if stepping else gone
    book[DECODE_S] += decode
    book[PREFILL_S] += gone - decode
    gain = v.pools(w)[one.pool].tokens_per_step
    book[KV_SECONDS] += gone * (one.kv + one.pending + one.running * gain * steps / 2.0)


@compiled()
def _pass(w, r, steps, now):  # type: ignore[no-untyped-def]
    """`steps` decode iterations are over: running sequences have grown, those at their end leave."""
    one = v.replicas(w)[r]
    pool = v.pools(w)[one.pool]
    v.book(w)[one.pool, OUTPUT_TOKENS] += steps * one.running * pool.tokens_per_step
    one.clock += steps
    one.kv += steps * one.running * pool.tokens_per_step
    due, who = v.due(w), v.due_request(w)
    while one.running > 0 and due[one.base] <= one.clock:
        q = who[one.base]
        heap.pop(due, who, one.base, one.running)
        one.running -= 1
        _release(w, r, q)
        _finish(w, r, q, now)
    if one.running == 0:
        one.kv = 0.0


@compiled(inline="always")
def _release(w, r, q):  # type: ignore[no-untyped-def]
    """A sequence that ran to its end gives its memory back."""
    one, request = v.replicas(w)[r], v.requests(w)[q]
    pool = v.pools(w)[one.pool]
    iterations = math.ceil(request.rest / pool.tokens_per_step)
    one.kv -= request.prompt + pool.kv_per_sequence + iterations * pool.tokens_per_step
    one.claimed -= claim(pool, request)
    # the last iteration of a sequence that speculates may have made more than it needed
    v.book(w)[one.pool, OUTPUT_TOKENS] += request.rest - iterations * pool.tokens_per_step


@compiled(inline="always")
def _finish(w, r, q, now):  # type: ignore[no-untyped-def]
    request = v.requests(w)[q]
    request.end, request.finish = DONE, now
    _forget(w, r, q, now)


@compiled()
def _see(w, r, taken, now):  # type: ignore[no-untyped-def]
    """`taken` prompt tokens were seen; whole prompts give their token, and run, end, or go to the other pool."""
    one = v.replicas(w)[r]
    pool = v.pools(w)[one.pool]
    v.book(w)[one.pool, PROMPT_TOKENS] += taken
    while taken > 0:
        q = one.first_prefill
        request = v.requests(w)[q]
        part = min(request.left, taken)
        request.left -= part
        taken -= part
        if request.left > 0:
            return
        one.first_prefill = request.next
        if one.first_prefill < 0:
            one.last_prefill = -1
        one.prefilling -= 1
        one.pending -= request.prompt
        v.book(w)[one.pool, OUTPUT_TOKENS] += 1
        if pool.prefill_only:
            one.claimed -= claim(pool, request)
            _forget(w, r, q, now)
            _hand_on(w, q, now)
        else:
            if request.first < 0.0:
                request.first = now
            if request.rest > 0:
                _run(w, r, q)
            else:
                one.claimed -= claim(pool, request)
                _finish(w, r, q, now)


@compiled()
def _hand_on(w, q, now):  # type: ignore[no-untyped-def]
    """The KV cache travels to the other pool; the first token counts when it is there."""
    request, settings = v.requests(w)[q], v.settings(w)[0]
    arrives = now + settings.transfer_s + settings.transfer_s_per_token * request.prompt
    if request.first < 0.0:
        request.first = arrives
    if request.rest == 0:
        request.end, request.finish = DONE, arrives
        return
    request.stage = 1
    delay(w, q, arrives)


@compiled()
def delay(w, item, at):  # type: ignore[no-untyped-def]
    """A request (or, as -1 - pool, a repaired spare) comes back at time `at`."""
    size = v.delayed_size(w)
    size[0] = heap.push(v.delayed_at(w), v.delayed_item(w), 0, size[0], at, item)


@compiled()
def _leave(w, r, now):  # type: ignore[no-untyped-def]
    """A drained replica is switched off, or taken down for its upgrade."""
    one = v.replicas(w)[r]
    if one.upgrading:
        set_state(w, r, DOWN, now)
        schedule(w, r, now + one.upgrade_s)
    else:
        set_state(w, r, OFF, now)


@compiled()
def drain(w, r, now):  # type: ignore[no-untyped-def]
    """The replica takes no more requests, ends those it has, and leaves."""
    set_state(w, r, DRAINING, now)
    if v.replicas(w)[r].phase == IDLE:
        _leave(w, r, now)
