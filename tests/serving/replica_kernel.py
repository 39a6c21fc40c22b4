"""An oracle of the fleet, and of the closed form: replicas of a serving engine by a kernel of their own, written apart.

Admission, chunked prefill, decoding, preemption, iteration by iteration. It shares the table of step times with the product.

All replicas of a pool are rows of the same arrays, and each runs by itself: `advance` brings one to a time, and whoever
routes requests need only advance the replicas that are looked at. Iterations between two changes of the batch are taken
in one leap, so that the cost goes with the changes, not with the tokens.
"""

from __future__ import annotations

import numpy as np
from replica_state import DECODE, NOBODY, PREFILL

from argosy.kernels.compiled import compiled
from argosy.kernels.heap import heapify, pop, push
from argosy.kernels.step_table import decode_time, mixed_time


@compiled()
def enqueue(r, i, pool, requests):  # type: ignore[no-untyped-def]
    """Puts request `i` at the end of replica `r`'s queue of its priority."""
    k = requests.priority[i]
    requests.next[i] = NOBODY
    if pool.head[r, k] == NOBODY:
        pool.head[r, k] = i
    else:
        requests.next[pool.tail[r, k]] = i
    pool.tail[r, k] = i
    pool.waiting[r] += 1
    pool.outstanding[r] += requests.input[i] - requests.cached[i] + requests.output[i]


@compiled()
def _front(r, pool):  # type: ignore[no-untyped-def]
    """The queue that is next, or −1."""
    for k in range(pool.head.shape[1]):
        if pool.head[r, k] != NOBODY:
            return k
    return NOBODY


@compiled()
def _leave(r, i, pool, requests, at):  # type: ignore[no-untyped-def]
    requests.finish[i] = at
    pool.log[pool.logged[0] % pool.log.shape[0]] = i
    pool.logged[0] += 1


@compiled()
def _prompt(i, requests):  # type: ignore[no-untyped-def]
    """Tokens that must be in the cache before the next output token: the prompt, and after a preemption the output
    so far."""
    return requests.input[i] + requests.produced[i]


@compiled()
def _need(i, requests, settings):  # type: ignore[no-untyped-def]
    """KV tokens that admission asks for."""
    need = _prompt(i, requests) + settings.per_sequence + 1
    if settings.reserve and settings.role != PREFILL:
        need += requests.output[i] - requests.produced[i] - 1
    return need


@compiled()
def _release(r, i, pool, requests, settings):  # type: ignore[no-untyped-def]
    """Frees the cache of running sequence `i` and takes its context out of the sum."""
    context = requests.base[i] + pool.ticks[r] * settings.tokens_per_step
    pool.context[r] -= context
    if settings.reserve:
        pool.kv[r] -= requests.input[i] + requests.output[i] + settings.per_sequence
    else:
        pool.kv[r] -= context + settings.per_sequence


@compiled()
def _join(r, i, pool, requests, settings):  # type: ignore[no-untyped-def]
    """Sequence `i`, whose prompt is in the cache, gets its next token now and decodes from here on."""
    if np.isnan(requests.first[i]):
        requests.first[i] = pool.clock[r]
    if settings.role != DECODE or requests.produced[i] > 0:
        requests.produced[i] += 1
        pool.outstanding[r] -= 1
    else:
        requests.produced[i] = 1  # the first token came with the cache
        pool.outstanding[r] -= 1
    held = requests.input[i] + requests.produced[i]
    left = requests.output[i] - requests.produced[i]
    if settings.role == PREFILL or left <= 0:
        if settings.reserve and settings.role != PREFILL:
            pool.kv[r] -= requests.input[i] + requests.output[i] + settings.per_sequence
        else:
            pool.kv[r] -= held + settings.per_sequence
        if settings.role == PREFILL:
            pool.outstanding[r] -= left
        _leave(r, i, pool, requests, pool.clock[r])
        return
    base = r * settings.max_batch
    requests.base[i] = held - pool.ticks[r] * settings.tokens_per_step
    pool.context[r] += held
    pool.stamps[r] += 1
    requests.stamp[i] = pool.stamps[r]
    ticks = pool.ticks[r] + np.ceil(left / settings.tokens_per_step)
    pool.running[r] = push(pool.keys, pool.items, base, pool.running[r], ticks, i)


