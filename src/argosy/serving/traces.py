"""Request traces: our own CSV, Azure's and Mooncake's, told apart by their headers.

- ours: `arrival_s, input_tokens, output_tokens[, model, prefix_tokens, priority]`
- Azure LLM inference traces: `TIMESTAMP, ContextTokens, GeneratedTokens` (clock times; they count from the first)
- Mooncake (compact): `timestamp_ms, input_length, output_length[, n_blocks512, prefix_hit_blocks_infinite_cache]`, a hit being a
  block of 512 tokens; the published JSON Lines with `timestamp, input_length, output_length, hash_ids` are read too
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from argosy.serving.traffic import Requests, Reuse
from argosy.spec.problems import Problem, ScenarioError, suggest

BLOCK = 512
"""Tokens of a block of Mooncake's prefix cache."""
LONGEST_S = 366 * 86_400.0
"""Time from a trace's first to its last request at most."""
MOST_TOKENS, MOST_PRIORITY = 10**9, 31
MOST_TOLD = 20
"""Faults that are told one by one; the rest are counted."""


@dataclass(frozen=True)
class _Format:
    """Columns of a format by what they mean, and what one unit of its times is in s (0: a clock time)."""

    name: str
    arrival: str
    prompt: str
    answer: str
    unit_s: float
    prefix: str = ""
    prefix_block: int = 1
    model: str = ""
    priority: str = ""

    @property
    def needed(self) -> tuple[str, str, str]:
        return self.arrival, self.prompt, self.answer


FORMATS = (
    _Format(
        "argosy", "arrival_s", "input_tokens", "output_tokens", 1.0, "prefix_tokens", 1, "model", "priority"
    ),
    _Format("azure", "TIMESTAMP", "ContextTokens", "GeneratedTokens", 0.0),
    _Format(
        "mooncake",
        "timestamp_ms",
        "input_length",
        "output_length",
        1e-3,
        "prefix_hit_blocks_infinite_cache",
        BLOCK,
    ),
    _Format("mooncake", "timestamp", "input_length", "output_length", 1e-3, "hash_ids", BLOCK),
)


class _Faults:
    """Faults of a trace: the first ones with their place, all counted."""

    def __init__(self, file: str) -> None:
        self.file, self.count, self.line = file, 0, 0
        self.told: list[Problem] = []

    def add(self, line: int, column: int, path: str, message: str, instead: str) -> None:
        self.count += 1
        if self.count == MOST_TOLD + 1:
            self.line = line
        if self.count <= MOST_TOLD:
            self.told.append(Problem(self.file, line, column, path, message, instead))

    def raise_all(self) -> None:
        if not self.count:
            return
        more = self.count - len(self.told)
        if more:
            self.told.append(Problem(self.file, self.line, 1, "", f"and {more:,} more faults like these", ""))
        raise ScenarioError(self.told)


@dataclass(frozen=True)
class _Place:
    """Where the fields of a line stand in it."""

    fields: list[str]
    row: dict[str, Any]

    def column(self, name: str) -> int:
        """The column, from 1 on, at which a field of an unquoted CSV line begins."""
        if name not in self.fields:
            return 1
        before = self.fields[: self.fields.index(name)]
        return 1 + sum(len(str(self.row.get(each) or "")) + 1 for each in before)


def read_trace(path: Path, model: str | None = None, longest: int | None = None) -> Requests:
    """The requests of a trace, in order of arrival; those of `model` alone where the trace has such a column and names it.

    `longest`: tokens of prompt and answer together that the model takes. ScenarioError with every fault (the first twenty placed
    by line and column, the rest counted): negative, missing or odd lengths, times that go back, requests that are too long.
    """
    faults = _Faults(str(path))
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            columns = _columns(file, path, faults, longest)
    except OSError as error:
        raise ScenarioError([Problem(str(path), 0, 0, "", f"cannot be read: {error.strerror}", "")]) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ScenarioError(
            [Problem(str(path), 1, 1, "", f"is no CSV text: {error}", "write UTF-8")]
        ) from None
    faults.raise_all()
    arrival, prompt, answer, prefix, priority, models, hashes = columns
    if not arrival:
        raise ScenarioError(
            [Problem(str(path), 1, 1, "", "has no requests", "write a line for each request")]
        )
    at = np.array(arrival)
    if at[0] > 0.1 * at[-1]:  # clock times, or cut out of a longer trace: nothing is known of the time before
        at = at - at[0]
    answers = np.array(answer, np.int64)
    requests = Requests(
        at, np.array(prompt, np.int64), answers, np.array(prefix, np.int64), np.array(priority, np.int64),
        float(at[-1]) if at[-1] > 0 else 1.0, _reuse(hashes, answers),
    )  # fmt: skip
    if model is not None and any(models):
        kept = np.array([each == model for each in models])
        if not kept.any():
            known = sorted({each for each in models if each})
            place = Problem(str(path), 1, 1, "model", f"has no request for {model!r}", suggest(model, known))
            raise ScenarioError([place])
        requests = requests.where(kept)
    return requests


