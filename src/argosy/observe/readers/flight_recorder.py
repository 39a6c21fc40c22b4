"""PyTorch's flight recorder of collectives (TORCH_NCCL_TRACE_BUFFER_SIZE): its dumps as pickles and as JSON.

Keys (torch/csrc/distributed/c10d/FlightRecorder*.hpp, versions 1.x and 2.x): `version`, `pg_config` {group: {name, desc,
ranks}} with ranks as text, `pg_status`, and `entries` of the ring buffer, whose times of start are often null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argosy.observe import names
from argosy.observe.readers.plain_pickle import PickleFault, loads
from argosy.observe.readers.source import Source
from argosy.observe.records import Batch, FlightRecording, Input, Problem

LARGEST = 256 << 20  # bytes
MOST_ENTRIES = 200_000
MOST_TENSORS, MOST_DIMENSIONS, MOST_FRAMES = 64, 16, 8
STATES = ("scheduled", "started", "completed")
_WORDS = (b"collective_seq_id", b"profiling_name", b"pg_status")
_RANK_IN_NAME = re.compile(r"(?:rank|trace|dump)[_-]?(?:rank[_-]?)?(\d{1,7})(?:\D*)$", re.IGNORECASE)


def looks_like(head: bytes, path: Path) -> bool:
    """Whether it is a pickle or JSON object with the recorder's keys."""
    pickled = len(head) > 2 and head[0] == 0x80 and head[1] <= 5
    if pickled:
        return any(word in head for word in _WORDS)
    return (
        head.lstrip()[:1] == b"{"
        and b"traceEvents" not in head
        and any(b'"%s"' % word in head for word in _WORDS)
    )


def read(path: Path) -> Batch:
    """The recording; a pickle is interpreted, never executed, and what is not plain data in it is refused."""
    problems: list[Problem] = []
    with Source(path, largest=LARGEST) as source:
        raw = b""
        parts = []
        while part := source.read():
            parts.append(part)
        raw = b"".join(parts)
        if source.damage:
            problems.append(Problem(str(path), 0, source.damage))
    found: Any = None
    try:
        found = loads(raw) if raw[:1] == b"\x80" else json.loads(raw.decode("utf-8", "replace"), strict=False)
    except PickleFault as error:
        problems.append(Problem(str(path), 0, f"byte {error.at:,} of the pickle: {error}"))
        found = error.partial
    except (ValueError, RecursionError) as error:
        problems.append(Problem(str(path), getattr(error, "lineno", 0), f"no JSON: {str(error)[:120]}"))
    recording = _recording(path, found, problems) if isinstance(found, dict) else None
    events = len(recording.entries) if recording else 0
    if recording and not events:
        problems.append(
            Problem(str(path), 0, "no collective is recorded in it; set TORCH_NCCL_TRACE_BUFFER_SIZE")
        )
    elif not recording and not problems:
        problems.append(Problem(str(path), 0, "no flight recording: it has no entries"))
    status = "read" if not problems else "partial" if events else "unreadable"
    summary = Input(str(path), "flight_recorder", status, events, tuple(problems))
    return Batch(summary, recordings=(recording,) if recording else ())


def _recording(path: Path, found: Mapping[Any, Any], problems: list[Problem]) -> FlightRecording | None:
    listed = found.get("entries")
    configured = found.get("pg_config")
    if not isinstance(listed, list | tuple) and not isinstance(configured, dict):
        return None
    groups: dict[str, tuple[int, ...]] = {}
    descriptions: dict[str, str] = {}
    for key, each in list(configured.items())[:100_000] if isinstance(configured, dict) else ():
        if isinstance(each, dict):
            name = _text(each.get("name", key))
            groups[name] = _ranks(each.get("ranks"))
            descriptions[name] = _text(each.get("desc", ""))
    entries, wrong = [], 0
    for each in (listed if isinstance(listed, list | tuple) else ())[:MOST_ENTRIES]:
        if isinstance(each, dict) and (entry := _entry(each, groups)):
            entries.append(entry)
        else:
            wrong += 1
    if wrong:
        problems.append(Problem(str(path), 0, f"{wrong:,} entries are no collectives; they do not count"))
    rank = found.get("rank")
    if type(rank) is not int:
        named = _RANK_IN_NAME.search(path.name)
        rank = int(named[1]) if named else None
    told = found.get("pg_status")
    status = {
        _text(group): {
            _text(key): number
            for key, value in list(each.items())[:20]
            if (number := _number(value)) is not None
        }
        for group, each in (list(told.items())[:100_000] if isinstance(told, dict) else ())
        if isinstance(each, dict)
    }
    return FlightRecording(
        path=str(path),
        rank=rank,
        version=_text(found.get("version", "")),
        groups=groups,
        entries=tuple(_completed(entry, status) for entry in entries),
        status=status,
        descriptions=descriptions,
    )


