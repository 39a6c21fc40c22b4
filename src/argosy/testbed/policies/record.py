"""What the controller knows of a host, and what is kept of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argosy.testbed.policies.books import Began
from argosy.testbed.policies.settings import Settings
from argosy.testbed.policies.wire import Line


@dataclass
class Host:
    """What is known of a host. `life`: of its agent, `rank_life`: of its rank; what others say is not listened to."""

    number: int
    life: int = 0
    rank_life: int = 0
    line: Line | None = None
    rank: Line | None = None
    beat_s: float = 0.0
    version: int = 1

    @property
    def up(self) -> bool:
        """Its agent is there."""
        return self.line is not None

    @property
    def ready(self) -> bool:
        """Its rank can take a plan."""
        return self.rank is not None


@dataclass
class Run:
    """What happened, in seconds of one clock: phases (moment, state), failures, generations, and what each rank said of its
    groups. `end_s`: when the last step was done.
    """

    settings: Settings
    folder: Path
    phases: list[tuple[float, str]] = field(default_factory=list)
    begins: list[Began] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    groups: list[dict[str, Any]] = field(default_factory=list)
    returns: list[tuple[int, float, float]] = field(default_factory=list)
    capacity: list[tuple[float, int]] = field(default_factory=list)
    started: int = 0
    broken: int = 0
    end_s: float = 0.0
