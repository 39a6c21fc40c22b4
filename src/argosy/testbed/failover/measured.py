"""What a case's users, proxy and replicas noted, as figures. Nothing here knows what was predicted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from argosy.testbed.failover.load import SAMPLE_S
from argosy.testbed.failover.proxy import FRONTEND, Passed, Seen

SLACK_S = 0.005  # that a sampler may sleep longer than asked


@dataclass(frozen=True)
class Answers:
    """Users' requests in order of their numbers, (n,): `due`, `sent`, `end` (monotonic seconds), `status` (0: refused or cut off,
    −1: too late), `version` of the replica that answered; `samples` (m, 2): moments, and requests under way then.
    """

    due: np.ndarray
    sent: np.ndarray
    end: np.ndarray
    status: np.ndarray
    version: np.ndarray
    samples: np.ndarray

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Answers:
        """As `load` wrote them. ValueError where a request is missing or there twice."""
        number, due, sent, end, status, version = (
            list(column) for column in zip(*found["rows"], strict=True)
        )
        if number != list(range(len(number))):
            raise ValueError("not every request is there once")
        arrays = (np.array(one) for one in (due, sent, end, status, version, found["samples"]))
        return cls(*arrays)

    @property
    def time_s(self) -> np.ndarray:
        """Seconds from when a request was due, not from when it was sent."""
        return np.asarray(self.end - self.due)

    @property
    def served(self) -> np.ndarray:
        """Which were answered with 200."""
        return np.asarray(self.status == 200)

    @property
    def errors(self) -> int:
        """Requests whose user got anything but an answer."""
        return int((~self.served).sum())

    @property
    def stalled(self) -> float:
        """Share of the time that the users' own program was kept from running."""
        return stalled([self.samples[:, 0]], SAMPLE_S)

    @property
    def late_s(self) -> float:
        """The latest that a request was sent."""
        return float((self.sent - self.due).max())


@dataclass(frozen=True)
class Little:
    """Both sides of Q = λT, from observations of their own: `inside`, the mean of samples; `rate` and `time_s` from requests."""

    inside: float
    rate: float
    time_s: float

    @property
    def product(self) -> float:
        """λT."""
        return self.rate * self.time_s


def little(at: ArrayLike, inside: ArrayLike, times_s: np.ndarray, begin: float, end: float) -> Little:
    """From samples between `begin` and `end`, and the seconds of all requests that came and went in between."""
    moments, counts = np.asarray(at, float), np.asarray(inside, float)
    kept = (moments >= begin) & (moments <= end)
    if kept.sum() < 2:
        raise ValueError("too few samples")
    moments, counts = moments[kept], counts[kept]
    steps = np.diff(np.concatenate([moments, [end]]))  # a sample stands until the next
    mean = float((counts * steps).sum() / steps.sum())
    return Little(mean, len(times_s) / (end - begin), float(times_s.mean()))


def of_users(answers: Answers) -> Little:
    """Q = λT where the users are."""
    begin, end = float(answers.sent.min()), float(answers.end.max())
    return little(answers.samples[:, 0], answers.samples[:, 1], answers.end - answers.sent, begin, end)


def of_proxy(
    at: Sequence[float],
    seen: Sequence[Mapping[str, Seen]],
    passed: Iterable[Passed],
    begin: float,
    end: float,
) -> Little:
    """Q = λT in HAProxy: its own count of requests under way, and the seconds in its log."""
    times = np.array([one.total_s for one in passed])
    return little(at, [one[FRONTEND].current for one in seen], times, begin, end)


@dataclass(frozen=True)
class Book:
    """A replica's book: `served` (n, 4): request, arrived, began, ended; `samples` (m, 2): moment, requests inside."""

    served: np.ndarray
    samples: np.ndarray


def book(text: str) -> Book:
    """Read a book; a last line that a kill cut off is left out."""
    served, samples = [], []
    for line in text.splitlines(keepends=True):
        words = line.split()
        if not line.endswith("\n"):
            continue
        if words[0] == "r":
            served.append([float(word) for word in words[1:]])
        elif words[0] == "q":
            samples.append([float(word) for word in words[1:]])
    return Book(np.array(served).reshape(-1, 4), np.array(samples).reshape(-1, 2))


def of_replicas(books: Sequence[Book], begin: float, end: float) -> Little:
    """Q = λT inside all replicas together."""
    each = [
        little(one.samples[:, 0], one.samples[:, 1], one.served[:, 3] - one.served[:, 1], begin, end)
        for one in books
        if len(one.served)
    ]
    rate = sum(one.rate for one in each)
    return Little(sum(one.inside for one in each), rate, sum(one.product for one in each) / rate)


def middle(values: np.ndarray) -> float:
    """Mean without the twentieth part at either end: a late wake-up does not matter much."""
    ordered, cut = np.sort(values), len(values) // 20
    return float(ordered[cut : len(ordered) - cut].mean())


def stalled(moments: Sequence[np.ndarray], every_s: float) -> float:
    """The largest share of its time that any sampler overslept by more than SLACK_S: `moments` at which each woke, meant to be
    `every_s` apart. Next to nothing on a machine that keeps up.
    """
    late = [
        (np.maximum(np.diff(one) - every_s - SLACK_S, 0.0).sum(), one[-1] - one[0])
        for one in moments
        if len(one) > 2
    ]
    return max((float(lost / whole) for lost, whole in late), default=0.0)


def percentiles(times_s: np.ndarray) -> dict[str, float]:
    """Mean, median, 95th and 99th percentile."""
    low, high, highest = np.quantile(times_s, (0.5, 0.95, 0.99))
    return {"mean": float(times_s.mean()), "p50": float(low), "p95": float(high), "p99": float(highest)}


def inside_over_time(due: np.ndarray, end: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Requests under way at every moment."""
    came = np.searchsorted(np.sort(due), moments, side="right")
    gone = np.searchsorted(np.sort(end), moments, side="right")
    return np.asarray(came - gone)
