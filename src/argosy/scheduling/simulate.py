"""Plays jobs on a cluster by a policy, and adds up what came of it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf, isnan, nan
from typing import Any

import numpy as np

from argosy.ledger import Ledger
from argosy.scheduling import jobs as jobs_module
from argosy.scheduling import policy as policy_module
from argosy.scheduling.cluster import Cluster
from argosy.scheduling.engine import Simulation
from argosy.scheduling.jobs import Job
from argosy.scheduling.life import FINISHED, FUTURE, GAVE_UP, LEAVING, REJECTED, RUNNING, Life
from argosy.scheduling.outages import Outages, Random, no_outages
from argosy.scheduling.outcome import CODE, LEDGER, STATUSES, Log, Outcome
from argosy.scheduling.policy import Policy

_STATUS = {FINISHED: "finished", RUNNING: "running", LEAVING: "running", GAVE_UP: "gave-up", REJECTED: "rejected",
           FUTURE: "not-submitted"}  # fmt: skip
_HELD = ("productive", "lost", "checkpoint", "restart", "held")
_LAWS = {
    "productive": "work done and kept, in accelerator-seconds",
    "lost": "work undone by failures and evictions, or of programs that were given up",
    "checkpoint": "saving before leaving or moving",
    "restart": "detection of failures, restarts, resizing",
    "held": "workers that wait for the rest of their job",
    "idle_free": "free, and of use to a job drawn from the mix",
    "idle_fragmented": "free, but too little on its node for a job drawn from the mix (FGD)",
    "down": "failed, until repaired",
    "drained": "out of use for maintenance, or on the way to it",
}


def simulate(
    cluster: Cluster,
    jobs: Sequence[Job],
    policy: Policy,
    failures: Outages | Random | None = None,
    seed: int = 0,
    horizon_s: float = inf,
) -> Outcome:
    """The life of `jobs` on `cluster` under `policy`, event by event.

    `failures`: given ones, or `Random` ones, of which `seed` decides which happen. It ends at `horizon_s`, or where that is
    not given when every job that can end has ended (services without end do not count) or nothing can happen any more.
    Raises ValueError with all that is wrong with jobs, cluster and policy.
    """
    wrong = _faults(cluster, jobs, policy, failures, horizon_s)
    if wrong:
        raise ValueError("\n".join(wrong))
    with _without_collecting():
        simulation = Simulation(cluster, jobs, policy, failures or no_outages(), seed)
        end = simulation.run(horizon_s)
        return _outcome(simulation, failures or no_outages(), end)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Without Python's search for cycles: a simulation makes none, and all of its jobs would be searched again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _faults(
    cluster: Cluster, jobs: Sequence[Job], policy: Policy, failures: Outages | Random | None, horizon_s: float
) -> list[str]:
    wrong = [f"policy {policy.name}: {fault}" for fault in policy_module.faults(policy)]
    wrong += [f"job {job.job}: {fault}" for job in jobs for fault in jobs_module.faults(job)]
    if not cluster.nodes or cluster.accelerators.min() < 1:
        wrong.append("cluster: every node needs at least 1 accelerator")
    planned = list(failures.planned) if failures else []
    nodes = [one.node for one in planned] + (failures.node.tolist() if isinstance(failures, Outages) else [])
    if any(not 0 <= node < cluster.nodes for node in nodes):
        wrong.append(f"failures: nodes are numbered from 0 to {cluster.nodes - 1}")
    if not horizon_s > 0:
        wrong.append("horizon_s must be above 0")
    return wrong


def _outcome(simulation: Simulation, failures: Outages | Random, end: float) -> Outcome:
    lives, log = simulation.lives, simulation.log.log()
    idle = simulation.machine.idle_s
    ledger = _ledger(lives, idle, simulation.cluster.total * end)
    queued = [life.queued + (end - life.asked if _waits(life) else 0.0) for life in lives]
    submitted = np.array([life.job.submit_s for life in lives])
    start = np.array([life.started for life in lives], dtype=float)
    status = [STATUSES.index(_STATUS.get(life.state, "pending")) for life in lives]
    held = {kind: np.array([getattr(life, kind) for life in lives], dtype=float) for kind in _HELD}
    return Outcome(
        cluster=simulation.cluster,
        jobs=tuple(life.job for life in lives),
        policy=simulation.policy,
        failures=failures if isinstance(failures, Outages) else _those_that_came(log, failures),
        horizon_s=end,
        status=np.array(status, dtype=np.int8),
        start_s=start,
        end_s=np.array([life.ended for life in lives], dtype=float),
        wait_s=start - submitted,
        queued_s=np.array(queued, dtype=float),
        preemptions=np.array([life.preemptions for life in lives], dtype=np.int64),
        restarts=np.array([life.restarts for life in lives], dtype=np.int64),
        migrations=np.array([life.migrations for life in lives], dtype=np.int64),
        nodes=np.array([life.nodes for life in lives], dtype=np.int64),
        productive_gpu_s=held["productive"],
        lost_gpu_s=held["lost"],
        checkpoint_gpu_s=held["checkpoint"],
        restart_gpu_s=held["restart"],
        held_gpu_s=held["held"],
        ledger=ledger,
        log=log,
        totals=_totals(lives, ledger, start - submitted, status),
    )


def _waits(life: Life) -> bool:
    return _STATUS.get(life.state) is None and not isnan(life.asked)


def _ledger(lives: list[Life], idle: dict[str, float], total: float) -> Ledger:
    """Job by job and node by node, two countings that have to meet: raises LedgerError where they do not."""
    amounts = {kind: float(np.sum([getattr(life, kind) for life in lives])) for kind in _HELD} | idle
    parts = tuple(Ledger(name, amounts[name], law=_LAWS[name]) for name in LEDGER)
    return Ledger("cluster", total, law="accelerators × horizon", children=parts if total else ())


def _totals(lives: list[Life], ledger: Ledger, wait: np.ndarray, status: list[int]) -> dict[str, Any]:
    parts = {part.name: part.amount for part in ledger.children}
    held = sum(parts.get(kind, 0.0) for kind in _HELD)
    free = parts.get("idle_free", 0.0) + parts.get("idle_fragmented", 0.0)
    total, waited = ledger.amount, wait[~np.isnan(wait)]
    quantiles = np.quantile(waited, (0.5, 0.9, 0.99)).tolist() if len(waited) else [None] * 3
    by_status = np.bincount(status, minlength=len(STATUSES))
    late = [
        (life.ended if life.state == FINISHED else inf) > life.job.deadline_s
        for life in lives
        if life.job.deadline_s < inf
    ]
    return {
        "utilization": parts["productive"] / total if total else 0.0,
        "allocation": held / total if total else 0.0,
        "fragmentation": parts["idle_fragmented"] / free if free else 0.0,
        "wait_s": dict(zip(("p50", "p90", "p99"), quantiles, strict=True))
        | {"mean": float(waited.mean()) if len(waited) else None},
        "lost_gpu_s": parts.get("lost", 0.0),
        "goodput": parts["productive"] / held if held else nan,
        "preemptions": sum(life.preemptions for life in lives),
        "restarts": sum(life.restarts for life in lives),
        "migrations": sum(life.migrations for life in lives),
        "deadlines_missed": sum(late),
        "jobs": {name: int(count) for name, count in zip(STATUSES, by_status, strict=True)},
    }


def _those_that_came(log: Log, random: Random) -> Outages:
    """Random failures as they happened, with the times of repair; inf for nodes still away at the end."""
    at, node, away = list[float](), list[int](), list[float]()
    down: dict[int, int] = {}
    for row in np.flatnonzero(log.event >= CODE["node-down"]):
        where = int(log.node[log.first[row]])
        if log.event[row] == CODE["node-down"]:
            down[where] = len(at)
            at.append(float(log.time_s[row]))
            node.append(where)
            away.append(inf)
        elif log.event[row] == CODE["node-up"] and where in down:
            number = down.pop(where)
            away[number] = float(log.time_s[row]) - at[number]
    return Outages(
        np.array(at), np.array(node, dtype=np.int64), np.array(away), random.planned, random.upgrades
    )
