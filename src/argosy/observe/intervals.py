"""Unions of intervals and how much of them lies in a window, on int64 nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.observe.records import Whole


@dataclass(frozen=True, slots=True)
class Union:
    """Disjoint intervals in order: `start`, `end` (ns, arrays of one length)."""

    start: Whole
    end: Whole

    def until(self, at: Whole) -> Whole:
        """ns of the union before each time of `at`."""
        if not len(self.start):
            return np.zeros(np.shape(at), np.int64)
        before = np.concatenate(([0], np.cumsum(self.end - self.start)))
        index = np.searchsorted(self.start, at, "right")
        last = np.maximum(index - 1, 0)
        return np.asarray(
            before[index] - np.where(index > 0, np.maximum(self.end[last] - at, 0), 0), np.int64
        )

    def within(self, start: Whole, end: Whole) -> Whole:
        """ns of the union in each window [start, end)."""
        return self.until(end) - self.until(start)


def union(start: Whole, end: Whole) -> Union:
    """The union of intervals in any order; empty and negative ones add nothing."""
    kept = end > start
    start, end = start[kept], end[kept]
    if not len(start):
        return Union(np.empty(0, np.int64), np.empty(0, np.int64))
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.concatenate(([True], start[1:] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return Union(start[first], reach[last])


def together(one: Union, other: Union) -> Union:
    """The union of two."""
    return union(np.concatenate((one.start, other.start)), np.concatenate((one.end, other.end)))


def gaps(busy: Union, start: int, end: int) -> Union:
    """What of [start, end) `busy` leaves."""
    begins = np.clip(np.concatenate(([start], busy.end)), start, end)
    ends = np.clip(np.concatenate((busy.start, [end])), start, end)
    kept = ends > begins
    return Union(begins[kept], ends[kept])
