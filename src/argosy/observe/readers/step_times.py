"""A plain table of step times (CSV, or separated by tabs or semicolons), for whatever framework writes one.

| column | meaning |
|---|---|
| `iteration` or `step` (`global_step`) | the step's number |
| `step_time_s`, `seconds`, `time_s`, `duration_s`; or in ms `step_time_ms`, `milliseconds`, `duration_ms` | how long it took |
| `rank` | whose time it is (none: the job's) |
| `tokens`; `tokens_per_s` | of the step, of the whole job |
| `time`, `timestamp` | when it ended: seconds since the epoch, or ISO 8601 |
| `loss` | of the step |

Column names are taken regardless of case, blanks and units in brackets. With ranks a step takes as long as its longest.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np

from argosy.observe.readers.text import Lines, head_text, number, stamp_s
from argosy.observe.records import Batch, Input, TrainingLog

KIND = "step_times"
MOST_ROWS = 20_000_000
_STEP = ("iteration", "step", "global_step", "iter")
_SECONDS = {"step_time_s": 1.0, "seconds": 1.0, "time_s": 1.0, "duration_s": 1.0, "step_time": 1.0, "iteration_time_s": 1.0,
            "step_time_ms": 1e-3, "milliseconds": 1e-3, "duration_ms": 1e-3, "time_ms": 1e-3, "iteration_time_ms": 1e-3,
            "ms": 1e-3}  # fmt: skip
_OTHERS = {"rank": "rank", "tokens": "tokens", "tokens_per_s": "rate", "tokens_per_second": "rate", "time": "time",
           "timestamp": "time", "loss": "loss"}  # fmt: skip


def looks_like(head: bytes, path: Path) -> bool:
    """Whether the first line is a header with a step and a time."""
    first = next((line for line in head_text(head).lstrip("\ufeff").splitlines() if line.strip()), "")
    return _columns(first) is not None


def read(path: Path) -> Batch:
    """The table as one TrainingLog (`framework` csv), steps in order."""
    lines = Lines(path)
    rows: dict[str, list[float]] = {name: [] for name in ("step", "seconds", *sorted(set(_OTHERS.values())))}
    places: list[int] = []
    columns: dict[str, tuple[int, float]] | None = None
    separator = ","
    for line_number, line in lines:
        text = line.strip("\ufeff \r")
        if not text or text.startswith("#"):
            continue
        if columns is None:
            columns = _columns(text)
            separator = _separator(text)
            if columns is None:
                lines.problem(
                    line_number, "no columns of a step and its time; write for example iteration,step_time_s"
                )
                break
            continue
        values = _row(text, separator, columns)
        if math.isnan(values["step"]) or not values["seconds"] > 0:
            lines.problem(line_number, "no step number, or no time above zero: the row does not count")
            continue
        if len(places) == MOST_ROWS:
            lines.problem(line_number, f"more than {MOST_ROWS:,} rows: those from here on do not count")
            break
        for name, held in rows.items():
            held.append(values.get(name, math.nan))
        places.append(line_number)
    if not places and not lines.problems:
        lines.problem(0, "no row below the names of the columns")
    status = lines.status if places else "unreadable"
    log = (
        (_log(str(path), {name: np.array(held) for name, held in rows.items()}, np.array(places)),)
        if places
        else ()
    )
    return Batch(Input(str(path), KIND, status, len(places), tuple(lines.problems)), logs=log)


def _columns(header: str) -> dict[str, tuple[int, float]] | None:
    """Column and factor of every quantity that the header names; None without a step and a time."""
    names = [_plain(cell) for cell in _cells(header, _separator(header))]
    found: dict[str, tuple[int, float]] = {}
    for i, name in enumerate(names):
        if name in _STEP:
            found.setdefault("step", (i, 1.0))
        elif name in _SECONDS:
            found.setdefault("seconds", (i, _SECONDS[name]))
        elif name in _OTHERS:
            found.setdefault(_OTHERS[name], (i, 1.0))
    return found if {"step", "seconds"} <= found.keys() else None


def _plain(cell: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", cell.strip().lower()).strip("_")


def _separator(header: str) -> str:
    return max(",;\t", key=header.count)


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _row(line: str, separator: str, columns: dict[str, tuple[int, float]]) -> dict[str, float]:
    cells = _cells(line, separator)
    values: dict[str, float] = {"step": math.nan, "seconds": math.nan}
    for name, (place, factor) in columns.items():
        text = cells[place] if place < len(cells) else ""
        values[name] = number(text) * factor
        if name == "time" and math.isnan(values[name]):
            values[name] = stamp_s(text)
    if not 0 <= values["step"] < 2**53 or values["step"] != int(values["step"]):
        values["step"] = math.nan
    if not 0 <= values.get("rank", 0.0) < 2**31:
        values["rank"] = math.nan
    return values


def _log(path: str, rows: dict[str, np.ndarray], lines: np.ndarray) -> TrainingLog:
    """Rows of one step gathered: the job's step is the longest of its ranks'."""
    ranks = np.unique(rows["rank"][~np.isnan(rows["rank"])])
    if len(ranks) == 0:  # in the file's order, so that a restart stays visible
        order = np.arange(len(lines))
        begins = np.r_[True, np.diff(rows["step"]) != 0]
    else:
        order = np.argsort(rows["step"], kind="stable")
        begins = np.r_[True, np.diff(rows["step"][order]) != 0]
    group = np.cumsum(begins) - 1
    count = int(group[-1]) + 1
    first = np.flatnonzero(begins)
    longest = np.full(count, -np.inf)
    np.maximum.at(longest, group, rows["seconds"][order])
    column = {name: held[order][first] for name, held in rows.items()}
    by_rank = {int(rank): _of_rank(rows, order, group, rank, count) for rank in ranks}
    rate = np.where(np.isnan(column["rate"]), column["tokens"] / longest, column["rate"])
    unknown = np.full(count, np.nan)
    return TrainingLog(
        path, "csv", column["step"].astype(np.int64), column["time"], longest, rate, unknown, unknown, unknown,
        column["loss"], {}, lines[order][first].astype(np.int64),
        {"world_size": len(ranks)} if len(ranks) > 1 else {},
        rank_timers_s={"step": by_rank} if by_rank else {},
    )  # fmt: skip


def _of_rank(
    rows: dict[str, np.ndarray], order: np.ndarray, group: np.ndarray, rank: float, count: int
) -> np.ndarray:
    seconds = np.full(count, np.nan)
    own = rows["rank"][order] == rank
    seconds[group[own]] = rows["seconds"][order][own]
    return seconds
