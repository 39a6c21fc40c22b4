"""What Argosy says of the training experiment's steps: its flow schedules, its overlap law, its pipeline simulation. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from argosy.laws.overlap import exposed_communication, last_transfer_end
from argosy.testbed.fabrics import Case, Fabric
from argosy.testbed.predict import Baseline, predict
from argosy.testbed.training.shape import Pace, Shape
from argosy.training.communication import exposed
from argosy.training.schedule import Simulation, simulate


@dataclass(frozen=True, eq=False)  # one is another's equal by being it: the cache below asks
class Exchanges:
    """Collectives of the first `ranks` hosts of a fabric (one card each), by the flow schedule of their cables."""

    fabric: Fabric
    ranks: int
    baseline: Baseline

    def all_reduce(self, size: int) -> float:
        """Seconds of an all-reduce of `size` bytes: gloo's ring."""
        return self._seconds("all_reduce", "ring", size)

    def reduce_scatter(self, size: int) -> float:
        """Seconds until every rank has all parts of its share of `size` bytes, sent to it directly."""
        return self._seconds("all_to_all", "pairwise", size)

    def all_gather(self, size: int) -> float:
        """Seconds until every rank has all `size` bytes: gloo's ring."""
        return self._seconds("all_gather", "ring", size)

    def message(self, size: int) -> float:
        """Seconds of a message from one host to another on the same switch."""
        rate = float(self.fabric.graph.rate[self.fabric.graph.endpoints.up].min()) / 8
        return size / (rate * self.baseline.share) + self.baseline.message_s

    def _seconds(self, kind: str, algorithm: str, size: int) -> float:
        return _predicted(self, kind, algorithm, size)


@lru_cache(256)
def _predicted(exchanges: Exchanges, kind: str, algorithm: str, size: int) -> float:
    case = Case(algorithm, size, (tuple(range(exchanges.ranks)),))
    return predict(exchanges.fabric, case, exchanges.baseline, kind).seconds


@dataclass(frozen=True)
class Step:
    """Seconds of a predicted step, of its communication (`exchange_s`), and of that what is exposed: by the overlap law
    (`exposed_s`), and by the step model's rule for a share that may hide (`rule_s`).
    """

    seconds: float
    exchange_s: float
    exposed_s: float
    rule_s: float


def data_parallel(
    case: Mapping[str, Any],
    sizes: Sequence[int],
    blocks: Sequence[Sequence[int]],
    exchanges: Exchanges,
    overhead_s: float,
) -> Step:
    """A step of a data-parallel case. `sizes` (bytes) and `blocks` of its buckets in the order of the backward pass;
    `overhead_s`: what a step takes beyond the accelerator's pace when nothing is exchanged.

    Overlapped, a bucket goes when the backward of its last block is done and the buckets before it are through; gathered
    weights come in the order of the forward pass, whose blocks wait for theirs.
    """
    pace = Pace.of(case["pace"])
    backward = [sum(pace.backward_s[number] for number in run) for run in blocks]
    forward = [sum(pace.forward_s[number] for number in run) for run in blocks[::-1]]
    sharded = case["form"] == "sharded"
    down = [exchanges.reduce_scatter(size) if sharded else exchanges.all_reduce(size) for size in sizes]
    up = [exchanges.all_gather(size) for size in sizes[::-1]] if sharded else []
    total = sum(down) + sum(up)
    left = rule = total
    if case["overlap"]:
        left = float(exposed_communication(backward, down))
        rule = float(exposed(sum(down), 1 - down[-1] / sum(down), sum(backward)))
        if sharded:
            left += float(last_transfer_end(np.cumsum(up), forward)) - sum(forward)
            rule += float(exposed(sum(up), 1 - up[0] / sum(up), sum(forward)))
    return Step(pace.step_s + overhead_s + left, total, left, rule)


def event_schedule(ready: Sequence[float], durations: Sequence[float]) -> float:
    """When the last of several transfers over one link is through, played one by one: an oracle for the overlap law."""
    free = 0.0
    for at, duration in zip(ready, durations, strict=True):
        free = max(free, at) + duration
    return free


def pipeline(case: Mapping[str, Any], ranks: int, exchanges: Exchanges) -> Simulation:
    """A pipeline case by the event simulation of its schedule."""
    shape, pace, bounds = Shape(**case["shape"]), Pace.of(case["pace"]), case["bounds"]
    runs = list(pairwise(bounds))
    forward = [sum(pace.forward_s[first:last]) for first, last in runs]
    backward = [sum(pace.backward_s[first:last]) for first, last in runs]
    hop = exchanges.message(case["batch"] // case["micro_batches"] * shape.activation_bytes)
    chunks = len(runs) // ranks
    return simulate(case["schedule"], forward, backward, case["micro_batches"], chunks, hop)
