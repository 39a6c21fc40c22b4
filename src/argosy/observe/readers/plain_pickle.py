"""Pickles of plain data, interpreted by hand: nothing is imported, called or built but dict, list, tuple and scalars.

The interpreter of the standard library runs what a pickle names; even with its classes refused, an index of the memo
can ask for gigabytes, and a key nested deeply enough overflows the C stack. Here every operation is counted, an
index is a key of a dict, a key is a scalar, and the first thing that is not plain data ends the reading.
"""

from __future__ import annotations

import struct
from typing import Any

MOST_OPERATIONS = 30_000_000
LONGEST_NUMBER = 64  # bytes of a whole number
_MARK = object()
_SCALARS = (str, int, float, bool, bytes, type(None))
# torch's own pickler writes typed lists as a call of these on a list: they give the list.
_LISTS = {f"torch.jit._pickle build_{kind}list" for kind in ("int", "double", "bool")}


class PickleFault(ValueError):
    """What is no plain data; `at`: the byte; `partial`: the outermost container as far as it was read, or None."""

    def __init__(self, message: str, at: int, partial: Any) -> None:
        super().__init__(message)
        self.at, self.partial = at, partial


class _ListMaker:
    """Stands for one of torch's functions that return their list."""


def loads(data: bytes) -> Any:
    """The value that the pickle holds. PickleFault where it is cut short, damaged, or more than plain data."""
    return _Machine(data).run()


class _Machine:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        begun = 0
        try:
            for _ in range(MOST_OPERATIONS):
                begun = self.at
                code = self.data[begun]
                self.at = begun + 1
                if code == 0x2E:  # STOP
                    return self.stack[-1]
                operation = _OPERATIONS.get(code)
                if operation is None:
                    raise _RefusedError(
                        f"opcode {chr(code)!r} is no plain data; it is refused, and nothing of it was run"
                    )
                operation(self)
            raise _RefusedError(f"more than {MOST_OPERATIONS:,} operations")
        except _RefusedError as error:
            raise PickleFault(str(error), begun, self._outermost()) from None
        except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
            cut = self.at >= len(self.data)
            why = "it is cut short" if cut else f"it is damaged ({type(error).__name__})"
            raise PickleFault(why, begun, self._outermost()) from None

    def _outermost(self) -> Any:
        """The outermost container with what was meant to go into it."""
        if not self.stack or not isinstance(self.stack[0], dict):
            return None
        partial = self.stack[0]
        waiting = [each for each in self.stack[1:] if each is not _MARK]
        for key, value in zip(waiting[::2], waiting[1::2], strict=False):
            if isinstance(key, str):
                partial.setdefault(key, value)
        listed = partial.get("entries")
        if isinstance(listed, list) and not listed:
            listed.extend(each for each in waiting if isinstance(each, dict))
        return partial

    # --- reading ---

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.data):
            self.at = len(self.data)
            raise IndexError
        found = self.data[self.at : end]
        self.at = end
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def line(self) -> bytes:
        end = self.data.index(b"\n", self.at)
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def marked(self) -> list[Any]:
        """What stands above the last mark, which goes too."""
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def get(self, index: int) -> None:
        self.stack.append(self.memo[index])

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]


class _RefusedError(Exception):
    """No plain data."""


def _whole(machine: _Machine, text: bytes) -> None:
    if len(text) > LONGEST_NUMBER:
        raise _RefusedError("a whole number of too many digits")
    machine.stack.append(
        {b"01": True, b"00": False}[text] if text in (b"01", b"00") else int(text.rstrip(b"L"))
    )


def _long(machine: _Machine, size: int) -> None:
    if size > LONGEST_NUMBER:
        raise _RefusedError("a whole number of too many bytes")
    machine.stack.append(int.from_bytes(machine.take(size), "little", signed=True))


def _text(machine: _Machine, size: int) -> None:
    machine.stack.append(machine.take(size).decode("utf-8", "replace"))


def _bytes(machine: _Machine, size: int) -> None:
    machine.stack.append(machine.take(size))


