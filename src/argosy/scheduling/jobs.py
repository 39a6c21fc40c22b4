"""A job as the queue sees it: what it asks for, how long it runs, what stopping it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import gcd, inf

RIGID, MOLDABLE, ELASTIC, SERVICE = KINDS = ("rigid", "moldable", "elastic", "service")
LEVELS = ("any", "node", "nvlink-domain", "leaf", "pod")
"""What all workers of a job may have to share, beside `leaves:k`: at most k leaves."""
FRACTION_STEPS = 1000
"""Fractions of an accelerator are counted in thousandths, so that sums are exact."""


@dataclass(frozen=True, slots=True)
class Job:
    """One request. Times in s, memory in bytes; `accelerators` is the size it asks for, which `duration_s` is measured at.

    A worker is what must stand on one node (a pod, a task): `worker` accelerators each, all workers alike. 0 chooses the
    usual shape: one worker for a job that one node can hold, else the greatest common divisor of the job and the node.

    kind: `rigid` runs at its size or not at all; `moldable` at any of `sizes` (accelerators, speed-up), chosen at its
    start; `elastic` between `elastic_min` and `elastic_max` workers, changed while it runs, with speed in proportion to
    workers; `service` lasts `duration_s` from its first start whatever its replicas, wants all its workers, starts with
    `floor` of them, and is never brought below that by anything planned (a disruption budget).
    """

    job: str
    submit_s: float
    duration_s: float
    accelerators: int
    tenant: str = ""
    priority: int = 0
    """Larger is more urgent."""
    kind: str = RIGID
    elastic_min: int = 0
    """Workers; 0: as many as asked for."""
    elastic_max: int = 0
    sizes: tuple[tuple[int, float], ...] = ()
    """Of a moldable job: (accelerators, speed against the size asked for)."""
    walltime_s: float | None = None
    """The user's estimate of `duration_s`, which backfilling and shortest-remaining go by; None: the duration itself."""
    deadline_s: float = inf
    """On the clock of the trace, not after submission."""
    checkpoint_s: float = 0.0
    """Time to save everything when told to leave; what an eviction with enough grace costs; inf: it cannot."""
    checkpoint_interval_s: float = inf
    """Work between two periodic checkpoints: what a failure or an eviction without grace undoes at most."""
    restart_s: float = 0.0
    """From having nodes again to working again."""
    resize_s: float = 0.0
    """Pause of an elastic job when its workers change, lost ones included."""
    topology: str = "any"
    accelerator: str = ""
    """Types it may run on, `A|B`; empty: any. All its workers stand on one type."""
    worker: int = 0
    fraction: float = 0.0
    """Above 0: a share of one accelerator, in thousandths; `accelerators` is then 1."""
    floor: int = 0
    """Of a service: replicas that nothing planned may go below; 0: none (it starts with one)."""
    cpus: float = 0.0
    """Per worker, counted only on clusters that state what nodes have."""
    memory_bytes: float = 0.0
    crash_after_s: float = inf
    """Work after which the program itself fails, each time it gets there: a crash loop."""

    @property
    def estimate_s(self) -> float:
        """What the scheduler believes the duration to be, at the size asked for."""
        return self.duration_s if self.walltime_s is None else self.walltime_s

    @property
    def leaves(self) -> int:
        """k of `leaves:k`; 0 for any other topology."""
        return int(self.topology.partition(":")[2]) if self.topology.startswith("leaves:") else 0

    def worker_size(self, node: int) -> int:
        """Accelerators per worker on nodes of `node` accelerators; 0 where it cannot be (a worker larger than a node)."""
        if self.topology == "node":
            return self.accelerators if self.accelerators <= node else 0
        size = self.worker or (
            self.accelerators if self.accelerators <= node else gcd(self.accelerators, node)
        )
        return size if size <= node else 0


def faults(job: Job) -> list[str]:
    """What is wrong with a job, one message per fault; empty for a good one."""
    if _plainly_good(job):
        return []
    found = []

    def need(good: bool, message: str) -> None:
        if not good:
            found.append(message)

    need(job.kind in KINDS, f"kind {job.kind!r} is not known; write one of {', '.join(KINDS)}")
    need(math.isfinite(job.submit_s) and job.submit_s >= 0, "submit_s must be a time from 0 on, in seconds")
    need(job.duration_s > 0 or job.duration_s == 0, "duration_s must not be negative")
    need(
        job.duration_s < inf or job.kind == SERVICE,
        "duration_s must be finite (of a service alone may it be inf)",
    )
    need(job.accelerators >= 1, "accelerators must be 1 or more")
    need(
        job.walltime_s is None or job.walltime_s > 0, "walltime_s must be above 0; leave it out where unknown"
    )
    need(0 <= job.fraction < 1, "fraction must lie in (0, 1): the share of one accelerator")
    need(
        not job.fraction or (job.accelerators == 1 and job.kind == RIGID),
        "a job with a fraction is rigid and has accelerators 1",
    )
    steps = job.fraction * FRACTION_STEPS
    need(abs(steps - round(steps)) < 1e-6, "fraction is counted in thousandths; write three decimals at most")
    need(
        _topology_is_known(job.topology),
        f"topology {job.topology!r} is not known; write one of {', '.join(LEVELS)}, leaves:k",
    )
    need(
        job.worker >= 0 and (not job.worker or job.accelerators % job.worker == 0),
        "worker must divide accelerators",
    )
    for name in ("restart_s", "resize_s", "cpus", "memory_bytes"):
        need(0 <= getattr(job, name) < inf, f"{name} must not be negative")
    need(job.checkpoint_s >= 0, "checkpoint_s must not be negative (inf: it cannot save)")
    need(job.checkpoint_interval_s > 0, "checkpoint_interval_s must be above 0 (inf: never)")
    need(job.crash_after_s > 0, "crash_after_s must be above 0 (inf: never)")
    need(job.kind == MOLDABLE or not job.sizes, "sizes belong to a moldable job")
    need(
        job.kind != MOLDABLE or bool(job.sizes), "a moldable job needs sizes: accelerators and speed of each"
    )
    need(
        all(n >= 1 and speed > 0 for n, speed in job.sizes),
        "sizes need accelerators from 1 on and a speed above 0",
    )
    need(
        job.elastic_min >= 0 and (not job.elastic_max or job.elastic_max >= max(job.elastic_min, 1)),
        "elastic_max must not be below elastic_min",
    )
    need(
        job.floor >= 0 and (not job.floor or job.kind == SERVICE),
        "floor is the replicas that a service keeps",
    )
    return found


def _plainly_good(job: Job) -> bool:
    """Whether a job is of the usual sort and nothing can be wrong with it: what most of a large trace is."""
    return (
        job.kind == RIGID
        and 0 <= job.submit_s < inf
        and 0 <= job.duration_s < inf
        and job.accelerators >= 1
        and (job.walltime_s is None or job.walltime_s > 0)
        and job.topology in LEVELS
        and job.fraction == job.worker == job.floor == job.elastic_min == job.elastic_max == 0
        and not job.sizes
        and 0 <= job.restart_s < inf
        and 0 <= job.resize_s < inf
        and 0 <= job.cpus < inf
        and 0 <= job.memory_bytes < inf
        and job.checkpoint_s >= 0
        and job.checkpoint_interval_s > 0
        and job.crash_after_s > 0
    )


def _topology_is_known(topology: str) -> bool:
    head, _, count = topology.partition(":")
    return topology in LEVELS or (head == "leaves" and count.isdigit() and int(count) >= 1)
