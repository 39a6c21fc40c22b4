"""The cluster at one moment of a simulated life, rebuilt from its log alone: what to ask why of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from argosy.scheduling.jobs import FRACTION_STEPS
from argosy.scheduling.life import Life
from argosy.scheduling.machine import AWAY, DOWN, DRAINING, UP, Machine, Places
from argosy.scheduling.outcome import CODE, EVENTS, Outcome
from argosy.scheduling.quota import Quotas
from argosy.scheduling.shapes import Placer, Shape, shape_of, waste_table

_GIVES_ALL = ("finish", "preempt", "fail", "crash", "give-up")
_STATES = {"node-down": DOWN, "node-drain": DRAINING, "node-maintenance": AWAY, "node-up": UP}


@dataclass(slots=True, eq=False)
class Moment:
    """After all that happened at `now`: who waits since when, who runs since when, who is out, and what everybody holds."""

    outcome: Outcome
    now: float
    machine: Machine
    placer: Placer
    quotas: Quotas
    waiting: dict[int, float] = field(default_factory=dict)
    running: dict[int, float] = field(default_factory=dict)
    delayed: set[int] = field(default_factory=set)
    leaving: set[int] = field(default_factory=set)
    held: dict[int, dict[int, float]] = field(default_factory=dict)
    """By job and node: accelerators."""

    def shape(self, job: int) -> Shape:
        """What a job may be placed as."""
        return shape_of(self.outcome.jobs[job], self.outcome.cluster, 0, self.outcome.policy.gang)

    def fits(self, shape: Shape, avail: np.ndarray) -> bool:
        """Whether it would start on `avail` (nodes,), quotas apart."""
        return self.placer.choose(shape, avail) is not None

    def freed(self, jobs: list[int], nodes: bool = False) -> np.ndarray:
        """What would be free if these jobs gave all they hold back; with `nodes` also if all nodes were up."""
        opened = np.ones(len(self.machine.free), dtype=bool) if nodes else self.machine.opened
        avail = np.where(opened, self.machine.idle, 0)
        for job in jobs:
            for node, amount in self.held.get(job, {}).items():
                if opened[node] and amount >= 1:
                    avail[node] += int(amount)
        return avail

    def estimated_end(self, job: int) -> float:
        """When a running job ends by its estimate, counted from its last start (work done before that is not in the log)."""
        return max(self.running.get(job, self.now) + self.outcome.jobs[job].estimate_s, self.now)


def moment(outcome: Outcome, now: float) -> Moment:
    """The state after all events up to `now`."""
    cluster = outcome.cluster
    machine = Machine(cluster, waste_table([], cluster), False)
    state = Moment(
        outcome,
        now,
        machine,
        Placer(machine, outcome.policy.placement),
        Quotas(cluster, outcome.policy.quota),
    )
    log = outcome.log
    devices: dict[tuple[int, int], int] = {}
    for at in range(int(np.searchsorted(log.time_s, now, side="right"))):
        name, job, time = EVENTS[int(log.event[at])], int(log.job[at]), float(log.time_s[at])
        places = slice(int(log.first[at]), int(log.first[at] + log.size[at]))
        if name in _STATES:
            machine.set_state(int(log.node[places][0]), _STATES[name])
            continue
        _membership(state, name, job, time)
        if name in ("start", "grow", "shrink"):
            held = state.held.setdefault(job, {})
            sign = -1.0 if name == "shrink" else 1.0
            for node, amount, device in zip(
                log.node[places], log.amount[places], log.device[places], strict=True
            ):
                held[int(node)] = held.get(int(node), 0.0) + sign * float(amount)
                devices[job, int(node)] = int(device)
                if held[int(node)] <= 1e-9:
                    del held[int(node)]
        elif name in _GIVES_ALL:
            state.held.pop(job, None)
    for job, held in state.held.items():
        for node, amount in held.items():
            _take(state, job, node, amount, devices[job, node])
    return state


def _membership(state: Moment, name: str, job: int, time: float) -> None:
    if name == "queue":
        state.waiting[job] = time
        state.delayed.discard(job)
    elif name == "start":
        state.waiting.pop(job, None)
        state.running[job] = time
    elif name == "leave":
        state.leaving.add(job)
    elif name in _GIVES_ALL:
        state.running.pop(job, None)
        state.leaving.discard(job)
    if name in ("crash", "back-off"):
        state.waiting.pop(job, None)
        state.delayed.add(job)


def _take(state: Moment, job: int, node: int, amount: float, device: int) -> None:
    """The job holds accelerators of a node, and the processors and memory of its workers there."""
    machine, shape = state.machine, state.shape(job)
    if device >= 0:
        known = machine.shared.get(node, {})
        machine.devices = device  # devices have the numbers of the log: one that is not there yet is fresh
        machine.share(node, device if device in known else -1, job, round(amount * FRACTION_STEPS), np.inf)
        workers = 1
    else:
        machine.take(Places(np.array([node]), np.array([round(amount)]), 1), np.inf)
        workers = max(round(amount / shape.options[0].size), 1)
    if shape.cpus or shape.memory:
        machine.others(Places(np.array([node]), np.array([1]), workers), shape.cpus, shape.memory, -1.0)
    state.quotas.add(Life(job, state.outcome.jobs[job], shape), amount, workers)


def first_wait(outcome: Outcome, job: int) -> float | None:
    """The moment from which a job waits for the first time and is still waiting after all decisions of that moment; None where
    it never had to."""
    log = outcome.log
    asked = log.time_s[(log.job == job) & (log.event == CODE["queue"])]
    started = log.time_s[(log.job == job) & np.isin(log.event, [CODE["start"], CODE["reject"]])]
    waited = asked[~np.isin(asked, started)]
    return float(waited[0]) if len(waited) else None
