"""The output of nccl-tests (NVIDIA/nccl-tests, also rccl-tests): its table, or the file of its `-J`.

The table's columns differ by version and test, so that they are read from its header; lines may carry the tag of
mpirun (`[1,0]<stdout>:`) or srun (`0: `), and messages of NCCL stand between them. GB/s of nccl-tests is 1e9 byte/s.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argosy.fabric.imports.text import ReadError, numbered_lines

# Collectives by the programs' names; the kinds are those of argosy.fabric.network.KINDS, others are not modelled.
PROGRAMS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
}
LARGEST_JSON = 64 << 20  # bytes
_TAG = re.compile(r"^\[\d+,\d+\]<std(?:out|err)>:|^\s?\d+: (?=[#\s])")
_PROGRAM = re.compile(r"\b(\w+?)_perf(?:_mpi)?\b")
_RANK = re.compile(r"#\s+Rank\s+(\d{1,9})\s.*?\bon\s+(\S+)\s+device\s+(\d+)\s+\[[^\]]*\]\s*(.*)$")
_VARIABLE = re.compile(r"\b(NCCL_[A-Z0-9_]+)=([^\s'\"]+)")
_WARNING = re.compile(r"NCCL WARN (.*)|(NET/Socket\b.*)")


@dataclass(frozen=True)
class Point:
    """One row: `bytes` of the message, `seconds` (the better of out-of-place and in-place), `bus` byte/s, `wrong`
    elements (None where they were not counted), `line` of the file.
    """

    bytes: float
    seconds: float
    bus: float
    wrong: float | None
    line: int


@dataclass(frozen=True)
class Benchmark:
    """One run. `collective`: a kind of the network, or None where the file does not tell; `hosts`: the host of every
    rank, `slots` its device's number there; `devices`: the names of the accelerators; `variables`: NCCL_* that the file
    mentions; `warnings`: what NCCL printed; `truncated`: whether the run's closing lines are absent.
    """

    collective: str | None
    hosts: tuple[str, ...]
    slots: tuple[str, ...]
    devices: tuple[str, ...]
    points: tuple[Point, ...]
    variables: dict[str, str]
    warnings: tuple[str, ...]
    truncated: bool

    @property
    def ranks(self) -> int:
        """Ranks of the run."""
        return len(self.hosts)

    @property
    def nodes(self) -> int:
        """Different hosts."""
        return len(set(self.hosts))


def read_nccl_tests(path: Path | str) -> Benchmark:
    """A run of nccl-tests. ReadError with file and line for a file without a table, a row that breaks off, numbers that
    are none.
    """
    path = Path(path)
    with path.open("rb") as file:
        beginning = file.read(256).lstrip()
    return _from_json(path) if beginning.startswith(b"{") else read_lines(path, numbered_lines(path))


def read_lines(
    path: Path, lines: Iterable[tuple[int, str]], faults: list[tuple[int, str]] | None = None
) -> Benchmark:
    """A run from its numbered `lines` (of `path`). Rows that cannot be read go to `faults` as (line, what is wrong) where
    that is given, and the others count; else, and for a text without a table, ReadError.
    """
    collective: str | None = None
    ranks: dict[int, tuple[str, str, str]] = {}
    points: list[Point] = []
    variables: dict[str, str] = {}
    warnings: list[str] = []
    columns: list[str] = []
    closed = False
    for number, raw in lines:
        line = _TAG.sub("", raw)
        for name, value in _VARIABLE.findall(line):
            variables.setdefault(name, value)
        if "via NET/Socket" in line:
            warnings.append(line.strip()[:200])
        elif found := _WARNING.search(line):
            warnings.append((found[1] or found[2] or "").strip()[:200])
        if (program := _PROGRAM.search(line)) and program[1] in PROGRAMS:
            collective = PROGRAMS[program[1]]
        if found := _RANK.match(line):
            ranks[int(found[1])] = (found[2], found[3], found[4].strip())
        elif line.startswith("#") and " size " in line and "busbw" in line:
            columns = line[1:].split()
        elif line.startswith("# Avg bus bandwidth"):
            closed = True
        elif columns and re.match(r"\s*\d+\s+\d+\s", line):
            try:
                points.append(_row(path, number, line.split(), columns))
            except ReadError as error:
                if faults is None:
                    raise
                faults.append((number, error.problems[0].removeprefix(f"{path}:{number}: ")))
    if not points:
        raise ReadError(
            path, 1, "no table of nccl-tests: write its whole output, with the lines that begin with #"
        )
    if not ranks:
        raise ReadError(
            path, 1, "no lines `# Rank 0 ... on HOST device 0`: write the whole output of nccl-tests"
        )
    ordered = [ranks[rank] for rank in sorted(ranks)]
    if collective is None and "root" in columns and "redop" not in columns:
        collective = "broadcast"  # versions before 2.10 print only the columns that a test has
    return _finish(path, collective, ordered, points, variables, warnings, not closed)


def _row(path: Path, number: int, cells: list[str], columns: list[str]) -> Point:
    """One row of the table: the first columns once, then time, algbw, busbw and errors out-of-place and in-place."""
    places = [
        [i for i, column in enumerate(columns) if column in names]
        for names in (("time",), ("algbw",), ("busbw",), ("#wrong", "error"))
    ]
    half = 4 if places[3] else 3
    sides = [[place[side] for place in places[:half]] for side in range(min(map(len, places[:half])))]
    if not sides:
        raise ReadError(
            path, number, f"the header above has no time, algbw and busbw: {' '.join(columns)[:80]!r}"
        )
    if len(cells) <= max(sides[0]):
        raise ReadError(
            path, number, f"{len(cells)} numbers under {len(columns)} columns: the row breaks off"
        )
    whole = [[cells[i] for i in side] for side in sides if len(cells) > max(side)]
    try:
        best = min(whole, key=lambda side: _finite(side[0]))
        return Point(
            _finite(cells[0]),
            _finite(best[0]) * 1e-6,
            _finite(best[2]) * 1e9,
            _wrong([side[3] for side in whole if len(side) > 3]),
            number,
        )
    except ValueError as error:
        raise ReadError(path, number, f"a number of the table is none: {error}") from None


def _finite(text: Any) -> float:
    """A number. ValueError for what is none, or not finite."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not finite")
    return number


