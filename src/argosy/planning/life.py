"""A job's reliability from its scenario: rates, domains, hazards, checkpoints, recovery and maintenance in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from argosy.facts import Values
from argosy.planning.context import Context
from argosy.planning.spares import failing
from argosy.reliability import STATES
from argosy.reliability.checkpoints import CheckpointCost, checkpoint_cost, copies_to_keep
from argosy.reliability.domains import Domain
from argosy.reliability.drawn import drawn_lives
from argosy.reliability.events import EventLives, event_lives
from argosy.reliability.extrapolation import extrapolations
from argosy.reliability.goodput import Goodput, goodput
from argosy.reliability.hazards import Hazards
from argosy.reliability.rates import FailureRates
from argosy.reliability.recovery import Maintenance, RackStock, Recovery, restart_s
from argosy.reliability.renewal import Lives, lives
from argosy.reliability.stated import racks
from argosy.spec import Maintenance as Planned
from argosy.spec import Reliability

Array = Any  # float or numpy array (n,): one entry per draw

NOMINAL_LIVES = 200
"""Lives behind nominal figures where no closed form holds: their mean is known to some 0.05 % of goodput."""


_SHORTAGE = 0.02
"""Share of failures that may find no spare before the closed form of tolerant policies is left: several replicas or copies
are then away at once, which it adds up (goodput off by 0.3 % at half, by a fifth without any spare)."""


@dataclass(frozen=True, slots=True)
class Account:
    """Seconds of a job's wall clock by state, their sum ∞ where it never finishes; its failures; its checkpoint interval."""

    seconds: dict[str, Array]
    failures: Array
    interval_s: Array


@dataclass(frozen=True)
class JobReliability:
    """All that decides how long a job's productive seconds take on the wall clock.

    `rates`: failures of nodes and of the job, memoryless; `hazards`: everything beyond them; `tree`: the fleet's domains.
    One rule says which life a plan takes: the closed form and the renewal Monte Carlo where they are exact, the event
    engine where the scenario has anything that they cannot express (`beyond`, in words).
    """

    nodes: int
    rates: FailureRates
    hazards: Hazards
    tree: Mapping[str, Domain]
    cost: CheckpointCost
    recovery: Recovery
    maintenance: Maintenance
    interval_s: Array | None
    stated_notes: tuple[str, ...] = ()

    @cached_property
    def beyond(self) -> list[str]:
        """What only the event engine expresses; empty where the renewal argument is exact."""
        found = self.hazards.beyond_renewal()
        drawing = self.joint.node_per_s * self.recovery.copies
        if self.recovery.tolerant and np.median(self.recovery.shortage(drawing)) > _SHORTAGE:
            found.append(f"policy {self.recovery.policy} short of spares")
        return found

    @cached_property
    def joint(self) -> FailureRates:
        """The rates with shared domains as categories: every stop of the job counts once."""
        return self.hazards.joint_rates(self.rates, self.nodes + self.recovery.spare_nodes)

    def goodput(self) -> Goodput:
        """The closed form; see `reliability.goodput`. An approximation where `beyond` names anything."""
        return goodput(self.joint, self.cost, self.recovery, self.maintenance, self.interval_s)

    def within(self, work_s: float) -> JobReliability:
        """The same for a job of `work_s` productive seconds, whose stated interval is no longer than these.

        A longer one means a job that never saves, of one stretch as long as the work: Daly's form is exact for that stretch.
        """
        if self.interval_s is None or np.all(np.asarray(self.interval_s) <= work_s):
            return self
        told = "the checkpoint interval is longer than the work: no checkpoint is ever of use"
        return replace(
            self, interval_s=np.minimum(self.interval_s, work_s)[()], stated_notes=(*self.stated_notes, told)
        )

    def notes(self) -> tuple[str, ...]:
        """What a reader must know, in words."""
        return (*self.goodput().notes, *self._kept(), *self.stated_notes)

    def _kept(self) -> list[str]:
        """That corruption is found after the last copy from before it is gone."""
        latency, kept = self.hazards.silent_latency_s, self.hazards.kept
        if latency <= 0:
            return []
        needed = float(np.median(copies_to_keep(latency, self.goodput().cadence.storage_interval_s)))
        if kept >= needed:
            return []
        return [
            f"silent corruption is found after {latency / 3600:.3g} h, but {kept:.0f} checkpoints are kept: {needed:.0f} "
            "reach back before it; without one the job starts over"
        ]

    def lives(self, work_s: Array, draws: int = 1000, seed: int = 0) -> Lives:
        """One life per draw of a job of `work_s` productive seconds; every number may be an array (draws,)."""
        if self.beyond:
            return drawn_lives(
                work_s, self.nodes, self.rates, self.cost, self.recovery, self.maintenance, self.interval_s,
                self.hazards, draws, seed,
            )  # fmt: skip
        return lives(
            work_s, self.rates, self.cost, self.recovery, self.maintenance, self.interval_s, draws, seed
        )

    def event_lives(self, work_s: float, draws: int, seed: int, executor: Any = None) -> EventLives:
        """`draws` lives of the event engine at central facts."""
        return event_lives(
            work_s, self.nodes, self.rates, self.cost, self.recovery, self.maintenance, self._interval(),
            self.hazards, draws, seed, executor,
        )  # fmt: skip

    def nominal(self, work_s: float) -> Account:
        """The mean life at central facts: the closed form, or where it does not hold the mean of `NOMINAL_LIVES` lives."""
        form = self.goodput()
        if not self.beyond:
            wall = float(form.wall_s(work_s))
            seconds = {state: float(form.shares[state]) * wall for state in STATES}
            return Account(seconds, float(form.failures_expected(work_s)), float(np.asarray(form.interval_s)))
        lived = self.event_lives(work_s, NOMINAL_LIVES, 0)
        seconds = {state: float(each.mean()) for state, each in lived.seconds.items()}
        failures = float(sum(each.mean() for each in lived.failures.values()))
        if lived.finished.mean() <= 0.5:
            seconds["productive"] = float("inf")
        return Account(seconds, failures, float(np.asarray(form.interval_s)))

    def _interval(self) -> float:
        """Seconds between checkpoints, chosen with every stop counted."""
        return float(np.asarray(self.goodput().interval_s))


