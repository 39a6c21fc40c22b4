"""Storage and a device's link of stated rates, for torch.distributed.checkpoint. torch: only ranks import this.

A rank's link to storage is a wait: n bytes are through when n ÷ rate seconds have passed since the first of them came, and what
the processor takes meanwhile is part of that. So is the device's link to its host. Bytes are really copied, written, and
synchronised to storage.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from torch.distributed.checkpoint import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

from argosy.testbed.checkpoints import commit

PIECE_S = 0.004  # a piece is what goes in this time, within bounds
PIECE_BYTES = (16 << 10, 1 << 20)
KEPT = 2  # whole checkpoints that stay: argosy.reliability.checkpoints.copies_to_keep is at least two

Reached = Callable[[str, float], None]
"""Called wherever a rank may be killed: the point's name, and the share of its bytes that are done."""


class Link:
    """Bytes per second one way; None: as fast as the machine goes."""

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self.free_at = 0.0
        low, high = PIECE_BYTES
        self.piece = high if rate is None else int(min(max(rate * PIECE_S, low), high))

    def begin(self) -> None:
        """Nothing was sent until now."""
        self.free_at = max(self.free_at, time.monotonic())

    def send(self, count: int) -> None:
        """Returns when `count` more bytes are through."""
        if self.rate is not None:
            self.free_at += count / self.rate
            left = self.free_at - time.monotonic()
            if left > 0:
                time.sleep(left)


class _Stream:
    """A file behind a link: pieces of it wait for their turn; counts and sums what was written."""

    def __init__(self, raw: IO[bytes], link: Link, expected: int, point: str, reached: Reached) -> None:
        self.raw, self.link, self.expected, self.point, self.reached = raw, link, expected, point, reached
        self.bytes, self.crc32 = 0, 0
        link.begin()

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        for first in range(0, len(view), self.link.piece):
            piece = view[first : first + self.link.piece]
            self.raw.write(piece)
            self.crc32 = zlib.crc32(piece, self.crc32)
            self._pass(len(piece))
        return len(view)

    def read(self, count: int = -1) -> bytes:
        found = self.raw.read(count)
        for first in range(0, len(found), self.link.piece):
            self._pass(min(self.link.piece, len(found) - first))
        return found

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def _pass(self, count: int) -> None:
        self.link.send(count)
        self.bytes += count
        self.reached(self.point, self.bytes / self.expected)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


class _Files(FileSystem):
    """Files of ranks behind a link; metadata, which are small, are not held up."""

    def __init__(self, link: Link, expected: int, reached: Reached) -> None:
        self.link, self.expected, self.reached = link, max(expected, 1), reached
        self.written: dict[str, dict[str, int]] = {}

    @contextmanager
    def create_stream(self, path: Any, mode: str) -> Generator[Any, None, None]:
        with Path(path).open(mode) as raw:
            if not str(path).endswith(".distcp"):
                yield raw
                return
            stream = _Stream(raw, self.link, self.expected, "write" if "w" in mode else "load", self.reached)
            yield stream
            if "w" in mode:
                self.written[Path(path).name] = {"bytes": stream.bytes, "crc32": stream.crc32}

    def rename(self, path: Any, new_path: Any) -> None:
        self.reached("metadata", 1.0)
        super().rename(path, new_path)
        self.reached("renamed", 1.0)


class Writer(FileSystemWriter):
    """torch's own writer of files, whose checkpoints are marked whole at the end; `committed` is called then."""

    def __init__(
        self,
        root: Path,
        step: int,
        link: Link,
        expected: int,
        reached: Reached,
        committed: Callable[[int], None],
    ) -> None:
        super().__init__(commit.folder_of(root, step), overwrite=False)
        self.root, self.step, self.reached, self.committed = root, step, reached, committed
        self.fs: _Files = _Files(link, expected, reached)

    def write_data(self, plan: Any, planner: Any) -> Any:
        found = super().write_data(plan, planner)
        commit.write_sums(Path(self.path), self.rank or 0, self.fs.written)
        self.reached("written", 1.0)
        return found

    def finish(self, metadata: Any, results: Any) -> None:
        """On the coordinator alone, after all ranks have written."""
        super().finish(metadata, results)
        commit.commit(Path(self.path), self.step, lambda path: self.reached("marker", 1.0))
        self.reached("committed", 1.0)
        commit.keep_latest(self.root, KEPT)
        self.committed(self.step)


class Reader(FileSystemReader):
    """torch's own reader, behind a link."""

    def __init__(self, folder: Path, link: Link, expected: int, reached: Reached) -> None:
        super().__init__(folder)
        self.fs: _Files = _Files(link, expected, reached)


class Stager(DefaultStager):
    """First stage: torch's copy of the state to host memory, and what is left of bytes ÷ rate of the device's link."""

    def __init__(self, link: Link, size: int, reached: Reached) -> None:
        super().__init__(StagingOptions(False, False, False, False))  # the others need a real device
        self.link, self.size, self.reached = link, size, reached

    def stage(self, state_dict: Any, **options: Any) -> Any:
        self.link.begin()
        staged = super().stage(state_dict, **options)
        self.reached("stage", 0.5)
        self.link.send(self.size)
        return staged
