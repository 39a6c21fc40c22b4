"""Nsight Systems' SQLite exports: what they give, and databases made to do harm."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from trace_files import ADD, ALL_REDUCE, GEMM

from argosy.observe.readers import nsight, source

START = 1_759_536_000_000_000_000
_SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, text TEXT,
  globalTid INTEGER, textId INTEGER);
"""
_NAMES = {1: GEMM, 2: ALL_REDUCE, 3: ADD, 4: "iteration 12", 5: "cudaLaunchKernel"}


def process(number: int) -> int:
    return number << 24


def database(path: Path, processes: int = 1, more: str = "") -> Path:
    """One step of 1,000 µs per process: product 20–200, all-reduce 200–400, addition 300–450, copy 450–500."""
    connection = sqlite3.connect(path)
    connection.executescript(_SCHEMA)
    connection.executemany("INSERT INTO StringIds VALUES (?, ?)", _NAMES.items())
    connection.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, '', '')", (START,))
    connection.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', 0, 'node17')")
    for i in range(processes):
        owner, thread = process(100 + i), process(100 + i) + 7
        connection.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, ?, 'NVIDIA H100')", (i,))
        kernels = [(20, 200, 7, 1, 1), (200, 400, 20, 2, 2), (300, 450, 7, 3, 3)]
        for start, end, stream, call, name in kernels:
            row = (start * 1000, end * 1000, i, 1, stream, call, owner, name, name)
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?,?)", row)
        copy = (450_000, 500_000, i, 1, 7, 4, owner, 1 << 20, 1)
        connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,?,?,?,?,?)", copy)
        for call in range(1, 5):
            row = (call * 1000, call * 1000 + 500, 0, thread, call, 5, 0)
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?,?)", row)
        nvtx = [(0, 1_000_000, 59, 0, None, thread, 4), (10, 900, 59, 0, "gc.collect", thread, None)]
        connection.executemany("INSERT INTO NVTX_EVENTS VALUES (?,?,?,?,?,?,?)", nvtx)
    connection.executescript(more)
    connection.commit()
    connection.close()
    return path


def test_a_step_of_a_process(tmp_path: Path) -> None:
    path = database(tmp_path / "r.sqlite")
    assert nsight.looks_like(source.head(path), path)
    batch = nsight.read(path)
    (found,) = batch.traces
    assert (batch.input.status, batch.input.problems, batch.input.events) == ("read", (), 4)
    assert (found.era, found.device, found.position.node) == ("nsight", "NVIDIA H100", "node17")
    assert (found.step_number.tolist(), found.step_start_ns.tolist()) == ([12], [START])
    seconds = {kind: round(float(each[0]) * 1e6, 3) for kind, each in found.activity_s.items()}
    assert seconds == {"compute": 330, "communication": 100, "copy": 50, "host": 520, "data": 0, "idle": 0}
    assert (found.collectives.operations, found.collectives.exposed_ns.tolist()) == (
        ("all_reduce",),
        [100_000],
    )
    assert [(kind, start - START) for kind, start, *_ in found.marks] == [("garbage-collection", 10)]


def test_processes_are_told_apart(tmp_path: Path) -> None:
    batch = nsight.read(database(tmp_path / "r.sqlite", processes=3))
    assert [found.metadata["process"] for found in batch.traces] == [100, 101, 102]
    assert all(len(found.collectives.event) == 1 and len(found.marks) == 1 for found in batch.traces)


def test_older_exports_lack_columns_and_tables(tmp_path: Path) -> None:
    drop = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;"
    drop += "DROP TABLE NVTX_EVENTS; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE TARGET_INFO_GPU;"
    drop += "DROP TABLE TARGET_INFO_SESSION_START_TIME;"
    (found,) = nsight.read(database(tmp_path / "r.sqlite", more=drop)).traces
    assert found.device is None
    assert (found.step_start_ns.tolist(), found.step_end_ns.tolist()) == ([20_000], [450_000])
    assert found.kernels[GEMM] == (pytest.approx(180e-6), 1)


def test_times_and_texts_of_other_types_do_not_count(tmp_path: Path) -> None:
    wrong = """
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('x', 5, 0, 1, 7, 9, 1677721600, 1, 1), (NULL, 7, 0, 1, 7, 9, 1677721600, 1, 1),
      (9000000000000000000, 9100000000000000000, 0, 1, 7, 9, 1677721600, 1, 1), (50, 10, 0, 1, 7, 9, 1677721600, 1, 1);
    UPDATE StringIds SET value = x'fffe00' WHERE id = 3;
    INSERT INTO NVTX_EVENTS VALUES ('a', 'b', 59, 0, 'step 1', 0, 0), (0, 10, 59, 0, x'ff', 1677721607, NULL);
    """
    batch = nsight.read(database(tmp_path / "r.sqlite", more=wrong))
    assert "2 slices have impossible times" in batch.input.problems[0].message
    assert batch.traces[0].kernels[GEMM][1] == 1


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS "
        "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start + 1 AS end FROM n",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL "
        "(seed INTEGER, start INTEGER AS (length(hex(zeroblob(400000000)))), end INTEGER AS (start + 1))",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end)",
    ],
    ids=["endless view", "computed column", "virtual table"],
)
def test_tables_that_compute_are_not_read(tmp_path: Path, harm: str) -> None:
    batch = nsight.read(
        database(tmp_path / "r.sqlite", more=harm + "; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY")
    )
    assert (batch.input.status, batch.traces) == ("unreadable", ())
    assert "no kernels are in it" in batch.input.problems[0].message


def test_a_damaged_database_is_told(tmp_path: Path) -> None:
    raw = database(tmp_path / "r.sqlite").read_bytes()
    for cut in (100, 5_000, len(raw) // 2):
        path = tmp_path / "cut.sqlite"
        path.write_bytes(raw[:cut])
        assert nsight.looks_like(source.head(path), path)
        assert nsight.read(path).input.status in ("partial", "unreadable")
    path.write_bytes(raw[:100] + b"\xff" * (len(raw) - 100))
    assert nsight.read(path).input.status == "unreadable"


def test_another_database_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE users (id INTEGER)")
    connection.close()
    assert not nsight.looks_like(source.head(path), path)
    assert not path.with_name("other.sqlite-journal").exists()
