"""What is wrong with a scenario: every fault at once, each with its place and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Problem:
    """One fault: `file:line:column: path: message; instead`. Lines count from 1; 0 means the whole file."""

    file: str
    line: int
    column: int
    path: str
    message: str
    instead: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        what = f"{self.path}: {self.message}" if self.path else self.message
        return f"{place}: {what}; {self.instead}" if self.instead else f"{place}: {what}"


class ScenarioError(ValueError):
    """A scenario cannot be read; `problems` has every fault that was found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        unique = dict.fromkeys(problems)
        self.problems = tuple(
            sorted(unique, key=lambda problem: (problem.file, problem.line, problem.column))
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[Problem, ...]]]:
        """Made again from its problems: a process of a pool hands it over."""
        return type(self), (self.problems,)


def suggest(word: str, known: Iterable[str], shown: int = 12) -> str:
    """`write X` for the known word that looks most like `word`, otherwise a list of known words."""
    words = sorted(set(known))
    folded = {each.casefold(): each for each in words}
    close = get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"write {folded[close[0]]}"
    if not words:
        return ""
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return f"known: {', '.join(words[:shown])}{more}"
