"""Making room for a waiting job: elastic jobs shrink, others are preempted or reclaimed, running jobs migrate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from argosy.kernels import placement
from argosy.scheduling.jobs import ELASTIC, SERVICE
from argosy.scheduling.life import Life
from argosy.scheduling.machine import UP, Places
from argosy.scheduling.shapes import Chosen

if TYPE_CHECKING:
    from argosy.scheduling.engine import Simulation

NEVER, NOW, LATER = range(3)


@dataclass(slots=True, eq=False)
class Gain:
    """What one running job would give: all it has, or workers above what it must keep."""

    life: Life
    places: Places
    whole: bool


def make(sim: Simulation, life: Life) -> int:
    """Makes room for a waiting job if that lets it start: NOW it can, LATER when those who were told to have left, or NEVER."""
    gains = _gains(sim, life)
    chosen = _enough(sim, life, gains) if gains else None
    if chosen is not None:
        return _apply(sim, life, chosen)
    if sim.policy.defragment and not life.shape.special:
        return _defragment(sim, life)
    return NEVER


def _gains(sim: Simulation, life: Life) -> list[Gain]:
    """Who could give something, in the order of asking: elastic surplus first, then those with least right, latest first."""
    policy, found = sim.policy, []
    if policy.resize:
        for one in sorted(sim.elastic.values(), key=lambda one: (-one.began, one.index)):
            surplus = one.workers - max(one.job.elastic_min or (one.option.workers if one.option else 1), 1)
            if surplus > 0 and one is not life and _may_shrink(sim, life, one):
                found += _workers(one, surplus)
    if policy.preemption == "none" and not policy.reclaim:
        return found
    lesser = _lesser(sim, life)
    for one in sorted(lesser, key=lambda one: _right(sim, one), reverse=True):
        if one.job.kind == SERVICE:
            found += _workers(one, one.workers - max(one.job.floor, 1))
        elif one.places is not None:
            found.append(Gain(one, one.places, True))
    return found


def _may_shrink(sim: Simulation, life: Life, one: Life) -> bool:
    """Not for a job that would borrow, of another tenant with a quota: its owner could reclaim at once, and so on for ever."""
    quotas, tenant, other = sim.quotas, life.job.tenant, one.job.tenant
    if not sim.policy.reclaim or tenant == other or not quotas.same_cohort(tenant, other):
        return True
    return quotas.entitled(tenant, life.shape.fewest - (life.places.accelerators if life.places else 0))


def _right(sim: Simulation, life: Life) -> tuple[float, float, int]:
    """Whom to keep: smaller is kept longer."""
    coarse = sim.ranks.standing(life, sim.now) if sim.policy.preemption == "order" else -life.job.priority
    return (coarse, life.began, life.index)


def _lesser(sim: Simulation, life: Life) -> list[Life]:
    """Running jobs that have to make way for a waiting one, by rank or because their tenant borrows."""
    policy, quotas = sim.policy, sim.quotas
    own = life.places.accelerators if life.places else 0
    reclaims = policy.reclaim and quotas.entitled(life.job.tenant, life.shape.fewest - own)
    lower = any(count and priority < life.job.priority for priority, count in sim.priorities.items())
    if policy.preemption == "priority" and not (lower or reclaims or sim.holding):
        return []
    outranks = _outranks(sim, life)
    found = []
    for one in (*sim.running.values(), *sim.holding.values()):
        if one is life or one.old is not None:
            continue
        if sim.now < one.began + policy.least_run_s and one.index not in sim.holding:
            continue
        borrowed = (
            reclaims
            and quotas.same_cohort(life.job.tenant, one.job.tenant)
            and quotas.borrows(one.job.tenant)
        )
        if outranks(one) or borrowed:
            one.settle(sim.now)
            found.append(one)
    return found


def _outranks(sim: Simulation, life: Life) -> Callable[[Life], bool]:
    """Whether a running job ranks behind a waiting one. Where tenants borrow, only among jobs of one tenant (or of tenants
    without quotas), as in Kueue: across tenants quotas decide, else each could evict the other by another right."""
    quotas, tenant = sim.quotas, life.job.tenant
    apart = quotas.rule == "borrow"

    def among_equals(one: Life) -> bool:
        other = one.job.tenant
        return not apart or other == tenant or not (other in quotas.known or tenant in quotas.known)

    if sim.policy.preemption == "priority":
        return lambda one: one.job.priority < life.job.priority and among_equals(one)
    if sim.policy.preemption == "order":
        coarse = sim.ranks.coarse(life)
        bar = coarse + 1e-9 * max(abs(coarse), 1.0)

        def behind(one: Life) -> bool:
            return sim.ranks.standing(one, sim.now) > bar and among_equals(one)

        return behind
    return lambda one: False


def _workers(life: Life, surplus: int) -> list[Gain]:
    """So many of a job's workers, one by one, from the nodes where it has fewest."""
    assert life.places is not None
    size = int(life.places.amounts.sum()) // life.places.workers
    found: list[Gain] = []
    for at in np.lexsort((-life.places.nodes, life.places.amounts)):
        for _ in range(int(life.places.amounts[at]) // size):
            if len(found) < surplus:
                found.append(
                    Gain(life, Places(life.places.nodes[at : at + 1].copy(), np.array([size]), 1), False)
                )
    return found


class _Freed:
    """What would be free, and what each tenant would have given back, if some gains were taken."""

    def __init__(self, sim: Simulation, life: Life) -> None:
        self.sim, self.life = sim, life
        self.avail = sim.machine.free.copy()
        self.tenants: dict[str, float] = {}

    def add(self, gain: Gain, sign: int = 1) -> None:
        up = self.sim.machine.state[gain.places.nodes] == UP
        if not gain.places.steps:
            np.add.at(self.avail, gain.places.nodes[up], sign * gain.places.amounts[up])
        tenant = gain.life.job.tenant
        self.tenants[tenant] = self.tenants.get(tenant, 0.0) + sign * gain.places.accelerators

    @property
    def suffices(self) -> bool:
        life, sim = self.life, self.sim
        need = life.shape.fewest - (life.places.accelerators if life.places else 0)
        allowed = sim.quotas.room(life.job.tenant, self.tenants)
        if need > allowed + 1e-9:
            return False
        if life.index in sim.holding:
            return rest_of(sim, life, self.avail) is not None
        if not life.shape.steps and life.shape.fewest > self.avail.sum():
            return False
        return sim.placer.choose(life.shape, self.avail, allowed) is not None


def _enough(sim: Simulation, life: Life, gains: list[Gain]) -> list[Gain] | None:
    """The first gains that suffice, without those that the others make needless; None where all together do not."""
    freed, taken = _Freed(sim, life), list[Gain]()
    quick = sim.machine.totals[0] + sum(gain.places.accelerators for gain in gains)
    if (
        quick < life.shape.fewest
        or sim.quotas.room(life.job.tenant, _all_of(gains)) < life.shape.fewest - 1e-9
    ):
        return None
    for gain in gains:
        if not _may(sim, life, gain, freed):
            continue
        if gain.whole:  # its single workers are part of it
            for part in [one for one in taken if one.life is gain.life]:
                freed.add(part, -1)
                taken.remove(part)
        freed.add(gain)
        taken.append(gain)
        if freed.suffices:
            break
    else:
        return None
    for gain in reversed(taken[:-1]):
        freed.add(gain, -1)
        if freed.suffices:
            taken.remove(gain)
        else:
            freed.add(gain)
    return taken


def _all_of(gains: list[Gain]) -> dict[str, float]:
    freed: dict[str, float] = {}
    for gain in gains:
        freed[gain.life.job.tenant] = freed.get(gain.life.job.tenant, 0.0) + gain.places.accelerators
    return freed


def _may(sim: Simulation, life: Life, gain: Gain, freed: _Freed) -> bool:
    """A job that is only reclaimed is so while its tenant still borrows."""
    if not gain.whole or _outranks(sim, life)(gain.life):
        return True
    return sim.quotas.borrows(gain.life.job.tenant, freed.tenants)


def _apply(sim: Simulation, life: Life, gains: list[Gain]) -> int:
    shrunk: dict[int, list[Gain]] = {}
    leaving: set[int] = set()
    sim.clearing[life.index] = leaving
    for gain in gains:
        if not gain.whole:
            shrunk.setdefault(gain.life.index, []).append(gain)
        elif gain.life.index in sim.holding:
            sim.let_go(gain.life)
        else:
            leaving.add(gain.life.index)
            sim.leave(gain.life, "preempt")  # discards it from `leaving` if it goes at once
    for parts in shrunk.values():
        one = parts[0].life
        for part in parts:
            sim.drop_places(one, part.places)
        if one.job.kind == ELASTIC:
            one.pause(sim.now, one.job.resize_s, "restart")
        sim.replan(one)
    if leaving:
        return LATER
    del sim.clearing[life.index]
    return NOW


def rest_of(sim: Simulation, life: Life, avail: np.ndarray | None = None) -> Chosen | None:
    """Without gangs: places for the workers that a holding job still lacks, or for some of them."""
    option = life.option
    assert option is not None
    avail = sim.machine.free if avail is None else avail
    limit = sim.machine.limit(life.shape.cpus, life.shape.memory)
    missing = option.of(option.workers - life.workers)
    room = int(placement.most(avail, sim.machine.types, sim.machine.groups, limit, missing))
    room = min(room, option.workers - life.workers, _affordable(sim, life, option.size))
    if room < 1:
        return None
    places = sim.placer.put(avail, option.of(room), limit)
    return None if places is None else Chosen(places, option)


def _affordable(sim: Simulation, life: Life, size: int) -> int:
    left = sim.quotas.room(life.job.tenant)
    return len(sim.machine.free) * sim.machine.largest if left == inf else int(left // size)


def _defragment(sim: Simulation, life: Life) -> int:
    """Moves small jobs off nodes that then take a worker more of the waiting one, the smallest first; all or nothing."""
    request = life.shape.rows[0]
    size, machine = int(request[placement.WORKER]), sim.machine
    if machine.totals[0] < size * int(request[placement.WORKERS]):
        return NEVER
    if sim.quotas.rule != "none" and life.shape.fewest > sim.quotas.room(life.job.tenant):
        return NEVER
    avail, now = machine.free.copy(), machine.free.copy()  # when all have moved, and until then
    movable = sorted(
        (one for one in sim.running.values() if _movable(sim, one)),
        key=lambda one: (one.accelerators, one.index),
    )
    moves: list[tuple[Life, Places]] = []
    while len(moves) < sim.policy.migrations:
        for one in movable:
            target = _target(sim, one, avail, now, size)
            if target is not None:
                break
        else:
            return NEVER
        assert one.places is not None
        movable.remove(one)
        moves.append((one, target))
        avail[target.nodes] -= target.amounts
        now[target.nodes] -= target.amounts
        avail[one.places.nodes] += one.places.amounts
        if sim.placer.choose(life.shape, avail) is not None:
            return _migrate(sim, life, moves)
    return NEVER


def _movable(sim: Simulation, one: Life) -> bool:
    return (
        one.places is not None
        and len(one.places.nodes) == 1
        and not one.shape.special
        and one.job.kind not in (ELASTIC, SERVICE)
        and one.job.topology in ("any", "node")
        and one.old is None
        and one.job.checkpoint_s <= sim.policy.grace_s
        and one.job.checkpoint_s < inf
        and not one.phases
        and sim.machine.state[one.places.nodes[0]] == UP
    )


def _target(sim: Simulation, one: Life, avail: np.ndarray, now: np.ndarray, size: int) -> Places | None:
    """A node where a job leaves as many workers of `size` possible, if its own node then takes one more; else None."""
    assert one.places is not None and one.option is not None
    node, amount = int(one.places.nodes[0]), int(one.places.amounts[0])
    if (avail[node] + amount) // size <= avail[node] // size:
        return None
    types = sim.machine.types
    good = (
        (now >= amount)
        & (avail >= amount)
        & ((avail - amount) // size == avail // size)
        & (types == types[node])
    )
    good[node] = False
    if not good.any():
        return None
    best = int(np.where(good, avail, np.iinfo(np.int64).max).argmin())
    return Places(np.array([best]), one.places.amounts.copy(), one.places.workers)


def _migrate(sim: Simulation, life: Life, moves: list[tuple[Life, Places]]) -> int:
    moving: set[int] = set()
    sim.clearing[life.index] = moving
    for one, target in moves:
        moving.add(one.index)
        sim.move(one, target)  # discards it from `moving` when its old place is free
    if moving:
        return LATER
    del sim.clearing[life.index]
    return NOW
