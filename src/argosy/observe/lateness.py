"""Who keeps the others waiting: each rank's own time against its peers', step by step, on aligned clocks.

A rank's own time in a step is the step less its exposed communication: what it computed, copied, loaded or launched,
not what it waited for others, nor a marked pause, which has a finding of its own. The late rank is thus told from the
waiting ones: those have little own time and much communication. Peers are ranks in the same pipeline stage, and the same
tensor and expert position where enough are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from argosy.observe import thresholds
from argosy.observe.align import Alignment
from argosy.observe.marks import paused
from argosy.observe.matching import POINT_TO_POINT
from argosy.observe.records import ACTIVITIES, Floats, Whole
from argosy.observe.stages import stages


@dataclass(frozen=True)
class Lateness:
    """Per rank (R), in the order of the alignment, over the steps (S) that all recorded.

    `steps`: their numbers; `own_s` (R, S): own seconds; `excess_s` (R, S): above the median of its peers;
    `z` (R,): robust score of its median; `persistence` (R,): share of the steps whose excess matters; `step_s` (S,): the
    median step; `activity_excess_s`: by activity (R,), median over the steps, above the peers'; `last_in`, `barriers`
    (R,): barrier-like collectives in which it came last by more than the clocks' uncertainty, and took part;
    `last_in_all`: the same over all `kernels` matched by order, sends and receives too, for the record
    alone; `waiting_all`: share of all their time before the last rank came.
    """

    steps: Whole
    own_s: Floats
    excess_s: Floats
    z: Floats
    persistence: Floats
    step_s: Floats
    activity_excess_s: dict[str, Floats]
    last_in: Whole
    barriers: Whole
    peers: tuple[tuple[int, ...], ...]
    last_in_all: Whole
    kernels: int
    waiting_all: float | None

    @property
    def typical_excess_s(self) -> Floats:
        """Median over the steps (R,)."""
        return np.median(self.excess_s, axis=1) if self.excess_s.size else np.zeros(len(self.z))


def robust_z(values: Floats) -> Floats:
    """0.6745·(x − median)/MAD of each value among all; the MAD no smaller than the noise floor of the median.

    Limit: equal values give 0. Source: Iglewicz and Hoaglin, "How to detect and handle outliers", 1993.
    """
    middle = np.median(values)
    spread = np.median(np.abs(values - middle))
    floor = thresholds.NOISE_FLOOR * abs(middle)
    return 0.6745 * (values - middle) / max(float(spread), 0.6745 * float(floor), 1e-12)


def lateness(alignment: Alignment) -> Lateness | None:
    """Own times and scores of every rank; None where the ranks share no step."""
    traces = alignment.traces
    shared = set(traces[0].step_number.tolist())
    for trace in traces[1:]:
        shared &= set(trace.step_number.tolist())
    if not shared:
        return None
    steps = np.array(sorted(shared), np.int64)
    at = [trace.places(steps) for trace in traces]
    length = np.stack([_lengths(trace)[i] for trace, i in zip(traces, at, strict=True)])
    activity = {
        kind: np.stack([_activity(trace, kind)[i] for trace, i in zip(traces, at, strict=True)])
        for kind in ACTIVITIES
    }
    pause = np.stack([paused(trace)[i] for trace, i in zip(traces, at, strict=True)])
    # A pause is the host's; what of it exceeds host time is the device's idling.
    activity["idle"] = activity["idle"] - np.maximum(pause - activity["host"], 0.0)
    activity["host"] = np.maximum(activity["host"] - pause, 0.0)
    own = length - activity["communication"] - pause
    classes = peers(alignment)
    excess, z = np.zeros_like(own), np.zeros(len(traces))
    for members in dict.fromkeys(classes):
        index = list(members)
        excess[index] = own[index] - np.median(own[index], axis=0)
        z[index] = _scores(own[index])
    step_s = np.median(length, axis=0)
    last_in, barriers = _last(alignment)
    last_in_all, kernels, waiting_all = _last_of_all(alignment)
    return Lateness(
        steps=steps,
        own_s=own,
        excess_s=excess,
        z=z,
        persistence=(excess >= thresholds.LEAST_SHARE * step_s).mean(axis=1),
        step_s=step_s,
        activity_excess_s={kind: _above(values, classes) for kind, values in activity.items()},
        last_in=last_in,
        barriers=barriers,
        peers=tuple(classes),
        last_in_all=last_in_all,
        kernels=kernels,
        waiting_all=waiting_all,
    )


def _lengths(trace: object) -> Floats:
    return np.asarray((trace.step_end_ns - trace.step_start_ns) * 1e-9, np.float64)  # type: ignore[attr-defined]


def _activity(trace: object, kind: str) -> Floats:
    zero = np.zeros(len(trace.step_number))  # type: ignore[attr-defined]
    return np.asarray(trace.activity_s.get(kind, zero), np.float64)  # type: ignore[attr-defined]


def _scores(own: Floats) -> Floats:
    """Robust z of each rank's median among its peers; with too few, against how each varies over the steps."""
    middle = np.median(own, axis=1)
    if len(middle) >= thresholds.ENOUGH_PEERS:
        return robust_z(middle)
    if len(middle) < 2 or own.shape[1] < thresholds.ENOUGH_STEPS:
        return np.zeros(len(middle))
    out = np.zeros(len(middle))
    for i in range(len(middle)):
        others = np.delete(own, i, axis=0)
        reference = np.median(others)
        spread = np.median(np.abs(own[i] - middle[i])) + np.median(
            np.abs(others - np.median(others, axis=1)[:, None])
        )
        out[i] = (
            0.6745
            * (middle[i] - reference)
            / max(float(spread), 0.6745 * thresholds.NOISE_FLOOR * float(reference), 1e-12)
        )
    return out


