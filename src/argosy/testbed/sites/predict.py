"""What Argosy says of the two sites: the laws of the wide area, the cables' flow schedule, the pipeline's events. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from argosy.laws import wide_area
from argosy.testbed.fabrics import Case, Fabric
from argosy.testbed.predict import Baseline, predict
from argosy.testbed.sites import plan
from argosy.testbed.training.shape import Pace
from argosy.training.schedule import simulate

PLAYED = 8  # steps of a ring that are played before those that count, and of those


@dataclass(frozen=True)
class World:
    """The cables, what two hosts on one switch got of them, and what a step takes beyond the accelerator's pace when nothing is
    exchanged (s); measured once.
    """

    fabric: Fabric
    base: Baseline
    overhead_s: float

    @property
    def bandwidth(self) -> float:
        """Byte/s of payload between the sites."""
        return plan.site_bps(self.fabric) / 8 * self.base.share

    @property
    def delay_s(self) -> float:
        """One way between hosts of both sites."""
        return plan.DELAY_S + self.base.message_s

    def card_s(self, size: float) -> float:
        """Seconds of a message inside a site."""
        return size / (plan.card_bps(self.fabric) / 8 * self.base.share) + self.base.message_s

    def within_s(self) -> float:
        """All-reduce of the model inside both sites at once."""
        each = plan.RANKS // plan.SITES
        groups = tuple(tuple(range(first, first + each)) for first in range(0, plan.RANKS, each))
        return predict(self.fabric, Case("ring", plan.model_bytes(), groups), self.base).seconds

    def ring_s(self) -> float:
        """All-reduce of the model by one ring over all ranks."""
        everyone = (tuple(range(plan.RANKS)),)
        return predict(self.fabric, Case("ring", plan.model_bytes(), everyone), self.base).seconds

    def ring_step_s(self, compute_s: float) -> float:
        """A step with such a ring, message by message: each begins when its sender has what the round before brought it and
        its link is free; ranks go on as soon as they are done. After some steps they stand so that nothing queues. Where the
        ways of a ring differ, the schedule's sum of the busiest link's bytes and all ways is too long: while a message is on
        its way, the link is free for the next.
        """
        each, size = plan.RANKS // plan.SITES, plan.model_bytes() / plan.RANKS
        far = [(rank + 1) % each == 0 for rank in range(plan.RANKS)]
        wire = [size / self.bandwidth if long else self.card_s(size) for long in far]
        ready, free, ends = [0.0] * plan.RANKS, [0.0] * plan.RANKS, [0.0]
        for _ in range(2 * PLAYED):
            ready = [moment + compute_s for moment in ready]
            for _ in range(2 * (plan.RANKS - 1)):
                free = [
                    max(pair) + seconds
                    for pair, seconds in zip(zip(ready, free, strict=True), wire, strict=True)
                ]
                came = [left + (self.delay_s if long else 0.0) for left, long in zip(free, far, strict=True)]
                ready = [max(ready[rank], came[rank - 1]) for rank in range(plan.RANKS)]
            ends.append(ready[0])
        return (ends[-1] - ends[PLAYED]) / PLAYED

    def law_s(self) -> float:
        """All-reduce of the model between the sites' leaders, by the law."""
        size = plan.model_bytes()
        return float(wide_area.cross_site_all_reduce(size, plan.SITES, self.bandwidth, self.delay_s))

    def between_s(self) -> float:
        """The same, and back to their sites."""
        return self.law_s() + self.card_s(plan.model_bytes())

    def step_s(self, pace: Pace = plan.PACE) -> float:
        """A step of a site on its own."""
        return pace.step_s + self.overhead_s + self.within_s()

    def interval(self) -> int:
        """Local steps between outer ones that hold their share of the time at OVERHEAD, by the law."""
        return int(wide_area.local_steps(self.step_s(), self.between_s(), plan.OVERHEAD))

    def diloco_s(self, interval: int) -> float:
        """A step of DiLoCo, outer ones spread over all."""
        return self.step_s() + self.between_s() / interval

    def behind(self) -> int:
        """Steps by which weights of the other site are late, by the law."""
        sent = plan.model_bytes() / self.bandwidth
        return int(wide_area.staleness_steps(self.step_s(plan.QUICK), self.delay_s, sent))

    def way_s(self) -> float:
        """Seconds of the weights to the other site."""
        return self.delay_s + plan.model_bytes() / self.bandwidth

    def pipeline_law(self) -> dict[str, float]:
        """GPipe with its middle cut between the sites, by the law."""
        forward, backward = stage_seconds()
        found = wide_area.pipeline_cut(
            plan.micro_batch_bytes(), self.bandwidth, self.delay_s, max(forward), max(backward), plan.RANKS, plan.MICRO_BATCHES
        )  # fmt: skip
        return {name: float(value) for name, value in found.items()}

    def pipeline_s(self, schedule: str) -> float:
        """A step by the event simulation of its schedule, every cut with its own way."""
        far = self.delay_s + plan.micro_batch_bytes() / self.bandwidth
        hops = [self.card_s(plan.micro_batch_bytes())] * (plan.RANKS - 1)
        hops[plan.RANKS // plan.SITES - 1] = far
        return float(simulate(schedule, *stage_seconds(), plan.MICRO_BATCHES, 1, hops).seconds)


def stage_seconds() -> tuple[list[float], list[float]]:
    """Forward and backward seconds of every stage."""
    pace, cuts = plan.PIPELINE_PACE, plan.BOUNDS
    runs = list(pairwise(cuts))
    return [sum(pace.forward_s[a:b]) for a, b in runs], [sum(pace.backward_s[a:b]) for a, b in runs]


def expected_overhead(interval: int, step_s: float, between_s: float) -> float:
    """Share of the time that outer steps take: sync / (H T + sync)."""
    return between_s / (interval * step_s + between_s)


def share_of(steps_s: Sequence[float], interval: int) -> float:
    """The same, of measured steps: what the median round has beyond as many median steps."""
    rounds = np.reshape(steps_s[1 : 1 + (len(steps_s) - 1) // interval * interval], (-1, interval))
    return float(1.0 - interval * np.median(steps_s) / np.median(rounds.sum(1)))
