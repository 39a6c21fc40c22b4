"""What is to be done later, in order of its moment; the same moment in the order in which it was asked for."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from itertools import count


class Timers:
    """Calls that are due in so many seconds (of `time.monotonic`)."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Call `act` in so many seconds."""
        heapq.heappush(self._waiting, (time.monotonic() + seconds, next(self._number), act))

    @property
    def next_s(self) -> float:
        """The moment of the next one; ∞ where there is none."""
        return self._waiting[0][0] if self._waiting else float("inf")

    def fire(self, now: float) -> None:
        """Call all that are due."""
        while self.next_s <= now:
            heapq.heappop(self._waiting)[2]()
