"""Garbage collections that stop one rank, and with it the job; unsynchronised ones stop it once per rank."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, span
from argosy.observe.findings.pauses import pauses
from argosy.observe.observed import Observed
from argosy.observe.records import Place

ID = "gc-pause"
_ADVICE = (
    "collect at the same step on all ranks (Megatron --manual-gc, torchtitan gc_freq) and freeze what is loaded at the start "
    "(gc.freeze)"
)


def find(observed: Observed) -> list[Finding]:
    """Marked collections, operations called gc, events of logs; and short stops of changing ranks without a mark."""
    return _marked(observed) or _operations(observed) or _events(observed) or _unmarked(observed)


def _marked(observed: Observed) -> list[Finding]:
    found, step = pauses(observed, "garbage-collection"), observed.step_s
    if found is None or not step or found.cost_s < thresholds.LEAST_SHARE * step:
        return []
    share, by_rank = found.cost_s / step, found.rank_share()
    alignment = observed.alignment
    assert alignment is not None
    worst = int(np.argmax(by_rank))
    alone = by_rank[worst] > 0.8
    return [
        Finding(
            ID,
            f"{found.count} garbage collections stop the job for {span(found.cost_s)} a step"
            + ("" if alone else ", another rank each time"),
            _ADVICE,
            thresholds.confidence(thresholds.DIRECT, (share / thresholds.LEAST_SHARE,)),
            share,
            found.cost_s,
            Culprit(rank=alignment.ranks[worst]) if alone else Culprit(),
            found.places,
        )
    ]


def _operations(observed: Observed) -> list[Finding]:
    """Operations called gc in a table: per step the longest of any rank."""
    for replay in observed.replays:
        times = replay.measured.others.get("gc")
        if times is None:
            continue
        cost, step = float(np.nanmax(times, axis=(1, 2)).mean()), float(replay.actual_s.mean())
        if cost >= thresholds.LEAST_SHARE * step:
            share = cost / step
            sure = thresholds.confidence(thresholds.DIRECT, (share / thresholds.LEAST_SHARE,))
            told = f"garbage collections take {span(cost)} a step on the rank that collects longest"
            place = Place(replay.table.path, event="gc")
            return [Finding(ID, told, _ADVICE, sure, share, cost, evidence=(place,))]
    return []


def _events(observed: Observed) -> list[Finding]:
    for log in observed.distinct_logs:
        events = [event for event in log.events if event.kind == "gc" and np.isfinite(event.seconds)]
        total = float(np.nansum(log.step_time_s))
        seconds = sum(event.seconds for event in events)
        if events and total and seconds >= thresholds.LEAST_SHARE * total:
            share = seconds / total
            sure = thresholds.confidence(thresholds.DIRECT, (share / thresholds.LEAST_SHARE,))
            told = f"{len(events)} garbage collections take {share:.1%} of the time"
            places = tuple(Place(log.path, event.line) for event in events)
            return [
                Finding(ID, told, _ADVICE, sure, share, seconds / max(len(log.iteration), 1), evidence=places)
            ]
    return []


def _unmarked(observed: Observed) -> list[Finding]:
    """Steps in which one rank's host stops for a while, another rank each time: what collections without a mark look like."""
    late, alignment = observed.lateness, observed.alignment
    if late is None or alignment is None or len(late.steps) < thresholds.ENOUGH_STEPS:
        return []
    if observed.slow_ranks or observed.slow_nodes or pauses(observed, "compilation"):
        return []
    host = np.stack(
        [
            np.asarray(trace.activity_s.get("host", np.zeros(len(trace.step_number))))[
                trace.places(late.steps)
            ]
            for trace in alignment.traces
        ]
    )
    over = host - np.median(host, axis=1, keepdims=True)
    over -= np.median(over, axis=0, keepdims=True)  # what all ranks share is no single rank's stop
    step = float(np.median(late.step_s))
    worst = over.max(axis=0)
    struck = worst >= thresholds.PAUSE_SHARE * step
    cost = float(np.where(struck, worst, 0.0).mean())
    if struck.sum() < 2 or struck.mean() > thresholds.PERSISTENCE or cost < thresholds.LEAST_SHARE * step:
        return []
    ranks = sorted({alignment.ranks[int(i)] for i in over.argmax(axis=0)[struck]})
    return [
        Finding(
            ID,
            f"in {int(struck.sum())} of {len(struck)} steps the host of one rank stops for "
            f"{span(float(worst[struck].mean()))} "
            "without a mark: what garbage collection looks like",
            _ADVICE,
            thresholds.confidence(thresholds.WEAK, (cost / step / thresholds.LEAST_SHARE,)),
            cost / step,
            cost,
            Culprit(rank=ranks[0]) if len(ranks) == 1 else Culprit(),
            tuple(
                Place(alignment.traces[int(i)].path, event=f"step {int(late.steps[k])}")
                for k, i in enumerate(over.argmax(axis=0))
                if struck[k]
            )[:8],
        )
    ]
