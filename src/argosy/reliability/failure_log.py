"""A log of failures as CSV: reading it, with every fault told at its line.

Two forms: `time,category[,component,node,end]` with ISO 8601 times, or `start_s,end_s,component,category[,node,cause]` in
seconds since watching began. `end` or `end_s` says when the part was back, and gives repair times. A category that is not a
kind of failure known here is taken by its `component`, where that is one.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from argosy import units
from argosy.facts import FactError
from argosy.reliability.domains import SECTION as DOMAINS
from argosy.reliability.fit import LoggedFailure
from argosy.reliability.rates import categories

MOST_FAULTS = 20  # told of one file


@dataclass(frozen=True, slots=True)
class FailureLog:
    """Failures within a window of `window_s` seconds, and repair times (s) where the log tells them.

    `guessed`: whether the window's ends are those of the failures, because nobody gave them.
    """

    failures: tuple[LoggedFailure, ...]
    repairs_s: tuple[float, ...]
    window_s: float
    guessed: bool


def read_log(path: Path, start: str | None = None, end: str | None = None) -> FailureLog:
    """The log's failures between `start` and `end` (ISO 8601, or for logs in seconds a time such as `54 days`).

    Without them the watch begins (in seconds: at 0) and ends with a failure. Raises FactError with every fault, each at its
    file and line.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = set(reader.fieldnames or ())
        in_seconds = "start_s" in names
        needed = {"start_s" if in_seconds else "time", "category"}
        if needed - names:
            raise FactError(
                f"{path}:1: no column {', '.join(sorted(needed - names))}; write time,category,node or "
                "start_s,end_s,component,category,node"
            )
        moment, until = ("start_s", "end_s") if in_seconds else ("time", "end")
        rows, faults = [], []
        for row in reader:
            where = f"{path}:{reader.line_num}"
            try:
                began = _moment(row[moment] or "", f"{where}: {moment}", in_seconds)
                back = _moment(row[until], f"{where}: {until}", in_seconds) if row.get(until) else None
                if back is not None and back < began:
                    raise FactError(f"{where}: {until} is before {moment}")
                rows.append((began, back, _kind(row, where), (row.get("node") or "").strip()))
            except FactError as error:
                faults += list(error.problems)
    if faults:
        more = [f"{path}: {len(faults) - MOST_FAULTS} faults more"] if len(faults) > MOST_FAULTS else []
        raise FactError(*faults[:MOST_FAULTS], *more)
    if len(rows) < 2:
        raise FactError(f"{path}: {len(rows)} failures: nothing to fit")
    first = (
        _moment(start, "--start", in_seconds) if start else (0.0 if in_seconds else min(r[0] for r in rows))
    )
    last = _moment(end, "--end", in_seconds) if end else max(r[0] for r in rows)
    if last <= first:
        raise FactError(f"{path}: the watch ends before it begins; write --start and --end")
    inside = [row for row in rows if first <= row[0] <= last]
    if not inside:
        raise FactError(f"{path}: no failure between --start and --end")
    return FailureLog(
        tuple(LoggedFailure(began - first, kind, node) for began, _, kind, node in inside),
        tuple(back - began for began, back, _, _ in inside if back is not None),
        last - first,
        end is None or (start is None and not in_seconds),
    )


def _kind(row: dict[str, str], where: str) -> str:
    """The category, or the component where only that is a kind of failure known here."""
    category, component = ((row.get(key) or "").strip() for key in ("category", "component"))
    if not category:
        raise FactError(f"{where}: no category")
    return component if not known_kind(category) and known_kind(component) else category


def known_kind(name: str) -> bool:
    """Whether `name` is a category of failures or a failure domain of the catalog."""
    from argosy.facts import load_catalog

    return name in categories() or (DOMAINS, name) in load_catalog().entries


def _moment(text: str, where: str, in_seconds: bool) -> float:
    """Seconds since the epoch, or since watching began."""
    try:
        if in_seconds:
            seconds = float(text) if _plain(text) else units.parse(text, "s")
            if not math.isfinite(seconds):
                raise ValueError
            return seconds
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        instead = "3600 or 54 days" if in_seconds else "2026-03-01T12:30:00"
        raise FactError(f"{where}: {text!r} is no time; write for example {instead}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()  # noqa: UP017


def _plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
