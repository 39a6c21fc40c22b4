"""A number that somebody published, with its unit, its band, and where it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of the catalog.

    `value`, `low` and `high` are in the SI unit `unit` (bytes, bits/s, W, FLOP/s, s, USD, ...).
    `low` and `high` bound the central 90 % of belief: conflicting sources become a band, not a pick.
    `kind` says what the number counts: dense, one-way, per GPU, per node, nameplate or measured.
    A fact without a source is an assumption: it is listed as one wherever it was used.
    """

    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    kind: str = ""
    source: str = ""
    verified: str = ""
    note: str = ""

    @property
    def is_assumption(self) -> bool:
        """True where no source is named, so that the answer must list this number as assumed.

        A page without a name ("unnamed web page") is no source: nobody can look there.
        """
        source = self.source.strip().lower()
        return not source or source.startswith(("assumption", "unnamed", "an unnamed"))

    def to_dict(self) -> dict[str, Any]:
        """The fact as JSON-ready data; `from_dict` reads it back unchanged."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Fact:
        """The fact that `to_dict` wrote."""
        return cls(**data)
