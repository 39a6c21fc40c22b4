"""The device waits for input data."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, span
from argosy.observe.observed import Observed
from argosy.observe.records import Place, TrainingLog

ID = "data-starvation"
_ADVICE = (
    "more loader workers and prefetching, pinned memory, fewer small files; share one loader among the ranks of a node that read "
    "the same batch (MegaScale); look at the storage's latency"
)
_TIMERS = ("batch-generator", "data-loading", "data_loading", "dataloader", "data-time", "batch_generator")


def find(observed: Observed) -> list[Finding]:
    """Time in which the device idles while data is loaded: of all ranks, or of one."""
    found = _of_traces(observed)
    for log in observed.distinct_logs:
        found += _of_log(log) if not found else []
    return found


def _of_traces(observed: Observed) -> list[Finding]:
    alignment, step = observed.alignment, observed.step_s
    if alignment is None or not step:
        return []
    data = [
        np.asarray(trace.activity_s.get("data", np.zeros(len(trace.step_number))))
        for trace in alignment.traces
    ]
    if not all(values.size for values in data):
        return []
    typical = np.array([float(np.median(values)) for values in data])
    mean = np.array([float(values.mean()) for values in data])
    everybody = float(np.median(mean))
    alone = [slow for slow in observed.slow_ranks if slow.leading == "data"]
    found = []
    for slow in alone:
        share = slow.saved_s / step
        found.append(
            Finding(
                ID,
                f"rank {slow.rank} waits {span(float(typical[slow.index]))} a step for its data, and all others for it",
                _ADVICE,
                thresholds.confidence(
                    thresholds.DIRECT,
                    (slow.z / thresholds.ROBUST_Z, share / thresholds.LEAST_SHARE),
                    slow.persistence,
                ),
                share,
                slow.saved_s,
                Culprit(rank=slow.rank, node=slow.node),
                (Place(alignment.traces[slow.index].path, event="data-loading"),),
            )
        )
    if not alone and everybody >= thresholds.DATA_SHARE * step:
        share = everybody / step
        lasting = float(np.mean([np.mean(values >= 0.5 * thresholds.DATA_SHARE * step) for values in data]))
        worst = int(np.argmax(typical))
        found.append(
            Finding(
                ID,
                f"the device waits for input data {share:.0%} of the step on the median rank",
                _ADVICE,
                thresholds.confidence(thresholds.DIRECT, (share / thresholds.DATA_SHARE,), max(lasting, 0.5)),
                share,
                everybody,
                evidence=(Place(alignment.traces[worst].path, event="data-loading"),),
            )
        )
    return found


def _of_log(log: TrainingLog) -> list[Finding]:
    for name, seconds in log.timers_s.items():
        if not any(word in name for word in _TIMERS):
            continue
        share = seconds / log.step_time_s
        known = share[np.isfinite(share)]
        if not known.size or np.median(known) < thresholds.DATA_SHARE:
            continue
        lasting = float(np.mean(known >= thresholds.DATA_SHARE))
        row = int(np.flatnonzero(np.isfinite(share))[-1])
        return [
            Finding(
                ID,
                f"{name} takes {float(np.median(known)):.0%} of the step",
                _ADVICE,
                thresholds.confidence(
                    thresholds.INFERRED, (float(np.median(known)) / thresholds.DATA_SHARE,), lasting
                ),
                float(np.median(known)),
                float(np.nanmedian(seconds)),
                evidence=(Place(log.path, int(log.line[row])),),
            )
        ]
    return []
