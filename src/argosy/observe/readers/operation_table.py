"""Tables of a pipelined job's operations in the form of ByteDance's straggler study (arXiv:2505.05713): Parquet or CSV.

Columns: `step`, `optype`, `start_ts` (s within the step), `duration` (s) are needed; `rank`, `dp_rank`, `stage`, `seq_id`, `mc`
(the virtual stage) and `mb_id` where the job has them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from argosy.observe.readers.source import Source, buffered
from argosy.observe.records import Batch, Floats, Input, OperationTable, Problem, Whole

NEEDED = ("step", "optype", "start_ts", "duration")
OPTIONAL = {
    "rank": -1,
    "dp_rank": 0,
    "stage": 0,
    "seq_id": -1,
    "mc": 0,
    "mb_id": -1,
}  # with what stands for an absent one
MOST_ROWS = 20_000_000
_FOOTER = 16 << 20  # bytes of a Parquet file's description
_TOLD = 20  # faulty lines of a CSV told one by one


def looks_like(head: bytes, path: Path) -> bool:
    """Whether its columns are those of an operation table: the first line of a CSV, the footer of a Parquet file."""
    if head.startswith(b"PAR1"):
        return all(name.encode() in _footer(path) for name in ("optype", "duration"))
    names = [
        name.strip().strip('"') for name in head.split(b"\n", 1)[0].decode("utf-8", "replace").split(",")
    ]
    return set(NEEDED) <= set(names)


def read(path: Path) -> Batch:
    """The table; rows without a time or with one that is no number do not count and are told."""
    with path.open("rb") as file:
        parquet = file.read(4) == b"PAR1"
    problems: list[Problem] = []
    columns = (_parquet if parquet else _csv)(path, problems)
    table = _table(path, columns, problems) if columns else None
    status = "read" if not problems else "partial" if table else "unreadable"
    events = len(table.step) if table else 0
    found = Input(str(path), "operation_table", status, events, tuple(problems))
    return Batch(found, tables=(table,) if table else ())


def _footer(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(8)[:4], "little")
        if not 0 < length <= min(_FOOTER, size - 8):
            return b"optype duration"  # cut off: let `read` tell it
        file.seek(size - 8 - length)
        return file.read(length)


def _parquet(path: Path, problems: list[Problem]) -> dict[str, Any] | None:
    import duckdb

    with TemporaryDirectory() as folder:
        link = Path(folder, "table.parquet")  # a name of our own: * and [ in a path would be a pattern
        link.symlink_to(path.absolute())
        try:
            connection = duckdb.connect(
                config={
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                    "memory_limit": "2GB",
                    "threads": "1",
                }
            )
            with connection:
                told = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(link)]).fetchall()
                names = {str(row[0]) for row in told}
                if not _complete(names, path, problems):
                    return None
                kept = [name for name in (*NEEDED, *OPTIONAL) if name in names]
                wanted = ", ".join(_cast(name) for name in kept)
                query = f"SELECT {wanted} FROM read_parquet(?) LIMIT {MOST_ROWS}"
                return dict(connection.execute(query, [str(link)]).fetchnumpy())
        except duckdb.Error as error:
            first = (
                str(error).splitlines()[0].replace(str(link), path.name)[:200] if str(error) else "damaged"
            )
            problems.append(Problem(str(path), 0, f"the Parquet file cannot be read: {first}"))
            return None


def _cast(name: str) -> str:
    kind = {"optype": "VARCHAR", "start_ts": "DOUBLE", "duration": "DOUBLE"}.get(name, "BIGINT")
    absent = {"optype": "''", "start_ts": "'nan'::DOUBLE", "duration": "'nan'::DOUBLE"}.get(
        name, str(OPTIONAL.get(name, -1))
    )
    return f'coalesce(try_cast("{name}" AS {kind}), {absent}) AS "{name}"'


def _complete(names: Sequence[str] | set[str], path: Path, problems: list[Problem]) -> bool:
    missing = [name for name in NEEDED if name not in names]
    if missing:
        problems.append(
            Problem(
                str(path), 1, f"no column {', '.join(missing)}; an operation table has {', '.join(NEEDED)}"
            )
        )
    return not missing


def _csv(path: Path, problems: list[Problem]) -> dict[str, Any] | None:
    with Source(path) as source, buffered(source) as file:
        names = [
            name.strip().strip('"')
            for name in file.readline(1 << 16).decode("utf-8-sig", "replace").strip().split(",")
        ]
        if not _complete(names, path, problems):
            return None
        found: dict[str, list[Any]] = {name: [] for name in (*NEEDED, *OPTIONAL) if name in names}
        bad, line = 0, 1
        while (raw := file.readline(1 << 16)) and len(found["step"]) < MOST_ROWS:
            line += 1
            try:
                cells = next(csv.reader([raw.decode("utf-8", "replace").rstrip("\r\n")]), [])
                row = _row(dict(zip(names, cells, strict=True))) if cells else None
            except (ValueError, csv.Error) as error:
                bad += 1
                if bad <= _TOLD:
                    text = f"no row of an operation table ({str(error)[:80]}); it does not count"
                    problems.append(Problem(str(path), line, text))
                continue
            for name in found if row else ():
                found[name].append(row[name] if row else None)
        if bad > _TOLD:
            problems.append(Problem(str(path), 0, f"{bad - _TOLD:,} further such rows"))
        if source.damage:
            problems.append(Problem(str(path), line, source.damage))
    return {name: np.array(values) for name, values in found.items()} if found["step"] else None


def _row(cells: Mapping[str, str]) -> dict[str, Any]:
    numbers = {name: _whole(cells[name], name) for name in ("step", *OPTIONAL) if name in cells}
    return numbers | {
        "optype": cells["optype"][:200],
        "start_ts": float(cells["start_ts"]),
        "duration": float(cells["duration"]),
    }


def _whole(text: str, name: str) -> int:
    if not text.strip():
        return OPTIONAL[name] if name in OPTIONAL else int(text)
    number = float(text)
    if not math.isfinite(number) or number != int(number) or abs(number) > 1 << 53:
        raise ValueError(f"{name} {text[:40]!r} is no whole number")
    return int(number)


def _table(path: Path, columns: Mapping[str, Any], problems: list[Problem]) -> OperationTable | None:
    start, duration = (np.asarray(columns[name], np.float64) for name in ("start_ts", "duration"))
    good = np.isfinite(start) & np.isfinite(duration) & (duration >= 0)
    if not good.all():
        text = f"{int((~good).sum()):,} rows have no time, or one that is no number or negative; they do not count"
        problems.append(Problem(str(path), 0, text))
    if not good.any():
        return None
    texts, operation = np.unique(np.asarray(columns["optype"])[good].astype(str), return_inverse=True)
    size = int(good.sum())

    def whole(name: str) -> Whole:
        return (
            np.asarray(columns[name], np.int64)[good]
            if name in columns
            else np.full(size, OPTIONAL[name], np.int64)
        )

    data, stage = whole("dp_rank"), whole("stage")
    rank = whole("rank")
    if "rank" not in columns:
        rank = stage * (int(data.max()) + 1) + data
        problems.append(Problem(str(path), 1, "no column rank: ranks are numbered by stage, then dp_rank"))
    times: list[Floats] = [start[good], duration[good]]
    return OperationTable(
        path=str(path),
        operations=tuple(texts.tolist()),
        operation=operation.astype(np.int64),
        rank=rank,
        data=data,
        stage=stage,
        step=np.asarray(columns["step"], np.int64)[good],
        microbatch=whole("mb_id"),
        chunk=whole("mc"),
        sequence=whole("seq_id"),
        start_s=times[0],
        duration_s=times[1],
    )