def _columns(file: Any, path: Path, faults: _Faults, longest: int | None) -> tuple[list[Any], ...]:
    kept: tuple[list[Any], ...] = ([], [], [], [], [], [], [])
    before, began = -np.inf, np.inf
    seen: set[Any] = set()
    for line, fields, row, form in _rows(file, path):
        place = _Place(fields, row)
        at = _time(row, form, line, place, faults)
        prompt = _length(row, form.prompt, line, place, faults, 1)
        answer = _length(row, form.answer, line, place, faults, 1)
        prefix = _prefix(row, form, line, place, faults, seen)
        urgency = 0
        if form.priority and row.get(form.priority) not in (None, ""):
            urgency = _length(row, form.priority, line, place, faults, 0, MOST_PRIORITY) or 0
        if at is not None:
            if at < before:
                faults.add(line, place.column(form.arrival), form.arrival, f"{row[form.arrival]} is before the line above",
                           "sort the trace by time")  # fmt: skip
            before = max(before, at)
            began = min(began, at)
            if at - began > LONGEST_S:
                days = f"{row[form.arrival]} is {(at - began) / 86_400.0:.3g} days after the first request"
                faults.add(
                    line, place.column(form.arrival), form.arrival, days, "write a trace of a year at most"
                )
        if at is None or prompt is None or answer is None:
            continue
        if longest and prompt + answer > longest:
            message = f"{prompt} + {answer} tokens exceed the model's {longest}"
            instead = "shorten it, or raise serving.context"
            faults.add(line, place.column(form.prompt), form.prompt, message, instead)
        if faults.count:
            continue
        blocks = row.get(form.prefix) if form.prefix else None
        values = (at, prompt, answer, min(prefix, prompt), urgency, str(row.get(form.model) or ""), blocks)
        for column, value in zip(kept, values, strict=True):
            column.append(value)
    return kept


def _rows(file: Any, path: Path) -> Iterator[tuple[int, list[str], dict[str, Any], _Format]]:
    """Lines with their numbers, fields and the format of the file."""
    first = file.readline()
    if first.lstrip().startswith("{"):
        for line, text in enumerate(chain([first], file), 1):
            if text.strip():
                row = _json(text, path, line)
                yield line, list(row), row, _format(list(row), path)
        return
    fields = [name.strip() for name in next(csv.reader([first]), [])]
    form = _format(fields, path)
    for row in (reader := csv.DictReader(file, fieldnames=fields)):
        yield reader.line_num + 1, fields, row, form


def _json(text: str, path: Path, line: int) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(
            [Problem(str(path), line, 1, "", f"is no JSON: {error}", "write one object a line")]
        ) from None
    if not isinstance(row, dict):
        raise ScenarioError([Problem(str(path), line, 1, "", "is no JSON object", "write one object a line")])
    return row


def _format(fields: list[str], path: Path) -> _Format:
    """The format whose columns a header has; else a fault that names what is missing of the nearest."""
    for form in FORMATS:
        if set(form.needed) <= set(fields):
            return form
    near = max(FORMATS, key=lambda form: len(set(form.needed) & set(fields)))
    missing = ", ".join(name for name in near.needed if name not in fields)
    has = ", ".join(name for name in fields if name.strip()) or "nothing"
    message = f"has the columns {has}; {near.name} traces need {missing} too"
    raise ScenarioError([Problem(str(path), 1, 1, "", message, "write arrival_s,input_tokens,output_tokens")])


