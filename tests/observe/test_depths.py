"""Depths in a graph of chains that meet, against the longest path of the graph walked edge by edge."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.kernels.depths import depths


def walked(who: list[int], meeting: list[int], target: list[int]) -> tuple[list[int], list[int]]:
    """Longest paths by relaxing every edge until nothing changes."""
    level, count = [0] * len(who), max(meeting) + 1
    before = {i: max((j for j in range(i) if who[j] == who[i]), default=None) for i in range(len(who))}
    last = [max(i for i, where in enumerate(meeting) if where == c) for c in range(count)]
    while True:
        closes = [max(level[i] for i, where in enumerate(meeting) if where == c) for c in range(count)]
        new = []
        for i in range(len(who)):
            earlier = before[i]
            least = 0 if earlier is None else level[earlier] + 1
            woken = [closes[meeting[j]] + 1 for j in range(len(who)) if target[j] == i > last[meeting[j]]]
            new.append(max([least, *woken]))
        if new == level:
            return level, closes
        level = new


@pytest.mark.parametrize("seed", range(6))
def test_depths_are_the_longest_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, ranks = 60, 5
    who = rng.integers(0, ranks, count)
    meeting = np.unique(rng.integers(0, 20, count), return_inverse=True)[1].astype(np.int64)
    wakes = np.minimum(np.arange(count) + rng.integers(1, 15, count), count)
    target = np.where(rng.random(count) < 0.3, count, wakes)
    level, closes = depths(who, meeting, target, ranks)
    assert (level.tolist(), closes.tolist()) == walked(who.tolist(), meeting.tolist(), target.tolist())
    assert np.all(np.diff(level[who == who[0]]) > 0)
