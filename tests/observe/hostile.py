"""Shared by the tests of hostile files: what must hold for any bytes at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from argosy.observe.diagnosis import diagnosed
from argosy.observe.gather import gather
from argosy.observe.records import STATUSES, Batch


def survives(paths: Iterable[Path]) -> list[Batch]:
    """Reads and diagnoses; no exception, every file told with a status, and none of the problems a bug of ours."""
    batches = gather(paths, debug=True)
    for batch in batches:
        assert batch.input.status in STATUSES
        assert batch.input.events >= 0
        for problem in batch.input.problems:
            assert "a bug of argosy" not in problem.message
            assert problem.line >= 0
        if batch.input.status in ("unreadable", "ignored"):
            assert batch.input.problems, f"{batch.input.path} is {batch.input.status} without a reason"
    diagnosed(batches).to_dict()
    return batches
