"""Marked pauses of a rank's host: garbage collection, compilation, checkpoint."""

from __future__ import annotations

import numpy as np

from argosy.observe.records import Floats, RankTrace

PAUSES = ("garbage-collection", "compilation", "checkpoint")


def marked(trace: RankTrace, kind: str) -> Floats:
    """Seconds of marks of a kind by step; nested and repeated ones count once."""
    return _covered(trace, (kind,))


def paused(trace: RankTrace) -> Floats:
    """Seconds by step in which the device idled at most for a marked pause of any kind: a cause with a name of its own."""
    zero = np.zeros(len(trace.step_number))
    idle = sum(np.asarray(trace.activity_s.get(kind, zero), np.float64) for kind in ("host", "idle"))
    return np.minimum(_covered(trace, PAUSES), idle)


def _covered(trace: RankTrace, kinds: tuple[str, ...]) -> Floats:
    out = np.zeros(len(trace.step_number))
    spans = sorted((start, end) for each, start, end, _ in trace.marks if each in kinds)
    reach = -(2**62)
    for start, end in spans:
        start = max(start, reach)
        if end <= start:
            continue
        reach = end
        inside = np.minimum(trace.step_end_ns, end) - np.maximum(trace.step_start_ns, start)
        out += np.maximum(inside, 0) * 1e-9
    return out
