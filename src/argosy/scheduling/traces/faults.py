"""Faults of a trace: collected, so that all are told at once, each at its file, line and column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from argosy.spec.problems import Problem, ScenarioError

MOST_FAULTS = 50  # told of one file; what is wrong everywhere need not be told a hundred thousand times


MOST_ACCELERATORS = 10_000_000  # of one job: more than any cluster has
MOST_SECONDS = 1e12


def whole(text: str) -> int | None:
    """A whole number of at most 18 plain digits; None for anything else (Python takes other scripts' digits too)."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


@dataclass
class Faults:
    """What is wrong with one file. `raise_if_any` ends the reading with a ScenarioError."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def add(self, line: int, column: int, name: str, message: str, instead: str = "") -> None:
        """One fault at line and column (from 1; line 0: the whole file); `name`: of the table's column or field."""
        self.problems.append(Problem(self.file, line, column, name, message, instead))

    def raise_if_any(self) -> None:
        """ScenarioError with the first MOST_FAULTS faults, and how many more there are."""
        if not self.problems:
            return
        told = sorted(self.problems, key=lambda each: (each.line, each.column))
        if (left := len(told) - MOST_FAULTS) > 0:
            told = [*told[:MOST_FAULTS], Problem(self.file, told[-1].line, 1, "", f"{left} faults more")]
        raise ScenarioError(told)


def text_of(path: Path) -> str:
    """The file's text; ScenarioError where it is a directory, not UTF-8, or cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        message, instead = f"cannot be read ({error.strerror})", "check the path"
    except UnicodeDecodeError:
        message, instead = "is not UTF-8 text", "write the trace as a text file"
    raise ScenarioError([Problem(str(path), 0, 0, "", message, instead)])


def cell_column(line: str, index: int, separator: str = ",") -> int:
    """The column (from 1) at which cell `index` of a line of a table begins; quotes hide separators."""
    seen, quoted = 0, False
    for position, letter in enumerate(line):
        if seen == index:
            return position + 1
        if letter == '"' and separator == ",":
            quoted = not quoted
        elif letter == separator and not quoted:
            seen += 1
    return len(line) + 1


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, from 1."""
    return enumerate(text.splitlines(), 1)
