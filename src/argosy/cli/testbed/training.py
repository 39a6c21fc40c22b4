"""`argosy testbed training`: real jobs' steps beside their predictions, their traces diagnosed."""

from __future__ import annotations

from argosy.cli.testbed.common import Json, Report, Short, finish, say


def training(short: Short = False, as_json: Json = False, report: Report = None) -> None:
    """A small transformer on four ranks: data parallel by all-reduce and sharded, with gradients sent during the backward pass
    or after it, and pipelines by schedule, beside the overlap law, the flow schedules and the pipeline simulation; what
    `argosy diagnose` reads from their profiles when a rank, a cable, a loader or a stage is slow. Some four minutes.
    """
    from argosy.testbed.training.experiment import run

    finish("training", run(short, say), as_json, report)
