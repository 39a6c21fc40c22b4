"""Whole checkpoints and torn ones. A checkpoint is whole when its marker is there and says what its files hold.

Order of a save: every rank's file, synchronised to storage; the metadata by rename; the marker by rename. Whatever is killed
in between leaves a folder without a marker, which is passed over and later removed.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

MARKER = "COMMITTED.json"
SUMS = "sums-"  # a rank's own list of what it wrote; its content goes into the marker
PREFIX = "step-"
CHUNK = 1 << 20


def folder_of(root: Path, step: int) -> Path:
    """Where the checkpoint after `step` steps goes."""
    return root / f"{PREFIX}{step:08d}"


def step_of(folder: Path) -> int | None:
    """The steps of a checkpoint's folder; None where it is none."""
    digits = folder.name.removeprefix(PREFIX)
    return int(digits) if folder.name.startswith(PREFIX) and digits.isdecimal() else None


def write_sums(folder: Path, rank: int, files: dict[str, dict[str, int]]) -> None:
    """What a rank wrote: bytes and CRC-32 by file name."""
    replace(folder / f"{SUMS}{rank}.json", json.dumps(files))


def commit(folder: Path, step: int, before: Callable[[Path], None] = lambda path: None) -> None:
    """Mark a checkpoint whole, which all ranks have written: the last thing done to it.

    `before(path)` is called when the marker is written beside its place, before it is renamed.
    """
    files: dict[str, dict[str, int]] = {}
    for path in sorted(folder.glob(f"{SUMS}*.json")):
        files |= json.loads(path.read_text(encoding="utf-8"))
    for path in folder.iterdir():
        if path.name not in files and not path.name.startswith(SUMS):
            files[path.name] = {"bytes": path.stat().st_size, "crc32": crc32(path)}
    replace(folder / MARKER, json.dumps({"step": step, "files": files}), before)


def replace(path: Path, text: str, before: Callable[[Path], None] = lambda path: None) -> None:
    """Write a small file so that it is there whole or not at all, also after a power cut."""
    beside = path.with_name(path.name + ".tmp")
    with beside.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    before(beside)
    beside.rename(path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fault(folder: Path, contents: bool = True) -> str | None:
    """Why a checkpoint is not whole; None where it is. `contents`: read its files and compare their CRC-32, too."""
    try:
        said: Any = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        step, files = said["step"], {name: (f["bytes"], f["crc32"]) for name, f in said["files"].items()}
    except FileNotFoundError:
        return "no marker" + (", metadata written" if (folder / ".metadata").exists() else "")
    except (ValueError, KeyError, TypeError, AttributeError):
        return "the marker is unreadable"
    if step != step_of(folder):
        return f"the marker is that of step {step}"
    for name, (size, sum_) in files.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} of {size} bytes"
        if contents and crc32(path) != sum_:
            return f"{name} was changed"
    return None


def crc32(path: Path) -> int:
    """CRC-32 of a file."""
    found = 0
    with path.open("rb") as stream:
        while piece := stream.read(CHUNK):
            found = zlib.crc32(piece, found)
    return found


def checkpoints(root: Path) -> list[Path]:
    """All folders of checkpoints, latest first, whole or not."""
    found = [path for path in root.iterdir() if step_of(path) is not None] if root.is_dir() else []
    return sorted(found, key=lambda path: path.name, reverse=True)


def latest_whole(root: Path, contents: bool = True) -> tuple[Path | None, list[tuple[int, str]]]:
    """The latest whole checkpoint, and the later ones that were passed over: (step, why)."""
    passed: list[tuple[int, str]] = []
    for folder in checkpoints(root):
        why = fault(folder, contents)
        if why is None:
            return folder, passed
        passed.append((step_of(folder) or 0, why))
    return None, passed


def remove_torn(root: Path) -> list[int]:
    """Remove what is not whole, so that no later save of the same step writes into it; the steps."""
    torn = [folder for folder in checkpoints(root) if fault(folder, contents=False) is not None]
    _remove(torn)
    return [step_of(folder) or 0 for folder in torn]


def keep_latest(root: Path, count: int) -> None:
    """Remove whole checkpoints but the latest `count`; what is being written has no marker and stays."""
    whole = [folder for folder in checkpoints(root) if (folder / MARKER).exists()]
    _remove(whole[count:])


def _remove(folders: Iterable[Path]) -> None:
    """Marker first: a removal that is cut short leaves no folder that looks whole."""
    for folder in folders:
        with suppress(FileNotFoundError):
            (folder / MARKER).unlink()
        shutil.rmtree(folder, ignore_errors=True)
