"""A Chrome trace as a stream: its top-level members, and its events in blocks of rows, whatever is wrong with the file.

The compiled scanner (kernels.trace_scan) works on a buffer of a few MiB; what an object needs beyond it is read behind
it. A broken object is told with its line, and reading goes on with the next one that looks like an event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from argosy.kernels import trace_scan as scan
from argosy.observe.readers.source import Source
from argosy.observe.records import Problem, Whole

BUFFER = 4 << 20
LARGEST_VALUE = 64 << 20  # bytes of one object, or of one member beside traceEvents
LARGEST_NAMES = 1 << 19  # slots of the table of names, half of which may be used
MOST_FAULTS = 10_000  # broken objects before the rest of the file is given up
TOLD_FAULTS = 20  # of them told one by one
_ROWS, _FRESH = 1 << 15, 1 << 12
_SEED = np.uint64(0xCBF29CE484222325)
OTHER = "(other names)"


class Stream:
    """Reads the trace in `source`: `run(sink)` calls `sink(rows, buffer)` with blocks of rows (kernels.trace_scan's
    columns; positions are those in `buffer`), and leaves `metadata` (top-level members), `names` (by their number),
    `parents` (for an interned shape the number of its name, else −1), `counters` and `problems`.

    `categories`: lower-case names of categories that count, the column KIND being the index; `shaped`: names whose
    `Input Dims` are wanted.
    """

    def __init__(self, source: Source, path: str, categories: Sequence[str], shaped: Sequence[str]) -> None:
        self.metadata: dict[str, Any] = {}
        self.names: list[str] = [OTHER]
        self.parents: list[int] = [scan.ABSENT]
        self.problems: list[Problem] = []
        self.counters = np.zeros(scan.COUNTERS, np.int64)
        self.complete = False  # whether the trace ended as JSON does
        self.faults = 0
        self.undecodable = 0  # names that are no UTF-8
        self._source, self._path = source, path
        self._categories = np.array([_fingerprint(word) for word in categories], np.uint64)
        self._hashes, self._ids = np.zeros(LARGEST_NAMES, np.uint64), np.zeros(LARGEST_NAMES, np.int32)
        self._rows = np.zeros((_ROWS, scan.COLUMNS), np.int64)
        self._fresh = np.zeros((_FRESH, 4), np.int64)
        self._buffer = bytearray(BUFFER)
        self._data = np.frombuffer(self._buffer, np.uint8)
        self._at = self._end = 0
        self._offset, self._line = 0, 1  # of the buffer's first byte
        self.counters[scan.NAMES] = 1
        for word in shaped:
            key = _fingerprint(word)
            scan.intern(key, self._hashes, self._ids, self.counters, self._fresh, 0, 0, scan.ABSENT)
            self.names.append(word)
            self.parents.append(scan.ABSENT)
        self._shaped = len(shaped)
        self.counters[scan.FRESH] = 0

    def run(self, sink: Callable[[Whole, bytearray], bool]) -> None:
        """Reads to the end, or until `sink` gives False (it has enough)."""
        self._sink = sink
        try:
            self._document()
        except _EndError:
            self._ended()
        except _StoppedError:
            pass

    @property
    def names_full(self) -> bool:
        """Whether further names were counted as one."""
        return 2 * int(self.counters[scan.NAMES]) >= len(self._hashes)

    # --- the document ---

    def _document(self) -> None:
        first = self._byte()
        if first == 0xEF:  # a byte-order mark
            self._at += 3
            first = self._byte()
        if first == 0x5B:
            self._at += 1
            self._events()
            self.complete = True
            return
        if first != 0x7B:
            self._fault("neither { nor [ begins a trace")
            self._events(recover=True)
        else:
            self._at += 1
        while True:
            try:
                if self._members():
                    self.complete = True
                    return
            except _MalformedError as error:
                self._fault(str(error))
                self._events(recover=True)

    def _members(self) -> bool:
        """Members of the top-level object up to its end: True."""
        while (byte := self._byte()) != 0x7D:
            if byte == 0x2C:
                self._at += 1
                continue
            begun, end, start = self._whole(lambda: scan.member(self._data, self._at, self._end))
            key = bytes(self._buffer[begun:end])
            self._at = start
            if key == b"traceEvents" and self._byte() == 0x5B:
                self._at += 1
                self._events()
                continue
            done = self._whole(lambda: (scan.value(self._data, self._at, self._end),))[0]
            self._keep(key, bytes(self._buffer[self._at : done]))
            self._at = done
        return True

    def _keep(self, key: bytes, value: bytes) -> None:
        try:
            self.metadata[key.decode("utf-8", "replace")] = json.loads(
                value.decode("utf-8", "replace"), strict=False
            )
        except (ValueError, RecursionError) as error:
            self._fault(f"the value of {key[:60].decode('utf-8', 'replace')!r} is no JSON ({error})")

    def _events(self, recover: bool = False) -> None:
        """Objects of the array until it closes; with `recover`, from the next that looks like an event."""
        if recover:
            self._recover()
        while True:
            why, at = scan.events(
                self._data,
                self._at,
                self._end,
                self._categories,
                self._hashes,
                self._ids,
                self._shaped,
                self.counters,
                self._rows,
                self._fresh,
            )
            self._hand_over()
            self._at = at
            if why == scan.CLOSED:
                return
            if why == scan.BROKEN:
                self._fault("a broken event")
                self._recover()
            elif why == scan.MORE and not self._more():
                self._fault(f"an event of more than {LARGEST_VALUE >> 20} MiB")
                self._recover()

    def _recover(self) -> None:
        self._at += 1
        while True:
            self._at = scan.next_object(self._data, self._at, self._end)
            if self._at < self._end:
                return
            self._more()

    def _hand_over(self) -> None:
        for number, at, length, parent in self._fresh[: self.counters[scan.FRESH]].tolist():
            assert number == len(self.names)
            self.names.append(self._text(at, length))
            self.parents.append(parent)
        rows = self._rows[: self.counters[scan.ROWS]]
        going = self._sink(rows, self._buffer) if len(rows) else True
        self.counters[scan.ROWS] = self.counters[scan.FRESH] = 0
        if not going:
            raise _StoppedError

    def _text(self, at: int, length: int) -> str:
        raw = bytes(self._buffer[at : at + min(length, 4096)])
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("utf-8", "replace")
            self.undecodable += length <= 4096
        if "\\" in text:
            with suppress(ValueError):  # cut within an escape, or a wrong one: as it stands
                text = str(json.loads(f'"{text}"', strict=False))
        return text

    # --- bytes ---

    def _byte(self) -> int:
        """The next byte that is no white space."""
        while True:
            self._at = scan.blank(self._data, self._at, self._end)
            if self._at < self._end:
                return int(self._data[self._at])
            self._more()

    def _whole(self, parse: Callable[[], tuple[int, ...]]) -> tuple[int, ...]:
        """What `parse` gives once the buffer holds all of it."""
        while (found := parse())[0] == scan.INCOMPLETE:
            if not self._more():
                raise _MalformedError(f"a value of more than {LARGEST_VALUE >> 20} MiB")
        if found[0] == scan.MALFORMED:
            raise _MalformedError("no JSON")
        return found

    def _more(self) -> bool:
        """Further bytes behind those not yet parsed; False where a single value fills the largest buffer."""
        buffer, left = self._buffer, self._end - self._at
        if left > LARGEST_VALUE:
            return False
        self._offset += self._at
        self._line += buffer.count(b"\n", 0, self._at)
        if left > len(buffer) // 2:
            self._buffer = bytearray(2 * len(buffer))
        elif left < BUFFER // 2 < len(buffer) // 2:
            self._buffer = bytearray(BUFFER)
        self._buffer[:left] = buffer[self._at : self._end]
        if self._buffer is not buffer:
            self._data = np.frombuffer(self._buffer, np.uint8)
        self._at, self._end = 0, left
        found = self._source.read(len(self._buffer) - left)
        if not found:
            raise _EndError
        self._buffer[left : left + len(found)] = found
        self._end += len(found)
        return True

    # --- faults ---

    def _ended(self) -> None:
        why = self._source.damage or f"the file ends in the middle, after {self._offset + self._end:,} bytes"
        line = self._line + self._buffer.count(b"\n", 0, self._end)
        self.problems.append(Problem(self._path, line, f"{why}; what stands before it counts"))

    def _fault(self, what: str) -> None:
        self.faults += 1
        line = self._line + self._buffer.count(b"\n", 0, self._at)
        if self.faults <= TOLD_FAULTS:
            text = f"byte {self._offset + self._at:,}: {what}; reading goes on behind it"
            self.problems.append(Problem(self._path, line, text))
        elif self.faults > MOST_FAULTS:
            self.problems.append(
                Problem(self._path, line, f"more than {MOST_FAULTS:,} faults; the rest is not read")
            )
            raise _StoppedError


class _EndError(Exception):
    """The bytes have ended."""


class _StoppedError(Exception):
    """Enough has been read."""


class _MalformedError(Exception):
    """A top-level member that is no JSON."""


def _fingerprint(word: str) -> np.uint64:
    raw = np.frombuffer(word.encode(), np.uint8)
    return np.uint64(scan.fingerprint(raw, 0, len(raw), _SEED))
