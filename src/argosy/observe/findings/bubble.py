"""A pipeline's bubble that takes a large part of the step: what more micro-batches or virtual stages would give back."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Bound, Finding
from argosy.observe.observed import Observed
from argosy.observe.records import Place, TrainingLog
from argosy.observe.replay_table import FORWARD, TableReplay
from argosy.observe.settings import bubble_share, pipeline

ID = "bubble"
_LAW = "(p − 1)/(v·m + p − 1), Narayanan et al. 2021"


def find(observed: Observed) -> list[Finding]:
    """Bubbles of logs whose waiting agrees with the formula, and of operation tables."""
    found = [finding for log in observed.distinct_logs for finding in _of_log(log)]
    found += [finding for replay in observed.replays for finding in _of_table(replay)]
    return found[:1]


def waiting_share(log: TrainingLog) -> float | None:
    """Share of the step that is no compute, by the log's forward and backward timers; None without them."""
    compute = [t for name, t in log.timers_s.items() if name in ("forward-compute", "backward-compute")]
    if len(compute) < 2:
        return None
    share = 1.0 - np.sum(compute, axis=0) / log.step_time_s
    known = share[np.isfinite(share)]
    # The first report holds the start of the job: the median leaves it out where there are three or more.
    return float(np.median(known[1:] if known.size == 2 else known)) if known.size else None


def _of_log(log: TrainingLog) -> list[Finding]:
    shape, share = pipeline(log), waiting_share(log)
    if shape is None or share is None or shape.bubble < thresholds.BUBBLE_SHARE:
        return []
    apart = abs(share - shape.bubble) / shape.bubble
    if apart > thresholds.BUBBLE_AGREES:
        return []
    step = float(np.nanmedian(log.step_time_s))
    twice = bubble_share(shape.stages, 2.0 * shape.micro_batches, shape.chunks)
    # The same work in twice the micro-batches of half the size: the compute stays, the bubble halves.
    saved = step * (1.0 - (1.0 - shape.bubble) / (1.0 - twice))
    return [
        Finding(
            ID,
            f"{share:.0%} of the step is not compute: the bubble of {shape.stages} stages and {shape.micro_batches:.4g} "
            f"micro-batches is {shape.bubble:.0%}",
            f"more micro-batches per step, virtual stages or fewer stages: with {2 * shape.micro_batches:.4g} "
            f"micro-batches of half "
            f"the size the bubble is {twice:.0%}",
            thresholds.confidence(
                thresholds.INFERRED, (shape.bubble / thresholds.BUBBLE_SHARE,), 1.0 - apart
            ),
            min(shape.bubble, share),
            saved,
            evidence=(Place(log.path, int(log.line[-1])),) if len(log.line) else (),
            bound=Bound(shape.bubble, share, "share of the step", _LAW),
        )
    ]


def _of_table(replay: TableReplay) -> list[Finding]:
    times = replay.measured.compute[FORWARD]
    stages, chunks, batches = times.shape[2:]
    if stages < 2:
        return []
    shape = bubble_share(stages, batches, chunks)
    busy = sum(np.nansum(each, axis=(3, 4)) for each in replay.measured.compute.values()).mean()
    step = float(replay.actual_s.mean())
    share = float(1.0 - busy / step)
    if shape < thresholds.BUBBLE_SHARE or share < shape * (1.0 - thresholds.BUBBLE_AGREES):
        return []
    twice = bubble_share(stages, 2 * batches, chunks)
    saved = step * (1.0 - (1.0 - shape) / (1.0 - twice))
    return [
        Finding(
            ID,
            f"{share:.0%} of the step the mean stage does not compute; the bubble of {stages} stages and {batches} micro-batches "
            f"is {shape:.0%}",
            f"more micro-batches, virtual stages or fewer stages: with {2 * batches} micro-batches of half the size {twice:.0%}",
            thresholds.confidence(thresholds.INFERRED, (shape / thresholds.BUBBLE_SHARE,)),
            shape,
            saved,
            evidence=(Place(replay.table.path, event=FORWARD),),
            bound=Bound(shape, share, "share of the step", _LAW),
        )
    ]
