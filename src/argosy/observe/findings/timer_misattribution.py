"""A timer that lies: a wait booked as communication, as a pipeline's bubble is on the last rank's all-reduce."""

from __future__ import annotations

import numpy as np

from argosy.laws.collectives import all_reduce_wire_share
from argosy.observe import thresholds
from argosy.observe.findings.bubble import waiting_share
from argosy.observe.findings.finding import Bound, Finding
from argosy.observe.observed import Observed
from argosy.observe.records import Place, TrainingLog
from argosy.observe.settings import number, pipeline

ID = "timer-misattribution"
_COLLECTIVE = ("all-reduce", "reduce-scatter", "all-gather", "allreduce", "grads-sync", "grad-sync")
_BYTES = 2.0  # of an element: a half-precision gradient, the least that is exchanged


def find(observed: Observed) -> list[Finding]:
    """Communication timers of a pipelined job that hold more than their message can take, and no more than the bubble."""
    return [finding for log in observed.distinct_logs for finding in _of_log(observed, log)]


def _of_log(observed: Observed, log: TrainingLog) -> list[Finding]:
    shape, share = pipeline(log), waiting_share(log)
    if shape is None or share is None or abs(share - shape.bubble) > thresholds.BUBBLE_AGREES * shape.bubble:
        return []
    found = []
    for name, seconds in log.timers_s.items():
        if not any(word in name for word in _COLLECTIVE):
            continue
        both = np.isfinite(seconds) & np.isfinite(log.step_time_s)
        if not both.any():
            continue
        rows = np.flatnonzero(both)
        row = rows[int(np.argsort(log.step_time_s[rows])[len(rows) // 2 if len(rows) > 2 else 0])]
        booked, step = float(seconds[row]), float(log.step_time_s[row])
        part = booked / step
        bound = _bound(observed, log, name)
        ratio = booked / bound if bound else None
        if part < thresholds.LEAST_SHARE or part > (1.0 + thresholds.BUBBLE_AGREES) * shape.bubble:
            continue
        if (ratio is not None and ratio < thresholds.TIMER_EXCESS) or (
            ratio is None and part < 0.5 * shape.bubble
        ):
            continue
        waits = booked - (bound or 0.0)
        ratios = (part / thresholds.LEAST_SHARE, *((ratio / thresholds.TIMER_EXCESS,) if ratio else ()))
        found.append(
            Finding(
                ID,
                f"{name} shows {booked:.2f} s of a {step:.2f} s step; its message takes "
                f"{'at most ' + _ms(bound) if bound else 'far less'}: most of it is the pipeline's bubble, seen from "
                f"the rank that "
                f"prints (bubble {shape.bubble:.0%} of the step with {shape.stages} stages and "
                f"{shape.micro_batches:.4g} micro-batches)",
                "do not buy bandwidth for it: add micro-batches or virtual stages; time the collective behind a barrier",
                thresholds.confidence(thresholds.INFERRED if bound else thresholds.WEAK, ratios),
                waits / step,
                None,
                evidence=(Place(log.path, int(log.line[row])),),
                bound=Bound(bound, booked, "s", "2(n−1)/n · message ÷ the slowest link's rate")
                if bound
                else None,
            )
        )
    return found


def _ms(seconds: float | None) -> str:
    return f"{1e3 * (seconds or 0.0):.3g} ms"


def _bound(observed: Observed, log: TrainingLog, name: str) -> float | None:
    """Seconds that the exchange of the embedding's gradient takes over one card; None where sizes are not known."""
    if "embedding" not in name:
        return None
    elements = _embedding(log)
    if not elements:
        return None
    size = elements * 2 * _BYTES  # full precision at most
    device = observed.device()
    rate = observed.fact(f"accelerators.{device}.nic_bandwidth") if device else None
    # Without a device: one card of 100 Gb/s, the slowest that clusters of this kind had (Summit, Jean Zay).
    return float(all_reduce_wire_share(2) * size * 8.0 / (rate or 100e9))


def _embedding(log: TrainingLog) -> float | None:
    """Elements of the embedding on one rank: from vocabulary and width, else what the outer stages hold beyond the others."""
    vocabulary, hidden = number(log.settings, "vocabulary"), number(log.settings, "hidden")
    if vocabulary and hidden:
        return vocabulary * hidden / (number(log.settings, "tensor") or 1.0)
    shards = log.settings.get("parameters_by_shard")
    if not isinstance(shards, dict) or len(shards) < 3:
        return None
    counts = np.array([float(each) for each in shards.values()])
    return float(counts.max() - np.median(counts)) or None
