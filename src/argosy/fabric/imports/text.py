"""Reading files that others wrote: bounded lines, decoded with care, and errors that name file and line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from argosy.facts import FactError

LONGEST_LINE = 1 << 16  # characters; no format that is read here comes near
MOST_LINES = 50_000_000  # a fabric of a million ports takes a few million


class ReadError(FactError):
    """A file that cannot be read: `path:line: what is wrong; what to do`."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, the line without its end) of a text file, streaming; bytes that are no UTF-8 become �.

    ReadError for a line longer than LONGEST_LINE or more than MOST_LINES: such a file is not what it claims to be.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline=None) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise ReadError(
                    path, number, f"a line of more than {LONGEST_LINE} characters: not a text file"
                )
            if number > MOST_LINES:
                raise ReadError(path, number, f"more than {MOST_LINES} lines: too long to be read")
            yield number, line.rstrip("\r\n")