def fleet_life(
    context: Context, checkpoint_bytes: Array, replicas: int = 1, storage_bytes_per_s: Array | None = None
) -> JobReliability:
    """The reliability of a job on the whole fleet, as its scenario describes it.

    `checkpoint_bytes`: the job's whole state; `replicas`: data-parallel replicas, for tolerant policies;
    `storage_bytes_per_s`: sustained write bandwidth, the fleet's where None. Raises FactError for names and shapes that
    the preset does not have.
    """
    fleet, settings, values = context.fleet, context.scenario.reliability, context.values
    bandwidth = fleet.storage_bandwidth_bytes_per_s if storage_bytes_per_s is None else storage_bytes_per_s
    found = failing(context.scenario, fleet, values, context.node_size, context.hot_spares)
    rates, notes = found.rates, list(found.notes)
    notes += extrapolations(
        settings.preset, context.accelerator, fleet.count, settings.observed, bool(found.hazards.shapes)
    )
    checkpoint, planned = settings.checkpoint, settings.maintenance
    cost = checkpoint_cost(
        values,
        checkpoint_bytes,
        fleet.count,
        context.nodes,
        bandwidth,
        checkpoint.mode,
        checkpoint.tiers,
        rates.node_share,
    )
    cost = replace(cost, storage_every=checkpoint.storage_every)
    if settings.queue is not None and settings.policy != "restart":
        notes.append(f"queue acts under the policy restart alone; the policy is {settings.policy}")
    return JobReliability(
        context.nodes,
        rates,
        found.hazards,
        found.tree,
        cost,
        _recovery(context, settings, cost, replicas, notes),
        _maintenance(planned, context.hot_spares, notes),
        checkpoint.interval,
        tuple(notes),
    )


def _maintenance(given: Planned, hot_spares: int, notes: list[str]) -> Maintenance:
    """Planned stops: of the whole duration, or rolling, where spares take the places of the nodes worked on."""
    if given.nodes is None or given.per_day == 0:
        return Maintenance(given.per_day, given.duration)
    if given.nodes > hot_spares:
        notes.append(
            f"rolling maintenance of {given.nodes} nodes needs as many spares, and there are {hot_spares}: the job stands still"
        )
        return Maintenance(given.per_day, given.duration)
    notes.append(
        f"while maintenance rolls, {given.nodes} of {hot_spares} spares stand in for {given.duration / 60:.3g} min: failures "
        "find fewer, which is not counted"
    )
    return Maintenance(given.per_day, 0.0)


def _recovery(
    context: Context, settings: Reliability, cost: CheckpointCost, replicas: int, notes: list[str]
) -> Recovery:
    """A node takes all replicas on it away, so that there are never more to lose than nodes."""
    values, policy = context.values, settings.policy
    redundant = policy == "redundancy"
    lost_apart = max(1, min(replicas, context.nodes))
    if policy in ("elastic", "replica") and lost_apart == 1:
        notes.append(
            f"policy {policy} needs two replicas on nodes of their own; with one, every failure stops the job"
        )
        policy = "spare-swap"
    queue: Array = 0.0
    if settings.policy == "restart":
        queue = values["reliability.recovery.queue"] if settings.queue is None else settings.queue
    inside = racks(settings, context.node_size)
    return Recovery(
        settings.detection + settings.diagnosis,
        _restart_s(values, settings, context.fleet.count, cost),
        policy,
        context.hot_spares,
        settings.repair.time,
        queue,
        replicas=context.nodes if redundant else lost_apart,
        pause_s=values["reliability.recovery.elastic_pause"],
        copies=settings.copies if redundant else 1,
        racks=None if inside is None else RackStock(context.racks, inside.nodes, inside.needed),
    )


def _restart_s(values: Values, settings: Reliability, accelerators: Array, cost: CheckpointCost) -> Array:
    """Seconds from knowing of a failure to training again: the time given, or the sum of its parts."""
    given = settings.restart
    if given.total is not None:
        return given.total
    load = cost.load_s if given.load is None else given.load
    return restart_s(
        values, accelerators, cost.size_bytes, 1.0, given.collectives, given.scheduling, given.container, load
    )
