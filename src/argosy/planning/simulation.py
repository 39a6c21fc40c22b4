"""A job's life many times over, node by node: the contract's `argosy simulate`, at central facts."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facts import FactError
from argosy.planning.context import Context, context
from argosy.planning.job import checkpoint_bytes, laid_out
from argosy.planning.life import JobReliability, fleet_life
from argosy.planning.payload import plain
from argosy.reliability import EventLives, timeline
from argosy.reliability.account import VIEWS, account
from argosy.reliability.domains import account_of_domains
from argosy.reliability.events import COMPILING, compiled_before
from argosy.reliability.improve import System, fix_first, improvements, interval_curve, spares_curve
from argosy.spec import Scenario

SCHEMA = "argosy.simulate/1"
DAY = 86400.0
ADVICE_LIVES = 200  # lives behind each change of the advice: paired, they tell differences of 0.1 %


@dataclass(frozen=True)
class Subject:
    """What is simulated: a job's productive seconds on a fleet, its life, and the same with storage twice as fast."""

    name: str
    context: Context
    work_s: float
    life: JobReliability
    faster: JobReliability

    @property
    def system(self) -> System:
        """As the advice takes it."""
        life = self.life
        return System(
            self.work_s, life.nodes, life.rates, life.cost, life.recovery, life.maintenance, life.interval_s,
            life.hazards,
        )  # fmt: skip


def simulate(
    scenario: Scenario,
    replications: int = 1000,
    seed: int = 0,
    job: str | None = None,
    advice: bool = True,
    tell: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """The contract's payload of `argosy simulate`, and what its report needs beside it.

    `replications`: lives of the `job` (None: the first) on the scenario's fleet at central facts, by the event engine; `plan`
    has the uncertainty of the facts too. `advice`: what to fix first, and curves over spares and the interval. `tell`
    hears what takes long. Raises FactError for an unknown job and for names that the catalog does not have.
    """
    one = subject(scenario, job)
    if not compiled_before():
        tell(COMPILING)
    system = one.system
    with ThreadPoolExecutor() as pool:
        system.lives(2, seed)  # compiled and loaded before the clock starts
        began = time.perf_counter()
        lives = system.lives(replications, seed, pool)
        took = time.perf_counter() - began
        answer = {
            "schema": SCHEMA,
            "version": __version__,
            "facts_date": one.context.catalog.facts_date,
            **account(lives, one.context.fleet.count, one.work_s),
            "replications_per_s": replications / took,
            **_told(one, lives, seed),
        }
        if advice:
            answer |= _advice(one, min(replications, ADVICE_LIVES), seed, pool)
    return dict(plain(answer))


def subject(scenario: Scenario, job: str | None = None, storage_bytes_per_s: float | None = None) -> Subject:
    """The `job` (None: the first) of a scenario, and its life; checkpoints go to storage of this bandwidth, or the fleet's."""
    names = [given.name for given in scenario.training]
    if not names or (job is not None and job not in names):
        raise FactError(
            f"no training job {job!r} to simulate; the scenario has: {', '.join(names)}"
            if job and names
            else f"{scenario.name} has no training job to simulate; add training:, or ask argosy serving or argosy schedule"
        )
    setting = context(scenario)
    planned = laid_out(setting, scenario.training[names.index(job) if job else 0])
    state, replicas = checkpoint_bytes(planned), int(planned.main.layouts.dp[0])
    bandwidth = storage_bytes_per_s or setting.fleet.storage_bandwidth_bytes_per_s
    work_s = float(planned.work_s)
    own, faster = (
        fleet_life(setting, state, replicas, each).within(work_s) for each in (bandwidth, 2 * bandwidth)
    )
    return Subject(planned.training.name, setting, work_s, own, faster)


def _told(subject: Subject, lives: EventLives, seed: int) -> dict[str, Any]:
    """What stands beside the contract's keys: when it finishes, what the life is made of, one life as it went."""
    life = subject.life
    days = lives.wall_s / DAY
    counts, edges = np.histogram(days, bins=min(40, max(5, len(days) // 10)))
    finished = float(lives.finished.mean())
    wall = float(lives.wall_s.mean())
    mtbf = float(np.divide(1.0, life.joint.per_s)) if life.joint.per_s else None
    return {
        "job": subject.name,
        "accelerators": subject.context.fleet.count,
        "work_s": subject.work_s,
        "finished_share": finished,
        "finishes": finished > 0.5,
        "days": dict(zip(("p10", "p50", "p90"), np.quantile(days, [0.1, 0.5, 0.9]), strict=True)),
        "histogram": {"edges_days": edges, "lives": counts},
        "interval_s": float(lives.closed_form.interval_s),
        "mtbf_s": mtbf,
        "recovery_s": {
            "detection": life.recovery.detection_s,
            "restart": life.recovery.restart_s,
            "repair": life.recovery.repair_s,
            "queue": life.recovery.queue_s,
        },
        "policy": life.recovery.policy,
        "spares": life.recovery.spare_nodes,
        "beyond_closed_form": life.beyond,
        "domains": account_of_domains(life.tree, life.rates, life.hazards, life.nodes, wall),
        "definitions": VIEWS,
        "timeline": _timeline(subject.system, seed),
        "notes": _notes(lives, life),
    }


def _advice(subject: Subject, draws: int, seed: int, pool: Executor) -> dict[str, Any]:
    system = subject.system
    changes = {**improvements(system), "storage ×2": replace(system, cost=subject.faster.cost)}
    return {
        "fix_first": fix_first(system, changes, draws, seed, pool),
        "spares_curve": spares_curve(system, min(draws, 100), seed, pool),
        "interval_curve": interval_curve(system, min(draws, 100), seed, pool),
    }


def _timeline(system: System, seed: int) -> dict[str, Any]:
    """The first life: its stretches, and its failures."""
    one = timeline(
        system.work_s, system.nodes, system.rates, system.cost, system.recovery, system.maintenance,
        system.interval_s, system.hazards, seed,
    )  # fmt: skip
    return {
        "stretches": [{"start_s": a, "end_s": b, "state": state} for a, b, state in one.stretches],
        "failures": [{"start_s": f.start_s, "category": f.category, "node": f.node} for f in one.failures],
    }


def _notes(lives: EventLives, life: JobReliability) -> list[str]:
    notes = list(life.notes())
    cut = 1.0 - float(lives.finished.mean())
    if cut > 0:
        notes.insert(0, f"{cut:.0%} of the lives will never finish: cut at 20 times their work, or given up")
    if life.beyond:
        notes.append(
            f"the closed form leaves out {', '.join(life.beyond)}: trust the simulation where they differ"
        )
    else:
        notes.append(
            "failures are memoryless and independent here: closed form and simulation mean the same but for the run's end"
        )
    return notes
