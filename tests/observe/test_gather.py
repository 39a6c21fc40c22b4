"""Folders of mixed files: sorted by content, each told, whatever stands there; a bug of a reader shows as a bug."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from test_flight_recorder import FULL
from test_nsight import database
from test_operation_table import parquet, write
from trace_files import small, trace

from argosy.observe import gather as module
from argosy.observe.gather import gather
from argosy.observe.readers import kineto


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder whose names tell nothing."""
    folder = tmp_path / "mixed"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a.txt").write_bytes(trace(small()))
    (folder / "deeper" / "b.log").write_bytes(gzip.compress(trace(small())))
    database(folder / "c.json")
    (folder / "d.csv").write_bytes(pickle.dumps(FULL, 2))
    table = write(tmp_path / "t.csv")
    parquet(tmp_path, table).rename(folder / "e")
    write(folder / "f")
    return folder


def test_files_are_known_by_their_content(mixed: Path) -> None:
    kinds = {Path(batch.input.path).name: (batch.input.kind, batch.input.status) for batch in gather([mixed])}
    assert kinds == {
        "a.txt": ("kineto", "read"),
        "b.log": ("kineto", "read"),
        "c.json": ("nsight", "read"),
        "d.csv": ("flight_recorder", "read"),
        "e": ("operation_table", "read"),
        "f": ("operation_table", "read"),
    }


def test_processes_give_what_this_process_gives(mixed: Path) -> None:
    done: list[tuple[int, int]] = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = gather([mixed], pool, progress=lambda at, of: done.append((at, of)))
    here = gather([mixed])
    assert [batch.input for batch in there] == [batch.input for batch in here]
    assert [[trace.kernels for trace in batch.traces] for batch in there] == [
        [t.kernels for t in b.traces] for b in here
    ]
    assert done == [(i, 6) for i in range(1, 7)]


def test_what_is_no_file_of_ours_is_told_and_nothing_hangs(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "noise").write_bytes(os.urandom(100_000) + b"\0" * 10)
    (tmp_path / "packed.zst").write_bytes(b"\x28\xb5\x2f\xfd" + os.urandom(50))
    (tmp_path / "prose").write_text("nothing to see here\n" * 50)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "elsewhere").symlink_to("/")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "twice").symlink_to(tmp_path / "prose")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 1000)[:8])
    os.mkfifo(tmp_path / "pipe")
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(tmp_path / "socket"))
    try:
        found = {
            Path(batch.input.path).name: batch.input for batch in gather([tmp_path, tmp_path / "absent"])
        }
    finally:
        door.close()
    told = {name: (each.status, each.problems[0].message) for name, each in found.items()}
    assert told["empty"] == ("ignored", "an empty file")
    assert told["noise"] == told["prose"] == ("ignored", "no reader knows what it holds")
    assert told["packed.zst"][1].endswith("zstd -d")
    assert told["pipe"][1].startswith("a named pipe")
    assert told["socket"][1].startswith("a socket")
    assert told["twice"] == ("ignored", f"the same as {tmp_path / 'prose'}")
    assert told["loop"] == ("ignored", f"the same as {tmp_path}")
    assert told["elsewhere"][1].startswith("a link to a folder")
    assert told["cut.gz"][0] == "unreadable"
    assert told["dangling"][0] == told["absent"][0] == "unreadable"


def test_a_bug_of_a_reader_shows_as_a_bug_and_the_others_count(
    mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(kineto, "read", broken)
    batches = gather([mixed])
    faults = [problem for batch in batches for problem in batch.input.problems if problem.traceback]
    assert len(faults) == 2
    assert "ZeroDivisionError" in faults[0].traceback
    assert sum(batch.input.status == "read" for batch in batches) == 4
    with pytest.raises(ZeroDivisionError):
        gather([mixed], debug=True)


def test_folders_with_too_many_files_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_COUNT", 3)
    for i in range(6):
        (tmp_path / str(i)).write_text("x")
    batches = gather([tmp_path])
    assert len(batches) == 4
    assert "more than 3 files" in batches[-1].input.problems[0].message


def test_many_ranks_share_a_bounded_picture(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SLICES", 12)
    monkeypatch.setattr(module, "LEAST_SLICES", 3)
    traces = [found for batch in gather([mixed]) for found in batch.traces if found.era != "nsight"]
    assert [len(found.slices) for found in traces] == [3, 3]
    (whole,) = kineto.read(mixed / "a.txt").traces
    lengths = sorted((end - start for *_, start, end in whole.slices), reverse=True)
    assert sorted((end - start for *_, start, end in traces[0].slices), reverse=True) == lengths[:3]
    assert next(iter(traces[0].kernels)) is next(iter(traces[1].kernels))


def test_every_reader_of_the_registry_is_there() -> None:
    for name in module.READERS:
        reader = module._reader(name)
        assert callable(reader.read)
        assert not reader.looks_like(b"", Path("nothing"))


def test_a_kernel_log_without_faults_is_told_as_such(tmp_path: Path) -> None:
    lines = "".join(f"6,{3964 + i},{206764307 + i},-;nvidia-nvswitch2: open (major=510)\n" for i in range(9))
    (tmp_path / "kmsg").write_text(lines)
    (batch,) = gather([tmp_path])
    assert batch.input.status == "ignored" and "no fault" in batch.input.problems[0].message
