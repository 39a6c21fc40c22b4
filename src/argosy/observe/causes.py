"""Why an attempt ended: by hardware messages, Slurm's accounting and the log's last lines, the surest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from argosy.observe.attempts import Attempt
from argosy.observe.readers import xid
from argosy.observe.records import FaultEvent, LogEvent, Place

BEFORE_S = 60.0  # a hardware message so long before the last reported step may be the cause: clocks differ
AFTER_S = 300.0  # and one so long after the end, where the kernel was slower than the job
# What ended an attempt → category of failures (a key of failure-categories), None for what is no failure. Which category
# a kind of end belongs to is our reading: an assumption.
CATEGORIES: dict[str, str | None] = {
    "node-fail": "node", "oom": "software-bug", "timeout": "nccl-watchdog", "error": "software-bug", "unknown": "any",
    "preempted": "spot-interruption", "time-limit": None, "cancelled": None, "completed": None, "running": None,
}  # fmt: skip
PLANNED = ("time-limit", "cancelled", "completed", "running", "preempted")
_STATES = {"NODE_FAIL": "node-fail", "BOOT_FAIL": "node-fail", "OUT_OF_MEMORY": "oom", "TIMEOUT": "time-limit",
           "DEADLINE": "time-limit", "PREEMPTED": "preempted", "CANCELLED": "cancelled", "COMPLETED": "completed",
           "RUNNING": "running"}  # fmt: skip
_ORDER = (
    "node-fail",
    "oom",
    "timeout",
    "error",
    "time-limit",
    "preempted",
    "cancelled",
    "completed",
    "running",
)
_EXIT = {"exit": "completed"}


@dataclass(frozen=True)
class Cause:
    """`name`: xid-79, fallen-off-bus, nvswitch, or a key of CATEGORIES; its `category`, None where it is no failure; the
    `node` it names; when, NaN unknown; and the `evidence`.
    """

    name: str
    category: str | None
    node: str | None
    time_s: float
    evidence: tuple[Place, ...]

    @property
    def failure(self) -> bool:
        """Whether something failed, rather than somebody or a limit ending the attempt."""
        return self.name not in PLANNED


def cause_of(attempt: Attempt, faults: Sequence[FaultEvent], again: bool) -> Cause:
    """Why the attempt ended. `again`: whether another followed it, so that an end nobody explains was a failure."""
    hardware = _hardware(attempt, faults)
    if hardware is not None:
        return hardware
    found: dict[str, Place] = {}
    for event in _after_last_row(attempt):
        name = _EXIT.get(event.kind, event.kind)
        if name in _ORDER:
            found.setdefault(name, Place(attempt.path, event.line))
    if attempt.job is not None and attempt.stop_s >= (
        attempt.job.end_s or 0.0
    ):  # not of restarts inside one job
        name = _STATES.get(attempt.job.state, "error" if attempt.job.state == "FAILED" else "")
        if name:
            found.setdefault(name, Place("sacct", attempt.job.line))
    node = attempt.nodes[0] if len(attempt.nodes) == 1 else None
    for name in _ORDER:
        if name in found:
            return Cause(name, CATEGORIES[name], node, attempt.last_s, (found[name],))
    name = "unknown" if again else "running"
    return Cause(name, CATEGORIES[name], None, attempt.last_s, ())


def _after_last_row(attempt: Attempt) -> list[LogEvent]:
    """Events from the last reported step on: what came before, the attempt survived."""
    if not len(attempt.steps.count):
        return list(attempt.events)
    last = attempt.last_line
    return [event for event in attempt.events if event.line > last]


def _hardware(attempt: Attempt, faults: Sequence[FaultEvent]) -> Cause | None:
    """The first hardware message around the attempt's end that stops jobs; an application's own error only where no other."""
    if not attempt.clocked:
        return None
    low, high = attempt.last_s - BEFORE_S, attempt.stop_s + AFTER_S
    near = [
        fault
        for fault in faults
        if math.isfinite(fault.time_s)
        and low <= fault.time_s <= high
        and xid.stops_jobs(fault)
        and (not attempt.nodes or fault.node is None or _short(fault.node) in map(_short, attempt.nodes))
    ]
    sure = [fault for fault in near if fault.kind != "application"] or near
    if not sure:
        return None
    first = min(sure, key=lambda fault: fault.time_s)
    known = xid.meanings().get(
        first.code if first.code is not None and not first.kind.startswith("nvswitch") else -1
    )
    if first.kind.startswith("nvswitch"):
        name, category = "nvswitch", "nvswitch"
    elif known is None:
        name, category = first.kind, "faulty-gpu"
    else:
        name, category = f"xid-{first.code}", known["category"]
    evidence = tuple(Place(fault.path, fault.line) for fault in sure[:5])
    return Cause(name, category, first.node, first.time_s, evidence)


def _short(node: str) -> str:
    return node.split(".")[0].lower()
