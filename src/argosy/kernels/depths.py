"""Depth of every entry in a graph of chains that meet: each rank's communication, and what waits for its end."""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import compiled


@compiled(nogil=True)
def depths(who, meeting, target, ranks):  # type: ignore[no-untyped-def]
    """Depth of each entry (E,), and of each meeting's end (C,): after the rank's entry before it, and after what it waited for.

    `who`, `meeting`, `target` (E,) int64, in order of time: an entry's rank (0 to `ranks` − 1), where it meets others
    (0 to C − 1, each at least once), and the entry that waits for that meeting's end (E: nobody). A meeting ends one depth
    below whom it wakes, once all its entries came; a target that came before the meeting was full stays where it is.
    """
    entries = len(who)
    meetings = 0
    for i in range(entries):
        meetings = max(meetings, meeting[i] + 1)
    missing = np.zeros(meetings, np.int64)
    for i in range(entries):
        missing[meeting[i]] += 1
    level = np.zeros(entries, np.int64)
    closes = np.zeros(meetings, np.int64)
    latest = np.full(ranks, -1, np.int64)
    after = np.zeros(entries + 1, np.int64)
    waiting = np.full(meetings, -1, np.int64)  # the last entry that came to each meeting
    before = np.full(entries, -1, np.int64)  # and the one that came before each
    for i in range(entries):
        rank, here = who[i], meeting[i]
        level[i] = max(latest[rank] + 1, after[i])
        latest[rank] = level[i]
        before[i], waiting[here] = waiting[here], i
        closes[here] = max(closes[here], level[i])
        missing[here] -= 1
        if missing[here] == 0:
            j = waiting[here]
            while j >= 0:
                after[target[j]] = max(after[target[j]], closes[here] + 1)
                j = before[j]
    return level, closes
