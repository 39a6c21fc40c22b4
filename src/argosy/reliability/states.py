"""The states in which the time of a job is spent, and a failure as a value."""

from __future__ import annotations

from dataclasses import dataclass

STATES = (
    "productive",
    "checkpoint",
    "rework",
    "detection",
    "restart",
    "spare_wait",
    "queue",
    "degraded",
    "maintenance",
)
"""Every second of a job's life is in one of these; closed form and simulation both account in them."""


@dataclass(frozen=True, slots=True)
class FailureEvent:
    """One failure: when the part was down, what it was, and where. Times in seconds from the run's start."""

    start_s: float
    end_s: float
    component: str
    category: str
    node: int | None = None
