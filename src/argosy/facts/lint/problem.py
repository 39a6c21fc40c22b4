"""What a rule of the lint reports, and how it names a factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from argosy.facts.catalog import Catalog, Entry
from argosy.facts.fact import Fact


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: the path of the fact (or entry), the rule that found it, and what is wrong with it."""

    path: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} [{self.rule}]"


Rule = Callable[[Catalog], Iterator[Problem]]

# A factor between two facts that should be equal, and the slip it usually comes from.
_FACTORS = {
    2.0: "both ways, sparse, or two devices counted as one",
    8.0: "bits taken for bytes",
    1000.0: "a wrong prefix",
    1 / 2: "half of a device or of a link",
    1 / 8: "bytes taken for bits",
    1 / 1000: "a wrong prefix",
}


def times(factor: float) -> str:
    """How far off, and what that usually means."""
    for known, reason in _FACTORS.items():
        if abs(factor / known - 1) < 0.15:
            return f"{factor:.3g} times that: {reason}?"
    return f"{factor:.3g} times that"


def facts_of(catalog: Catalog) -> Iterator[tuple[Entry, str, Fact]]:
    """Every fact with its entry and name."""
    for entry in catalog.entries.values():
        for name, fact in entry.facts.items():
            yield entry, name, fact
