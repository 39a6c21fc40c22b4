"""Whole checkpoints and torn ones, as a kill at any moment of a save leaves them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from argosy.testbed.checkpoints import commit
from argosy.testbed.checkpoints.killing import spoil


class Killed(Exception):
    """The moment of a kill."""


def saved(root: Path, step: int, before: Callable[[Path], None] = lambda path: None) -> Path:
    """A checkpoint of two ranks, written as ranks do."""
    folder = commit.folder_of(root, step)
    folder.mkdir(parents=True)
    for rank in range(2):
        content = bytes([rank, step]) * 1000
        (folder / f"__{rank}_0.distcp").write_bytes(content)
        sums = {f"__{rank}_0.distcp": {"bytes": len(content), "crc32": zlib.crc32(content)}}
        commit.write_sums(folder, rank, sums)
    (folder / ".metadata").write_bytes(b"where everything is")
    commit.commit(folder, step, before)
    return folder


def test_a_marked_checkpoint_with_its_files_is_whole(tmp_path: Path) -> None:
    folder = saved(tmp_path, 10)
    assert commit.fault(folder) is None
    assert commit.latest_whole(tmp_path) == (folder, [])
    said = json.loads((folder / commit.MARKER).read_text())
    assert set(said["files"]) == {"__0_0.distcp", "__1_0.distcp", ".metadata"}


def _no_marker(folder: Path) -> None:
    (folder / commit.MARKER).unlink()


def _no_metadata(folder: Path) -> None:
    _no_marker(folder)
    (folder / ".metadata").unlink()


def _cut(folder: Path) -> None:
    (folder / "__1_0.distcp").write_bytes(b"\1" * 7)


def _gone(folder: Path) -> None:
    (folder / "__0_0.distcp").unlink()


def _changed(folder: Path) -> None:
    path = folder / "__0_0.distcp"
    data = bytearray(path.read_bytes())
    data[500] ^= 1
    path.write_bytes(bytes(data))


def _garbled(folder: Path) -> None:
    (folder / commit.MARKER).write_text('{"step": 20, "fi')


def _empty(folder: Path) -> None:
    (folder / commit.MARKER).write_text('{"step": 20, "files": {"a": 1}}')


def _copied(folder: Path) -> None:
    (folder / commit.MARKER).write_bytes((folder.parent / "step-00000010" / commit.MARKER).read_bytes())


@pytest.mark.parametrize(
    ("tear", "why"),
    [
        (_no_marker, "no marker, metadata written"),
        (_no_metadata, "no marker"),
        (_cut, "__1_0.distcp has 7 of 2000 bytes"),
        (_gone, "__0_0.distcp is missing"),
        (_changed, "__0_0.distcp was changed"),
        (_garbled, "the marker is unreadable"),
        (_empty, "the marker is unreadable"),
        (_copied, "the marker is that of step 10"),
    ],
)
def test_a_torn_one_is_passed_over_and_the_reason_is_said(
    tmp_path: Path, tear: Callable[[Path], None], why: str
) -> None:
    whole = saved(tmp_path, 10)
    tear(saved(tmp_path, 20))
    assert commit.latest_whole(tmp_path) == (whole, [(20, why)])


def test_killed_before_the_markers_rename_it_is_torn(tmp_path: Path) -> None:
    def kill(path: Path) -> None:
        assert path.name == commit.MARKER + ".tmp"  # it is written beside its place
        raise Killed

    whole = saved(tmp_path, 10)
    with pytest.raises(Killed):
        saved(tmp_path, 20, kill)
    assert commit.latest_whole(tmp_path) == (whole, [(20, "no marker, metadata written")])


def test_torn_ones_are_removed_so_that_the_step_can_be_saved_again(tmp_path: Path) -> None:
    saved(tmp_path, 10)
    _no_marker(saved(tmp_path, 20))
    assert commit.remove_torn(tmp_path) == [20]
    assert commit.latest_whole(tmp_path)[0] == commit.folder_of(tmp_path, 10)
    assert commit.fault(saved(tmp_path, 20)) is None


def test_old_ones_go_but_not_the_one_that_is_being_written(tmp_path: Path) -> None:
    for step in (10, 20, 30):
        saved(tmp_path, step)
    _no_marker(saved(tmp_path, 40))
    commit.keep_latest(tmp_path, 2)
    assert [commit.step_of(folder) for folder in commit.checkpoints(tmp_path)] == [40, 30, 20]


def test_a_changed_byte_is_found_by_content_alone(tmp_path: Path) -> None:
    first, last = saved(tmp_path, 10), saved(tmp_path, 20)
    spoil(tmp_path)
    assert commit.fault(last, contents=False) is None
    assert commit.latest_whole(tmp_path) == (first, [(20, "__0_0.distcp was changed")])


def test_nothing_there_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert commit.latest_whole(tmp_path) == (None, [])
    assert commit.latest_whole(tmp_path / "missing") == (None, [])
