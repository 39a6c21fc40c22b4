"""Requests of a case: when each is due, and how long a replica works at it. Drawn once, sent and simulated alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Trace:
    """Requests in order: `due_s` from the start, `service_s` of work, over `horizon_s` seconds."""

    due_s: np.ndarray
    service_s: np.ndarray
    horizon_s: float

    def __len__(self) -> int:
        return len(self.due_s)

    @property
    def rate(self) -> float:
        """Arrivals per second."""
        return len(self) / self.horizon_s

    @property
    def offered(self) -> float:
        """Work that arrives per second, in slots that it would keep busy (erlang)."""
        return float(self.service_s.sum()) / self.horizon_s

    def then(self, other: Trace) -> Trace:
        """This one, and then another."""
        due = np.concatenate([self.due_s, other.due_s + self.horizon_s])
        return Trace(due, np.concatenate([self.service_s, other.service_s]), self.horizon_s + other.horizon_s)

    def part(self, begin_s: float, end_s: float) -> Trace:
        """The requests due from `begin_s` to `end_s`, counted from `begin_s`."""
        kept = (self.due_s >= begin_s) & (self.due_s < end_s)
        return Trace(self.due_s[kept] - begin_s, self.service_s[kept], end_s - begin_s)


@dataclass(frozen=True)
class Traffic:
    """Poisson arrivals of `rate` per second; work of mean `service_s`, gamma-distributed with coefficient of variation `cv`
    (1: exponential).
    """

    rate: float
    service_s: float
    cv: float = 1.0

    def draw(self, horizon_s: float, seed: int) -> Trace:
        """The requests of `horizon_s` seconds; the same for the same seed."""
        stream = np.random.default_rng([seed, 13])
        count = int(self.rate * horizon_s + 8 * np.sqrt(self.rate * horizon_s) + 16)
        due = np.cumsum(stream.exponential(1.0 / self.rate, count))
        work = stream.gamma(1.0 / self.cv**2, self.cv**2, count) * self.service_s
        kept = due < horizon_s
        return Trace(due[kept], work[kept], horizon_s)


@dataclass(frozen=True)
class Fleet:
    """Replicas behind the proxy: `slots` requests at once each; beyond `waiting` more a replica answers 503 at once."""

    replicas: int = 4
    slots: int = 4
    waiting: int = 1_000_000

    def load(self, traffic: Traffic, away: int = 0) -> float:
        """Share of the slots that are busy with `away` replicas gone: ρ."""
        return traffic.rate * traffic.service_s / ((self.replicas - away) * self.slots)


@dataclass(frozen=True)
class Checks:
    """Health checks: every `inter_s`, down after `fall` failures, up after `rise` successes."""

    inter_s: float = 0.5
    fall: int = 3
    rise: int = 2

    @property
    def down_s(self) -> tuple[float, float]:
        """Least and most seconds until a killed replica is down, whose port refuses at once: the first check that fails
        comes up to an interval after the kill, and `fall` − 1 more intervals pass.
        """
        return (self.fall - 1) * self.inter_s, self.fall * self.inter_s

    @property
    def up_s(self) -> tuple[float, float]:
        """Least and most seconds until a replica that serves again is up."""
        return (self.rise - 1) * self.inter_s, self.rise * self.inter_s
