"""An outcome in numbers: waits, use and losses by size and tenant, every job's life, the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy.scheduling.outcome import LEDGER, STATUSES, Outcome

SIZES = ((1, "1"), (8, "2–8"), (64, "9–64"), (512, "65–512"), (np.inf, "513 and more"))
"""Classes of jobs by the accelerators they ask for: the largest of each class, and its name."""
_PARTS = ("productive", "lost", "checkpoint", "restart", "held")
QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))


def size_class(accelerators: np.ndarray) -> np.ndarray:
    """Index into SIZES of every job (n,)."""
    return np.searchsorted(np.array([limit for limit, _ in SIZES]), accelerators)


def waits(outcome: Outcome) -> np.ndarray:
    """Seconds from submission to the first start (n,); of jobs that still wait, so far; NaN where neither is known."""
    submit = np.array([job.submit_s for job in outcome.jobs])
    so_far = np.maximum(outcome.horizon_s - submit, 0.0)
    pending = outcome.status == STATUSES.index("pending")
    return np.where(np.isnan(outcome.wait_s) & pending, so_far, outcome.wait_s)


def group_row(outcome: Outcome, name: str, chosen: np.ndarray, waited: np.ndarray) -> dict[str, Any]:
    """Figures of the chosen jobs (a mask): how many, how long they waited, what they held, what of it was of use."""
    held = {part: float(getattr(outcome, f"{part}_gpu_s")[chosen].sum()) for part in _PARTS}
    whole, capacity = sum(held.values()), outcome.ledger.amount
    known = waited[chosen][~np.isnan(waited[chosen])]
    statuses = outcome.status[chosen]
    return {
        "name": name,
        "jobs": int(chosen.sum()),
        **{key.replace("-", "_"): int((statuses == code).sum()) for code, key in enumerate(STATUSES)},
        "wait_s": {key: float(np.quantile(known, q)) if len(known) else None for key, q in QUANTILES},
        "mean_wait_s": float(known.mean()) if len(known) else None,
        "utilization": held["productive"] / capacity if capacity else 0.0,
        "allocation": whole / capacity if capacity else 0.0,
        "goodput": held["productive"] / whole if whole else None,
        "preemptions": int(outcome.preemptions[chosen].sum()),
        "restarts": int(outcome.restarts[chosen].sum()),
        "migrations": int(outcome.migrations[chosen].sum()),
        "lost_gpu_s": held["lost"],
        "deadlines_missed": _missed(outcome, chosen),
    }


def _missed(outcome: Outcome, chosen: np.ndarray) -> int:
    """Jobs with a deadline that ended after it, or have not ended when it is past."""
    deadline = np.array([job.deadline_s for job in outcome.jobs])
    end = np.where(np.isnan(outcome.end_s), np.inf, outcome.end_s)
    late = (end > deadline) & (deadline <= outcome.horizon_s)
    return int((late & chosen).sum())


def asked_share(outcome: Outcome) -> float:
    """Accelerator-seconds that the jobs asked for ÷ those of the cluster within the horizon; endless services up to it."""
    asked = 0.0
    for job in outcome.jobs:
        if job.submit_s < outcome.horizon_s:
            span = outcome.horizon_s - job.submit_s
            asked += (
                (span if np.isinf(job.duration_s) else job.duration_s)
                * job.accelerators
                * (job.fraction or 1.0)
            )
    return asked / outcome.ledger.amount if outcome.ledger.amount else 0.0


def by_size(outcome: Outcome) -> list[dict[str, Any]]:
    """One row a class of sizes that has jobs, small ones first."""
    classes = size_class(np.array([job.accelerators * (job.fraction or 1.0) for job in outcome.jobs]))
    waited = waits(outcome)
    return [
        group_row(outcome, name, classes == index, waited)
        for index, (_, name) in enumerate(SIZES)
        if (classes == index).any()
    ]


def by_tenant(outcome: Outcome) -> list[dict[str, Any]]:
    """One row a tenant, those that held most first."""
    names = np.array([job.tenant or "–" for job in outcome.jobs])
    waited = waits(outcome)
    rows = [group_row(outcome, str(name), names == name, waited) for name in np.unique(names)]
    return sorted(rows, key=lambda row: -row["allocation"])


def whole(outcome: Outcome) -> dict[str, Any]:
    """The row of all jobs."""
    return group_row(outcome, "all", np.ones(len(outcome.jobs), dtype=bool), waits(outcome))


def job_rows(outcome: Outcome) -> list[dict[str, Any]]:
    """Every job as the contract tells it, and what it is; times null for what did not happen."""
    columns = {
        "start_s": outcome.start_s,
        "end_s": outcome.end_s,
        "wait_s": outcome.wait_s,
        "queued_s": outcome.queued_s,
        "lost_gpu_s": outcome.lost_gpu_s,
    }
    counts = {
        "preemptions": outcome.preemptions,
        "restarts": outcome.restarts,
        "migrations": outcome.migrations,
        "nodes": outcome.nodes,
    }
    rows: list[dict[str, Any]] = []
    for number, job in enumerate(outcome.jobs):
        row: dict[str, Any] = {"job": job.job, "submit_s": job.submit_s}
        row |= {key: _known(values[number]) for key, values in columns.items()}
        row |= {key: int(values[number]) for key, values in counts.items()}
        row |= {
            "status": STATUSES[int(outcome.status[number])],
            "accelerators": job.accelerators if not job.fraction else job.fraction,
            "tenant": job.tenant,
            "priority": job.priority,
            "kind": job.kind,
        }
        rows.append(row)
    return rows


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def ledger_rows(outcome: Outcome) -> dict[str, float]:
    """Accelerator-seconds by state; they sum to accelerators × horizon."""
    found = {node.name: node.amount for node in outcome.ledger.children}
    return {name: float(found.get(name, 0.0)) for name in LEDGER}


def recorded_rows(outcome: Outcome, recorded_s: Sequence[float | None]) -> dict[str, Any] | None:
    """Waits that the trace recorded beside those of the simulation, for jobs that have both; None where none has."""
    real = np.array([np.nan if each is None else each for each in recorded_s], dtype=float)
    both = ~np.isnan(real) & ~np.isnan(outcome.wait_s)
    if not both.any():
        return None
    return {
        "jobs": int(both.sum()),
        "recorded_wait_s": {key: float(np.quantile(real[both], q)) for key, q in QUANTILES},
        "simulated_wait_s": {key: float(np.quantile(outcome.wait_s[both], q)) for key, q in QUANTILES},
    }
