"""Which replica of a pool takes a request."""

from __future__ import annotations

import numpy as np

from argosy.kernels import serving_views as v
from argosy.kernels import tournament
from argosy.kernels.compiled import compiled
from argosy.kernels.serving_records import (
    EVICTED_TOKENS,
    LEAST_WORK,
    POWER_OF_TWO,
    PREFIX_AWARE,
    ROUND_ROBIN,
    UP,
)
from argosy.kernels.streams import uniform

_CHOICES, _HITS = 1, 2  # streams of random numbers


@compiled()
def route(key, w, q, p):  # type: ignore[no-untyped-def]
    """The replica of pool `p` for request `q`, -1 where none takes requests; sets what it finds in the prefix cache there.

    Who takes requests is what health checks say: it may be a replica that has just died.
    """
    request, settings = v.requests(w)[q], v.settings(w)[0]
    if settings.router == ROUND_ROBIN:
        r = _in_turn(w, p)
    elif settings.router == LEAST_WORK:
        r = _least(w, p)
    elif settings.router == POWER_OF_TWO:
        r = _of_two(key, w, q, p)
    else:
        r = _by_prefix(w, q, p)
    if r >= 0 and v.replicas(w)[r].state == UP and request.stage == 0 and request.prefix > 0:
        request.cached = _cached(key, w, q, r)
    return r


@compiled(inline="always")
def _takes(one):  # type: ignore[no-untyped-def]
    return one.state == UP or one.unnoticed


@compiled()
def _in_turn(w, p):  # type: ignore[no-untyped-def]
    pool = v.pools(w)[p]
    for _ in range(pool.count):
        r = pool.first + pool.turn
        pool.turn = pool.turn + 1 if pool.turn + 1 < pool.count else 0
        if _takes(v.replicas(w)[r]):
            return r
    return -1


@compiled(inline="always")
def _least(w, p):  # type: ignore[no-untyped-def]
    r = tournament.first(v.load_winner(w)[p])
    return r if v.load(w)[p, r] < np.inf else -1


@compiled()
def _of_two(key, w, q, p):  # type: ignore[no-untyped-def]
    """The less loaded of two that are drawn; drawn again, a few times, where they take no requests, then in turn."""
    pool, request = v.pools(w)[p], v.requests(w)[q]
    best, found = -1, 0
    for draw in range(16):
        luck = uniform(key, _CHOICES, (q * 8 + request.tries) * 32 + request.stage * 16 + draw)
        r = pool.first + int(luck * pool.count)
        one = v.replicas(w)[r]
        if not _takes(one):
            continue
        found += 1
        if best < 0 or one.work < v.replicas(w)[best].work:
            best = r
        if found == 2:
            return best
    return best if best >= 0 else _in_turn(w, p)


@compiled()
def _home(w, q, p):  # type: ignore[no-untyped-def]
    """The replica that has the request's prefix, were all of the pool up."""
    pool = v.pools(w)[p]
    return pool.first + int(v.requests(w)[q].home * pool.count)


@compiled()
def _by_prefix(w, q, p):  # type: ignore[no-untyped-def]
    """Where the prefix lies, unless that replica is away or much busier than the idlest."""
    r, least = _home(w, q, p), _least(w, p)
    if least < 0 or v.requests(w)[q].prefix == 0:
        return least
    one, settings = v.replicas(w)[r], v.settings(w)[0]
    own = v.requests(w)[q].input + v.pools(w)[p].expected_output
    if _takes(one) and one.work <= settings.affinity_bound * (v.replicas(w)[least].work + own):
        return r
    return least


@compiled()
def _cached(key, w, q, r):  # type: ignore[no-untyped-def]
    """Prompt tokens found at replica `r`: the prefix at its home, as far as it is kept; the part that all replicas hold."""
    request, p = v.requests(w)[q], v.replicas(w)[r].pool
    if v.settings(w)[0].router == PREFIX_AWARE:
        whole = r == _home(w, q, p)
    else:  # a router that does not look finds the home by chance
        whole = uniform(key, _HITS, q * 8 + request.tries) * v.pools(w)[p].count < 1.0
    common = int(request.prefix * v.settings(w)[0].everywhere)
    if not whole:
        return common
    kept = max(_kept(w, q, r), common)
    v.book(w)[p, EVICTED_TOKENS] += request.prefix - kept
    return kept


@compiled()
def _kept(w, q, r):  # type: ignore[no-untyped-def]
    """Tokens of the prefix that the memory left over at replica `r` still holds.

    The traffic's reuse distances are those of one cache; what came between is spread over the replicas that take requests.
    """
    request, one = v.requests(w)[q], v.replicas(w)[r]
    pool = v.pools(w)[one.pool]
    if request.blocks == 0:
        return request.prefix
    room = pool.kv_capacity - (one.kv + one.pending if pool.evicts else one.claimed)
    room *= max(pool.up, 1)
    found = 0
    while found < request.blocks and v.reuse(w)[request.first_block + found] <= room:
        found += 1
    return min(found * request.block, request.prefix)
