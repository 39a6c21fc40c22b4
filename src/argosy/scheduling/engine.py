"""The event loop: what happens to jobs in time. Who starts is decided in `decisions`, what becomes of nodes in `upkeep`."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import count
from math import inf, isnan

import numpy as np

from argosy.scheduling import decisions, upkeep
from argosy.scheduling.cluster import Cluster
from argosy.scheduling.jobs import ELASTIC, SERVICE, Job
from argosy.scheduling.life import (
    DELAYED,
    FINISHED,
    FUTURE,
    GAVE_UP,
    LEAVING,
    PENDING,
    REJECTED,
    RUNNING,
    Life,
)
from argosy.scheduling.machine import DOWN as DOWN_STATE
from argosy.scheduling.machine import Machine, Places
from argosy.scheduling.outages import Outages, Random
from argosy.scheduling.outcome import CODE
from argosy.scheduling.policy import Policy
from argosy.scheduling.quota import Quotas
from argosy.scheduling.ranks import Ranks
from argosy.scheduling.record import Recorder
from argosy.scheduling.shapes import Chosen, Placer, Shape, key_of, shape_of, waste_table
from argosy.scheduling.waiting import Waiting

END, LEFT, MOVED, DOWN, UP, PLANNED, PATIENCE, UPGRADE, ASK, LOOK, TIMEOUT = range(11)
"""Events, in the order of their handling at equal times."""


class Simulation:
    """The state of everything at `now`, and how it changes. One is used once."""

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], policy: Policy, failures: Outages | Random, seed: int
    ) -> None:
        self.cluster, self.policy = cluster, policy
        shapes = _shapes(cluster, jobs, policy)
        self._empty = Placer(Machine(cluster, waste_table([], cluster), False), "first-fit")
        if not policy.gang:
            for shape in {
                s: None for s, job in zip(shapes, jobs, strict=True) if job.kind not in (ELASTIC, SERVICE)
            }:
                _without_dead_ends(shape, self._empty)
        counts = np.bincount([shape.number for shape in shapes], minlength=1)
        waste = waste_table([(s, int(counts[s.number])) for s in dict.fromkeys(shapes)], cluster)
        self.machine = Machine(cluster, waste, policy.backfill in ("easy", "conservative"))
        self.placer = Placer(self.machine, policy.placement)
        self.quotas = Quotas(cluster, policy.quota)
        self.lives = [Life(i, job, shape) for i, (job, shape) in enumerate(zip(jobs, shapes, strict=True))]
        self.ranks = Ranks(policy, [job.duration_s * (job.fraction or job.accelerators) for job in jobs])
        shared = self.quotas.share if policy.order == "fair-share" else None
        self.waiting = Waiting(self.lives, shared)
        self.log = Recorder()
        self.on_node: list[set[int]] = [set() for _ in range(cluster.nodes)]
        self.running: dict[int, Life] = {}
        self.elastic: dict[int, Life] = {}
        self.services: dict[int, Life] = {}
        self.holding: dict[int, Life] = {}
        """Jobs without gangs that hold some of their places."""
        self.clearing: dict[int, set[int]] = {}
        """Waiting jobs, and those that were told to make room for them and have not left yet."""
        self.fresh: list[Life] = []
        """Joined the queue since the last decisions."""
        self.anew = True
        """Something else than arrivals has happened since."""
        self.head: Life | None = None
        """With EASY: the first that does not fit, and its reservation once anybody may start behind it."""
        self.reservation: decisions.Reservation | None = None
        self.tended = upkeep.Tended()
        self.now = 0.0
        self._order = count()
        self._fits_empty: dict[int, bool] = {}
        self._events: list[tuple[float, int, int, int, float]] = []
        self.open_jobs = 0
        """Jobs that will end some time and have not."""
        for life in self.lives:
            self.at(life.job.submit_s, ASK, life.index)
            self.open_jobs += life.job.duration_s < inf
        upkeep.plan(self, failures, seed)

    def at(self, time: float, event: int, subject: int, detail: float = 0.0) -> None:
        """Notes an event of a job or node."""
        heapq.heappush(self._events, (time, event, next(self._order), subject, detail))

    def run(self, horizon_s: float) -> float:
        """Plays until every job that can end has ended, nothing is left to happen, or the horizon; returns the end."""
        last = 0.0
        while self._events and self.open_jobs:
            time = self._events[0][0]
            if time > horizon_s:
                break
            self.now = time
            self.machine.advance(time)
            while self._events and self._events[0][0] == time:
                _, event, _, subject, detail = heapq.heappop(self._events)
                self._handle(event, subject, detail)
            decisions.decide(self)
            last = time
            if self._stuck():
                break
        end = last if horizon_s == inf else horizon_s
        self.now = end
        self.machine.advance(end)
        for life in self.lives:
            life.settle(end)
        return end

    def _stuck(self) -> bool:
        """Whether jobs wait, and nothing but further failures will ever happen."""
        return (
            not self.running
            and self.waiting.count > 0
            and not (self.machine.state == DOWN_STATE).any()
            and all(event == DOWN for _, event, *_ in self._events)
        )

    def _handle(self, event: int, subject: int, detail: float) -> None:
        if event >= DOWN and event <= UPGRADE:
            upkeep.handle(self, event, subject, detail)
            return
        life = self.lives[subject]
        if event == ASK:
            self._ask(life)
        elif life.version != detail:
            return
        elif event == END:
            self._end(life)
        elif event == LEFT:
            life.settle(self.now)
            self._left(life)
        elif event == MOVED:
            self.moved(life)
        elif event == LOOK:
            life.settle(self.now)
            self.anew = True
            self._watch_level(life)
        elif event == TIMEOUT:
            self.let_go(life)
            life.timeouts += 1
            self.back_off(life, life.timeouts)

    # Queue ------------------------------------------------------------------------------------------------------------

    def _ask(self, life: Life) -> None:
        if life.state == FUTURE and not self._possible(life):
            life.state, life.ended = REJECTED, self.now
            self.open_jobs -= life.job.duration_s < inf
            self.log.add(self.now, CODE["reject"], life.index)
            return
        self.enqueue(life)

    def _possible(self, life: Life) -> bool:
        """Whether it would fit on the whole cluster, empty and up, within what its tenant may ever have."""
        number = life.shape.number
        if number not in self._fits_empty:
            need = life.shape.fewest
            if not self.policy.gang and life.job.kind not in (ELASTIC, SERVICE):
                need = min((option.workers * option.size for option in life.shape.options), default=inf)
            fits = (
                self._empty.choose(life.shape, self.cluster.accelerators.astype(np.int64), shared=False)
                is not None
            )
            self._fits_empty[number] = fits and (life.job.fraction or need) <= self.quotas.most(
                life.job.tenant
            )
        return self._fits_empty[number]

    def enqueue(self, life: Life) -> None:
        """The job waits from now on."""
        life.state, life.asked = PENDING, self.now
        life.key = self.ranks.key(life)
        self.waiting.add(life)
        self.fresh.append(life)
        self.log.add(self.now, CODE["queue"], life.index)

    def dequeue(self, life: Life) -> None:
        """The job waits no more."""
        self.waiting.remove(life)
        life.queued += self.now - life.asked
        self.clearing.pop(life.index, None)

    def back_off(self, life: Life, times: int) -> None:
        """Out of the queue for a while, longer each time."""
        if life.state == PENDING:
            self.dequeue(life)
            self.log.add(self.now, CODE["back-off"], life.index)
        life.state = DELAYED
        wait = min(self.policy.backoff_s * 2.0 ** min(max(times - 1, 0), 60), self.policy.backoff_most_s)
        life.queued += wait
        self.at(self.now + wait, ASK, life.index)

    # Places -----------------------------------------------------------------------------------------------------------

    def occupy(self, life: Life, places: Places, end: float) -> None:
        """The machine's side of taking places: whole ones by `end`, or a part of a shared one."""
        shape, index = life.shape, life.index
        if places.steps:
            places.device = self.machine.share(int(places.nodes[0]), places.device, index, places.steps, end)
            self.machine.others(places, shape.cpus, shape.memory, -1.0)
        else:
            self.machine.take(places, end, shape.cpus, shape.memory)
        for node in places.nodes.tolist():
            self.on_node[node].add(index)
        self.quotas.add(life, places.accelerators, places.workers)

    def vacate(self, life: Life, places: Places, end: float) -> None:
        """The machine's side of giving places back. What else the job holds on the same nodes is noted again by the caller."""
        shape, index = life.shape, life.index
        if places.steps:
            self.machine.unshare(int(places.nodes[0]), places.device, index)
            self.machine.others(places, shape.cpus, shape.memory, 1.0)
        else:
            self.machine.give(places, end, shape.cpus, shape.memory)
        for node in places.nodes.tolist():
            self.on_node[node].discard(index)
        self.quotas.add(life, -places.accelerators, -places.workers)
        self.anew = True

    def add_places(self, life: Life, more: Places, event: str) -> None:
        """The job takes more places, beside those it has."""
        life.settle(self.now)
        self.occupy(life, more, life.end)
        self.log.add(self.now, CODE[event], life.index, more)
        life.places = more if life.places is None else joined(life.places, more)
        self._paced(life)

    def drop_places(self, life: Life, less: Places) -> None:
        """The job gives some of its places back, and keeps others."""
        life.settle(self.now)
        self.vacate(life, less, life.end)
        self.log.add(self.now, CODE["shrink"], life.index, less)
        life.places = without(life.places, less) if life.places else None
        if life.places is not None:
            for node in life.places.nodes.tolist():
                self.on_node[node].add(life.index)
        self._paced(life)

    def _paced(self, life: Life) -> None:
        """The speed that its workers give it."""
        if life.option is None or life.state != RUNNING:
            return
        share = life.workers / life.option.workers if life.job.kind == ELASTIC else 1.0
        life.rate = life.option.speed * share

    def replan(self, life: Life) -> None:
        """New events and a new estimated end after anything about a running job has changed."""
        life.version += 1
        end = life.estimated_end(self.now)
        if len(self.machine.until) and life.places is not None and not life.places.steps and end != life.end:
            self.machine.give(life.places, life.end)
            self.machine.take(life.places, end)
            self.anew = True
        if life.places is None or not life.places.steps:
            life.end = end
        ends = life.ends_at(self.now)
        if ends < inf:
            self.at(max(ends, self.now), END, life.index, life.version)
        self._watch_level(life)

    def _watch_level(self, life: Life) -> None:
        if life.state != RUNNING:
            return
        if self.ranks.thresholds:
            left = self.ranks.next_level_s(life)
            if left < inf and life.accelerators:
                begins = life.works_from(self.now)
                self.at(begins + left / life.accelerators, LOOK, life.index, life.version)
        immune_until = life.began + self.policy.least_run_s
        if self.policy.least_run_s > 0 and immune_until > self.now:
            self.at(immune_until, LOOK, life.index, life.version)

    # Start and end ----------------------------------------------------------------------------------------------------

    def start(self, life: Life, chosen: Chosen) -> None:
        """A waiting job starts with these places (beside those it holds already)."""
        if life.index in self.holding:
            life.settle(self.now)
            del self.holding[life.index]
            life.version += 1
        life.phases.clear()
        self.dequeue(life)
        life.state, life.option, life.began = RUNNING, chosen.option, self.now
        life.last, life.rate = self.now, chosen.option.speed
        if isnan(life.started):
            life.started = self.now
        elif life.job.restart_s:
            life.pause(self.now, life.job.restart_s, "restart")
        if life.job.kind == ELASTIC:
            life.rate *= chosen.places.workers / chosen.option.workers
        if life.places is None:
            life.end = life.estimated_end(self.now)
        self.add_places(life, chosen.places, "start")
        if not life.nodes and life.places is not None:
            life.nodes = len(life.places.nodes)
        self.running[life.index] = life
        if life.job.kind == ELASTIC:
            self.elastic[life.index] = life
        elif life.job.kind == SERVICE:
            self.services[life.index] = life
        self.replan(life)

    def hold(self, life: Life, chosen: Chosen) -> None:
        """Without gangs: a waiting job takes some of its workers' places and waits for the rest."""
        if life.index not in self.holding:
            self.holding[life.index] = life
            life.option, life.last, life.end, life.began = chosen.option, self.now, inf, self.now
            life.phases = [(inf, "held")]
            life.version += 1
            self.at(self.now + self.policy.hold_s, TIMEOUT, life.index, life.version)
        self.add_places(life, chosen.places, "grow")

    def let_go(self, life: Life) -> None:
        """A job that only held places gives them back and goes on waiting."""
        del self.holding[life.index]
        life.version += 1
        life.settle(self.now)
        if life.places is not None:
            self.drop_places(life, life.places)
        life.phases.clear()
        life.option = None

    def stop(self, life: Life, reason: str) -> None:
        """The job gives back all that it holds."""
        life.settle(self.now)
        held = life.places
        if life.old is not None:
            self.vacate(life, life.old, inf)
            held = life.old if held is None else joined(held, life.old)
            life.old = None
        if life.places is not None:
            self.vacate(life, life.places, life.end)
        life.places, life.version, life.reason = None, life.version + 1, ""
        life.phases.clear()
        self.log.add(self.now, CODE[reason], life.index, held)
        for kept in (self.running, self.elastic, self.services):
            kept.pop(life.index, None)
        self.gone(life)
        self.anew = True

    def gone(self, life: Life) -> None:
        """Nobody waits for this one to leave any more."""
        for victims in self.clearing.values():
            victims.discard(life.index)

    def leave(self, life: Life, reason: str) -> None:
        """Evicts a job: after it has saved, where it can within the grace; at once otherwise, with what that loses."""
        life.settle(self.now)
        if life.job.kind == SERVICE or not life.unsaved:
            self._evicted(life, reason)
        elif life.job.checkpoint_s > self.policy.grace_s or life.job.checkpoint_s == inf:
            life.fall_back()
            self._evicted(life, reason)
        elif life.job.checkpoint_s == 0:
            life.save()
            self._evicted(life, reason)
        else:
            self.linger(life, life.job.checkpoint_s, "checkpoint", reason)

    def linger(self, life: Life, seconds: float, kind: str, reason: str) -> None:
        """The job holds what it has for so long, and leaves then."""
        life.state, life.reason = LEAVING, reason
        life.phases = [(self.now + seconds, kind)]
        for kept in (self.running, self.elastic, self.services):
            kept.pop(life.index, None)
        self.log.add(self.now, CODE["leave"], life.index)
        life.version += 1
        self.at(self.now + seconds, LEFT, life.index, life.version)

    def _left(self, life: Life) -> None:
        if life.reason == "preempt":
            life.save()
        self._evicted(life, life.reason)

    def _evicted(self, life: Life, reason: str) -> None:
        if reason == "preempt":
            life.preemptions += 1
        self.stop(life, reason)
        self.enqueue(life)

    def _end(self, life: Life) -> None:
        life.settle(self.now)
        job = life.job
        if job.kind != SERVICE and job.crash_after_s < job.duration_s:
            self._crash(life)
            return
        life.done, life.ended, life.state = job.duration_s, self.now, FINISHED
        if life.old is not None:
            self.moved(life)
        self.stop(life, "finish")
        self.open_jobs -= job.duration_s < inf

    def _crash(self, life: Life) -> None:
        life.fall_back()
        life.crashes += 1
        life.restarts += 1
        if life.crashes >= self.policy.crash_limit:
            life.lost, life.productive = life.lost + life.productive, 0.0
            life.ended, life.state = self.now, GAVE_UP
            self.stop(life, "give-up")
            self.open_jobs -= life.job.duration_s < inf
            return
        self.stop(life, "crash")
        self.back_off(life, life.crashes)

    # Migration --------------------------------------------------------------------------------------------------------

    def move(self, life: Life, places: Places) -> bool:
        """A running job moves: it holds both places while it saves, then starts again on the new ones. False: done at once."""
        life.settle(self.now)
        life.migrations += 1
        old, life.places = life.places, None
        assert old is not None
        if len(self.machine.until):  # what it leaves has no estimate while both are held
            self.machine.give(old, life.end)
            self.machine.take(old, inf)
        saving = life.job.checkpoint_s if life.unsaved else 0.0
        life.pause(self.now, saving, "checkpoint")
        life.pause(self.now, life.job.restart_s, "restart")
        life.end = life.estimated_end(self.now)
        self.occupy(life, places, life.end)
        self.log.add(self.now, CODE["grow"], life.index, places)
        life.old, life.places = old, places
        self.replan(life)
        if saving:
            self.at(self.now + saving, MOVED, life.index, life.version)
            return True
        self.moved(life)
        return False

    def moved(self, life: Life) -> None:
        """The old places of a migrated job are given back."""
        life.settle(self.now)
        life.save()
        old, life.old = life.old, None
        assert old is not None and life.places is not None
        self.vacate(life, old, inf)
        for node in life.places.nodes.tolist():
            self.on_node[node].add(life.index)
        self.log.add(self.now, CODE["shrink"], life.index, old)
        self.gone(life)


