"""When what is killed: seeded exponential gaps on the job's active clock, a host at random, its rank or all it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RANK, HOST = "rank", "host"
LONGEST = 100_000  # failures that are drawn at most: more than any run sees


@dataclass(frozen=True)
class Strike:
    """One failure: `at_s` seconds of active time after the start, the place in the job it hits, and what is killed there:
    its `rank`, or all processes of its `host`.
    """

    at_s: float
    slot: int
    kills: str


def strikes(mtbf_s: float, ranks: int, seed: int, most: int = LONGEST) -> list[Strike]:
    """The failures of a job whose `ranks` places fail every `mtbf_s` seconds together, in order; the same for every policy.

    Every place has its own memoryless clock: a place that is empty when its failure comes is not hit.
    """
    if mtbf_s <= 0:
        return []
    draw = np.random.default_rng([seed, 13])
    at = np.cumsum(draw.exponential(mtbf_s, min(most, LONGEST)))
    slots, kinds = draw.integers(0, ranks, len(at)), draw.random(len(at)) < 0.5
    return [
        Strike(float(when), int(slot), RANK if kind else HOST)
        for when, slot, kind in zip(at, slots, kinds, strict=True)
    ]


class ActiveClock:
    """Seconds that the job was active: failures come in these, as in the simulator. Times are of one monotonic clock."""

    def __init__(self) -> None:
        self.booked_s = 0.0
        self.since: float | None = None

    def set(self, active: bool, now: float) -> None:
        """From `now` on it runs, or stands."""
        self.booked_s = self.at(now)
        self.since = now if active else None

    def at(self, now: float) -> float:
        """Active seconds until `now`."""
        return self.booked_s + (now - self.since if self.since is not None else 0.0)

    def when(self, active_s: float) -> float | None:
        """The moment at which it will show `active_s`; None while it stands."""
        return None if self.since is None else self.since + max(active_s - self.booked_s, 0.0)


def spaced(gap_s: float, count: int, ranks: int, seed: int) -> list[Strike]:
    """So many failures that do not meet, half of either kind: one in every `gap_s` of active time, early in it, so that its
    moment between two checkpoints is random.
    """
    draw = np.random.default_rng([seed, 14])
    moments = gap_s * (np.arange(count) + 0.2 + 0.3 * draw.random(count))
    return [
        Strike(float(when), int(slot), HOST if number % 2 else RANK)
        for number, (when, slot) in enumerate(zip(moments, draw.integers(0, ranks, count), strict=True))
    ]