@compiled()
def _tick(r, n, pool, requests, settings):  # type: ignore[no-untyped-def]
    """`n` decode iterations have passed: contexts grow, and whoever is through leaves."""
    gained = n * pool.running[r] * settings.tokens_per_step
    pool.ticks[r] += n
    pool.context[r] += gained
    pool.decoded[r] += gained
    pool.outstanding[r] -= gained
    if not settings.reserve:
        pool.kv[r] += gained
    pool.peak_kv[r] = max(pool.peak_kv[r], pool.kv[r])
    base = r * settings.max_batch
    while pool.running[r] > 0 and pool.keys[base] <= pool.ticks[r]:
        i = pool.items[base]
        pool.running[r] = pop(pool.keys, pool.items, base, pool.running[r])
        requests.produced[i] = requests.output[i]
        _release(r, i, pool, requests, settings)
        _leave(r, i, pool, requests, pool.clock[r])


@compiled()
def _preempt(r, pool, requests, settings):  # type: ignore[no-untyped-def]
    """Sends the sequence that was admitted last back to the front of its queue, its cache lost."""
    base, latest = r * settings.max_batch, 0
    for at in range(1, pool.running[r]):
        if requests.stamp[pool.items[base + at]] > requests.stamp[pool.items[base + latest]]:
            latest = at
    i = pool.items[base + latest]
    left = (pool.keys[base + latest] - pool.ticks[r]) * settings.tokens_per_step
    _release(r, i, pool, requests, settings)
    requests.produced[i] = min(max(requests.output[i] - int(left), 1), requests.output[i] - 1)
    pool.running[r] -= 1
    pool.keys[base + latest] = pool.keys[base + pool.running[r]]
    pool.items[base + latest] = pool.items[base + pool.running[r]]
    heapify(pool.keys, pool.items, base, pool.running[r])
    requests.cached[i] = 0
    pool.outstanding[r] += requests.input[i] + requests.produced[i]
    _return_to_queue(r, i, pool, requests)


@compiled()
def _make_room(r, pool, requests, settings):  # type: ignore[no-untyped-def]
    """Preempts, latest first, until every running sequence has room for its next token."""
    while pool.running[r] * settings.tokens_per_step + pool.kv[r] > settings.capacity:
        i = pool.part[r]
        if i != NOBODY:
            pool.part[r] = NOBODY
            pool.kv[r] -= _need(i, requests, settings)
            pool.outstanding[r] += pool.done[r]
            requests.cached[i] = 0
            _return_to_queue(r, i, pool, requests)
        elif pool.running[r] > 1:
            _preempt(r, pool, requests, settings)
        else:
            return


@compiled()
def _return_to_queue(r, i, pool, requests):  # type: ignore[no-untyped-def]
    """Puts request `i` at the front of its queue, to be computed again."""
    requests.preempted[i] += 1
    k = requests.priority[i]
    requests.next[i] = pool.head[r, k]
    pool.head[r, k] = i
    if pool.tail[r, k] == NOBODY:
        pool.tail[r, k] = i
    pool.waiting[r] += 1


@compiled()
def _admit(r, k, pool, requests, settings, beside):  # type: ignore[no-untyped-def]
    """Takes the first of queue `k` if it is there and fits; its index, or −1. One that never fits is turned away.

    `beside`: sequences of this iteration that will run but do not yet.
    """
    while pool.head[r, k] != NOBODY:
        i = pool.head[r, k]
        if requests.ready[i] > pool.clock[r] or pool.running[r] + beside >= settings.max_batch:
            return NOBODY
        need = _need(i, requests, settings)
        most = need
        if not settings.reserve and settings.role != PREFILL:
            most = requests.input[i] + requests.output[i] + settings.per_sequence + settings.tokens_per_step
        never = most > settings.capacity
        growing = 0.0 if settings.reserve else pool.running[r] * settings.tokens_per_step
        if not never and pool.kv[r] + need + growing > settings.capacity:
            return NOBODY
        pool.head[r, k] = requests.next[i]
        if pool.head[r, k] == NOBODY:
            pool.tail[r, k] = NOBODY
        pool.waiting[r] -= 1
        if never:
            pool.outstanding[r] -= requests.input[i] - requests.cached[i] + requests.output[i]
            _leave(r, i, pool, requests, np.inf)
            continue
        pool.kv[r] += need
        pool.peak_kv[r] = max(pool.peak_kv[r], pool.kv[r])
        return i
    return NOBODY


