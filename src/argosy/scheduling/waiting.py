"""The queue: waiting jobs by shape, each shape in order, so that a shape that does not fit is passed over as a whole."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from argosy.scheduling.life import Life
from argosy.scheduling.shapes import Shape

Share = Callable[[str], float]


class Waiting:
    """Jobs that may start now. `share`: of a tenant, what it is ranked by before its jobs' own keys; None: keys alone."""

    def __init__(self, lives: list[Life], share: Share | None = None) -> None:
        self.lives = lives
        self.share = share
        self.shapes: dict[int, Shape] = {}
        """Shapes that have waiting jobs."""
        self.count = 0

    def add(self, life: Life) -> None:
        """`life` waits, with its key."""
        shape = life.shape
        insort(shape.pending, (life.key, life.index))
        heappush(shape.shortest, (life.estimate_left, life.index))
        self.shapes[shape.number] = shape
        self.count += 1

    def remove(self, life: Life) -> None:
        """`life` waits no more."""
        shape, entry = life.shape, (life.key, life.index)
        at = bisect_left(shape.pending, entry)
        if at >= len(shape.pending) or shape.pending[at] != entry:
            raise LookupError(f"job {life.index} does not wait")
        del shape.pending[at]
        self.count -= 1
        if not shape.pending:
            del self.shapes[shape.number]
            shape.shortest.clear()

    def least_estimate(self, shape: Shape) -> float:
        """The shortest estimate of those that wait in a shape (or less, never more)."""
        while shape.shortest:
            estimate, index = shape.shortest[0]
            life = self.lives[index]
            at = bisect_left(shape.pending, (life.key, index))
            if at < len(shape.pending) and shape.pending[at][1] == index and life.estimate_left == estimate:
                return estimate
            heappop(shape.shortest)
        return float("inf")

    def rank(self, life: Life) -> tuple[float, ...]:
        """What jobs are compared by: the tenant's share first where there is one."""
        return (self.share(life.job.tenant), *life.key, life.index) if self.share else (*life.key, life.index)

    def first(self, shapes: Iterable[Shape]) -> Life | None:
        """The first in order of the heads of these shapes."""
        best, least = None, None
        for shape in shapes:
            key, index = shape.pending[0]
            rank = (self.share(shape.tenant), *key, index) if self.share else (*key, index)
            if least is None or rank < least:
                best, least = index, rank
        return None if best is None else self.lives[best]

    def __iter__(self) -> Iterator[Life]:
        """All that wait, in order (of the shares as they are now)."""
        entries = [entry for shape in self.shapes.values() for entry in shape.pending]
        return iter(sorted((self.lives[index] for _, index in entries), key=self.rank))