def _wrong(cells: list[str]) -> float | None:
    """Wrong elements of both sides; None where they were not counted. An older `error` column is a difference, which
    is wrong only when it is not small.
    """
    counted = [float(cell) for cell in cells if cell not in ("N/A", "null")]
    return sum(number for number in counted if number >= 1) if counted else None


def _from_json(path: Path) -> Benchmark:
    if path.stat().st_size > LARGEST_JSON:
        raise ReadError(path, 0, f"more than {LARGEST_JSON >> 20} MiB: no output of nccl-tests")
    try:
        record = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:  # ValueError: also a number of too many digits
        raise ReadError(
            path, getattr(error, "lineno", 1), f"no JSON: {error}; a run that broke off leaves it open"
        ) from None
    words = _joined(record, "args")
    program = _PROGRAM.search(words)
    collective = PROGRAMS.get(program[1]) if program else None
    variables = dict(_VARIABLE.findall(words + " " + _joined(record, "env")))
    try:
        devices = [
            (str(one["hostname"]), str(one.get("device", "")), str(one.get("device_info", "")))
            for one in record["devices"]
        ]
        points = [_json_point(row) for row in record["results"]]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ReadError(path, 1, f"not the file of nccl-tests -J: {type(error).__name__} {error}") from None
    if not points or not devices:
        raise ReadError(path, 1, "no results or no devices: not a finished run of nccl-tests")
    return _finish(path, collective, devices, points, variables, [], "end_time" not in record)


def _joined(record: Any, key: str) -> str:
    """The words of a list of the record."""
    words = record.get(key) if isinstance(record, dict) else None
    return " ".join(str(word) for word in words) if isinstance(words, list) else ""


def _json_point(row: dict[str, Any]) -> Point:
    sides = [side for side in (row.get("out_of_place"), row.get("in_place")) if side]
    best = min(sides, key=lambda side: _finite(side.get("time", side.get("cpu_time"))))
    counted = [float(side["nwrong"]) for side in sides if side.get("nwrong") is not None]
    seconds = _finite(best.get("time", best.get("cpu_time"))) * 1e-6
    return Point(
        float(row["size"]), seconds, float(best["bus_bw"]) * 1e9, sum(counted) if counted else None, 0
    )


def _finish(
    path: Path,
    collective: str | None,
    ranks: list[tuple[str, str, str]],
    points: list[Point],
    variables: dict[str, str],
    warnings: list[str],
    truncated: bool,
) -> Benchmark:
    usable = tuple(point for point in points if point.bytes > 0 and point.seconds > 0)
    if not usable:
        raise ReadError(path, points[0].line, "no row has a message and a time above zero")
    hosts, slots, devices = zip(*ranks, strict=True)
    names = tuple(sorted({device for device in devices if device}))
    return Benchmark(
        collective or _by_ratio(usable, len(hosts)),
        hosts,
        slots,
        names,
        usable,
        variables,
        tuple(dict.fromkeys(warnings)),
        truncated,
    )


def _by_ratio(points: tuple[Point, ...], ranks: int) -> str | None:
    """The collective, where only one has this ratio of bus to algorithm bandwidth: 2(n−1)/n is all-reduce alone."""
    largest = max(points, key=lambda point: point.bytes)
    ratio = largest.bus * largest.seconds / largest.bytes
    return "all_reduce" if ranks > 2 and abs(ratio - 2 * (ranks - 1) / ranks) < 0.02 else None
