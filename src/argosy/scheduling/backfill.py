"""Reservations by estimated ends: EASY (one, for the first that does not fit) and conservative (one for each of the first)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import inf, isnan
from typing import TYPE_CHECKING

import numpy as np

from argosy.kernels import reservation
from argosy.scheduling.jobs import SERVICE
from argosy.scheduling.life import Life
from argosy.scheduling.shapes import Chosen, Option, Shape

if TYPE_CHECKING:
    from argosy.scheduling.engine import Simulation


@dataclass(slots=True, eq=False)
class Reservation:
    """The promise to a waiting job: when it can start by the estimates, and what later jobs may take beyond that moment."""

    life: Life
    at: float
    extra: np.ndarray
    """Accelerators by node that are neither taken at `at` nor promised (nodes,)."""


def lasts(sim: Simulation, life: Life, option: Option, workers: int) -> float:
    """How long a waiting job would hold its places, by its estimate."""
    if life.job.kind == SERVICE:
        begun = sim.now if isnan(life.started) else life.started
        return max(begun + life.job.estimate_s - sim.now, 0.0)
    rate = option.speed * (workers / option.workers if life.job.kind == "elastic" else 1.0)
    again = 0.0 if isnan(life.started) else life.job.restart_s
    return again + life.estimate_left / rate


def reserve(sim: Simulation, life: Life) -> Reservation:
    """The first moment at which the job fits by the estimates of those that run, and its places then."""
    machine, opened = sim.machine, sim.machine.opened
    best, at = None, inf
    for option in life.shape.options:
        request = option.of(option.fewest)
        when = float(
            reservation.earliest(machine.until, opened, machine.types, machine.groups, request, sim.now)
        )
        if when < at:
            best, at = request, when
    if best is None:
        return Reservation(life, inf, machine.free.copy())
    free = reservation.by_then(machine.until, opened, at)
    promised = sim.placer.put(free, best)
    if promised is not None:
        free[promised.nodes] -= promised.amounts
    return Reservation(life, at, free)


def behind(sim: Simulation, head: Life, active: dict[int, Shape]) -> None:
    """Starts who can behind the first that does not fit, without delaying it, in order, until nobody else can."""
    machine = sim.machine
    alive = [shape for shape in active.values() if shape.pending]
    while alive and (machine.totals[0] > 0 or machine.shared):
        alive = [
            shape for shape, fits in zip(alive, sim.placer.fits(alive, machine.free), strict=True) if fits
        ]
        if not alive:
            return
        kept = sim.reservation = sim.reservation or reserve(sim, head)
        lasting = sim.placer.fits(alive, np.minimum(machine.free, kept.extra))
        best: Life | None = None
        for shape, fits in zip(alive, lasting, strict=True):
            life = _first(sim, shape, kept, fits)
            if life is not None and (best is None or sim.waiting.rank(life) < sim.waiting.rank(best)):
                best = life
        if best is None:
            return
        if not one_behind(sim, head, best):
            alive.remove(best.shape)
        alive = [shape for shape in alive if shape.pending]


def _first(sim: Simulation, shape: Shape, kept: Reservation, lasting: bool) -> Life | None:
    """The first of a shape that may start behind the reservation: the head, or who is done in time."""
    from argosy.scheduling.decisions import blocked_by_quota

    if blocked_by_quota(sim, sim.lives[shape.pending[0][1]]):
        return None
    if lasting:
        return next((sim.lives[index] for _, index in shape.pending if index != kept.life.index), None)
    fastest = max(option.speed for option in shape.options)
    if sim.waiting.least_estimate(shape) / fastest > kept.at - sim.now and kept.at < inf:
        return None
    chosen = sim.placer.choose(shape, sim.machine.free)
    if chosen is None:
        return None
    # no job is done sooner than by the fastest option: most are known to be too long by that alone
    soonest = (kept.at - sim.now) * fastest * (1.0 + 1e-9)
    for _, index in shape.pending:
        life = sim.lives[index]
        if life.estimate_left > soonest and life.job.kind != SERVICE:
            continue
        if (
            life is not kept.life
            and sim.now + lasts(sim, life, chosen.option, chosen.places.workers) <= kept.at
        ):
            return life
    return None


def one_behind(sim: Simulation, head: Life, life: Life) -> bool:
    """Starts a job behind the first that does not fit, if that does not delay it."""
    from argosy.scheduling.decisions import begin, blocked_by_quota

    shape, machine = life.shape, sim.machine
    if blocked_by_quota(sim, life) or (not shape.steps and shape.fewest > machine.totals[0]):
        return False
    allowed = sim.quotas.room(life.job.tenant)
    chosen: Chosen | None = None
    kept = sim.reservation
    if kept is None or not _surely_lasting(sim, kept, life):
        chosen = sim.placer.choose(shape, machine.free, allowed)
        if chosen is None:
            return False
    kept = sim.reservation = kept or reserve(sim, head)
    if chosen is None or sim.now + lasts(sim, life, chosen.option, chosen.places.workers) > kept.at:
        chosen = sim.placer.choose(shape, np.minimum(machine.free, kept.extra), allowed)
        if chosen is None:
            return False
        if (
            sim.now + lasts(sim, life, chosen.option, chosen.places.workers) > kept.at
            and chosen.places.device < 0
        ):
            kept.extra[chosen.places.nodes] -= chosen.places.amounts
    begin(sim, life, chosen)
    return True


def _surely_lasting(sim: Simulation, kept: Reservation, life: Life) -> bool:
    """Whether a job of one fixed size outlasts the reservation wherever it is put."""
    options = life.shape.options
    if len(options) > 1 or options[0].fewest < options[0].workers:
        return False
    return sim.now + lasts(sim, life, options[0], options[0].workers) > kept.at


class Profile:
    """Free accelerators over time: from `times[i]` on `rows[i]` (nodes,)."""

    def __init__(self, sim: Simulation) -> None:
        machine, opened = sim.machine, sim.machine.opened
        ends = machine.until[opened]
        later = np.unique(ends[(ends > sim.now) & (ends < inf)]).tolist()
        if ((ends <= sim.now) & (ends > -inf)).any():  # overdue by estimate: free at any moment, but not yet
            later.insert(0, float(np.nextafter(sim.now, inf)))
        self.times = [sim.now, *later]
        self.rows = [machine.free.copy()]
        self.rows += [reservation.by_then(machine.until, opened, time) for time in later]

    def window(self, at: int, seconds: float) -> np.ndarray:
        """What is free from `times[at]` on for so long (nodes,)."""
        upto = max(bisect_left(self.times, self.times[at] + seconds), at + 1)
        return np.asarray(np.min(self.rows[at:upto], axis=0))

    def take(self, at: int, seconds: float, chosen: Chosen) -> None:
        """Takes places from `times[at]` on for so long."""
        end = self.times[at] + seconds
        if end < inf:
            upto = bisect_left(self.times, end)
            if upto == len(self.times) or self.times[upto] != end:
                self.times.insert(upto, end)
                self.rows.insert(upto, self.rows[upto - 1].copy())
        else:
            upto = len(self.times)
        for row in self.rows[at : max(upto, at + 1)]:
            row[chosen.places.nodes] -= chosen.places.amounts


def conservative(sim: Simulation) -> None:
    """Gives each of the first waiting jobs, in order, the earliest places that no promise before it needs."""
    from argosy.scheduling.decisions import begin, blocked_by_quota

    profile = Profile(sim)
    promised = 0
    for life in sim.waiting:
        if promised >= sim.policy.depth:
            return
        if blocked_by_quota(sim, life):
            continue
        found = _earliest(sim, profile, life)
        if found is None:
            continue
        at, seconds, chosen = found
        promised += 1
        if chosen.places.device < 0:
            profile.take(at, seconds, chosen)
        if at == 0:
            begin(sim, life, chosen)


def _earliest(sim: Simulation, profile: Profile, life: Life) -> tuple[int, float, Chosen] | None:
    allowed = sim.quotas.room(life.job.tenant)
    for at in range(len(profile.times)):
        for option in life.shape.options:
            seconds = lasts(sim, life, option, option.fewest)
            window = profile.window(at, seconds)
            chosen = sim.placer.choose_option(life.shape, option, window, allowed, at == 0)
            if chosen is not None:
                return at, lasts(sim, life, option, chosen.places.workers), chosen
    return None