def _above(values: Floats, classes: list[tuple[int, ...]]) -> Floats:
    out = np.zeros(len(values))
    middle = np.median(values, axis=1)
    for members in dict.fromkeys(classes):
        index = list(members)
        out[index] = middle[index] - np.median(middle[index])
    return out


def peers(alignment: Alignment) -> list[tuple[int, ...]]:
    """For every trace the indices of those that do the same work, itself among them."""
    positions = [trace.position for trace in alignment.traces]
    known = stages(alignment)
    if None not in known:
        stage: list[object] = list(known)
    elif any(_sends(trace) for trace in alignment.traces):
        stage = list(_tied(alignment))
    else:
        stage = [0] * len(positions)
    fine = [
        (stage[i], position.tensor, position.expert, position.context) for i, position in enumerate(positions)
    ]
    coarse: dict[object, list[int]] = defaultdict(list)
    narrow: dict[object, list[int]] = defaultdict(list)
    for i, key in enumerate(fine):
        narrow[key].append(i)
        coarse[stage[i]].append(i)
    return [
        tuple(narrow[key]) if len(narrow[key]) >= thresholds.ENOUGH_PEERS else tuple(coarse[stage[i]])
        for i, key in enumerate(fine)
    ]


def _sends(trace: object) -> bool:
    each = trace.collectives  # type: ignore[attr-defined]
    used = {each.operations[i] for i in np.unique(each.operation)}
    return bool(used & POINT_TO_POINT)


def _tied(alignment: Alignment) -> Whole:
    """Numbers of ranks tied by groups smaller than the job: a pipeline stage, where nothing else tells it."""
    from argosy.observe.align import tied

    matched, count = alignment.matched, len(alignment.traces)
    size = np.diff(matched.first)
    own = (matched.barrier & (size < count))[matched.instance]
    if not own.any():
        return np.zeros(count, np.int64)
    return tied(matched.instance[own], matched.who[own], count)


def _last(alignment: Alignment) -> tuple[Whole, Whole]:
    """Per rank: barrier-like collectives in which it came last beyond the clocks' uncertainty; those it took part in."""
    matched, count = alignment.matched, len(alignment.traces)
    last_in, barriers = np.zeros(count, np.int64), np.zeros(count, np.int64)
    if not len(matched.operation):
        return last_in, barriers
    own = matched.barrier[matched.instance]
    np.add.at(barriers, matched.who[own], 1)
    order = np.lexsort((matched.start_ns, matched.instance))
    tail = matched.first[1:] - 1
    last, second = order[tail], order[np.maximum(tail - 1, 0)]
    margin = matched.start_ns[last] - matched.start_ns[second]
    sure = np.array([thresholds.CLOCK_FACTOR * alignment.uncertainty_ns(i) for i in range(count)])
    late = matched.barrier & (margin > sure[matched.who[last]])
    np.add.at(last_in, matched.who[last][late], 1)
    return last_in, barriers


def _last_of_all(alignment: Alignment) -> tuple[Whole, int, float | None]:
    """The k-th communication kernel of every rank, whatever it is: who came last, and the share of waiting; where all
    ranks have the same kernels.
    """
    traces = alignment.traces
    out = np.zeros(len(traces), np.int64)
    kinds = [tuple(trace.collectives.operations[k] for k in trace.collectives.operation) for trace in traces]
    if len(traces) < 2 or not kinds[0] or any(kind != kinds[0] for kind in kinds):
        return out, 0, None
    start = np.stack([alignment.common(i, trace.collectives.start_ns) for i, trace in enumerate(traces)])
    took = np.stack([trace.collectives.end_ns - trace.collectives.start_ns for trace in traces]).astype(
        np.float64
    )
    np.add.at(out, np.argmax(start, axis=0), 1)
    wait = np.minimum(start.max(axis=0) - start, took)
    return out, len(kinds[0]), float(wait.sum() / took.sum()) if took.sum() else None
