"""Jobs from Slurm's accounting: one for each job, task of an array or heterogeneous job that asked for accelerators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from argosy.scheduling.jobs import Job
from argosy.scheduling.traces.faults import MOST_ACCELERATORS, Faults, whole
from argosy.scheduling.traces.sacct import COMMAND, SacctRow, array_tasks
from argosy.scheduling.traces.trace import Trace

_WAITING = ("PENDING", "REQUEUED", "CONFIGURING")
_GOING = ("RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "RESIZING")


def jobs_of_sacct(rows: Sequence[SacctRow], file: str, per_node: int = 8) -> Trace:
    """The jobs of a table, by the time they were submitted; steps are parts of their jobs.

    Without ReqTRES and AllocTRES, jobs hold whole nodes of `per_node` accelerators (NNodes). A job still waiting has its
    time limit for a duration, one still running what it has run so far. Of several runs of one id the last counts.
    ScenarioError where a column is missing.
    """
    _columns(rows, file)
    left: Counter[str] = Counter()
    runs: dict[str, list[SacctRow]] = {}
    for row in rows:
        if not row.is_step:
            runs.setdefault(f"{row.job}_{row.task}" if row.task else row.job, []).append(row)
    jobs: list[Job] = []
    waits: dict[str, float] = {}
    origin = min((row.submit_s for row in rows if row.submit_s is not None), default=0.0)
    for name, parts in runs.items():
        jobs += _jobs(name, parts, origin, per_node, left, waits)
    jobs.sort(key=lambda job: job.submit_s)
    notes = [f"{count:,} {why}" for why, count in left.items()]
    notes.append("times are read as if the cluster's clock kept UTC")
    if not jobs:
        faults = Faults(file)
        told = "; ".join(notes[:-1]) or "the table has no rows"
        faults.add(0, 0, "", f"has no job to schedule ({told})", f"write it with {COMMAND}")
        faults.raise_if_any()
    return Trace(tuple(jobs), "sacct", origin, waits, tuple(notes))


def _columns(rows: Sequence[SacctRow], file: str) -> None:
    """ScenarioError for the columns that jobs need and the table lacks."""
    heads = set(rows[0].cells) if rows else set()
    missing = [] if "Submit" in heads else ["Submit"]
    if not heads & {"Elapsed", "ElapsedRaw"}:
        missing.append("Elapsed")
    if not heads & {"AllocTRES", "ReqTRES", "NNodes", "AllocNodes"}:
        missing.append("AllocTRES")
    if rows and missing:
        faults = Faults(file)
        faults.add(1, 1, "", f"no column {', '.join(missing)}", f"write it with {COMMAND}")
        faults.raise_if_any()


def _jobs(
    name: str,
    parts: list[SacctRow],
    origin: float,
    per_node: int,
    left: Counter[str],
    waits: dict[str, float],
) -> list[Job]:
    """The jobs of one id; why it was left out is counted in `left`."""
    last = {part.component: part for part in parts}  # of several runs the last
    if len(parts) > len(last):
        left["earlier runs of requeued jobs left out"] += len(parts) - len(last)
    components = list(last.values())
    row = components[0]
    sizes = [_accelerators(each, per_node) for each in components]
    if not sum(sizes):
        left["jobs without accelerators left out"] += 1
        return []
    if sum(sizes) > MOST_ACCELERATORS:
        left[f"jobs of more than {MOST_ACCELERATORS:,} accelerators left out"] += 1
        return []
    duration, why = _duration(row)
    if row.submit_s is None:
        left["jobs without a time of submission left out"] += 1
        return []
    if why:
        left[why] += 1
    if duration is None:
        return []
    cells = row.cells
    priority = cells.get("Priority", "").strip()
    tasks = array_tasks(row.task) if row.task.startswith("[") else ()
    names = [f"{row.job}_{task}" for task in tasks] or [name]
    if row.start_s is not None and not tasks:
        waits[name] = max(row.start_s - row.submit_s, 0.0)
    return [
        Job(
            job=each,
            submit_s=row.submit_s - origin,
            duration_s=duration,
            accelerators=sum(sizes),
            tenant=cells.get("Account", "").strip() or cells.get("User", "").strip(),
            priority=whole(priority) or 0,
            walltime_s=None if row.time_limit_s is None else max(row.time_limit_s, duration, 1.0),
            accelerator=row.accelerator if len(components) == 1 else "",
        )
        for each in names
    ]


def _accelerators(row: SacctRow, per_node: int) -> int:
    """What it held or asked for; whole nodes where the table tells only nodes."""
    if row.accelerators is None and row.accelerators_asked is None:
        return (row.node_count or len(row.nodes)) * per_node
    return row.accelerators or row.accelerators_asked or 0


def _duration(row: SacctRow) -> tuple[float | None, str]:
    """Seconds that it runs, and what has to be told about that."""
    if row.state in _WAITING:
        told = "jobs still waiting have their time limit for a duration"
        return (
            row.time_limit_s,
            told if row.time_limit_s else "jobs still waiting without a time limit left out",
        )
    if not row.elapsed_s:
        return None, "jobs that never ran left out (cancelled or refused in the queue)"
    return row.elapsed_s, "jobs still running end when the table was printed" if row.state in _GOING else ""
