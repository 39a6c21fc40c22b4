"""Whether this machine is quiet enough to judge times on it: measured, not guessed from a load average."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from argosy.testbed.priority import ahead

# Bars on time are 10 % and more; half of one is left to the machine. What waits in experiments are layers and messages of
# some 20 ms, at the ranks' priority: 1 ms late is 5 %. What computes is at most a fifth of a step, at normal priority: four
# fifths of a core lengthen it by 5 %.
LATE_S = 1e-3
SHARE = 0.8
SLEEP_S, SLEEPS = 2e-3, 150
SPIN_S = 0.25  # on every core


@dataclass(frozen=True)
class Quiet:
    """`late_s`: by how much a sleep of 2 ms at the ranks' priority came late (99th percentile); `share`: of the core that gave
    least, what an ordinary process got.
    """

    late_s: float
    share: float

    @property
    def enough(self) -> bool:
        """Whether times may be judged."""
        return self.late_s <= LATE_S and self.share >= SHARE

    def __str__(self) -> str:
        return f"2 ms of sleep {1000 * self.late_s:.1f} ms late, {100 * self.share:.0f} % of a core"


def quiet() -> Quiet:
    """Measure for about a second."""
    return Quiet(_late(), min(_share(core) for core in sorted(os.sched_getaffinity(0))))


def worse(first: Quiet, second: Quiet) -> Quiet:
    """The worse of two, figure by figure: before and after a run."""
    return Quiet(max(first.late_s, second.late_s), min(first.share, second.share))


def _late() -> float:
    late = []
    with ahead():
        for _ in range(SLEEPS):
            start = time.monotonic()
            time.sleep(SLEEP_S)
            late.append(time.monotonic() - start - SLEEP_S)
    return sorted(late)[int(0.99 * SLEEPS)]


def _share(core: int) -> float:
    """Of a core's time, what this thread gets when it wants all of it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        start, used = time.monotonic(), time.thread_time()
        while time.monotonic() - start < SPIN_S:
            pass
        return (time.thread_time() - used) / (time.monotonic() - start)
    finally:
        os.sched_setaffinity(0, before)
