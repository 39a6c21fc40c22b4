"""Lives as one account: a ledger in GPU-seconds, and the three published views of it side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.reliability.events import EventLives
from argosy.reliability.states import STATES

VIEWS = {
    "ettr": "productive ÷ all wall-clock time, queue and maintenance included (Meta)",
    "google_goodput": "productive ÷ the job's own time: queueing is not the job's (Google)",
    "megascale_effective": "iterations that counted × their measured time ÷ all time: slow steps count in full (MegaScale)",
}


def views(seconds: dict[str, float]) -> dict[str, float]:
    """The three published goodputs of one book of seconds by state; what each counts is in `VIEWS`."""
    total = sum(seconds.values())
    if total <= 0:
        return dict.fromkeys(VIEWS, 1.0)
    return {
        "ettr": seconds["productive"] / total,
        "google_goodput": seconds["productive"] / (total - seconds["queue"]),
        "megascale_effective": (seconds["productive"] + seconds["degraded"]) / total,
    }


def account(lives: EventLives, accelerators: int, work_s: float) -> dict[str, Any]:
    """The contract's figures of a simulation: `lives` of a job on `accelerators`, means over lives.

    `ledger_gpu_s` sums to `total_gpu_s` (the accelerators of the job; spares are not in it). `goodput` mean is
    productive ÷ total of the means; its standard error is that of this ratio (delta method); quantiles are over lives.
    """
    wall = lives.wall_s
    seconds = {state: float(lives.seconds[state].mean()) for state in STATES}
    total = sum(seconds.values())
    mean = seconds["productive"] / total if total else 1.0
    residual = lives.seconds["productive"] - mean * wall
    error = float(residual.std(ddof=1) / np.sqrt(len(wall)) / total) if len(wall) > 1 and total else 0.0
    low, middle, high = np.quantile(lives.ettr, [0.1, 0.5, 0.9])
    form = lives.closed_form
    expected = float(form.failures_expected(work_s))
    whole, rates = float(lives.rates.per_s), lives.rates
    failures = {
        c.name: {
            "expected": expected * float(c.system_per_s) / whole if whole and np.isfinite(expected) else None,
            "mean": float(lives.failures[c.name].mean()),
        }
        for c in rates.categories
    }
    for name in lives.failures.keys() - failures.keys():
        failures[name] = {"expected": None, "mean": float(lives.failures[name].mean())}
    return {
        "replications": len(wall),
        "horizon_s": total,
        "total_gpu_s": total * accelerators,
        "goodput": {
            "mean": mean, "stderr": error, "p10": float(low), "p50": float(middle), "p90": float(high),
        },
        "views": views(seconds),
        "ledger_gpu_s": {state: each * accelerators for state, each in seconds.items()},
        "failures": failures,
        "closed_form_goodput": float(form.ettr),
    }  # fmt: skip
