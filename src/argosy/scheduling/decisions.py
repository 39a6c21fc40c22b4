"""Who starts now: the walk along the queue, and what happens behind a job that does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.scheduling import backfill, room, upkeep
from argosy.scheduling.jobs import ELASTIC, SERVICE
from argosy.scheduling.life import PENDING, Life
from argosy.scheduling.shapes import Chosen

if TYPE_CHECKING:
    from argosy.scheduling.engine import Simulation


def decide(sim: Simulation) -> None:
    """All decisions of one moment, after everything that happens at it."""
    upkeep.tend(sim)
    if sim.waiting.count:
        if sim.anew:
            _top_up(sim)
        if sim.policy.backfill == "conservative":
            backfill.conservative(sim)
        else:
            _walk(sim)
    elif sim.anew:
        _top_up(sim)
    if not sim.waiting.count and sim.elastic:
        _grow(sim)
    sim.anew = False
    sim.fresh.clear()


def blocked_by_quota(sim: Simulation, life: Life) -> bool:
    """Whether the tenant may not take even the smallest start of this job."""
    return (
        sim.quotas.rule != "none"
        and life.shape.fewest - life.workers > sim.quotas.room(life.job.tenant) + 1e-9
    )


def _walk(sim: Simulation) -> None:
    """Along the queue in order, until nobody else can start."""
    if not sim.anew and _arrivals_only(sim):
        return
    sim.head = sim.reservation = None
    waiting, policy = sim.waiting, sim.policy
    active = dict(waiting.shapes)
    if (
        policy.backfill == "skip" and not sim.anew and not sim.clearing
    ):  # who did not fit before does not fit now
        active = {one.shape.number: one.shape for one in sim.fresh if one.state == PENDING}
    fits: dict[int, bool] | None = None
    while active:
        life = waiting.first(active.values())
        assert life is not None
        shape = life.shape
        chosen = None
        if fits is None or fits[shape.number]:
            chosen = choose(sim, life)
        if chosen is None:
            if sim.clearing.get(life.index):
                return  # room is being made for this one: who comes later must not take it
            made = room.make(sim, life)
            if made == room.LATER:
                return
            if made == room.NOW:  # what is left over may suit somebody who was passed over
                chosen, active, fits = choose(sim, life), dict(waiting.shapes), None
        if chosen is not None:
            begin(sim, life, chosen)
            if not shape.pending:
                active.pop(shape.number, None)
            elif life.state == PENDING:
                active.pop(shape.number, None)  # it holds what there is, and nobody of its shape gets more
            continue
        if blocked_by_quota(sim, life):
            active.pop(shape.number)
            continue
        if policy.backfill == "none":
            return
        if policy.backfill == "easy":
            sim.head, sim.reservation = life, None
            backfill.behind(sim, life, active)
            return
        active.pop(shape.number)
        if fits is None:
            fits = dict(zip(active, sim.placer.fits(list(active.values()), sim.machine.free), strict=True))


def _arrivals_only(sim: Simulation) -> bool:
    """Decides on arrivals alone, where nothing else can have changed; False where the whole queue has to be walked."""
    policy, head, kept = sim.policy, sim.head, sim.reservation
    if policy.backfill != "easy" or head is None or sim.clearing or policy.preemption != "none":
        return False
    if policy.reclaim or policy.least_run_s or sim.waiting.share is not None or (kept and kept.at <= sim.now):
        return False
    if head.state != PENDING or sim.waiting.first(sim.waiting.shapes.values()) is not head:
        return False
    for life in sorted(sim.fresh, key=sim.waiting.rank):
        if life.state == PENDING and not blocked_by_quota(sim, life):
            backfill.one_behind(sim, head, life)
    return True


def choose(sim: Simulation, life: Life) -> Chosen | None:
    """Where a job would start now, None where it does not fit or its tenant may not."""
    if blocked_by_quota(sim, life):
        return None
    if life.index in sim.holding:
        return room.rest_of(sim, life)
    if not life.shape.steps and life.shape.fewest > sim.machine.totals[0]:
        return None
    return sim.placer.choose(life.shape, sim.machine.free, sim.quotas.room(life.job.tenant))


def begin(sim: Simulation, life: Life, chosen: Chosen) -> None:
    """Starts a job; without gangs one that is not complete holds what it got."""
    incomplete = life.workers + chosen.places.workers < chosen.option.workers
    if incomplete and life.job.kind not in (ELASTIC, SERVICE):
        sim.hold(life, chosen)
    else:
        sim.start(life, chosen)


def _top_up(sim: Simulation) -> None:
    """Services get back the replicas that they lost, as far as there is room."""
    for life in list(sim.services.values()):
        option = life.option
        if option is not None and life.workers < option.workers:
            _add_workers(sim, life, option.workers)


def _grow(sim: Simulation) -> None:
    """When nobody waits, elastic jobs take what is free, those that started first before others."""
    if not sim.policy.resize:
        return
    for life in sorted(sim.elastic.values(), key=lambda one: (one.began, one.index)):
        option = life.option
        if option is None:
            continue
        most = max(life.job.elastic_max, option.workers)
        if life.workers < most and _add_workers(sim, life, most):
            life.pause(sim.now, life.job.resize_s, "restart")
            sim.replan(life)


def _add_workers(sim: Simulation, life: Life, upto: int) -> bool:
    """As many more workers as fit, up to `upto` in all."""
    option = life.option
    assert option is not None and life.places is not None
    left = sim.quotas.room(life.job.tenant)
    most = upto - life.workers
    if left < most * option.size:
        most = int(left // option.size)
    most = min(most, int(sim.machine.totals[0]) // option.size)
    low, found = 0, None
    while low < most:  # the largest number that fits, by bisection
        middle = (low + most + 1) // 2
        places = upkeep.more_places(sim, life, middle)
        if places is None:
            most = middle - 1
        else:
            low, found = middle, places
    if found is None:
        return False
    sim.add_places(life, found, "grow")
    return True
