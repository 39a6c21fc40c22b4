"""The device waits for the host to launch its kernels."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, span
from argosy.observe.marks import marked
from argosy.observe.observed import Observed
from argosy.observe.records import Place

ID = "host-bound"
_PAUSES = ("compilation", "garbage-collection", "checkpoint")


def find(observed: Observed) -> list[Finding]:
    """Launch gaps of most ranks, without what marked pauses explain; or of one rank, where it alone is slow by them."""
    alignment, step = observed.alignment, observed.step_s
    if alignment is None or not step:
        return []
    gaps = []
    for trace in alignment.traces:
        paused = np.sum([marked(trace, kind) for kind in _PAUSES], axis=0)  # they have findings of their own
        gaps.append(np.maximum(np.asarray(trace.activity_s.get("host", np.zeros(len(paused)))) - paused, 0.0))
    if not all(values.size for values in gaps):
        return []
    typical = np.array([float(np.median(values)) for values in gaps])
    everybody = float(np.median(typical))
    if everybody < thresholds.HOST_SHARE * step:
        return []
    alone = [slow for slow in observed.slow_ranks if slow.leading == "host"]
    share = everybody / step
    lasting = float(np.mean([np.mean(values >= thresholds.HOST_SHARE * step) for values in gaps]))
    worst = int(np.argmax(typical))
    path = alignment.traces[worst].path
    return [
        Finding(
            ID,
            f"the device idles {share:.0%} of the step, {span(everybody)}, until the host has launched its next kernel",
            "fewer and larger kernels (fusion, torch.compile, CUDA graphs), fewer synchronisations (.item(), prints), a "
            "faster or less "
            "shared CPU; look at the largest gap in the timeline",
            thresholds.confidence(thresholds.INFERRED, (share / thresholds.HOST_SHARE,), lasting),
            share,
            everybody,
            Culprit(rank=alone[0].rank, node=alone[0].node)
            if len(alone) == 1 and len(alignment.ranks) == 1
            else Culprit(),
            (Place(path, event=f"step {int(alignment.traces[worst].step_number[0])}"),),
        )
    ]