def joined(a: Places, b: Places) -> Places:
    """Both as one."""
    total = dict(zip(a.nodes.tolist(), a.amounts.tolist(), strict=True))
    for node, amount in zip(b.nodes.tolist(), b.amounts.tolist(), strict=True):
        total[node] = total.get(node, 0) + amount
    return Places(
        np.array(list(total)), np.array(list(total.values())), a.workers + b.workers, a.device, a.steps
    )


def without(a: Places, b: Places) -> Places | None:
    """What is left of `a` after `b`; None where nothing is."""
    total = dict(zip(a.nodes.tolist(), a.amounts.tolist(), strict=True))
    for node, amount in zip(b.nodes.tolist(), b.amounts.tolist(), strict=True):
        total[node] -= amount
    left = {node: amount for node, amount in total.items() if amount}
    if not left:
        return None
    return Places(np.array(list(left)), np.array(list(left.values())), a.workers - b.workers)


def _without_dead_ends(shape: Shape, empty: Placer) -> None:
    """Without gangs workers take places one by one: only options of which all workers fit on the empty cluster."""
    limit = empty.machine.limit(shape.cpus, shape.memory)
    able = [at for at, one in enumerate(shape.options) if empty.put(empty.machine.free, one.request, limit)]
    shape.options, shape.rows = [shape.options[at] for at in able], shape.rows[able]


def _shapes(cluster: Cluster, jobs: Sequence[Job], policy: Policy) -> list[Shape]:
    """The shape of each job."""
    # the tenant decides whether a quota, and its own or others' cohort, lets a job start
    by_tenant = policy.order == "fair-share" or (policy.quota != "none" and bool(cluster.quotas))
    by_priority = policy.preemption == "priority" and policy.order != "priority"
    known: dict[tuple[object, ...], Shape] = {}
    found = []
    for job in jobs:
        key = key_of(job, by_tenant, by_priority)
        shape = known.get(key)
        if shape is None:
            shape = known[key] = shape_of(job, cluster, len(known), policy.gang)
        found.append(shape)
    return found
