"""A trace: jobs, where they came from, and what the file tells that a simulation does not decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from argosy.scheduling.jobs import Job


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs by the time they were submitted, in seconds from `origin_s` (seconds since 1970; 0 where the file counts from 0).

    `recorded_wait_s`: how long jobs waited in fact, by name, where the file says so. `notes`: what was left out or taken as
    read, one sentence each.
    """

    jobs: tuple[Job, ...]
    format: str
    origin_s: float = 0.0
    recorded_wait_s: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
