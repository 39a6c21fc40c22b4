"""How long a hang stays unseen, by the law of heartbeats. No torch."""

from __future__ import annotations

from argosy.laws.control_plane import detection_time
from argosy.testbed.hang.plan import BEAT_S, MISSED, PATIENCE

SLACK_S = 0.05  # that beats and the manager may be late on a busy machine


def seconds(kind: str) -> float:
    """Mean seconds from a hang to its alarm: a stopped rank misses MISSED beats; of a job that stands still PATIENCE beats in
    a row tell no new step, after the one that told the last.
    """
    return float(detection_time(BEAT_S, MISSED if kind == "stopped" else PATIENCE + 1))


def window(kind: str) -> tuple[float, float]:
    """The least and the most: beats come at any moment of their interval."""
    mean = seconds(kind)
    return mean - BEAT_S / 2 - SLACK_S, mean + BEAT_S / 2 + SLACK_S
