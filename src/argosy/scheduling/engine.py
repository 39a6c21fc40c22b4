"""The event loop: what happens to jobs in time. Who starts is decided in `decisions`, what becomes of nodes in `upkeep`."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
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
from argosy.scheduling.machine import Places, joined
from argosy.scheduling.outages import Outages, Random
from argosy.scheduling.outcome import CODE
from argosy.scheduling.policy import Policy
from argosy.scheduling.shapes import Chosen
from argosy.scheduling.state import ASK, DOWN, END, LEFT, LOOK, MOVED, TIMEOUT, UPGRADE, State

IN_VAIN = 20  # times


class Simulation(State):
    """Plays from the first event on. One is used once."""

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], policy: Policy, failures: Outages | Random, seed: int
    ) -> None:
        super().__init__(cluster, jobs, policy)
        upkeep.plan(self, failures, seed)

    def run(self, horizon_s: float) -> float:
        """Plays until every job that can end has ended, nothing is left to happen, or the horizon; returns the end."""
        last = 0.0
        while self.events and self.open_jobs:
            time = self.events[0][0]
            if time > horizon_s:
                break
            self.now = time
            self.machine.advance(time)
            while self.events and self.events[0][0] == time:
                _, event, _, subject, detail = heapq.heappop(self.events)
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
        """Whether jobs wait, nothing that runs ever ends, and all that will happen is further failures, or jobs without gangs
        that hold some places in vain once more."""
        for (
            life
        ) in self.running.values():  # asked at every moment, and the first one that runs mostly answers
            if life.job.duration_s < inf:
                return False
        return all(
            event == DOWN or (event in (ASK, TIMEOUT) and self.lives[subject].timeouts >= IN_VAIN)
            for _, event, _, subject, _ in self.events
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
            life.level = self.ranks.level(life)
            self.anew = True
            self.watch(life)
        elif event == TIMEOUT:
            self.let_go(life)
            life.timeouts += 1
            # not all for as long: those who held what others lacked shall not meet again
            self.back_off(life, life.timeouts, 1.0 + (life.index % 16) / 16)

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
        if number not in self.fits_empty:
            need = life.shape.fewest
            if not self.policy.gang and life.job.kind not in (ELASTIC, SERVICE):
                need = min((option.workers * option.size for option in life.shape.options), default=inf)
            fits = (
                self.empty.choose(life.shape, self.cluster.accelerators.astype(np.int64), shared=False)
                is not None
            )
            self.fits_empty[number] = fits and (life.job.fraction or need) <= self.quotas.most(
                life.job.tenant
            )
        return self.fits_empty[number]

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

    def back_off(self, life: Life, times: int, apart: float = 1.0) -> None:
        """Out of the queue for a while, longer each time; `apart`: times as long."""
        if life.state == PENDING:
            self.dequeue(life)
            self.log.add(self.now, CODE["back-off"], life.index)
        life.state = DELAYED
        wait = min(self.policy.backoff_s * 2.0 ** min(max(times - 1, 0), 60), self.policy.backoff_most_s)
        life.queued += wait * apart
        self.at(self.now + wait * apart, ASK, life.index)

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
        self.priorities[life.job.priority] = self.priorities.get(life.job.priority, 0) + 1
        life.level = self.ranks.level(life)
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
        self.unlist(life)
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
        self.unlist(life)
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
