"""A plan as a file: a cable list that was exported (and perhaps edited), or the JSON of `argosy plan` and `argosy fabric`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from argosy.fabric.imports.text import ReadError, numbered_lines
from argosy.fabric.imports.wires import SWITCH, Device, Wires, from_rows, planned_wires
from argosy.fabric.record import design_of
from argosy.fabric.topologies import build

REQUIRED = ("a_tier", "a_device", "a_port", "b_tier", "b_device", "b_port")
HOST_TIER = "host"
MOST_PORTS = 100_000  # of one device: no switch comes near
LARGEST_JSON = 256 << 20  # bytes; the plan of a hundred thousand accelerators has less than one of these MiB


def read_cables(path: Path | str) -> Wires:
    """A cable list as `--export cables-csv` writes it; names may have been changed, `a_guid` and `b_guid` be added.

    A device whose tier is `host` is a host, and its port the number of its card, from 1. ReadError with file and line
    for missing columns, ports that are no numbers, and a port with two cables.
    """
    path = Path(path)
    devices: list[Device] = []
    place: dict[tuple[str, int], int] = {}
    taken: dict[tuple[int, int], int] = {}
    rows = []
    for line, row in _csv_rows(path):
        ends = []
        for end in ("a", "b"):
            name, is_host = row[f"{end}_device"].strip(), row[f"{end}_tier"].strip() == HOST_TIER
            port = _whole(path, line, f"{end}_port", row[f"{end}_port"])
            key = (name, port - 1 if is_host else SWITCH)
            if key not in place:
                place[key] = len(devices)
                guid = (row.get(f"{end}_guid") or "").strip().lower().removeprefix("0x")
                devices.append(Device(name, key[1], guid.zfill(16) if guid else "", line))
            ends.append((place[key], 1 if is_host else port))
            if (other := taken.setdefault(ends[-1], line)) != line:
                raise ReadError(
                    path, line, f"port {port} of {name} has a cable at line {other} already; give it one"
                )
        rate = row.get("rate_gbps") or ""
        rows.append((*ends[0], *ends[1], _rate(path, line, rate), line))
    if not rows:
        raise ReadError(path, 1, "no cables: only a header")
    return from_rows(devices, rows)


def read_record(path: Path | str, role: str = "compute") -> Wires:
    """The fabric of `role` in the JSON of `argosy plan` or `argosy fabric`, drawn again from the design kept in it."""
    path = Path(path)
    if path.stat().st_size > LARGEST_JSON:
        raise ReadError(path, 0, f"more than {LARGEST_JSON >> 20} MiB: not a plan")
    try:
        payload = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise ReadError(path, line, f"no JSON: {error}") from None
    fabrics: list[dict[str, Any]] = payload.get("fabrics") or [payload] if isinstance(payload, dict) else []
    for fabric in fabrics:
        if isinstance(fabric, dict) and fabric.get("design") and fabric.get("role", role) == role:
            return planned_wires(build(design_of(fabric["design"], str(path))))
    raise ReadError(path, 1, f"no fabric of role {role} with its design; write it with argosy plan --json")


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, columns) of every row that is not empty."""
    lines = numbered_lines(path)
    header: list[str] | None = None
    for number, text in lines:
        try:
            cells = next(csv.reader([text]), [])
        except csv.Error as error:
            raise ReadError(path, number, f"no row of a CSV file: {error}") from None
        if header is None:
            header = [cell.strip() for cell in cells]
            missing = [name for name in REQUIRED if name not in header]
            if missing:
                raise ReadError(
                    path,
                    number,
                    f"no column {', '.join(missing)}; write the header that --export cables-csv writes",
                )
        elif cells:
            if len(cells) < len(header):
                raise ReadError(path, number, f"{len(cells)} columns of {len(header)}: the row breaks off")
            yield number, dict(zip(header, cells, strict=False))


def _whole(path: Path, line: int, name: str, text: str) -> int:
    if not text.strip().isdecimal() or not 1 <= int(text) <= MOST_PORTS:
        raise ReadError(path, line, f"{name} {text[:20]!r} is no port; ports count from 1")
    return int(text)


def _rate(path: Path, line: int, text: str) -> float:
    """Bit/s; nan where none is told."""
    if not text.strip():
        return float("nan")
    try:
        rate = float(text) * 1e9
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise ReadError(path, line, f"rate_gbps {text!r} is no rate; write such as 400")
    return rate