@compiled()
def step(r, until, pool, requests, settings, grids):  # type: ignore[no-untyped-def]
    """One iteration of replica `r`, or a leap over iterations in which nothing changes; False where it has nothing to do
    before `until`. Iterations that begin before `until` are finished."""
    clock = pool.clock[r]
    if clock >= until:
        return False
    if not settings.reserve:
        _make_room(r, pool, requests, settings)
    if settings.role == DECODE:
        _take_in(r, pool, requests, settings)
    tokens, pairs, joining, joined = _fill(r, pool, requests, settings)
    running = pool.running[r]
    if tokens > 0:
        batch = running if settings.mixed else 0
        context = pool.context[r] / running if running > 0 else 1.0
        seconds = mixed_time(grids, float(tokens), pairs / tokens, float(batch), context)
        pool.clock[r] += seconds
        pool.busy[r] += seconds
        pool.area[r] += seconds * (running + joined)
        pool.steps[r] += 1
        pool.prefilled[r] += tokens
        pool.outstanding[r] -= tokens
        if batch > 0:
            _tick(r, 1, pool, requests, settings)
        while joining != NOBODY:
            following = requests.next[joining]
            _join(r, joining, pool, requests, settings)
            joining = following
        return True
    if running == 0:
        k = _front(r, pool)
        if k == NOBODY or requests.ready[pool.head[r, k]] >= until:
            return False
        soonest = requests.ready[pool.head[r, k]]
        for other in range(k + 1, pool.head.shape[1]):
            if pool.head[r, other] != NOBODY:
                soonest = min(soonest, requests.ready[pool.head[r, other]])
        pool.clock[r] = max(clock, soonest)
        return True
    _leap(r, until, pool, requests, settings, grids)
    return True


@compiled()
def _take_in(r, pool, requests, settings):  # type: ignore[no-untyped-def]
    """Decode pools: sequences whose cache has arrived join at once, without an iteration of their own."""
    for k in range(pool.head.shape[1]):
        while pool.head[r, k] != NOBODY and requests.produced[pool.head[r, k]] == 0:
            i = _admit(r, k, pool, requests, settings, 0)
            if i == NOBODY:
                return
            pool.outstanding[r] -= requests.input[i] - requests.cached[i]
            _join(r, i, pool, requests, settings)


@compiled()
def _fill(r, pool, requests, settings):  # type: ignore[no-untyped-def]
    """Prompt tokens of the next iteration: how many, their sum of keys seen, the prompts that it completes (a list
    through `next`) and how many these are."""
    budget = settings.max_tokens - (pool.running[r] if settings.mixed else 0)
    tokens, pairs, joining, last, joined = 0, 0.0, NOBODY, NOBODY, 0
    while budget > 0:
        i = pool.part[r]
        if i == NOBODY:
            for k in range(pool.head.shape[1]):
                i = _admit(r, k, pool, requests, settings, joined)
                if i != NOBODY:
                    break
            if i == NOBODY:
                break
            pool.part[r] = i
            whole = _prompt(i, requests)
            pool.done[r] = min(requests.cached[i], whole - 1)
            pool.outstanding[r] -= (
                requests.cached[i] - pool.done[r] if requests.cached[i] > pool.done[r] else 0
            )
        left = _prompt(i, requests) - pool.done[r]
        take = min(budget, left)
        pairs += take * (pool.done[r] + take / 2.0)
        tokens += take
        budget -= take
        pool.done[r] += take
        if take == left:
            pool.part[r] = NOBODY
            requests.next[i] = NOBODY
            if joining == NOBODY:
                joining = i
            else:
                requests.next[last] = i
            last = i
            joined += 1
    return tokens, pairs, joining, joined


