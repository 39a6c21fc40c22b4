"""Operation tables as Parquet and as CSV, with and without the optional columns."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from argosy.observe.readers import operation_table, source
from argosy.observe.records import OperationTable

ROWS = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id"
LINES = [
    "0,0,0,23,forward-compute,0.5,0.25,0,0,0",
    "0,0,0,23,forward-compute,1.0,0.125,1,1,3",
    "1,3,7,23,backward-send,0.75,0.5,2,-1,-1",
]


def write(path: Path, header: str = ROWS, lines: list[str] = LINES) -> Path:
    path.write_text("\n".join([header, *lines, ""]))
    return path


def parquet(folder: Path, csv: Path, name: str = "t.parquet", select: str = "*") -> Path:
    path = folder / name
    link = folder / "plain.parquet"
    duckdb.sql(f"COPY (SELECT {select} FROM read_csv('{csv}')) TO '{link}' (FORMAT parquet)")
    return link.rename(path)


def table(path: Path) -> OperationTable:
    assert operation_table.looks_like(source.head(path), path)
    batch = operation_table.read(path)
    assert (batch.input.kind, batch.input.status, batch.input.problems) == ("operation_table", "read", ())
    (found,) = batch.tables
    return found


@pytest.mark.parametrize("kind", ["csv", "parquet", "parquet with a pattern for a name"])
def test_both_forms_give_the_same(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "t.csv")
    if kind != "csv":
        path = parquet(tmp_path, path, "t*[a].parquet" if "pattern" in kind else "t.parquet")
    found = table(path)
    assert [found.operations[i] for i in found.operation] == [
        "forward-compute",
        "forward-compute",
        "backward-send",
    ]
    assert (found.rank.tolist(), found.data.tolist(), found.stage.tolist()) == (
        [0, 0, 7],
        [0, 0, 1],
        [0, 0, 3],
    )
    assert (found.step.tolist(), found.microbatch.tolist()) == ([23, 23, 23], [0, 3, -1])
    assert (found.chunk.tolist(), found.sequence.tolist()) == ([0, 1, -1], [0, 1, 2])
    assert (found.start_s.tolist(), found.duration_s.tolist()) == ([0.5, 1.0, 0.75], [0.25, 0.125, 0.5])


def test_without_the_optional_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "step,optype,start_ts,duration", ["1,fwd,0,1", "1,bwd,1,2"])
    for each in (path, parquet(tmp_path, path)):
        batch = operation_table.read(each)
        (found,) = batch.tables
        assert (found.stage.tolist(), found.microbatch.tolist(), found.rank.tolist()) == (
            [0, 0],
            [-1, -1],
            [0, 0],
        )
        assert ["no column rank" in problem.message for problem in batch.input.problems] == [True]


def test_rows_that_cannot_be_are_told_with_their_line(tmp_path: Path) -> None:
    bad = [
        "0,0,0,23,x,nan,1,0,0,0",
        "0,0,0,23,x,1,-1,0,0,0",
        "0,0,zero,23,x,1,1,0,0,0",
        "0,0",
        "0,0,0,9" + "9" * 30 + ",x,1,1,0,0,0",
    ]
    batch = operation_table.read(write(tmp_path / "t.csv", lines=[*LINES, *bad]))
    assert (batch.input.status, batch.input.events) == ("partial", 3)
    assert [problem.line for problem in batch.input.problems] == [7, 8, 9, 0]
    assert "2 rows have no time" in batch.input.problems[-1].message


def test_a_damaged_parquet_file_is_told(tmp_path: Path) -> None:
    whole = parquet(tmp_path, write(tmp_path / "t.csv")).read_bytes()
    path = tmp_path / "cut.parquet"
    for raw in (
        whole[: len(whole) // 2],
        whole[:40] + b"\xff" * 60 + whole[100:],
        b"PAR1" + b"\0" * 40 + b"PAR1",
        b"PAR1",
    ):
        path.write_bytes(raw)
        assert operation_table.looks_like(source.head(path), path)
        batch = operation_table.read(path)
        assert batch.input.status in ("partial", "unreadable")
        assert str(tmp_path) not in batch.input.problems[0].message


def test_other_tables_are_not_taken(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b", ["1,2"])
    assert not operation_table.looks_like(source.head(path), path)
    path = parquet(tmp_path, path)
    assert not operation_table.looks_like(source.head(path), path)


def test_a_real_table(shared_directory: Path) -> None:
    found = table(shared_directory / "samples/straggler/trace-ST.parquet")
    assert len(found.step) == 6784
    assert sorted(set(found.stage.tolist())) == [0, 1, 2, 3]
    compute = found.operation == found.operations.index("forward-compute")
    last = found.duration_s[compute & (found.stage == 3)].mean()
    assert last > 1.2 * found.duration_s[compute & (found.stage == 1)].mean()  # stage 3 is the slow one
