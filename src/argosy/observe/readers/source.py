"""A file as a stream of bytes, expanded where it is gzip: bounded, and damage told instead of raised."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from types import TracebackType

HEAD = 64 << 10  # bytes that a reader may judge a file by
GZIP = b"\x1f\x8b"
# Text of profilers and logs expands 5–40 times, all zeros 1,030 times.
RATIO = 200  # expanded bytes per compressed byte, once more than RATIO_FROM have come out
RATIO_FROM = 256 << 20
LARGEST = 64 << 30  # expanded bytes of one file
_CHUNK = 1 << 20
_PIECE = 64 << 10  # bytes per step of zlib, which loses a step's output where it finds damage


class Source:
    """An opened file: `read(size)` gives the next bytes (b"" at the end), gunzipped where the file is gzip.

    `offset` counts the bytes given so far; `damage`, once the bytes have ended, says why they ended early (a cut or
    corrupt gzip stream, a decompression bomb, a failing disk), else None. OSError where the file cannot be opened.
    """

    def __init__(
        self, path: Path, largest: int = LARGEST, ratio: int = RATIO, ratio_from: int = RATIO_FROM
    ) -> None:
        self._file = path.open("rb", buffering=0)
        self.gzip = self._file.read(2) == GZIP
        self._file.seek(0)
        self._inflate = zlib.decompressobj(31) if self.gzip else None
        self._limits = largest, ratio, ratio_from
        self._taken = 0  # compressed bytes
        self._begun = False  # whether the present member of the gzip file has begun
        self.offset = 0
        self.damage: str | None = None

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, size: int = _CHUNK) -> bytes:
        """Up to `size` further bytes; b"" at the end."""
        if self.damage:
            return b""
        found: list[bytes] = []
        left = size
        try:
            while left and (part := self._part(left)):
                found.append(part)
                left -= len(part)
                self.offset += len(part)
        except OSError as error:
            self._stop(f"reading failed: {error.strerror or error}")
        except zlib.error as error:
            self._stop(f"the gzip stream is corrupt ({error})")
        if self.offset > self._limits[0] and not self.damage:
            self._stop(f"more than {self._limits[0] >> 20:,} MiB; cut it into parts, or give fewer steps")
        return found[0] if len(found) == 1 else b"".join(found)

    def _part(self, size: int) -> bytes:
        if self._inflate is None:
            return self._file.read(size) or b""
        return self._expand(min(size, _PIECE))

    def _expand(self, size: int) -> bytes:
        inflate = self._inflate
        assert inflate is not None
        while True:
            data = inflate.unconsumed_tail or inflate.unused_data
            if not data:
                data = self._file.read(_PIECE) or b""
                self._taken += len(data)
            if inflate.eof:  # another member may follow
                if not data.startswith(GZIP):
                    return (
                        self._stop("bytes that are not gzip follow the gzip stream")
                        if data.strip(b"\0")
                        else b""
                    )
                inflate = self._inflate = zlib.decompressobj(31)
                self._begun = False
            if not data:
                return (
                    self._stop("the gzip stream ends in the middle")
                    if self._begun or not self._taken
                    else b""
                )
            self._begun = True
            found = inflate.decompress(data, size)
            if found:
                _, ratio, ratio_from = self._limits
                if self.offset > ratio_from and self.offset > ratio * self._taken:
                    return self._stop(f"a decompression bomb: {self.offset:,} bytes out of {self._taken:,}")
                return found

    def _stop(self, why: str) -> bytes:
        self.damage = f"{why} (after {self.offset:,} bytes)"
        return b""


class _Raw(io.RawIOBase):
    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._source.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.__exit__(None, None, None)
        super().close()


def buffered(source: Source) -> io.BufferedReader:
    """`source` as a binary file: lines, `read(n)`; closing it closes the source."""
    return io.BufferedReader(_Raw(source), _CHUNK)


def head(path: Path) -> bytes:
    """The first 64 KiB of a file, expanded where it is gzip. OSError where it cannot be opened."""
    with Source(path) as source:
        found = b""
        while len(found) < HEAD and (data := source.read(HEAD - len(found))):
            found += data
        return found