@compiled()
def _leap(r, until, pool, requests, settings, grids):  # type: ignore[no-untyped-def]
    """As many decode iterations as pass before the batch changes, a request comes, memory ends or `until`."""
    running, base = pool.running[r], r * settings.max_batch
    per, clock = settings.tokens_per_step, pool.clock[r]
    n = max(int(pool.keys[base] - pool.ticks[r]), 1)
    if not settings.reserve:
        n = min(n, max(int((settings.capacity - pool.kv[r]) / (running * per)), 1))
    limit = until
    for k in range(pool.head.shape[1]):
        i = pool.head[r, k]
        if i != NOBODY and requests.ready[i] > clock:
            limit = min(limit, requests.ready[i])
    mean = pool.context[r] / running
    slowest = decode_time(grids, float(running), mean + n * per)
    if clock + n * slowest > limit:  # the last iteration is the one in which the limit falls
        n = max(min(n, int((limit - clock) / slowest)), 1)
    seconds = n * decode_time(grids, float(running), mean + (n - 1) * per / 2.0)
    pool.clock[r] += seconds
    pool.busy[r] += seconds
    pool.area[r] += seconds * running
    pool.steps[r] += n
    _tick(r, n, pool, requests, settings)


@compiled()
def advance(r, until, pool, requests, settings, grids):  # type: ignore[no-untyped-def]
    """Runs replica `r` to `until`: every iteration that begins before it is finished."""
    while step(r, until, pool, requests, settings, grids):
        pass


@compiled()
def clear(r, pool, requests, settings, lost):  # type: ignore[no-untyped-def]
    """Replica `r` fails: all that it held is gone. Fills `lost` with its requests, back at their beginning (`produced`
    and `cached` 0, `first` kept), and returns how many."""
    count, base = 0, r * settings.max_batch
    for at in range(pool.running[r]):
        lost[count] = pool.items[base + at]
        count += 1
    if pool.part[r] != NOBODY:
        lost[count] = pool.part[r]
        count += 1
    for k in range(pool.head.shape[1]):
        i = pool.head[r, k]
        while i != NOBODY:
            lost[count] = i
            count += 1
            i = requests.next[i]
        pool.head[r, k] = NOBODY
        pool.tail[r, k] = NOBODY
    for at in range(count):
        requests.produced[lost[at]] = 0
        requests.cached[lost[at]] = 0
    pool.running[r] = 0
    pool.waiting[r] = 0
    pool.kv[r] = 0.0
    pool.context[r] = 0.0
    pool.outstanding[r] = 0.0
    pool.part[r] = NOBODY
    return count


@compiled(nogil=True)
def closed_loop(concurrency, pool, requests, settings, grids):  # type: ignore[no-untyped-def]
    """Replica 0 under `concurrency` clients, each sending the next request when its last one has left."""
    n, sent, seen = requests.ready.shape[0], 0, 0
    while sent < min(concurrency, n):
        requests.ready[sent] = 0.0
        enqueue(0, sent, pool, requests)
        sent += 1
    while seen < n:
        if not step(0, np.inf, pool, requests, settings, grids) and seen == pool.logged[0]:
            return
        while seen < pool.logged[0]:
            if sent < n:
                requests.ready[sent] = pool.clock[0]
                enqueue(0, sent, pool, requests)
                sent += 1
            seen += 1


@compiled(nogil=True)
def open_loop(order, pool, requests, settings, grids):  # type: ignore[no-untyped-def]
    """A pool under requests that come when they come: each goes to the replica with the fewest outstanding tokens.

    `order`: requests by `ready`. Runs until all have left.
    """
    replicas = pool.clock.shape[0]
    for i in order:
        best = 0
        for r in range(replicas):
            advance(r, requests.ready[i], pool, requests, settings, grids)
            if pool.outstanding[r] < pool.outstanding[best]:
                best = r
        enqueue(best, i, pool, requests)
    for r in range(replicas):
        advance(r, np.inf, pool, requests, settings, grids)
