"""A hang because ranks called unlike collectives, or the same one with unlike sizes, under one sequence number."""

from __future__ import annotations

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, listed
from argosy.observe.hangs import Hang, hangs, mismatches
from argosy.observe.observed import Observed

ID = "hang-mismatched-collective"


def find(observed: Observed) -> list[Finding]:
    """The first sequence number of each hanging group at which its ranks differ; the fewer ranks are to blame."""
    found = []
    for hang in hangs(observed):
        differ = mismatches(hang)
        if differ:
            sequence = min(differ)
            found.append(_finding(observed, hang, sequence, differ[sequence]))
    return found


def _finding(
    observed: Observed, hang: Hang, sequence: int, kinds: dict[tuple[str, object], list[int]]
) -> Finding:
    ranked = sorted(kinds.items(), key=lambda item: len(item[1]))
    fewest, most = ranked[0], ranked[-1]
    minority = 2 * len(fewest[1]) < sum(len(ranks) for ranks in kinds.values())
    told = "; ".join(
        f"ranks {listed(ranks)}: {operation}" + (f" of {size}" if size is not None else "")
        for (operation, size), ranks in ranked
    )
    blamed = tuple(fewest[1]) if minority else ()
    places = [place for rank in (*fewest[1][:3], *most[1][:2]) for place in hang.stands[rank].places[:1]]
    return Finding(
        ID,
        f"work {sequence} of group {hang.group} is not the same on all ranks: {told}",
        "a branch, a shape or the order of groups differs between ranks: compare their code paths before this work "
        "(TORCH_DISTRIBUTED_DEBUG=DETAIL checks every collective)",
        thresholds.confidence(thresholds.DIRECT if minority else thresholds.INFERRED),
        culprit=Culprit(
            rank=blamed[0] if blamed else None,
            node=observed.node_of(blamed[0]) if len(blamed) == 1 else None,
            ranks=blamed,
        ),
        evidence=tuple(places),
        stopped=True,
    )
