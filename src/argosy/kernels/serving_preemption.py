"""Memory of a replica in an inference fleet: what a request asks for, and who gives way where it runs out."""

from __future__ import annotations

import math

from argosy.kernels import heap
from argosy.kernels import serving_views as v
from argosy.kernels.compiled import compiled
from argosy.kernels.serving_records import OUTPUT_TOKENS, PREEMPTIONS


@compiled(inline="always")
def claim(pool, request):  # type: ignore[no-untyped-def]
    """Tokens of memory that a request asks for: all that it may hold, or what it holds at once."""
    return request.prompt + pool.kv_per_sequence + (0 if pool.evicts else request.rest + 1)


@compiled()
def make_room(w, r):  # type: ignore[no-untyped-def]
    """Where the next iteration would not fit in memory, the sequence admitted last gives way and is computed again."""
    one = v.replicas(w)[r]
    pool = v.pools(w)[one.pool]
    if not pool.evicts:
        return
    gain = pool.tokens_per_step
    while one.running > 1 and one.kv + one.pending + one.running * gain > pool.kv_capacity:
        _preempt(w, r)


@compiled()
def _preempt(w, r):  # type: ignore[no-untyped-def]
    one = v.replicas(w)[r]
    pool = v.pools(w)[one.pool]
    due, who = v.due(w), v.due_request(w)
    at = one.base
    for place in range(one.base, one.base + one.running):
        if v.requests(w)[who[place]].order > v.requests(w)[who[at]].order:
            at = place
    q = who[at]
    request = v.requests(w)[q]
    over = math.ceil(request.rest / pool.tokens_per_step) - (int(due[at]) - one.clock)
    made = min(int(over * pool.tokens_per_step), request.rest)
    one.running -= 1
    due[at], who[at] = due[one.base + one.running], who[one.base + one.running]
    heap.heapify(due, who, one.base, one.running)
    one.kv -= request.prompt + pool.kv_per_sequence + over * pool.tokens_per_step
    one.claimed -= claim(pool, request)
    v.book(w)[one.pool, OUTPUT_TOKENS] += made - over * pool.tokens_per_step
    v.book(w)[one.pool, PREEMPTIONS] += 1
    request.prompt += made + 1  # what was generated is seen again, with the token that the prompt gave
    request.rest = max(request.rest - made - 1, 0)
    request.cached, request.stage = 0, 0
    c = request.priority
    request.next = v.queue_first(w)[r, c]
    if request.next < 0:
        v.queue_last(w)[r, c] = q
    v.queue_first(w)[r, c] = q
    one.waiting += 1
