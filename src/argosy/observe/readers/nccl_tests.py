"""Output of nccl-tests and rccl-tests as observe takes it: tables (several runs in one file, gzip, damaged rows), or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from argosy.fabric.imports.nccl_tests import Benchmark, read_lines, read_nccl_tests
from argosy.fabric.imports.text import ReadError
from argosy.observe.readers.text import Lines, head_text
from argosy.observe.records import Batch, Input

KIND = "nccl_tests"
MOST_LINES = 2_000_000  # of one run: a sweep of sizes has forty, the rest are messages of NCCL
_HINTS = re.compile(
    r"# (?:nccl|rccl)-tests version|#\s*nThread \d+ nGpus \d+|#\s+size\s+count\s.*\bbusbw\b|\"bus_bw\"\s*:"
)
_BEGINS = re.compile(r"# (?:nccl|rccl)-tests version|# Collective test starting|#\s*nThread \d+ nGpus")


def looks_like(head: bytes, path: Path) -> bool:
    """Whether the beginning of a file holds nccl-tests' own head, or the keys of its JSON."""
    text = head_text(head)
    if text.lstrip().startswith("{"):
        return '"bus_bw"' in text or ('"devices"' in text and "_perf" in text and '"traceEvents"' not in text)
    return _HINTS.search(text) is not None


def read(path: Path) -> Batch:
    """Every run of the file. A row that breaks off is told with its line and left out; the others count."""
    lines = Lines(path)
    found: list[Benchmark] = []
    for run in _runs(lines):
        if run[0][1].lstrip().startswith("{"):
            _take_json(path, lines, found)
            break
        faults: list[tuple[int, str]] = []
        try:
            found.append(read_lines(path, run, faults))
        except ReadError as error:
            place = re.match(rf"{re.escape(str(path))}:(\d+): ", error.problems[0])
            line = max(int(place[1]), run[0][0]) if place else run[0][0]
            lines.problem(line, error.problems[0][place.end() :] if place else error.problems[0])
        for line, message in faults:
            lines.problem(line, message)
    rows = sum(len(run.points) for run in found)
    for each in found:
        if each.truncated:
            lines.problem(
                0, "a run without its closing lines: it broke off, or only a part of its output is here"
            )
    status = lines.status if rows else "unreadable"
    return Batch(Input(str(path), KIND, status, rows, tuple(lines.problems)), benchmarks=tuple(found))


def _runs(lines: Lines) -> Iterator[list[tuple[int, str]]]:
    """The file's lines, run by run: a run begins with nccl-tests' head after a table has begun."""
    run: list[tuple[int, str]] = []
    table = False
    for number, line in lines:
        if table and _BEGINS.search(line):
            yield run
            run, table = [], False
        if len(run) < MOST_LINES:
            run.append((number, line))
        table = table or ("busbw" in line and "size" in line)
        if len(run) == 1 and line.lstrip().startswith("{"):
            yield run
            return
    if run:
        yield run


def _take_json(path: Path, lines: Lines, found: list[Benchmark]) -> None:
    try:
        found.append(read_nccl_tests(path))
    except (ReadError, OSError) as error:
        lines.problem(1, str(error).removeprefix(f"{path}:1: "))
