"""Jobs from Kueue's workloads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import gcd

from argosy.scheduling.jobs import MOLDABLE, RIGID, Job
from argosy.scheduling.traces.faults import Faults
from argosy.scheduling.traces.kueue import COMMAND, Workload
from argosy.scheduling.traces.trace import Trace

# Labels of nodes that stand for a level: which part of the label names it, nearest first.
_LEVELS = (("hostname", "node"), ("nvlink", "nvlink-domain"), ("clique", "nvlink-domain"), ("subblock", "leaf"),
           ("sub-block", "leaf"), ("host", "node"), ("rack", "leaf"), ("leaf", "leaf"), ("block", "pod"),
           ("spine", "pod"), ("zone", "pod"))  # fmt: skip


def jobs_of_kueue(workloads: Sequence[Workload], file: str) -> Trace:
    """The workloads that ask for accelerators as jobs, by creation; the tenant is the cluster queue, else the local queue.

    A workload that allows fewer pods (partial admission) is moldable, at a speed in proportion. One still running has what it
    has run so far, up to the latest time in the file; one still waiting its maximum execution time.
    """
    left: Counter[str] = Counter()
    waits: dict[str, float] = {}
    origin = min((each.created_s for each in workloads), default=0.0)
    moments = [
        m for each in workloads for m in (each.created_s, each.admitted_s, each.finished_s) if m is not None
    ]
    now = max(moments, default=0.0)
    jobs = [job for each in workloads if (job := _job(each, origin, now, left, waits)) is not None]
    jobs.sort(key=lambda job: job.submit_s)
    notes = tuple(f"{count:,} {why}" for why, count in left.items())
    if not jobs:
        faults = Faults(file)
        told = "; ".join(notes) or "the list is empty"
        faults.add(0, 0, "", f"has no workload to schedule ({told})", f"write it with {COMMAND}")
        faults.raise_if_any()
    return Trace(tuple(jobs), "Kueue workloads", origin, waits, notes)


def _job(
    each: Workload, origin: float, now: float, left: Counter[str], waits: dict[str, float]
) -> Job | None:
    if not each.accelerators:
        left["workloads without accelerators left out"] += 1
        return None
    duration = _duration(each, now, left)
    if duration is None:
        return None
    if each.admitted_s is not None and not each.past_s:
        waits[each.name] = max(each.admitted_s - each.created_s, 0.0)
    elif each.past_s:
        left["workloads that were evicted: their runs are added up, their wait is not known"] += 1
    topology = "any"
    if each.topology:
        topology = next((level for part, level in _LEVELS if part in each.topology.lower()), "any")
        if topology == "any":
            left[f"workloads whose topology level {each.topology} is not known are placed anywhere"] += 1
    partial = each.least_accelerators < each.accelerators
    worker = each.accelerators // each.pods if each.pods and each.accelerators % each.pods == 0 else 0
    sizes: tuple[tuple[int, float], ...] = ()
    if partial:
        step = worker or gcd(each.accelerators, each.least_accelerators)
        lowest = max(each.least_accelerators, step)
        sizes = tuple((n, n / each.accelerators) for n in range(lowest, each.accelerators + 1, step))
    return Job(
        job=each.name,
        submit_s=each.created_s - origin,
        duration_s=duration,
        accelerators=each.accelerators,
        tenant=each.cluster_queue or each.queue,
        priority=each.priority,
        kind=MOLDABLE if partial else RIGID,
        sizes=sizes,
        walltime_s=each.time_limit_s,
        topology=topology,
        worker=worker,
    )


def _duration(each: Workload, now: float, left: Counter[str]) -> float | None:
    """Seconds that it runs, all its runs together."""
    if each.admitted_s is not None:
        if each.finished_s is None:
            left["workloads still running end at the latest time in the file"] += 1
        end = each.finished_s if each.finished_s is not None else now
        ran = each.past_s + max(end - each.admitted_s, 0.0)
        return ran if ran > 0 else 1.0
    if each.finished_s is not None or not each.active:
        left["workloads that ended or were stopped in the queue left out"] += 1
        return None
    if each.time_limit_s is None:
        left["workloads still waiting without maximumExecutionTimeSeconds left out"] += 1
        return None
    left["workloads still waiting have their maximum execution time for a duration"] += 1
    return each.time_limit_s
