"""Slurm's accounting: rows of `sacct --parsable2`, read by scheduling.traces; damaged rows are told and left out."""

from __future__ import annotations

from pathlib import Path

from argosy.observe.readers.text import Lines, head_text
from argosy.observe.records import Batch, Input
from argosy.scheduling.traces.faults import Faults
from argosy.scheduling.traces.sacct import looks_like_sacct, parse_sacct

KIND = "sacct"
LARGEST = 512 << 20  # characters: a year of a large cluster's jobs and steps is a tenth of it


def looks_like(head: bytes, path: Path) -> bool:
    """Whether the file begins with a header of `sacct --parsable2`."""
    return looks_like_sacct(head_text(head).lstrip("\ufeff"))


def read(path: Path) -> Batch:
    """Every sound row, steps included. Times are the cluster's wall clock, read as UTC."""
    lines = Lines(path)
    kept: list[str] = []
    size = 0
    for number, line in lines:
        size += len(line)
        if size > LARGEST:
            lines.problem(
                number, f"more than {LARGEST >> 20} MiB: rows from here on do not count; ask for fewer days"
            )
            break
        # splitlines() would take these for ends of lines, and count lines otherwise than we do
        kept.append(line.translate(dict.fromkeys((11, 12, 28, 29, 30, 133, 8232, 8233, 13), " ")))
    faults = Faults(str(path))
    rows = parse_sacct("\n".join(kept).removeprefix("\ufeff"), str(path), faults)
    for fault in faults.problems:
        name = f"{fault.path}: " if fault.path else ""
        lines.problem(fault.line, f"{name}{fault.message}; {fault.instead}")
    if not rows and not lines.problems:
        lines.problem(0, "no job below the names of the columns")
    status = lines.status if rows else "unreadable"
    return Batch(Input(str(path), KIND, status, len(rows), tuple(lines.problems)), jobs=rows)