def _completed(entry: dict[str, Any], status: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """gloo never sets an entry's state: there the group's last completed collective tells (torch 2.13)."""
    if not entry["name"].startswith("gloo:") or entry["point_to_point"] or entry["state"] != "scheduled":
        return entry
    last = status.get(entry["pg_id"], {}).get("last_completed_collective", -1)
    return {**entry, "state": "completed"} if 0 < entry["sequence"] <= last else entry


def _entry(each: Mapping[Any, Any], groups: Mapping[str, tuple[int, ...]]) -> dict[str, Any] | None:
    name = each.get("profiling_name")
    if not isinstance(name, str):
        return None
    told = each.get("process_group")  # (name, purpose); its name alone, or its number, in old versions
    first = told[0] if isinstance(told, list | tuple) and told else told
    group = _text(first if isinstance(first, str) else each.get("pg_id", ""))
    point = bool(each.get("is_p2p", False))
    sequence = each.get("p2p_seq_id") if point else each.get("collective_seq_id", each.get("seq_id"))
    state = each.get("state")
    return {
        "group": group,
        "pg_id": _text(
            each.get("pg_id", group)
        ),  # the rank's own number of the group, by which its status goes
        "record": number if type(number := each.get("record_id")) is int else -1,
        "sequence": sequence if type(sequence) is int else -1,
        "operation": names.collective(name),
        "name": name[:200],
        "state": state if state in STATES else "unknown",
        "point_to_point": point,
        "input_sizes": _sizes(each.get("input_sizes")),
        "output_sizes": _sizes(each.get("output_sizes")),
        "dtypes": _texts(each.get("input_dtypes")),
        "time_created_ns": _time(each.get("time_created_ns")),
        "time_started_ns": _time(each.get("time_discovered_started_ns")),
        "time_completed_ns": _time(each.get("time_discovered_completed_ns")),
        "duration_ms": float(duration)
        if isinstance(duration := each.get("duration_ms"), int | float)
        else None,
        "timeout_ms": timeout if type(timeout := each.get("timeout_ms")) is int else None,
        "ranks": groups.get(group, ()),
        "frames": _frames(each.get("frames")),
    }


def _number(value: Any) -> int | None:
    """A whole number; dumps as JSON have those of a status as texts."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    return value if type(value) is int else None


def _text(value: Any) -> str:
    return str(value)[:200] if isinstance(value, str | int | float) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(each) for each in value[:MOST_TENSORS]) if isinstance(value, list | tuple) else ()


def _time(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < 1 << 62 else None


def _sizes(value: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list | tuple):
        return ()
    return tuple(
        tuple(size if type(size) is int else -1 for size in each[:MOST_DIMENSIONS])
        if isinstance(each, list | tuple)
        else ()
        for each in value[:MOST_TENSORS]
    )


def _ranks(value: Any) -> tuple[int, ...]:
    """Of a list, or of its text such as "[0, 1]"; () where it is cut short ("[0, 1, ...]")."""
    if isinstance(value, str) and len(value) < 1 << 20:
        if not re.fullmatch(r"\[?[\d,\s]*\]?", value):
            return ()
        return tuple(int(digits) for digits in re.findall(r"\d{1,9}", value))
    whole = isinstance(value, list | tuple) and all(type(rank) is int for rank in value)
    return tuple(value) if whole else ()


def _frames(value: Any) -> tuple[str, ...]:
    """`file:line name` of the innermost frames."""
    if not isinstance(value, list | tuple):
        return ()
    return tuple(
        f"{_text(each.get('filename'))}:{_text(each.get('line'))} {_text(each.get('name'))}"
        for each in value[:MOST_FRAMES]
        if isinstance(each, dict)
    )