def _tuple(machine: _Machine, size: int) -> None:
    if len(machine.stack) < size:
        raise IndexError
    found = tuple(machine.stack[len(machine.stack) - size :])
    del machine.stack[len(machine.stack) - size :]
    machine.stack.append(found)


def _extend(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, list):
        raise TypeError
    target.extend(items)


def _fill(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, dict) or len(items) % 2:
        raise TypeError
    for key, value in zip(items[::2], items[1::2], strict=True):
        if not isinstance(key, _SCALARS):
            raise _RefusedError("a key that is no text and no number")
        target[key] = value


def _append(machine: _Machine) -> None:
    item = machine.stack.pop()
    _extend(machine, [item])


def _set(machine: _Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _fill(machine, [key, value])


def _marked_dict(machine: _Machine) -> None:
    items = machine.marked()
    machine.stack.append({})
    _fill(machine, items)


def _global(machine: _Machine) -> None:
    name = b" ".join((machine.line(), machine.line())).decode("utf-8", "replace")
    if name not in _LISTS:
        raise _RefusedError(
            f"it wants {name[:80]!r}, which is no plain data; it is refused, and nothing of it was run"
        )
    machine.stack.append(_ListMaker())


def _reduce(machine: _Machine) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    if not isinstance(function, _ListMaker) or not isinstance(arguments, tuple) or len(arguments) != 1:
        raise _RefusedError("a call, which is refused")
    machine.stack.append(arguments[0])


def _float(machine: _Machine) -> None:
    machine.stack.append(struct.unpack(">d", machine.take(8))[0])


_OPERATIONS: dict[int, Any] = {
    ord(code): operation
    for code, operation in {
        "\x80": lambda m: m.take(1),
        "\x95": lambda m: m.take(8),
        "(": lambda m: m.stack.append(_MARK),
        "0": lambda m: m.stack.pop(),
        "1": lambda m: m.marked(),
        "}": lambda m: m.stack.append({}),
        "]": lambda m: m.stack.append([]),
        ")": lambda m: m.stack.append(()),
        "N": lambda m: m.stack.append(None),
        "\x88": lambda m: m.stack.append(True),
        "\x89": lambda m: m.stack.append(False),
        "K": lambda m: m.stack.append(m.number(1)),
        "M": lambda m: m.stack.append(m.number(2)),
        "J": lambda m: _long(m, 4),
        "\x8a": lambda m: _long(m, m.number(1)),
        "\x8b": lambda m: _long(m, m.number(4)),
        "I": lambda m: _whole(m, m.line()),
        "L": lambda m: _whole(m, m.line()),
        "G": _float,
        "F": lambda m: m.stack.append(float(m.line()[:64])),
        "\x8c": lambda m: _text(m, m.number(1)),
        "X": lambda m: _text(m, m.number(4)),
        "\x8d": lambda m: _text(m, m.number(8)),
        "V": lambda m: m.stack.append(m.line().decode("raw_unicode_escape", "replace")),
        "C": lambda m: _bytes(m, m.number(1)),
        "B": lambda m: _bytes(m, m.number(4)),
        "\x8e": lambda m: _bytes(m, m.number(8)),
        "U": lambda m: _text(m, m.number(1)),
        "T": lambda m: _text(m, m.number(4)),
        "t": lambda m: m.stack.append(tuple(m.marked())),
        "l": lambda m: m.stack.append(m.marked()),
        "d": _marked_dict,
        "\x85": lambda m: _tuple(m, 1),
        "\x86": lambda m: _tuple(m, 2),
        "\x87": lambda m: _tuple(m, 3),
        "a": _append,
        "e": lambda m: _extend(m, m.marked()),
        "s": _set,
        "u": lambda m: _fill(m, m.marked()),
        "q": lambda m: m.put(m.number(1)),
        "r": lambda m: m.put(m.number(4)),
        "p": lambda m: m.put(int(m.line()[:20])),
        "\x94": lambda m: m.put(len(m.memo)),
        "h": lambda m: m.get(m.number(1)),
        "j": lambda m: m.get(m.number(4)),
        "g": lambda m: m.get(int(m.line()[:20])),
        "c": _global,
        "R": _reduce,
    }.items()
}
