"""Nsight Systems' SQLite export (`nsys export --type sqlite`): one `RankTrace` per profiled process that ran kernels.

Tables: CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET, _RUNTIME, NVTX_EVENTS, StringIds, TARGET_INFO_GPU,
TARGET_INFO_SESSION_START_TIME (NVIDIA, "SQLite Export Schema Reference"). Times are ns since the session's start, to which
the session's time of day is added where it is told. The database is untrusted: it is opened read-only and immutable,
and only plain tables are read, never a view, a virtual table or a computed column.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from argosy.observe import names
from argosy.observe.profile import Device, Profile, reduced
from argosy.observe.records import Batch, Input, Position, Problem, RankTrace, Whole

MAGIC = b"SQLite format 3\0"
MOST_ROWS = 8_000_000  # of one table
MOST_PROCESSES = 64
LONGEST_NS = 86_400 * 10**9
_LATEST_NS = 1 << 62
_LONGEST_TEXT = 1 << 20  # bytes of one value that SQLite may hand out
_THREADS = 24  # lower bits of a globalTid that name the thread; the process above them
_PUSH_POP, _START_END = 59, 60  # NvtxPushPopRange, NvtxStartEndRange
_COMPUTED = re.compile(r"\bAS\s*\(|^\s*CREATE\s+VIRTUAL", re.IGNORECASE)
_STEP = re.compile(
    r"^(?:ProfilerStep#|(?:train(?:ing)?[ _])?(?:step|iter(?:ation)?)[ _#:=-]*)(\d{1,12})?$", re.IGNORECASE
)
_TIMED = "WHERE typeof(start) = 'integer' AND typeof(end) = 'integer'"
_DEVICE_TABLES = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")


def looks_like(head: bytes, path: Path) -> bool:
    """Whether it is an SQLite database with Nsight's tables."""
    if not head.startswith(MAGIC):
        return False
    try:
        return any(name.startswith(("CUPTI_", "NVTX_", "TARGET_INFO_")) for name in _Database(path).tables)
    except sqlite3.Error:
        return True  # damaged: let it be told by `read`


def read(path: Path) -> Batch:
    """The traces of the processes; a damaged database gives what comes before the damage."""
    problems: list[Problem] = []
    traces: list[RankTrace] = []
    events = 0
    try:
        database = _Database(path)
        processes, events = _processes(database, problems, str(path))
        for process, columns in processes.items():
            traces.append(reduced(_profile(database, process, columns, problems, str(path))))
    except sqlite3.Error as error:
        problems.append(
            Problem(str(path), 0, f"the database is damaged: {str(error)[:200]}; export it again")
        )
    if not traces and not problems:
        problems.append(Problem(str(path), 0, "no kernels are in it; profile with --trace=cuda,nvtx"))
    status = "read" if not problems else "partial" if traces else "unreadable"
    return Batch(Input(str(path), "nsight", status, events, tuple(problems)), traces=tuple(traces))


