"""Findings: one module for every id of the contract's closed list, each with `find(observed) -> list[Finding]`."""

from __future__ import annotations

from importlib import import_module

from argosy.observe.findings.finding import SEVERITIES, Bound, Culprit, Finding
from argosy.observe.observed import Observed

__all__ = ["IDS", "Bound", "Culprit", "Finding", "find_all"]

IDS = (
    "straggler-rank",
    "straggler-node",
    "uneven-stage",
    "sequence-imbalance",
    "bubble",
    "timer-misattribution",
    "slow-link",
    "socket-fallback",
    "low-bus-bandwidth",
    "data-starvation",
    "host-bound",
    "recompilation",
    "gc-pause",
    "mfu-drift",
    "throttling",
    "hardware-fault",
    "hang-missing-rank",
    "hang-mismatched-collective",
    "checkpoint-cost",
    "contradiction",
    "recompute-cost",
)


def find_all(observed: Observed) -> list[Finding]:
    """Everything found: what stopped the job first, then by the time that a repair saves, then by severity."""
    found: list[Finding] = []
    for name in IDS:
        module = import_module(f"argosy.observe.findings.{name.replace('-', '_')}")
        found += module.find(observed)
    return sorted(
        found,
        key=lambda each: (
            not each.stopped,
            -(each.time_saved_s or 0.0),
            SEVERITIES.index(each.severity),
            -each.confidence,
            IDS.index(each.id),
        ),
    )
