"""Jobs as CSV: `job, submit_s, duration_s, accelerators` and any of the optional columns below; others are an error.

| column | meaning |
|---|---|
| `job` | a name of its own for every job |
| `submit_s` | when it is submitted, seconds from the beginning of the trace; rows in this order |
| `duration_s` | how long it runs at its size when nothing stops it |
| `accelerators` | size it asks for; below 1 a share of one accelerator, in thousandths |
| `tenant`, `priority` | who submits it; larger is more urgent (0) |
| `kind` | rigid, moldable, elastic or service; without it elastic where elastic_min or elastic_max stand, else rigid |
| `elastic_min`, `elastic_max` | accelerators that an elastic job may shrink and grow to |
| `sizes` | moldable: `4:0.55 8:1` are accelerators and speed against the size asked for |
| `floor` | service: accelerators that nothing planned goes below |
| `walltime_s` | the user's estimate, which backfill goes by (the duration itself) |
| `deadline_s` | latest end, on the clock of submit_s |
| `topology` | any, node, nvlink-domain, leaf, pod, or leaves:4 (any) |
| `accelerator` | types that it may run on: `H100-SXM` or `H100-SXM;A100-SXM` (any) |
| `worker` | accelerators that must stand on one node: one pod, one task |
| `checkpoint_s`, `checkpoint_interval_s` | to save when told to leave; work between periodic checkpoints (never) |
| `restart_s`, `resize_s` | from new nodes to working; pause of an elastic job that changes size (0) |
| `cpus`, `memory_bytes` | of one worker |
| `crash_after_s` | work after which its program fails, each time (never) |
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from math import gcd, inf
from pathlib import Path
from typing import Any

from argosy.scheduling.jobs import ELASTIC, FRACTION_STEPS, KINDS, RIGID, Job, faults
from argosy.scheduling.traces.faults import MOST_ACCELERATORS, MOST_SECONDS, Faults, cell_column, text_of
from argosy.scheduling.traces.trace import Trace
from argosy.spec.problems import suggest
from argosy.spec.scheduling import TOPOLOGIES

REQUIRED = ("job", "submit_s", "duration_s", "accelerators")
_TIMES = ("submit_s", "duration_s", "walltime_s", "deadline_s", "checkpoint_s", "checkpoint_interval_s", "restart_s",
          "resize_s", "crash_after_s")  # fmt: skip
_COUNTS = ("elastic_min", "elastic_max", "floor", "worker")
_AMOUNTS = ("cpus", "memory_bytes")
_WORDS = ("job", "tenant", "kind", "topology", "accelerator", "sizes")
COLUMNS = (*REQUIRED, "priority", *_WORDS[1:], *_TIMES[2:], *_COUNTS, *_AMOUNTS)
_EXAMPLE = {
    **dict.fromkeys(_TIMES, "a time in seconds from 0 on, such as 3600"),
    **dict.fromkeys(_COUNTS, "a whole number of accelerators, such as 8"),
    **dict.fromkeys(_AMOUNTS, "a number from 0 on"),
    "accelerators": "a whole number from 1 on, or a share of one such as 0.25",
    "priority": "a whole number; larger is more urgent",
}


def looks_like_jobs(text: str) -> bool:
    """Whether the first line of a text has the columns that this format alone has."""
    heads = {each.strip().strip('"') for each in text.lstrip("\n").split("\n", 1)[0].split(",")}
    return len(heads & set(REQUIRED)) >= 2


def read_jobs(path: Path, per_node: int = 8) -> Trace:
    """The jobs of a CSV; `per_node` accelerators of a node shape the workers of elastic jobs.

    ScenarioError with every fault at its line and column.
    """
    return parse_jobs(text_of(path), str(path), per_node)


def parse_jobs(text: str, file: str = "<text>", per_node: int = 8) -> Trace:
    """The jobs of a text; see `read_jobs`."""
    found = Faults(file)
    lines = text.splitlines()
    rows = csv.reader(lines, strict=True)
    table, last = None, 0
    try:
        table = _Table(_heads(next(rows, []), lines, found), lines, found, per_node)
        found.raise_if_any()
        for cells in rows:
            first, last = max(last, 1) + 1, rows.line_num
            if any(cell.strip() for cell in cells):
                table.add(cells, first)
    except csv.Error as error:
        found.add(rows.line_num, 1, "", f"is no CSV: {error}", 'double the quotes within quotes: ""')
    jobs = tuple(table.jobs) if table is not None else ()
    if not jobs and not found.problems:
        found.add(0, 0, "", "has no jobs", "write a row for each job below the header")
    found.raise_if_any()
    return Trace(jobs, "jobs CSV")


def _heads(given: list[str], lines: list[str], found: Faults) -> list[str]:
    """The names of the columns; missing, unknown and repeated ones are faults."""
    heads = [each.strip() for each in given]
    if missing := [name for name in REQUIRED if name not in heads]:
        found.add(
            1, 1, "", f"no column {', '.join(missing)}", f"write {','.join(REQUIRED)} and any of the others"
        )
    for index, name in enumerate(heads):
        column = cell_column(lines[0], index)
        if name not in COLUMNS:
            found.add(1, column, name, "unknown column", suggest(name, COLUMNS, len(COLUMNS)))
        elif name in heads[:index]:
            found.add(1, column, name, "stands twice", "remove one")
    return heads


class _Table:
    """Rows become jobs; what is wrong with a cell is noted at its place."""

    def __init__(self, heads: list[str], lines: list[str], found: Faults, per_node: int) -> None:
        self.heads, self.lines, self.found, self.per_node = heads, lines, found, per_node
        self.jobs: list[Job] = []
        self.known: dict[str, int] = {}
        self.last_s = 0.0
        self.readers: list[tuple[str, Callable[[str], Any]]] = [(name, _reader(name)) for name in heads]

    def add(self, cells: list[str], line: int) -> None:
        """One row."""
        if len(cells) != len(self.heads):
            told = f"{len(cells)} cells for {len(self.heads)} columns"
            self.found.add(line, 1, "", told, "write one cell for each column, empty where nothing is known")
            return
        before, row = len(self.found.problems), {}
        for index, (name, read) in enumerate(self.readers):
            cell = cells[index].strip()
            if not cell:
                if name in REQUIRED:
                    self._fault(line, name, "is empty", f"write {_EXAMPLE.get(name, 'a name')}")
                continue
            try:
                row[name] = read(cell)
            except ValueError:
                self._fault(line, name, f"{cell!r} cannot be read", f"write {_EXAMPLE.get(name, 'a name')}")
        if "job" in row and self.known.setdefault(row["job"], line) != line:
            self._fault(
                line, "job", f"{row['job']!r} stands in line {self.known[row['job']]} too", "give each a name"
            )
        if "submit_s" in row:
            if row["submit_s"] < self.last_s:
                told = f"{row['submit_s']:g} is before the row above ({self.last_s:g})"
                self._fault(line, "submit_s", told, "sort the rows by submit_s")
            self.last_s = max(self.last_s, row["submit_s"])
        if len(self.found.problems) == before:
            self._job(row, line)

    def _job(self, row: dict[str, Any], line: int) -> None:
        size = row.pop("accelerators")
        if size < 1:
            row["fraction"] = size
            size = 1
        kind = row.get("kind", ELASTIC if {"elastic_min", "elastic_max"} & set(row) else RIGID)
        row["kind"] = kind
        self._in_workers(row, int(size), line)
        job = Job(accelerators=int(size), **row)
        wrong = faults(job)
        for message in wrong:
            name = message.split()[0]
            shown = {"a": "kind", "fraction": "accelerators"}.get(name, name)
            self._fault(line, shown if shown in self.heads else "job", *_split(message))
        if not wrong:
            self.jobs.append(job)

    def _in_workers(self, row: dict[str, Any], size: int, line: int) -> None:
        """Elastic limits and the floor, which the table has in accelerators, in workers."""
        limits = [name for name in ("elastic_min", "elastic_max", "floor") if row.get(name)]
        if not limits:
            return
        worker = row.get("worker") or gcd(size, self.per_node, *(row[name] for name in limits))
        row["worker"] = worker
        for name in limits:
            if row[name] % worker:
                told = f"{row[name]} is no multiple of the worker's {worker} accelerators"
                self._fault(line, name, told, f"write a multiple of {worker}")
            row[name] //= worker

    def _fault(self, line: int, name: str, message: str, instead: str) -> None:
        column = cell_column(self.lines[line - 1], self.heads.index(name))
        self.found.add(line, column, name, message, instead)


def _split(message: str) -> tuple[str, str]:
    head, _, instead = message.partition("; ")
    return head, instead


def _reader(name: str) -> Callable[[str], Any]:
    if name in ("duration_s", "deadline_s", "checkpoint_interval_s", "crash_after_s"):
        return _amount_or_never
    if name in _TIMES:
        return _amount
    if name in _AMOUNTS:
        return _bytes
    if name == "accelerators":
        return _size
    if name == "priority":
        return _priority
    if name in _COUNTS:
        return _count
    readers: dict[str, Callable[[str], Any]] = {
        "sizes": _sizes, "accelerator": lambda text: text.replace(";", "|"), "kind": _kind, "topology": _topology,
    }  # fmt: skip
    return readers.get(name, str)


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value <= MOST_SECONDS:
        raise ValueError
    return value


def _bytes(text: str) -> float:
    value = float(text)
    if not 0 <= value < inf:
        raise ValueError
    return value


def _amount_or_never(text: str) -> float:
    return inf if text.lower() in ("inf", "infinity") else _amount(text)


def _size(text: str) -> float:
    value = float(text)
    steps = value if value >= 1 else value * FRACTION_STEPS
    if not 0 < value <= MOST_ACCELERATORS or abs(steps - round(steps)) > 1e-6:
        raise ValueError
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= MOST_ACCELERATORS:
        raise ValueError
    return value


def _priority(text: str) -> int:
    value = int(text)
    if abs(value) > 2**53:
        raise ValueError
    return value


def _kind(text: str) -> str:
    if text not in KINDS:
        raise ValueError
    return text


def _topology(text: str) -> str:
    if not re.fullmatch(TOPOLOGIES, text):
        raise ValueError
    return text


_EXAMPLE["topology"] = "any, node, nvlink-domain, leaf, pod, or leaves:4"
_EXAMPLE["kind"] = f"one of {', '.join(KINDS)}"
_EXAMPLE["sizes"] = "accelerators and speed of each size, such as 4:0.55 8:1"


def _sizes(text: str) -> tuple[tuple[int, float], ...]:
    pairs = [part.split(":") for part in text.split()]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError
    sizes = tuple((_count(n), float(speed)) for n, speed in pairs)
    if not all(0 < speed < inf for _, speed in sizes):
        raise ValueError
    return sizes
