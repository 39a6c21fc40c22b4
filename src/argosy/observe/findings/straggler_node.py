"""A node all of whose ranks are slow."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, span
from argosy.observe.findings.ranks import explained
from argosy.observe.observed import Observed
from argosy.observe.records import Place

ID = "straggler-node"


def find(observed: Observed) -> list[Finding]:
    """Nodes whose ranks' own time lies above the other nodes'."""
    late, alignment = observed.lateness, observed.alignment
    if late is None or alignment is None:
        return []
    step = float(np.median(late.step_s))
    found = []
    for slow in observed.slow_nodes:
        reasons = explained(observed, slow.node)
        share = slow.saved_s / step
        ratios = (slow.z / thresholds.ROBUST_Z, share / thresholds.LEAST_SHARE)
        known = thresholds.DIRECT if reasons else thresholds.INFERRED
        found.append(
            Finding(
                ID,
                f"all {len(slow.ranks)} ranks of node {slow.node} take {span(slow.excess_s)} a step longer than their "
                "peers on other nodes",
                "look for what the node's GPUs share: power cap, cooling, CPU governor, NUMA setting, another job; drain it "
                "and run a burn-in",
                thresholds.confidence(known, ratios, slow.persistence),
                share,
                slow.saved_s,
                Culprit(node=slow.node, ranks=slow.ranks),
                (
                    *(Place(alignment.traces[i].path) for i in slow.indices[:4]),
                    *(place for _, place in reasons),
                ),
                causes=tuple(text for text, _ in reasons),
            )
        )
    return found
