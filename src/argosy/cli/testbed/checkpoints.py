"""`argosy testbed checkpoints`: pauses and crashes of real checkpoints beside the law's."""

from __future__ import annotations

from argosy.cli.testbed.common import Json, Report, Short, finish, say


def checkpoints(short: Short = False, as_json: Json = False, report: Report = None) -> None:
    """Synchronous and asynchronous checkpoints of torch.distributed.checkpoint: pause and write beside what
    argosy.reliability says; a job killed (SIGKILL) at random times and at every point of a save, whose restores, losses and
    samples are compared with an undisturbed run's, bit for bit; the same checkpoint on fewer ranks. Some six minutes.
    """
    from argosy.testbed.checkpoints.experiment import run

    finish("checkpoints", run(short, say), as_json, report)
