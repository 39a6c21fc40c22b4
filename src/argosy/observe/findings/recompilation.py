"""Compilations in the middle of training: shapes or guards that change make a graph be compiled again."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, span
from argosy.observe.findings.pauses import pauses
from argosy.observe.observed import Observed
from argosy.observe.records import Place

ID = "recompilation"
_ADVICE = (
    "run with TORCH_LOGS=recompiles to see which guard fails; mark the dimension dynamic, pad to a few sizes, or raise "
    "torch._dynamo.config.cache_size_limit"
)


def find(observed: Observed) -> list[Finding]:
    """Marked compilations inside steps, and a log's messages of recompilation."""
    found, step = pauses(observed, "compilation"), observed.step_s
    if found is not None and step and found.cost_s >= thresholds.LEAST_SHARE * step:
        share, by_rank = found.cost_s / step, found.rank_share()
        alignment = observed.alignment
        assert alignment is not None
        worst = int(np.argmax(by_rank))
        alone = len(by_rank) > 1 and by_rank[worst] > 0.8
        return [
            Finding(
                ID,
                f"{found.count} compilations in {found.steps:.0%} of the steps stop the job for "
                f"{span(found.cost_s)} a step",
                _ADVICE,
                thresholds.confidence(thresholds.DIRECT, (share / thresholds.LEAST_SHARE,)),
                share,
                found.cost_s,
                Culprit(rank=alignment.ranks[worst]) if alone else Culprit(),
                found.places,
            )
        ]
    return _events(observed)


def _events(observed: Observed) -> list[Finding]:
    for log in observed.distinct_logs:
        events = [event for event in log.events if event.kind == "recompile"]
        if not events:
            continue
        known = log.step_time_s[np.isfinite(log.step_time_s)]
        usual = float(np.median(known)) if known.size else 0.0
        over = known[known > thresholds.SPIKE * usual] - usual
        timed = sum(event.seconds for event in events if np.isfinite(event.seconds))
        lost = timed or float(np.sort(over)[::-1][: len(events)].sum())
        total = float(known.sum())
        if total and lost < thresholds.LEAST_SHARE * total:
            continue
        share = lost / total if total else None
        return [
            Finding(
                ID,
                f"the log tells of {len(events)} recompilations"
                + (f", {share:.1%} of the time" if share else ""),
                _ADVICE,
                thresholds.confidence(thresholds.DIRECT, (share / thresholds.LEAST_SHARE,) if share else ()),
                share,
                lost / known.size if known.size else None,
                evidence=tuple(Place(log.path, event.line) for event in events),
            )
        ]
    return []