def _time(row: dict[str, Any], form: _Format, line: int, place: _Place, faults: _Faults) -> float | None:
    given = row.get(form.arrival)
    instead = (
        "write seconds"
        if form.unit_s == 1.0
        else "write milliseconds"
        if form.unit_s
        else "write a clock time"
    )
    try:
        at = _clock(str(given)) if not form.unit_s else float(given) * form.unit_s  # type: ignore[arg-type]
    except (TypeError, ValueError):
        at = np.nan
    if not np.isfinite(at) or at < 0:
        what = "is missing" if given in (None, "") else f"{given!r} is no time"
        faults.add(line, place.column(form.arrival), form.arrival, what, instead)
        return None
    return float(at)


def _clock(text: str) -> float:
    """Seconds since 1970 of `2023-11-16 18:15:46.6805900` (seven digits of the second are more than Python reads)."""
    head, _, digits = text.strip().partition(".")
    fraction = "".join(each for each in digits if each.isdigit())
    at = datetime.fromisoformat(head)
    return (at - datetime(1970, 1, 1, tzinfo=at.tzinfo)).total_seconds() + (
        float(f"0.{fraction}") if fraction else 0.0
    )


def _length(
    row: dict[str, Any],
    name: str,
    line: int,
    place: _Place,
    faults: _Faults,
    least: int,
    most: int = MOST_TOKENS,
) -> int | None:
    given = row.get(name)
    try:
        number = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = np.nan
    if number == int(number) if np.isfinite(number) and not isinstance(given, bool) else False:
        if least <= number <= most:
            return int(number)
        if number > most:
            faults.add(
                line, place.column(name), name, f"{str(given)[:30]} is above {most}", f"write {most} at most"
            )
            return None
        faults.add(line, place.column(name), name, f"{given} is below {least}", f"write {least} or more")
        return None
    what = "is missing" if given in (None, "") else f"{given!r} is no whole number"
    faults.add(line, place.column(name), name, what, "write a whole number of tokens")
    return None


def _prefix(
    row: dict[str, Any], form: _Format, line: int, place: _Place, faults: _Faults, seen: set[Any]
) -> int:
    """Tokens that an unlimited cache would hold: as the column says, or the leading blocks that came before."""
    given = row.get(form.prefix) if form.prefix else None
    if given in (None, ""):
        return 0
    if isinstance(given, list):
        if not all(isinstance(block, int | str) and not isinstance(block, bool) for block in given):
            faults.add(
                line, 1, form.prefix, "has an id that is no whole number", "write a list such as [0, 1, 2]"
            )
            return 0
        hits = next((number for number, block in enumerate(given) if block not in seen), len(given))
        seen.update(given)
        return hits * form.prefix_block
    return (_length(row, form.prefix, line, place, faults, 0) or 0) * form.prefix_block


def _reuse(hashes: list[Any], answers: np.ndarray) -> Reuse | None:
    """How far apart the uses of every prompt's blocks are, where the trace names these."""
    if not any(isinstance(each, list) and each for each in hashes):
        return None
    from argosy.kernels.reuse import reuse_distances

    lists = [each if isinstance(each, list) else [] for each in hashes]
    numbers: dict[Any, int] = {}
    flat = [numbers.setdefault(block, len(numbers)) for blocks in lists for block in blocks]
    count = np.array([len(each) for each in lists], np.int64)
    first = np.concatenate([[0], np.cumsum(count)])
    distance = reuse_distances(np.array(flat, np.int64), first, answers, float(BLOCK))
    return Reuse(distance, first[:-1], count, np.full(len(lists), BLOCK, np.int64))


def write_trace(path: Path, requests: Requests) -> None:
    """Writes requests as our own CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["arrival_s", "input_tokens", "output_tokens", "prefix_tokens", "priority"])
        columns = (
            requests.arrival_s, requests.input_tokens, requests.output_tokens, requests.prefix_tokens, requests.priority,
        )  # fmt: skip
        for at, *rest in zip(*columns, strict=True):
            out.writerow([f"{at:.3f}", *map(int, rest)])
