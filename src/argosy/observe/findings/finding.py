"""What a finding is, and what the modules of findings share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from argosy.observe import thresholds
from argosy.observe.records import Place

SEVERITIES = ("critical", "high", "medium", "low")
MOST_EVIDENCE = 12  # places that one finding shows; how many there were is in its title where it matters


@dataclass(frozen=True, slots=True)
class Culprit:
    """Who is to blame, as far as it can be told; all None: nobody in particular. `ranks`: all of them, where several."""

    rank: int | None = None
    node: str | None = None
    stage: int | None = None
    link: str | None = None
    ranks: tuple[int, ...] = ()

    @property
    def nobody(self) -> bool:
        """Whether the finding blames no part of the job."""
        return self.rank is None and self.node is None and self.stage is None and self.link is None

    @property
    def everybody(self) -> tuple[int, ...]:
        """All blamed ranks."""
        return self.ranks or (() if self.rank is None else (self.rank,))

    def to_dict(self) -> dict[str, Any]:
        """The contract's `culprit`."""
        return {
            "rank": self.rank,
            "node": self.node,
            "stage": self.stage,
            "link": self.link,
            "ranks": list(self.everybody),
        }

    def __str__(self) -> str:
        ranks = self.everybody
        shown = ", ".join(str(rank) for rank in ranks[:6]) + (
            f" and {len(ranks) - 6} more" if len(ranks) > 6 else ""
        )
        parts = [
            f"rank{'s' if len(ranks) > 1 else ''} {shown}" if ranks else "",
            f"node {self.node}" if self.node else "",
            f"stage {self.stage}" if self.stage is not None else "",
            self.link or "",
        ]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Bound:
    """What physics or the plan allows: `value` in `unit`, beside `observed`; `law` says by what."""

    value: float
    observed: float
    unit: str
    law: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {"value": self.value, "observed": self.observed, "unit": self.unit, "law": self.law}


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause: `id` of the closed list, who, how bad, how sure, what it costs, on what it rests, what to do.

    `share_of_time`: of the observed time, 0 to 1; `time_saved_s`: seconds a step by replay, None where nothing can be
    replayed; `causes`: what else was seen at the culprit that explains it.
    """

    id: str
    title: str
    advice: str
    confidence: float
    share_of_time: float | None = None
    time_saved_s: float | None = None
    culprit: Culprit = field(default_factory=Culprit)
    evidence: tuple[Place, ...] = ()
    bound: Bound | None = None
    causes: tuple[str, ...] = ()
    stopped: bool = False
    least: str = "low"

    @property
    def severity(self) -> str:
        """By what it costs (thresholds.severity), at least `least`, where the cost cannot be told and is known to be large."""
        found = thresholds.severity(self.share_of_time or 0.0, self.stopped)
        return min(found, self.least, key=SEVERITIES.index)

    def to_dict(self) -> dict[str, Any]:
        """The contract's finding."""
        return {
            "id": self.id,
            "title": self.title,
            "culprit": self.culprit.to_dict(),
            "severity": self.severity,
            "confidence": self.confidence,
            "share_of_time": self.share_of_time,
            "time_saved_s": self.time_saved_s,
            "evidence": [place_dict(place) for place in self.evidence[:MOST_EVIDENCE]],
            "bound": self.bound.to_dict() if self.bound else None,
            "advice": self.advice,
            "causes": list(self.causes),
        }


def place_dict(place: Place) -> dict[str, Any]:
    """A place as JSON-ready data: the path, and the line or the event."""
    told: dict[str, Any] = {"path": place.path}
    if place.line is not None:
        told["line"] = place.line
    if place.event is not None:
        told["event"] = place.event
    return told


def span(seconds: float) -> str:
    """Seconds or milliseconds: `13.3 s`, `7.36 ms`."""
    return f"{seconds:.3g} s" if seconds >= 1.0 else f"{1e3 * seconds:.3g} ms"


def listed(values: Iterable[object], most: int = 6) -> str:
    """A few of many: `1, 2, 3 and 12 more`."""
    every = [str(value) for value in values]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
