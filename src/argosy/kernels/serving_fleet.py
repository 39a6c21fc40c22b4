"""An inference fleet: requests arrive, are routed, served, lost and tried again, while replicas fail, warm and drain."""

from __future__ import annotations

from argosy.kernels import heap, tournament
from argosy.kernels import serving_views as v
from argosy.kernels.compiled import compiled
from argosy.kernels.serving_events import awake, planned, roll, submit, tick
from argosy.kernels.serving_marks import mark
from argosy.kernels.serving_records import DOWN, UP, WARMING
from argosy.kernels.serving_replica import begin, boundary, inside, set_state, show_load

# Whose event is next; of equal times, the first in this order.
_REPLICA, _DELAYED, _PLANNED, _ARRIVAL, _TICK, _MARK = range(6)


@compiled(nogil=True)
def run_fleet(key, directory, grids):  # type: ignore[no-untyped-def]
    """One run: `directory` of `serving_records.empty_world`, `grids` a tuple of step-time grids, one for each pool.

    Requests, replicas, book and series of the world are filled. Returns when it ended (s).
    """
    w = directory[0]
    _open(w)
    settings, arrivals, events = v.settings(w)[0], w.requests_rows, w.planned_rows
    arrived, happened, ticks, passed, now = 0, 0, 0, 0, 0.0
    while True:
        busy = tournament.first(v.next_winner(w))
        kind, at = _REPLICA, v.next_at(w)[busy]
        if v.delayed_size(w)[0] > 0 and v.delayed_at(w)[0] < at:
            kind, at = _DELAYED, v.delayed_at(w)[0]
        if happened < events and v.planned(w)[happened].at < at:
            kind, at = _PLANNED, v.planned(w)[happened].at
        if arrived < arrivals and v.requests(w)[arrived].arrival < at:
            kind, at = _ARRIVAL, v.requests(w)[arrived].arrival
        if ticks * settings.tick_s < at:
            kind, at = _TICK, ticks * settings.tick_s
        if passed < w.marks_rows and v.marks(w)[passed] < at:
            kind, at = _MARK, v.marks(w)[passed]
        if at > settings.stop_s:
            now = settings.stop_s
            break
        now = at
        if kind == _REPLICA:
            one = v.replicas(w)[busy]
            if one.state == DOWN or one.state == WARMING:
                if awake(w, busy, now):
                    begin(w, grids[one.pool], busy, now)
                    roll(w, one.pool, now)
            else:
                boundary(w, grids[one.pool], busy, now)
        elif kind == _ARRIVAL:
            submit(key, w, grids, arrived, now)
            arrived += 1
        elif kind == _DELAYED:
            _come_back(key, w, grids, now)
        elif kind == _PLANNED:
            planned(w, v.planned(w)[happened], now)
            happened += 1
        elif kind == _MARK:
            mark(w, passed, now)
            passed += 1
        else:
            if passed == w.marks_rows and arrived == arrivals and _all_ended(w):
                break
            tick(w, ticks, arrived, now)
            ticks += 1
    _close(w, now)
    return now


@compiled()
def _come_back(key, w, grids, now):  # type: ignore[no-untyped-def]
    item, size = v.delayed_item(w)[0], v.delayed_size(w)
    size[0] = heap.pop(v.delayed_at(w), v.delayed_item(w), 0, size[0])
    if item < 0:
        v.pools(w)[-1 - item].spares += 1
    else:
        submit(key, w, grids, item, now)


@compiled()
def _open(w):  # type: ignore[no-untyped-def]
    tournament.settle(v.next_at(w), v.next_winner(w))
    for p in range(v.settings(w)[0].pools):
        pool = v.pools(w)[p]
        tournament.settle(v.load(w)[p], v.load_winner(w)[p])
        for r in range(pool.first, pool.first + pool.initial):
            set_state(w, r, UP, 0.0)
            show_load(w, r)


@compiled()
def _all_ended(w):  # type: ignore[no-untyped-def]
    for p in range(v.settings(w)[0].pools):
        if v.pools(w)[p].inside > 0.0:
            return False
    waiting = 0
    for at in range(v.delayed_size(w)[0]):
        waiting += v.delayed_item(w)[at] >= 0
    return waiting == 0


@compiled()
def _close(w, now):  # type: ignore[no-untyped-def]
    """Books what runs on at the end."""
    for r in range(w.replicas_rows):
        set_state(w, r, v.replicas(w)[r].state, now)
    for p in range(v.settings(w)[0].pools):
        inside(w, p, 0, now)