class _Database:
    """Plain tables with their columns, read in blocks."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True
        )
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_TEXT)
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self.tables: dict[str, set[str]] = {}
        self._read: dict[tuple[str, tuple[str, ...]], Whole] = {}
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND length(sql) < 20000 LIMIT 1000"
        for name, sql in self._connection.execute(query).fetchall():
            if (
                isinstance(sql, str)
                and isinstance(name, str)
                and name.isidentifier()
                and not _COMPUTED.search(sql)
            ):
                columns = self._connection.execute(f'PRAGMA table_info("{name}")').fetchall()
                self.tables[name] = {str(column[1]) for column in columns}

    def rows(
        self, table: str, columns: Sequence[str], where: str = "", most: int = MOST_ROWS
    ) -> Iterator[list[Any]]:
        """Blocks of rows of the columns (−1 for one that the table lacks); none where the table is absent."""
        present = self.tables.get(table)
        if present is None:
            return
        wanted = ", ".join(f'"{column}"' if column in present else "-1" for column in columns)
        cursor = self._connection.execute(f'SELECT {wanted} FROM "{table}" {where} LIMIT {most}')
        while block := cursor.fetchmany(50_000):
            yield block

    def numbers(self, table: str, columns: tuple[str, ...]) -> Whole:
        """The rows whose first two columns are times, as int64 (n, columns); read once, however many processes ask."""
        if not {"start", "end"} <= self.tables.get(table, set()):
            return np.empty((0, len(columns)), np.int64)
        if (table, columns) not in self._read:
            blocks = [_numbers(block) for block in self.rows(table, columns, _TIMED)]
            self._read[table, columns] = (
                np.concatenate(blocks) if blocks else np.empty((0, len(columns)), np.int64)
            )
        return self._read[table, columns]

    def strings(self, wanted: Sequence[int]) -> dict[int, str]:
        """Texts of StringIds by number."""
        asked = set(wanted)
        return {
            key: value[:2000]
            for block in self.rows("StringIds", ("id", "value"))
            for key, value in block
            if key in asked and isinstance(value, str)
        }


def _numbers(block: list[Any]) -> Whole:
    """Rows as whole numbers; −1 for what is none, or no time that there can be."""
    try:
        found = np.array(block, np.int64)
    except (TypeError, ValueError):
        found = np.array([[value if type(value) is int else -1 for value in row] for row in block], np.int64)
    return np.where(np.abs(found) < _LATEST_NS, found, -1)


_COLUMNS = (
    "start",
    "end",
    "deviceId",
    "streamId",
    "correlationId",
    "globalPid",
    "demangledName",
    "shortName",
)
_START, _END, _DEVICE, _STREAM, _CORRELATION, _PROCESS, _NAME, _SHORT = range(8)


def _processes(database: _Database, problems: list[Problem], path: str) -> tuple[dict[int, Whole], int]:
    """Rows of kernels and copies by process; the name's column becomes −2 and −3 for copies and settings of memory."""
    parts = []
    for i, table in enumerate(_DEVICE_TABLES):
        rows = database.numbers(table, _COLUMNS).copy()
        if i:
            rows[:, _NAME] = -1 - i
        elif len(rows) == MOST_ROWS:
            problems.append(
                Problem(
                    path, 0, f"more than {MOST_ROWS:,} kernels: the rest is not read; profile fewer steps"
                )
            )
        parts.append(rows)
    rows = np.concatenate(parts)
    rows[:, _NAME] = np.where(rows[:, _NAME] == -1, rows[:, _SHORT], rows[:, _NAME])
    length = rows[:, _END] - rows[:, _START]
    good = (length >= 0) & (length < LONGEST_NS) & (rows[:, _START] >= 0)
    if not good.all():
        problems.append(
            Problem(path, 0, f"{int((~good).sum()):,} slices have impossible times; they do not count")
        )
    rows = rows[good]
    found: dict[int, Whole] = {}
    for process in np.unique(rows[:, _PROCESS])[:MOST_PROCESSES].tolist():
        mine = rows[rows[:, _PROCESS] == process]
        devices = np.unique(mine[:, _DEVICE])
        if len(devices) > 1:
            busy = {
                each: int((mine[:, _END] - mine[:, _START])[mine[:, _DEVICE] == each].sum())
                for each in devices.tolist()
            }
            chosen = max(busy, key=lambda each: busy[each])
            text = f"process {process >> _THREADS & 0xFFFFFF} ran on {len(devices)} devices; only device {chosen} counts"
            problems.append(Problem(path, 0, text))
            mine = mine[mine[:, _DEVICE] == chosen]
        found[process] = mine
    return found, len(rows)


