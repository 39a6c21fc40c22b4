"""Steps that grow longer over hours or days: MFU that falls with nobody having changed anything."""

from __future__ import annotations

import math

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Finding
from argosy.observe.observed import Observed
from argosy.observe.records import Floats, Place, TrainingLog

ID = "mfu-drift"
_MOST = 1500  # points of a trend: longer logs are thinned to medians of equal parts
_COMPUTE = ("forward", "backward", "compute")
_EXCHANGE = ("reduce-scatter", "all-reduce", "all-gather", "grads-sync", "allreduce")


def find(observed: Observed) -> list[Finding]:
    """Logs whose step time rises by more than chance (Mann-Kendall) and enough to matter (Theil-Sen)."""
    return [finding for log in observed.distinct_logs for finding in _of_log(log)]


def trend(values: Floats) -> tuple[float, float]:
    """Rise over the whole span as a share of the first value (Theil-Sen), and the Mann-Kendall z of the trend.

    Sources: Sen 1968 (median of pairwise slopes); Mann 1945, Kendall 1975: S = Σ sign(x_j − x_i), z = (S ∓ 1)/√Var.
    """
    n = len(values)
    if n < 4:
        return 0.0, 0.0
    i, j = np.triu_indices(n, 1)
    difference = values[j] - values[i]
    slope = float(np.median(difference / (j - i)))
    score = float(np.sign(difference).sum())
    scale = math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0)
    z = (score - math.copysign(1.0, score)) / scale if score else 0.0
    start = float(np.median(values)) - slope * (n - 1) / 2.0
    return (slope * (n - 1) / start if start > 0 else 0.0), z


def thinned(values: Floats) -> Floats:
    """At most 300 medians of equal parts, in order: spikes of single steps do not count."""
    parts = min(300, max(len(values) // 5, 4))
    return np.array([np.median(part) for part in np.array_split(values[: _MOST * 1000], parts)])


def _of_log(log: TrainingLog) -> list[Finding]:
    known = np.flatnonzero(np.isfinite(log.step_time_s) & (log.step_time_s > 0))
    if len(known) < 4 * thresholds.ENOUGH_STEPS:
        return []
    known = known[len(known) // 50 :]  # the first steps warm up
    step = log.step_time_s[known]
    rise, z = trend(thinned(step))
    if rise < thresholds.DRIFT or z < thresholds.DRIFT_CERTAIN:
        return []
    causes = _causes(log, known, rise * float(step[: max(len(step) // 10, 1)].mean()))
    lost = float(step.mean() - np.median(step[: max(len(step) // 10, 1)]))
    share = max(lost, 0.0) / float(step.mean())
    return [
        Finding(
            ID,
            f"steps grow by {rise:.1%} from {step[: len(step) // 10 + 1].mean():.4g} s over {len(known):,} iterations"
            + (f"; {causes[0]}" if causes else ""),
            "restart to see whether it is the process (memory, garbage, caching) or the machine (temperature, one slow "
            "GPU); split the "
            "rise by rank: waiting in reduce-scatter points at others' irregular forward passes (MegaScale)",
            thresholds.confidence(
                thresholds.INFERRED, (rise / thresholds.DRIFT, z / thresholds.DRIFT_CERTAIN)
            ),
            share,
            max(lost, 0.0),
            evidence=(Place(log.path, int(log.line[known[0]])), Place(log.path, int(log.line[known[-1]]))),
            causes=tuple(causes),
        )
    ]


def _causes(log: TrainingLog, known: np.ndarray, rise_s: float) -> list[str]:
    """How much of the rise is in compute timers and how much in waiting for an exchange, by the log's timers."""
    told = []
    for words, name in ((_COMPUTE, "compute"), (_EXCHANGE, "waiting in the gradient exchange")):
        timers = [
            t
            for key, t in log.timers_s.items()
            if any(w in key for w in words) and not any(e in key for e in _EXCHANGE if words is _COMPUTE)
        ]
        if not timers:
            continue
        total = np.nansum([timer[known] for timer in timers], axis=0)
        rise, _ = trend(thinned(total))
        seconds = rise * float(np.median(total[: max(len(total) // 10, 1)]))
        if seconds > 0 and rise_s > 0:
            told.append((seconds / rise_s, f"{min(seconds / rise_s, 1.0):.0%} of the rise is {name}"))
    return [text for share, text in sorted(told, reverse=True) if share >= 0.1]
