"""Sequences of unlike length: micro-batches, not machines, set the time; the longest of each step is waited for."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Finding
from argosy.observe.observed import Observed
from argosy.observe.records import Place
from argosy.observe.replay_table import BACKWARD, FORWARD, Durations, TableReplay

ID = "sequence-imbalance"
_ADVICE = (
    "balance attention work between micro-batches and replicas (sort or pack sequences by the sum of their squared lengths), "
    "not only their tokens"
)


def find(observed: Observed) -> list[Finding]:
    """Micro-batches whose forward and backward are long together (tables); compute that varies by step and replica (traces)."""
    found = [finding for replay in observed.replays for finding in _of_table(replay)]
    return found or _of_traces(observed)


def _of_table(replay: TableReplay) -> list[Finding]:
    passes = [replay.measured.compute[name] for name in (FORWARD, BACKWARD)]
    factors = []
    for times in passes:
        middle = np.nanmedian(
            times, axis=(0, 4), keepdims=True
        )  # of a worker: one that is slow is no long sequence
        factors.append(np.nanmean(times / middle, axis=(2, 3)).ravel())
    both = np.isfinite(factors[0]) & np.isfinite(factors[1])
    if both.sum() < 8:
        return []
    forward, backward = factors[0][both], factors[1][both]
    spread = float(forward.std())
    if spread < thresholds.BATCH_SPREAD or min(forward.std(), backward.std()) == 0:
        return []
    together = float(np.corrcoef(forward, backward)[0, 1])
    if together < thresholds.SAME_BATCH:
        return []
    even = {
        name: np.where(np.isnan(times), np.nan, np.nanmean(times, axis=(0, 1, 4), keepdims=True))
        for name, times in replay.measured.compute.items()
    }
    step = float(replay.actual_s.mean())
    faster = replay.run(Durations(even, replay.measured.others, replay.measured.hop)).mean()
    saved = max(float(replay.actual_s.mean() - faster), 0.0)
    if saved < thresholds.LEAST_SHARE * step:
        return []
    ratios = (
        together / thresholds.SAME_BATCH,
        spread / thresholds.BATCH_SPREAD,
        saved / step / thresholds.LEAST_SHARE,
    )
    return [
        Finding(
            ID,
            f"micro-batches differ by {spread:.0%} (standard deviation), their forward and backward together (correlation "
            f"{together:.2f}): the data sets the time, no machine does",
            _ADVICE,
            thresholds.confidence(thresholds.INFERRED, ratios),
            saved / step,
            saved,
            evidence=(Place(replay.table.path, event=FORWARD),),
        )
    ]


def _of_traces(observed: Observed) -> list[Finding]:
    """Compute of ranks that scatters from step to step, with no rank that is slow always."""
    late, alignment = observed.lateness, observed.alignment
    if late is None or alignment is None or len(late.steps) < 3 or len(alignment.ranks) < 2:
        return []
    rows = np.stack(
        [np.asarray(trace.activity_s["compute"])[trace.places(late.steps)] for trace in alignment.traces]
    )
    if not (rows > 0).all():
        return []  # a rank without a kernel in a step: nothing to compare
    excess = np.zeros_like(rows)
    for members in dict.fromkeys(late.peers):
        if len(members) > 1:
            index = list(members)
            excess[index] = rows[index] / np.median(rows[index], axis=0) - 1.0
    if not excess.any():
        return []
    lasting = np.median(excess, axis=1)
    passing = excess - lasting[:, None]
    spread, constant = float(passing.std()), float(lasting.std())
    step = float(np.median(late.step_s))
    cost = float(np.median((passing * np.median(rows)).max(axis=0)))
    if spread < thresholds.BATCH_SPREAD or constant > spread or cost < thresholds.LEAST_SHARE * step:
        return []
    ratios = (spread / thresholds.BATCH_SPREAD, cost / step / thresholds.LEAST_SHARE)
    return [
        Finding(
            ID,
            f"compute differs by {spread:.0%} between ranks of the same work, another rank being the longest in every step: "
            "what sequences of unlike length do",
            _ADVICE,
            thresholds.confidence(thresholds.WEAK, ratios),
            cost / step,
            cost,
            evidence=tuple(Place(trace.path) for trace in alignment.traces[:4]),
        )
    ]
