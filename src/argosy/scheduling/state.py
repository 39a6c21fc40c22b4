"""The state of everything at one moment of a simulation, and how places are taken and given back."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from argosy.scheduling.cluster import Cluster
from argosy.scheduling.jobs import ELASTIC, SERVICE, Job
from argosy.scheduling.life import RUNNING, Life
from argosy.scheduling.machine import Machine, Places, joined, without
from argosy.scheduling.outages import Planned, Random, Upgrade
from argosy.scheduling.outcome import CODE
from argosy.scheduling.policy import Policy
from argosy.scheduling.quota import Quotas
from argosy.scheduling.ranks import Ranks
from argosy.scheduling.record import Recorder
from argosy.scheduling.shapes import Placer, shapes_of, waste_table, without_dead_ends
from argosy.scheduling.waiting import Waiting

if TYPE_CHECKING:
    from argosy.scheduling.backfill import Reservation

END, LEFT, MOVED, DOWN, UP, PLANNED, PATIENCE, UPGRADE, ASK, LOOK, TIMEOUT = range(11)
"""Events, in the order of their handling at equal times."""


@dataclass(slots=True)
class Tended:
    """What is under way: planned outages by node, upgrades with the nodes that are still to come."""

    draining: dict[int, Planned] = field(default_factory=dict)
    impatient: set[int] = field(default_factory=set)
    """Nodes whose patience is over."""
    upgrades: list[tuple[Upgrade, list[int], set[int]]] = field(default_factory=list)
    """Each with the nodes to come (the last is next) and those that are out for it."""
    planned: tuple[Planned, ...] = ()
    coming: tuple[Upgrade, ...] = ()
    luck: np.random.Generator | None = None
    random: Random | None = None


class State:
    """Everything at `now`."""

    def __init__(self, cluster: Cluster, jobs: Sequence[Job], policy: Policy) -> None:
        self.cluster, self.policy = cluster, policy
        shapes = shapes_of(cluster, jobs, policy)
        self.empty = Placer(Machine(cluster, waste_table([], cluster), False), "first-fit")
        counts = np.bincount([shape.number for shape in shapes], minlength=1)
        waste = waste_table([(s, int(counts[s.number])) for s in dict.fromkeys(shapes)], cluster)
        self.machine = Machine(cluster, waste, policy.backfill in ("easy", "conservative"))
        self.placer = Placer(self.machine, policy.placement)
        self.quotas = Quotas(cluster, policy.quota)
        self.counts_use = self.quotas.rule != "none" or policy.order == "fair-share"
        if not policy.gang:
            for shape in {
                s: None for s, job in zip(shapes, jobs, strict=True) if job.kind not in (ELASTIC, SERVICE)
            }:
                without_dead_ends(shape, self.empty, self.quotas.most(shape.tenant))
        self.lives = [Life(i, job, shape) for i, (job, shape) in enumerate(zip(jobs, shapes, strict=True))]
        self.ranks = Ranks(policy, [job.duration_s * (job.fraction or job.accelerators) for job in jobs])
        shared = self.quotas.share if policy.order == "fair-share" else None
        self.waiting = Waiting(self.lives, shared)
        self.log = Recorder()
        self.on_node: list[set[int]] = [set() for _ in range(cluster.nodes)]
        self.running: dict[int, Life] = {}
        self.priorities: dict[int, int] = {}
        """Running jobs by priority."""
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
        self.reservation: Reservation | None = None
        self.tended = Tended()
        self.now = 0.0
        self._order = count()
        self.fits_empty: dict[int, bool] = {}
        self.events: list[tuple[float, int, int, int, float]] = []
        self.open_jobs = 0
        """Jobs that will end some time and have not."""
        for life in self.lives:
            self.at(life.job.submit_s, ASK, life.index)
            self.open_jobs += life.job.duration_s < inf

    def at(self, time: float, event: int, subject: int, detail: float = 0.0) -> None:
        """Notes an event of a job or node."""
        heapq.heappush(self.events, (time, event, next(self._order), subject, detail))

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
        if self.counts_use:
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
        if self.counts_use:
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
        self.watch(life)

    def unlist(self, life: Life) -> None:
        """The job runs no more."""
        if self.running.pop(life.index, None) is not None:
            self.priorities[life.job.priority] -= 1
        self.elastic.pop(life.index, None)
        self.services.pop(life.index, None)

    def watch(self, life: Life) -> None:
        """Notes when its rank changes by itself: at the next level of service, when it may be preempted."""
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
