"""A job's life in SimPy: the oracle of the event engine, and the baseline of its benchmark. Shares nothing with Argosy.

Each node is a process that lives its lifetime and then interrupts the job; spares stand in a store; repairs put nodes back;
the job is a process that computes, saves, and recovers when it is interrupted. Nodes age while the job is active alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import gamma

import numpy as np
import simpy


@dataclass
class Plant:
    """What is simulated; seconds. `shape` 1 is memoryless; every part is new at the start. `stops_per_s`: of software."""

    nodes: int
    spares: int
    mean_life_s: float
    work_s: float
    interval_s: float
    pause_s: float
    persist_s: float = 0.0
    interference: float = 0.0
    detect_s: float = 0.0
    restart_s: float = 0.0
    repair_s: float = 0.0
    queue_s: float = 0.0
    shape: float = 1.0
    stops_per_s: float = 0.0


class Life:
    """One life: after `run`, `book` holds seconds by state and `failures` how often something stopped the job."""

    def __init__(self, plant: Plant, seed: int, other: Life | None = None) -> None:
        """`other`: a life whose job shares the clock and the spares with this one."""
        self.plant, self.random = plant, np.random.default_rng([seed, other is not None])
        self.env = simpy.Environment() if other is None else other.env
        self.scale = plant.mean_life_s / gamma(1.0 + 1.0 / plant.shape)
        self.book: Counter[str] = Counter()
        self.failures = 0
        self.age: dict[int, float] = defaultdict(float) if other is None else other.age
        first = 0 if other is None else other.plant.nodes + other.plant.spares
        self.own = range(first, first + plant.nodes)
        self.spares = simpy.Store(self.env) if other is None else other.spares
        self.spares.items.extend(range(first + plant.nodes, first + plant.nodes + plant.spares))
        self.resumed = self.env.event()
        self.running: dict[int, simpy.Process] = {}
        self.lost = 0
        self.safe = (0.0, 0.0)  # productive and checkpoint seconds in the last copy that counts

    def run(self) -> Life:
        """Lives to the end of the work."""
        self.env.run(self.start())
        return self

    def start(self) -> simpy.Process:
        """Begins the life; gives the job's process, which ends with the work."""
        self.job = self.env.process(self._job())
        for node in self.own:
            self.running[node] = self.env.process(self._node(node))
        if self.plant.stops_per_s:
            self.software = self.env.process(self._software())
        return self.job

    def _lifetime(self, age: float) -> float:
        """What is left of a part's life: lives are drawn until one outlasts its age."""
        if self.plant.shape == 1.0:
            return float(self.random.exponential(self.scale))
        while (life := self.scale * self.random.weibull(self.plant.shape)) <= age:
            pass
        return float(life - age)

    def _active(self, seconds: float):
        """Lets so many active seconds pass: interrupts suspend the clock, `resumed` lets it go on."""
        while seconds > 0:
            began = self.env.now
            try:
                yield self.env.timeout(seconds)
                return
            except simpy.Interrupt:
                seconds -= self.env.now - began
                yield self.resumed

    def _node(self, node: int):
        lives = self._lifetime(self.age[node])
        worked = lives
        yield from self._active(lives)
        if not self.job.is_alive:
            return  # its job has ended, while another one goes on
        self.age[node] = 0.0  # the worn part is replaced
        del self.running[node]
        self.lost += 1
        self.env.process(self._repair(node))
        self.job.interrupt(worked)

    def _software(self):
        while True:
            yield from self._active(float(self.random.exponential(1.0 / self.plant.stops_per_s)))
            if not self.job.is_alive:
                return
            self.job.interrupt()

    def _repair(self, node: int):
        yield self.env.timeout(self.plant.repair_s)
        yield self.spares.put(node)

    def _spend(self, state: str, seconds: float):
        began = self.env.now
        try:
            yield self.env.timeout(seconds)
        finally:
            self.book[state] += self.env.now - began

    def _job(self):
        down = False
        while True:
            try:
                if down:
                    yield from self._recover()
                    down = False
                yield from self._compute()
                self.book["productive"], self.book["checkpoint"] = self.done
                self.ended = self.env.now
                return
            except simpy.Interrupt:
                self.failures += 1
                if not down:
                    self.book["rework"] += sum(self.done) + self.unbooked() - sum(self.safe)
                    self.done, self.writing = self.safe, None
                down = True

    def unbooked(self) -> float:
        """Seconds since the last thing that the job finished."""
        return self.env.now - self.since

    def _recover(self):
        plant = self.plant
        yield from self._spend("detection", plant.detect_s)
        everyone = [*self.running.values(), *([self.software] if plant.stops_per_s else [])]
        pending = [process for process in everyone if process.is_alive]
        while self.lost:
            if not self.spares.items:
                for process in pending:
                    process.interrupt()
                began = self.env.now
                node = yield self.spares.get()
                self.book["spare_wait"] += self.env.now - began
                self._resume()
            else:
                node = yield self.spares.get()
            self.lost -= 1
            self.running[node] = self.env.process(self._node(node))
            pending = [*pending, self.running[node]]
            yield self.env.timeout(0)  # the new node begins its life before anything suspends it
        if plant.queue_s:
            for process in pending:
                process.interrupt()
            yield from self._spend("queue", plant.queue_s)
            self._resume()
        yield from self._spend("restart", plant.restart_s)

    def _resume(self) -> None:
        resumed, self.resumed = self.resumed, self.env.event()
        resumed.succeed()

    done = (0.0, 0.0)
    since = 0.0
    ended = 0.0
    writing: object = None

    def _compute(self):
        plant = self.plant
        while True:
            self.since = self.env.now
            productive, written = self.done
            work = min(plant.interval_s, plant.work_s - productive)
            held = 0.0
            if self.writing is not None:
                held = plant.interference * min(plant.persist_s, work / (1.0 - plant.interference))
            yield self.env.timeout(work + held)
            self.done = (productive + work, written + held)
            self.since = self.env.now
            if self.done[0] >= plant.work_s - 1e-6:
                return
            yield self.env.timeout(plant.pause_s)
            self.done = (self.done[0], self.done[1] + plant.pause_s)
            self.since = self.env.now
            self.writing = token = object()
            if plant.persist_s:
                self.env.process(self._persist(token, self.done))
            else:
                self.safe = self.done

    def _persist(self, token: object, copy: tuple[float, float]):
        """After so long the copy counts, with the slowdown it caused; unless a failure took the writers away."""
        yield self.env.timeout(self.plant.persist_s)
        if self.writing is token:
            self.safe = (copy[0], copy[1] + self.plant.interference * self.plant.persist_s)
