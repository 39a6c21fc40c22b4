"""Traces of jobs: one reader a format, found by what the file holds."""

from pathlib import Path

from argosy.scheduling.traces.faults import Faults, text_of
from argosy.scheduling.traces.job_csv import COLUMNS, REQUIRED, looks_like_jobs, parse_jobs
from argosy.scheduling.traces.kueue import Workload, looks_like_kueue, parse_kueue, read_kueue
from argosy.scheduling.traces.kueue_jobs import jobs_of_kueue
from argosy.scheduling.traces.sacct import SacctRow, looks_like_sacct, parse_sacct, read_sacct
from argosy.scheduling.traces.slurm_jobs import jobs_of_sacct
from argosy.scheduling.traces.trace import Trace

__all__ = [
    "COLUMNS",
    "REQUIRED",
    "SacctRow",
    "Trace",
    "Workload",
    "jobs_of_kueue",
    "jobs_of_sacct",
    "parse_jobs",
    "parse_kueue",
    "parse_sacct",
    "read_kueue",
    "read_sacct",
    "read_trace",
]


def read_trace(path: Path, per_node: int = 8) -> Trace:
    """The jobs of a file: a CSV with the columns of `job_csv`, `sacct --parsable2`, or Kueue's workloads as JSON.

    The format is known by the content. `per_node`: accelerators of one node, where a format counts nodes. ScenarioError
    with every fault at its place, or naming the formats where the file is of none.
    """
    text, file = text_of(path), str(path)
    if looks_like_kueue(text):
        return jobs_of_kueue(parse_kueue(text, file), file)
    if looks_like_sacct(text):
        return jobs_of_sacct(parse_sacct(text, file), file, per_node)
    if looks_like_jobs(text):
        return parse_jobs(text, file, per_node)
    faults = Faults(file)
    faults.add(
        1,
        1,
        "",
        "is no trace of jobs that is known",
        f"write a CSV with {','.join(REQUIRED)}, the output of sacct --parsable2, or of kubectl get workloads -o json",
    )
    faults.raise_if_any()
    raise AssertionError("faults were noted")
