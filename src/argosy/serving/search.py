"""Which way of serving is cheapest: layouts, precisions, batch limits, shared or separate pools; cost against latency."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.serving.objectives import attainment, met, pooled, quantile
from argosy.serving.option import Floors, Limits, Option, floors
from argosy.serving.sizing import Service, Sized, run, size

COMPARED = 6
"""Options that are simulated, the best by their fluid need first; all are with a Pareto front."""


@dataclass(frozen=True)
class Point:
    """One fleet compared: an option with so many replicas (spares apart), on the busiest stretch of the first trace."""

    option: Option
    replicas: tuple[int, ...]
    gpus: int
    ttft_s: float
    tpot_s: float
    attainment: float
    met: bool


@dataclass(frozen=True)
class Found:
    """What the search found: the best fleet (None: none keeps the promises), all that was compared, what was left out and why."""

    best: Sized | None
    points: tuple[Point, ...]
    excluded: dict[str, int]
    faults: tuple[str, ...]
    evaluated: int


def search(
    service: Service, options: Sequence[Option], executor: Executor | None = None, everything: bool = False
) -> Found:
    """The cheapest option by accelerators with spares, compared on the busiest stretch, then sized on the whole trace.

    `everything`: no option is left out for its fluid need, and the best one is compared at other sizes too (for the front).
    """
    trace = service.traces[0]
    able: list[tuple[float, Option]] = []
    faults: dict[str, list[str]] = {}
    excluded: dict[str, int] = {}
    for option in options:
        reason = _out(service, option)
        if reason is None:
            told = floors(option, trace).faults(service.wanted)
            if told:
                reason, faults[option.label] = "an objective below the floor", told
        if reason is not None:
            excluded[reason] = excluded.get(reason, 0) + 1
            continue
        able.append((Limits(option, service.mean, service.tpot_limit_s).gpus(trace.rate_per_s), option))
    able.sort(key=lambda each: each[0])
    sized: list[Sized] = []
    points: list[Point] = []
    for number, (least, option) in enumerate(able):
        best = min((each.gpus for each in sized if each.met), default=np.inf)
        if not np.isfinite(least):
            excluded["promises not kept at any size"] = excluded.get("promises not kept at any size", 0) + 1
            continue
        if not everything and (least >= best or number >= COMPARED):
            excluded["a larger need of accelerators"] = excluded.get("a larger need of accelerators", 0) + 1
            continue
        answer = size(service, option, executor)
        if answer is None:
            excluded["promises not kept at any size"] = excluded.get("promises not kept at any size", 0) + 1
            continue
        sized.append(answer)
        points.append(_point(service, answer))
    chosen = _best(service, sized)
    if chosen is not None and service.accelerators is None:
        for batch in _batches(chosen):
            other = size(service, chosen.option.with_batch(batch), executor)
            if other is not None:
                sized.append(other)
                points.append(_point(service, other))
        chosen = _best(service, sized)
    if chosen is not None:
        if everything:
            points += _sizes(service, chosen, executor)
        chosen = size(service, chosen.option, executor, whole=True)
    gentlest = _gentlest(faults) if not able else ()
    return Found(chosen, tuple(points), excluded, gentlest, len(options))


def _out(service: Service, option: Option) -> str | None:
    """Why an option is out before anything is computed."""
    for pool in option.kinds:
        if pool.provider.kv_capacity_tokens <= 0:
            return "weights do not fit in memory"
    longest = int(np.quantile(service.traces[0].input_tokens + service.traces[0].output_tokens, 0.999))
    if min(pool.provider.kv_capacity_tokens for pool in option.kinds) < longest + 2:
        return "memory does not hold the longest requests"
    return None


def _best(service: Service, sized: Sequence[Sized]) -> Sized | None:
    """The fewest nodes that keep the promises, then accelerators; where none do, the one that keeps most of them."""
    kept = [each for each in sized if each.met]
    if kept:
        return min(kept, key=lambda each: (each.whole_gpus(service.node_size), each.gpus))
    return max(sized, key=lambda each: attainment(each.runs, service.wanted), default=None)


def _batches(sized: Sized) -> list[int]:
    """Other limits of the batch: that at which the mean request keeps its time per token, and twice it."""
    at_best = max(round(sized.limits.by_pool[-1].batch), 1)
    own = sized.option.last.batch
    return [batch for batch in (at_best, 2 * at_best) if batch < own]


def _point(service: Service, sized: Sized) -> Point:
    return _measured(service, sized.option, sized.needed, sized.runs)


def _measured(service: Service, option: Option, counts: tuple[int, ...], runs: Any) -> Point:
    return Point(
        option, counts, option.gpus(counts), quantile(pooled(runs, "ttft"), 0.99), quantile(pooled(runs, "tpot"), 0.95),
        attainment(runs, service.wanted), met(runs, service.wanted),
    )  # fmt: skip


def _sizes(service: Service, best: Sized, executor: Executor | None) -> list[Point]:
    """The best option with fewer and more replicas, which trade cost for latency."""
    points = []
    stretch = service.trial()[:1]
    for factor in (0.8, 0.9, 1.1, 1.25, 1.5, 2.0):
        counts = tuple(max(round(each * factor), 1) for each in best.needed)
        if counts != best.needed:
            runs = run(service, best.option, counts, stretch, executor=executor)
            points.append(_measured(service, best.option, counts, runs))
    return points


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats or equals in accelerators, time to first token and time per token at once."""
    kept: list[Point] = []
    for one in points:
        mine = (one.gpus, one.ttft_s, one.tpot_s)
        beaten = any(
            all(a <= b for a, b in zip(theirs, mine, strict=True)) and theirs != mine
            for other in points
            for theirs in [(other.gpus, other.ttft_s, other.tpot_s)]
        )
        if (
            not beaten
            and np.isfinite(mine).all()
            and mine not in [(p.gpus, p.ttft_s, p.tpot_s) for p in kept]
        ):
            kept.append(one)
    return sorted(kept, key=lambda each: each.gpus)


def _gentlest(faults: dict[str, list[str]]) -> tuple[str, ...]:
    """The faults of the option with the fewest, each told with the option's name."""
    if not faults:
        return ()
    label = min(faults, key=lambda each: len(faults[each]))
    return tuple(f"{label}: {fault}" for fault in faults[label])


__all__ = ["COMPARED", "Floors", "Found", "Point", "front", "search"]
