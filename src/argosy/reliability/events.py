"""Lives of a job, node by node and event by event: what closed forms and renewal arguments leave out."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from argosy.reliability.checkpoints import CheckpointCost
from argosy.reliability.engine_input import fleet_parameters
from argosy.reliability.goodput import Goodput, goodput
from argosy.reliability.hazards import Hazards
from argosy.reliability.rates import FailureRates
from argosy.reliability.recovery import Maintenance, Recovery
from argosy.reliability.states import STATES, FailureEvent

LONGEST = 20.0
"""A life is cut when it has taken this many times its work: the job will not finish."""

ENDS = ("finished", "cut", "gave up")


@dataclass(frozen=True, slots=True)
class EventLives:
    """Lives of one job: seconds by state, arrays (n,); failures by category, arrays (n,); how each life ended.

    `rates` are those of the closed form: shared domains are categories in it (`Hazards.joint_rates`).
    """

    seconds: dict[str, np.ndarray]
    failures: dict[str, np.ndarray]
    ends: np.ndarray
    closed_form: Goodput
    rates: FailureRates

    @property
    def wall_s(self) -> np.ndarray:
        """Wall-clock seconds of each life (n,), those that were cut included as far as they went."""
        return np.asarray(np.sum(list(self.seconds.values()), axis=0))

    @property
    def ettr(self) -> np.ndarray:
        """Productive ÷ wall-clock time of each life (n,)."""
        wall = self.wall_s
        return np.asarray(np.divide(self.seconds["productive"], wall, out=np.ones_like(wall), where=wall > 0))

    @property
    def finished(self) -> np.ndarray:
        """Whether each life got its work done (n,)."""
        return np.asarray(self.ends == 0)


def event_lives(
    work_s: float,
    nodes: int,
    rates: FailureRates,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance | None = None,
    interval_s: float | None = None,
    hazards: Hazards | None = None,
    draws: int = 1000,
    seed: int = 0,
    executor: Executor | None = None,
) -> EventLives:
    """`draws` lives of a job of `work_s` productive seconds on `nodes` nodes; all arguments are scalars.

    The sequence after a failure: fall back to the last copy that counts, detection, replacement from the spares (or
    the wait for a repair), queue, restart; failures strike during detection and restart too. Spares do not age, and
    nothing fails while the job waits or is maintained. Life i of a seed has the same luck, node by node, whatever the
    other arguments: compare systems with equal seeds. `executor` (threads will do: the engine holds no lock) shares the
    lives out. Range: memory grows with nodes + spares, time with failures; lives longer than 20 times their work are
    cut (`ends`). Raises FactError for a Weibull shape of an unknown category.
    """
    hazards = hazards or Hazards()
    joint = hazards.joint_rates(rates, nodes + recovery.spare_nodes)
    form = goodput(joint, cost, recovery, maintenance, interval_s)
    fleet, names = fleet_parameters(rates, hazards, nodes, recovery.spare_nodes, float(recovery.repair_s))
    job = _job_parameters(work_s, cost, recovery, maintenance or Maintenance(), form, hazards, nodes)
    keys = np.random.SeedSequence([seed, 77]).generate_state(draws, np.uint64)
    parts = [keys] if executor is None else np.array_split(keys, min(draws, 8))
    run = map if executor is None else executor.map
    done = list(run(lambda part: _batch(part, fleet, job, len(names)), parts))
    seconds, counts, ends = (np.concatenate(pieces) for pieces in zip(*done, strict=True))
    return EventLives(
        dict(zip(STATES, seconds.T, strict=True)), dict(zip(names, counts.T, strict=True)), ends, form, joint
    )


def _batch(
    keys: np.ndarray, fleet: Any, job: Any, categories: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lives of these keys: seconds (n, 9), counts (n, categories), ends (n,)."""
    from argosy.kernels.life import live
    from argosy.kernels.parameters import empty_life

    seconds, counts = np.zeros((len(keys), len(STATES))), np.zeros((len(keys), categories), dtype=np.int64)
    ends = np.zeros(len(keys), dtype=np.int64)
    live(keys, fleet, job, empty_life(fleet, job, categories, 0), seconds, counts, ends)
    return seconds, counts, ends


def compiled_before() -> bool:
    """Whether the engine was compiled on this machine: where not, the first lives take some twenty seconds longer."""
    from argosy.kernels.life import live

    return any(Path(str(live.stats.cache_path)).glob("life.live-*.nbi"))