def _profile(database: _Database, process: int, rows: Whole, problems: list[Problem], path: str) -> Profile:
    shift = _session_start(database)
    kinds, index = np.unique(rows[:, _NAME], return_inverse=True)
    texts = database.strings(kinds.tolist())
    labels = [{-2: "Memcpy", -3: "Memset"}.get(kind, texts.get(kind, "(no name)")) for kind in kinds.tolist()]
    steps, marks, host = _annotations(database, process, shift)
    return Profile(
        path=path,
        era="nsight",
        position=Position(node=_node(database)),
        device_name=_device_name(database, int(rows[0, _DEVICE])),
        device=Device(
            start=rows[:, _START] + shift,
            end=rows[:, _END] + shift,
            name=index.astype(np.int64),
            launched=_launches(database, process, rows[:, _CORRELATION], shift),
            stream=rows[:, _STREAM],
            event=np.arange(len(rows), dtype=np.int64),
            names=labels,
        ),
        steps=steps,
        marks=marks,
        host=host,
        metadata={"process": process >> _THREADS & 0xFFFFFF},
    )


def _launches(database: _Database, process: int, correlation: Whole, shift: int) -> Whole:
    """When the host called for each kernel; −1 where no call is recorded."""
    calls = database.numbers("CUPTI_ACTIVITY_KIND_RUNTIME", ("start", "end", "correlationId", "globalTid"))
    if process >= 0 and len(calls) and (calls[:, 3] >= 0).any():
        calls = calls[calls[:, 3] >> _THREADS == process >> _THREADS]
    if not len(calls):
        return np.full(len(correlation), -1, np.int64)
    calls = calls[np.argsort(calls[:, 2], kind="stable")]
    place = np.minimum(np.searchsorted(calls[:, 2], correlation), len(calls) - 1)
    return np.where((calls[place, 2] == correlation) & (correlation >= 0), calls[place, 0] + shift, -1)


def _annotations(
    database: _Database, process: int, shift: int
) -> tuple[list[tuple[int, int, int]], list[tuple[str, int, int, int]], list[tuple[str, str, str, int, int]]]:
    """Steps, marks and host slices from NVTX ranges of the process."""
    steps: list[tuple[int, int, int]] = []
    marks: list[tuple[str, int, int, int]] = []
    host: list[tuple[str, str, str, int, int]] = []
    columns = ("start", "end", "eventType", "globalTid", "textId")
    ranges = database.numbers("NVTX_EVENTS", columns)
    texts = database.strings(np.unique(ranges[:, 4]).tolist())
    own = (
        [row[0] for block in database.rows("NVTX_EVENTS", ("text",), _TIMED) for row in block]
        if len(ranges)
        else []
    )
    for number, (start, end, kind, thread, key) in enumerate(ranges.tolist()):
        text = own[number] if isinstance(own[number], str) else texts.get(key, "")
        wrong = kind not in (_PUSH_POP, _START_END, -1) or not 0 <= end - start < LONGEST_NS
        if wrong or not text or (process >= 0 and thread >= 0 and thread >> _THREADS != process >> _THREADS):
            continue
        start, end = start + shift, end + shift
        if step := _STEP.match(text):
            steps.append((int(step[1]) if step[1] else len(steps), start, end))
        elif mark := names.mark(text):
            marks.append((mark, start, end, number))
        if len(host) < 100_000:
            host.append((f"thread {thread & 0xFFFFFF}", text[:120], "annotation", start, end))
    return steps, marks, host


def _session_start(database: _Database) -> int:
    for block in database.rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",), most=1):
        value = block[0][0]
        return value if type(value) is int and 0 < value < 4 * 10**18 else 0
    return 0


def _device_name(database: _Database, number: int) -> str | None:
    for block in database.rows("TARGET_INFO_GPU", ("id", "name"), most=1000):
        for key, name in block:
            if key == number and isinstance(name, str):
                return name[:200]
    return None


def _node(database: _Database) -> str | None:
    for block in database.rows("TARGET_INFO_SYSTEM_ENV", ("name", "value"), most=10_000):
        for key, value in block:
            if key == "Hostname" and isinstance(value, str):
                return value[:200]
    return None
