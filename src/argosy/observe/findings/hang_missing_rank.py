"""A hang for which the rank is to blame that never came: it enqueued less than the others, or says nothing at all."""

from __future__ import annotations

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, listed
from argosy.observe.findings.ranks import explained
from argosy.observe.hangs import Hang, hangs, missing
from argosy.observe.observed import Observed
from argosy.observe.records import Place

ID = "hang-missing-rank"
_EACH = 8  # missing ranks that get a finding each; more share one


def find(observed: Observed) -> list[Finding]:
    """Ranks behind the work that timed out, and not because they wait themselves; where there are none, members from which
    nothing is heard. A rank is blamed once, however many groups wait for it.
    """
    found: list[Finding] = []
    hanging = hangs(observed)
    seen: set[tuple[int, ...]] = set()
    for hang, ranks in zip(hanging, missing(hanging, observed), strict=True):
        if not ranks or len(ranks) >= max(len(hang.members), len(hang.stands) + len(hang.silent)):
            continue
        blamed = [(rank,) for rank in ranks] if len(ranks) <= _EACH else [tuple(ranks)]
        found += [_finding(observed, hang, each, tuple(ranks)) for each in blamed if each not in seen]
        seen |= set(blamed)
    return found


def _finding(observed: Observed, hang: Hang, ranks: tuple[int, ...], blamed: tuple[int, ...]) -> Finding:
    heard = ranks[0] in hang.behind
    node = observed.node_of(ranks[0]) if len(ranks) == 1 else None
    reasons = explained(observed, node)
    own = [place for rank in ranks if rank in hang.stands for place in hang.stands[rank].places[:2]]
    waits = [hang.stands[rank].places[0] for rank in hang.waiting[:3] if hang.stands[rank].places]
    stand = hang.stands.get(ranks[0])
    if heard and stand is not None:
        told = f"enqueued work {stand.enqueued} and no more, while ranks {listed(hang.waiting)} wait in work {hang.sequence}"
    else:
        told = f"left no message and no dump, while ranks {listed(hang.waiting)} wait in work {hang.sequence}"
    what = f" ({hang.operation})" if hang.operation else ""
    rest = [rank for rank in blamed if rank not in ranks]
    others = f"; the same holds for rank{'s' * (len(rest) > 1)} {listed(rest)}" if rest else ""
    return Finding(
        ID,
        f"rank{'s' if len(ranks) > 1 else ''} {listed(ranks)} {told}{what} of group {hang.group}{others}",
        "look at these ranks first, not at those that timed out: their stack (py-spy dump), exceptions in their own log, a data "
        "loader that ended early, a branch that the others did not take; then at the node's kernel log",
        thresholds.confidence(thresholds.DIRECT if heard or reasons else thresholds.WEAK),
        culprit=Culprit(rank=ranks[0] if len(ranks) == 1 else None, node=node, ranks=blamed),
        evidence=(*own, *waits, *(Place(place.path, place.line, place.event) for _, place in reasons)),
        causes=tuple(text for text, _ in reasons),
        stopped=True,
    )
