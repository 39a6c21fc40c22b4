"""Helios' virtual clusters: what ten-minute counts tell of their queues, and jobs that explain those counts.

The published series has, every ten minutes, the accelerators of a virtual cluster, those in use and those asked for in the queue,
and the number of running and waiting jobs. It has no jobs. `reconstructed` makes the fewest arrivals, starts and ends
that lead from one count to the next: jobs that come and go between two counts are not in it, and which job ended is a choice.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from argosy.scheduling import CODE, Job, Outcome, simulate, uniform
from argosy.scheduling.policy import preset

STEP_S = 600.0
NODE = 8  # accelerators of a node of Helios
COLUMNS = ("total_gpu_num", "running_gpu_num", "pending_gpu_num", "running_gpujob_num", "pending_gpujob_num")


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Counts of one virtual cluster every STEP_S seconds (n,)."""

    name: str
    total: np.ndarray
    running: np.ndarray
    pending: np.ndarray
    running_jobs: np.ndarray
    pending_jobs: np.ndarray

    @property
    def capacity(self) -> int:
        """Accelerators of the virtual cluster, at most over the series."""
        return int(self.total.max())


def read_series(path: Path) -> list[Series]:
    """The virtual clusters of `earth_vc_10min_*.csv`, by name."""
    rows: dict[str, list[list[float]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["vc"]].append([float(row[name]) for name in COLUMNS])
    return [Series(name, *np.array(table).T) for name, table in sorted(rows.items())]


def statistics(series: Series) -> dict[str, Any]:
    """What the counts say of the queue: fractions 0–1, accelerators, jobs."""
    queued = series.pending > 0
    free = series.total - series.running
    return {
        "name": series.name,
        "capacity": series.capacity,
        "used": float(series.running.sum() / series.total.sum()),
        "running_jobs": float(series.running_jobs.mean()),
        "size": float(series.running.sum() / max(series.running_jobs.sum(), 1.0)),
        "queued_share": float(queued.mean()),
        "pending": float(series.pending.mean()),
        "free_while_queued": float(free[queued].mean()) if queued.any() else None,
    }


@dataclass(slots=True)
class _Seen:
    """A job as far as the counts show it; times in steps."""

    came: int
    size: float
    started: int | None = None
    ended: int | None = None


@dataclass
class _State:
    waiting: list[_Seen] = field(default_factory=list)
    running: list[_Seen] = field(default_factory=list)
    done: list[_Seen] = field(default_factory=list)


def reconstructed(series: Series) -> tuple[Job, ...]:
    """The jobs of the fewest changes that explain the counts, by arrival; those that never started are left out.

    Waiting jobs start in the order in which they came. Of the running ones those end whose sizes are nearest to what was given
    back, oldest first; where counts of jobs agree and those of accelerators do not, one job ended and another came.
    """
    state = _State()
    for step in range(len(series.total)):
        _step(state, series, step)
    last = len(series.total)
    for each in state.running:
        each.ended = last
        state.done.append(each)
    seen = sorted(state.done, key=lambda each: (each.came, each.started or 0))
    return tuple(
        Job(
            job=f"{series.name}-{number}",
            submit_s=each.came * STEP_S,
            duration_s=((each.ended or last) - (each.started or 0)) * STEP_S,
            accelerators=round(each.size),
        )
        for number, each in enumerate(seen)
        if each.started is not None and (each.ended or last) > each.started
    )


def _step(state: _State, series: Series, step: int) -> None:
    """From one count to the next."""
    want = {
        name: int(getattr(series, name)[step])
        for name in ("running", "pending", "running_jobs", "pending_jobs")
    }
    freed = max(0, len(state.waiting) - want["pending_jobs"])
    for _ in range(freed):  # waiting jobs that started
        job = state.waiting.pop(0)
        job.started = step
        state.running.append(job)
    while len(state.waiting) < want["pending_jobs"]:
        state.waiting.append(_Seen(step, 1.0))
    _fit_waiting(state.waiting, want["pending"])
    surplus = len(state.running) - want["running_jobs"]
    if surplus > 0:
        back = sum(each.size for each in state.running) - want["running"]
        for left in range(surplus, 0, -1):
            aim = max(back, 0.0) / left
            gone = min(state.running, key=lambda each: (abs(each.size - aim), each.started or 0))
            back -= gone.size
            _end(state, gone, step)
    elif surplus < 0:
        missing = want["running"] - sum(each.size for each in state.running)
        for left in range(-surplus, 0, -1):
            size = max(1.0, round(missing / left))
            missing -= size
            state.running.append(_Seen(step, size, started=step))
    _fit_running(state, want["running"], step)


def _fit_waiting(waiting: list[_Seen], asked: int) -> None:
    """Sizes of waiting jobs so that they ask for what the count says; the newest change first."""
    gap = asked - sum(each.size for each in waiting)
    for job in reversed(waiting):
        change = max(gap, 1.0 - job.size)
        job.size += change
        gap -= change
        if not gap:
            return


def _fit_running(state: _State, used: int, step: int) -> None:
    """Where accelerators do not agree though jobs do: the oldest job that can ends, and another of the right size comes."""
    gap = used - sum(each.size for each in state.running)
    for job in sorted(state.running, key=lambda each: each.started or 0):
        if not gap:
            return
        size = max(1.0, job.size + gap)
        gap -= size - job.size
        if size != job.size:
            fresh = job.started == step
            if fresh:
                job.size = size
            else:
                _end(state, job, step)
                state.running.append(_Seen(step, size, started=step))


def _end(state: _State, job: _Seen, step: int) -> None:
    state.running.remove(job)
    job.ended = step
    state.done.append(job)


def replayed(series: Series, policy: str) -> dict[str, Any]:
    """The reconstructed jobs under a policy on the virtual cluster's nodes, beside the counts: mean accelerators asked for in
    the queue, share of moments with a queue, correlation of the two series of accelerators asked for."""
    jobs = reconstructed(series)
    nodes = max(1, series.capacity // NODE)
    horizon = len(series.total) * STEP_S
    outcome = simulate(uniform(nodes, NODE, nodes_per_leaf=nodes), jobs, preset(policy), horizon_s=horizon)
    pending = queue_at(outcome, np.arange(len(series.total)) * STEP_S + STEP_S / 2)
    same = np.corrcoef(pending, series.pending)[0, 1] if pending.std() and series.pending.std() else None
    return {
        "jobs": len(jobs),
        "pending": float(pending.mean()),
        "queued_share": float((pending > 0).mean()),
        "correlation": None if same is None else float(same),
        "used": float(outcome.totals["utilization"]),
    }


def queue_at(outcome: Outcome, times_s: np.ndarray) -> np.ndarray:
    """Accelerators asked for by waiting jobs at these times (n,)."""
    log, sizes = outcome.log, np.array([job.accelerators for job in outcome.jobs])
    change = np.zeros(len(log))
    waiting: set[int] = set()
    for index, (event, job) in enumerate(zip(log.event, log.job, strict=True)):
        if event == CODE["queue"] and job not in waiting:
            waiting.add(int(job))
            change[index] = sizes[job]
        elif job in waiting and event in (CODE["start"], CODE["reject"], CODE["give-up"]):
            waiting.discard(int(job))
            change[index] = -sizes[job]
    total = np.concatenate([[0.0], np.cumsum(change)])
    return np.asarray(total[np.searchsorted(log.time_s, times_s, side="right")])