def _job_parameters(
    work_s: float,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance,
    form: Goodput,
    hazards: Hazards,
    nodes: int,
) -> Any:
    """The engine's `Job`."""
    from argosy.kernels.parameters import Job

    per_day = float(maintenance.per_day)
    loss = float(cost.loss_share)
    local = cost.fast == "local"  # a node's own disk is lost with the node, and with it alone
    return Job(
        work_s=float(work_s),
        interval_s=float(form.cadence.interval_s),
        blocking_s=float(cost.blocking_s),
        persist_s=float(cost.persist_s),
        interference=float(cost.interference),
        fast=bool(cost.fast),
        storage_every=max(1, round(float(form.cadence.storage_every))),
        loss_node=1.0 if local else loss,
        loss_job=0.0 if local else loss,
        kept=float(hazards.kept),
        detection_s=float(recovery.detection_s),
        restart_s=float(recovery.restart_s),
        queue_s=float(recovery.queue_s),
        tolerant=recovery.tolerant,
        replicas=max(1, min(int(recovery.replicas), nodes)),
        pause_s=float(recovery.stall_s),
        maintenance_gap_s=86400.0 / per_day if per_day > 0 else np.inf,
        maintenance_s=float(maintenance.duration_s + cost.blocking_s + cost.persist_s + recovery.restart_s),
        limit_s=LONGEST * float(work_s),
        give_up_after=int(hazards.give_up_after),
        silent_latency_s=float(hazards.silent_latency_s),
    )


@dataclass(frozen=True, slots=True)
class Timeline:
    """One life in order: stretches of (start, end, state) in seconds, and its failures."""

    stretches: tuple[tuple[float, float, str], ...]
    failures: tuple[FailureEvent, ...]


def timeline(
    work_s: float,
    nodes: int,
    rates: FailureRates,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance | None = None,
    interval_s: float | None = None,
    hazards: Hazards | None = None,
    seed: int = 0,
    rows: int = 50_000,
) -> Timeline:
    """One life as it went: the first of `event_lives` with the same arguments; the first `rows` entries of it.

    Running time is `productive`, or `rework` where a failure undid it; checkpoints within it are not told apart.
    """
    from argosy.kernels.life import live
    from argosy.kernels.parameters import EVENT, PRODUCTIVE, REWORK, ROWS, empty_life

    hazards = hazards or Hazards()
    joint = hazards.joint_rates(rates, nodes + recovery.spare_nodes)
    form = goodput(joint, cost, recovery, maintenance, interval_s)
    fleet, names = fleet_parameters(rates, hazards, nodes, recovery.spare_nodes, float(recovery.repair_s))
    job = _job_parameters(work_s, cost, recovery, maintenance or Maintenance(), form, hazards, nodes)
    keys = np.random.SeedSequence([seed, 77]).generate_state(1, np.uint64)
    life = empty_life(fleet, job, len(names), rows)
    seconds, counts = np.zeros((1, len(STATES))), np.zeros((1, len(names)), dtype=np.int64)
    live(keys, fleet, job, life, seconds, counts, np.zeros(1, dtype=np.int64))
    known = life.rows[: life.i[ROWS]]
    full = life.i[ROWS] >= rows
    end = float(known[-1, 0]) if full else float(seconds.sum())
    states = [row for row in known if row[2] < EVENT and row[2] != REWORK]
    lost = [(float(row[0] - row[1]), float(row[0])) for row in known if row[2] == REWORK]
    ends = [float(row[0]) for row in states[1:]] + [end]
    stretches: list[tuple[float, float, str]] = []
    for row, until in zip(states, ends, strict=True):
        start, state = float(row[0]), STATES[int(row[2])]
        if until <= start:
            continue
        undone = [max(start, a) for a, b in lost if a < until and b > start] if row[2] == PRODUCTIVE else []
        cut = min(undone, default=until)
        stretches += [(a, b, s) for a, b, s in ((start, cut, state), (cut, until, "rework")) if b > a]
    return Timeline(_merged(stretches), _failures(known, names, rates, recovery))


def _merged(stretches: list[tuple[float, float, str]]) -> tuple[tuple[float, float, str], ...]:
    """Neighbours of the same state as one."""
    merged: list[tuple[float, float, str]] = []
    for start, end, state in stretches:
        if merged and merged[-1][2] == state and abs(merged[-1][1] - start) < 1e-6:
            merged[-1] = (merged[-1][0], end, state)
        else:
            merged.append((start, end, state))
    return tuple(merged)


def _failures(
    known: np.ndarray, names: list[str], rates: FailureRates, recovery: Recovery
) -> tuple[FailureEvent, ...]:
    """The failures of a timeline; a node is away for its repair, a job-wide failure for detection and restart."""
    from argosy.kernels.parameters import EVENT

    components = {c.name: (c.component, c.scope) for c in rates.categories}
    events = []
    for start, node, code in known[known[:, 2] >= EVENT]:
        name = names[int(code) - EVENT]
        component, scope = components.get(name, (name, "node"))
        away = recovery.repair_s if scope == "node" else recovery.detection_s + recovery.restart_s
        events.append(
            FailureEvent(float(start), float(start + away), component, name, int(node) if node >= 0 else None)
        )
    return tuple(events)
