"""Marked pauses of a host (garbage collection, compilation, loading): what they cost the step, rank by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.observe import thresholds
from argosy.observe.marks import marked
from argosy.observe.observed import Observed
from argosy.observe.records import Floats, Place


@dataclass(frozen=True)
class Pauses:
    """`seconds` (R, S): marked time by rank and shared step; `stalled` (R, S): the part of it in which the device idled
    beyond the rank's usual idling; `step_s` (S,): the median step; `count`; `places`: the longest of them.
    """

    seconds: Floats
    stalled: Floats
    step_s: Floats
    count: int
    places: tuple[Place, ...]

    @property
    def cost_s(self) -> float:
        """Mean seconds a step: in each step the job waits for the rank that stalls longest; or, where some steps have no such
        pause, by how much those with one are longer, which counts what others waited for in turn.
        """
        if not self.stalled.size:
            return 0.0
        longest = self.seconds.max(axis=0)
        struck = longest > thresholds.PAUSE_SHARE * np.median(self.step_s)
        contrast = 0.0
        if struck.any() and not struck.all():
            contrast = float(np.median(self.step_s[struck]) - np.median(self.step_s[~struck])) * float(
                struck.mean()
            )
        return max(float(self.stalled.max(axis=0).mean()), min(contrast, float(longest.mean())))

    @property
    def steps(self) -> float:
        """Share of the steps with a mark."""
        return float(np.mean(self.seconds.max(axis=0) > 0)) if self.seconds.size else 0.0

    def rank_share(self) -> Floats:
        """Share of all stalled time by rank (R,)."""
        total = self.stalled.sum()
        return self.stalled.sum(axis=1) / total if total else np.zeros(len(self.stalled))


def pauses(observed: Observed, kind: str) -> Pauses | None:
    """Marks of a kind in the traces' steps; None without traces or without such a mark."""
    alignment = observed.alignment
    if alignment is None:
        return None
    steps = sorted(set.intersection(*(set(trace.step_number.tolist()) for trace in alignment.traces)))
    if not steps:
        return None
    rows, idle, found, lengths = [], [], [], []
    for trace in alignment.traces:
        at = trace.places(steps)
        rows.append(marked(trace, kind)[at])
        lengths.append(((trace.step_end_ns - trace.step_start_ns) * 1e-9)[at])
        waiting = sum(
            np.asarray(trace.activity_s.get(each, np.zeros(len(trace.step_number))))
            for each in ("host", "data", "idle")
        )
        idle.append(np.asarray(waiting)[at])
        found += [(end - start, trace.path, event) for each, start, end, event in trace.marks if each == kind]
    if not found:
        return None
    seconds, waited = np.stack(rows), np.stack(idle)
    usual = np.median(waited, axis=1, keepdims=True)
    usual = np.minimum(usual, np.median(waited)) if waited.shape[1] < 3 else usual
    stalled = np.minimum(seconds, np.maximum(waited - usual, 0.0))
    longest = sorted(found, reverse=True)[:8]
    return Pauses(
        seconds,
        stalled,
        np.median(lengths, axis=0),
        len(found),
        tuple(Place(path, event=str(event)) for _, path, event in longest),
    )
