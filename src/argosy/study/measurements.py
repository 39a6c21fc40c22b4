"""A table of measured steps: which layouts ran on the scenario's fleet, and how long their steps took.

Columns (CSV with a header; order and case do not matter, an empty field is a field left out):

| column | meaning | left out |
|---|---|---|
| `step_time_s` or `tokens_per_s` | seconds of a step, or tokens per s of the whole job | one is needed |
| `peak_bytes` | peak memory of the fullest rank, as the allocator reserves it, byte | not compared |
| `gpus` | accelerators of the run | the scenario's count |
| `tp`, `pp`, `vp`, `cp`, `ep`, `etp`, `dp`, `micro_batch` | the layout's fields | the scenario's layout, then 1; dp from gpus |
| `zero`, `recompute`, `sequence_parallel`, `schedule` | the layout's modes | the scenario's layout, then its defaults |
| `global_batch_sequences` or `grad_accumulation` | sequences per step, or micro-batches per replica | the scenario's batch |
| `sequence_length` | tokens per sequence | the scenario's first stage |
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argosy.facts import FactError
from argosy.facts.catalog import suggest
from argosy.spec import Training
from argosy.training import RECOMPUTE, SCHEDULES, Layouts, exclusions

_COUNTS = ("tp", "pp", "vp", "cp", "ep", "etp", "dp", "micro_batch", "zero", "grad_accumulation")
_OTHER_COUNTS = ("gpus", "global_batch_sequences", "sequence_length")
_WORDS: dict[str, tuple[str, ...]] = {"recompute": RECOMPUTE, "schedule": SCHEDULES}
_MEASURED = ("step_time_s", "tokens_per_s", "peak_bytes")
COLUMNS = (*_COUNTS, *_OTHER_COUNTS, *_WORDS, "sequence_parallel", *_MEASURED)
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Measurement:
    """One measured run: its line in the file, its layout (an array of one), its work, and what was measured.

    `step_s` in s, `peak_bytes` in byte or None.
    """

    line: int
    layout: Layouts
    sequence_length: int
    global_batch_sequences: int
    step_s: float
    peak_bytes: float | None

    @property
    def setting(self) -> tuple[Any, ...]:
        """Everything that two repetitions of one run share."""
        return (self.sequence_length, *self.layout.to_dict(0).values())


def read(path: Path, job: Training, gpus: int) -> tuple[list[Measurement], list[str]]:
    """The measured runs of a CSV file, and the columns that mean nothing here.

    `job`: the scenario's training job, which supplies what the table leaves out; `gpus`: the fleet's count.
    FactError with every faulty line at once; OSError where the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FactError(f"{path}: is not text in UTF-8 ({error.reason} at byte {error.start})") from None
    reader = csv.DictReader(io.StringIO(text))
    header = [name.strip().lower() for name in reader.fieldnames or ()]
    _check_header(path, header, job)
    found, problems = [], []
    for line, row in enumerate(reader, 2):
        fields = {name: (value or "").strip() for name, value in zip(header, row.values(), strict=False)}
        if not any(fields.values()):
            continue
        try:
            found.append(_measurement(line, fields, job, gpus))
        except ValueError as error:
            problems.append(f"{path}:{line}: {error}")
    if problems:
        raise FactError(*problems)
    if not found:
        raise FactError(f"{path}: has no rows; give at least one measured step")
    return found, [name for name in header if name not in COLUMNS]


def _check_header(path: Path, header: list[str], job: Training) -> None:
    if not {"step_time_s", "tokens_per_s"} & set(header):
        raise FactError(
            f"{path}:1: no column step_time_s (or tokens_per_s); {suggest('step_time_s', header)}"
        )
    if job.layout.is_auto and not set(_COUNTS) & set(header):
        raise FactError(
            f"{path}:1: no layout columns, and the scenario's layout is auto; give tp, pp, cp, ep, micro_batch"
        )
    if len(set(header)) < len(header):
        raise FactError(f"{path}:1: a column appears twice; keep one of each")


def _measurement(line: int, fields: Mapping[str, str], job: Training, fleet: int) -> Measurement:
    """One row. ValueError in words for what cannot be read or cannot run."""
    given = {**job.layout.given, **_layout_fields(fields)}
    stage = job.stages[0]
    length = _count(fields, "sequence_length") or stage.sequence_length
    gpus = _count(fields, "gpus") or fleet
    ranks = math.prod(given.get(name, 1) for name in ("tp", "pp", "cp"))
    if not fields.get("dp"):
        given["dp"] = max(1, gpus // ranks)
    if ranks * given["dp"] != gpus:
        raise ValueError(f"tp·pp·cp·dp is {ranks * given['dp']:,}, not the run's {gpus:,} accelerators")
    per_pass = given["dp"] * given.get("micro_batch", 1)
    batch = _count(fields, "global_batch_sequences") or stage.global_batch
    if fields.get("grad_accumulation"):
        batch = given["grad_accumulation"] * per_pass
    given["grad_accumulation"] = max(1, batch // per_pass)
    layout = Layouts.one(**given)
    _, broken = exclusions(job.model, length, batch, layout)
    if broken:
        raise ValueError(f"this layout cannot run: {next(iter(broken))}")
    return Measurement(line, layout, length, batch, _step_seconds(fields, batch * length), _peak(fields))


def _layout_fields(fields: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: _count(fields, name, 0 if name == "zero" else 1) for name in _COUNTS if fields.get(name)
    }
    for name, words in _WORDS.items():
        if fields.get(name):
            word = fields[name].lower()
            if word not in words:
                raise ValueError(f"{name} is {fields[name]!r}; write one of {', '.join(words)}")
            given[name] = word
    if fields.get("sequence_parallel"):
        flag = _FLAGS.get(fields["sequence_parallel"].lower())
        if flag is None:
            raise ValueError(f"sequence_parallel is {fields['sequence_parallel']!r}; write true or false")
        given["sequence_parallel"] = flag
    return given


def _count(fields: Mapping[str, str], name: str, least: int = 1) -> int:
    """A whole number, 0 where the field is left out."""
    text = fields.get(name, "")
    if not text:
        return 0
    number = _number(text, name)
    if number != int(number) or number < least:
        raise ValueError(f"{name} is {text!r}; write a whole number of at least {least}")
    return int(number)


def _number(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; write a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} is {text!r}; write a finite number")
    return number


def _positive(fields: Mapping[str, str], name: str) -> float | None:
    if not fields.get(name):
        return None
    number = _number(fields[name], name)
    if number <= 0:
        raise ValueError(f"{name} is {fields[name]}; write a number above zero")
    return number


def _peak(fields: Mapping[str, str]) -> float | None:
    return _positive(fields, "peak_bytes")


def _step_seconds(fields: Mapping[str, str], tokens: int) -> float:
    """Seconds of a step, from itself or from tokens per second; both must agree within one per cent."""
    step, rate = _positive(fields, "step_time_s"), _positive(fields, "tokens_per_s")
    if step is None and rate is None:
        raise ValueError("has neither step_time_s nor tokens_per_s; give one")
    if step is not None and rate is not None and abs(step * rate / tokens - 1) > 0.01:
        raise ValueError(
            f"step_time_s × tokens_per_s is {step * rate:,.0f} tokens, the batch is {tokens:,}: correct one"
        )
    return step if step is not None else tokens / rate  # type: ignore[operator]
