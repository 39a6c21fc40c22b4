"""How the two sites' models are kept together; torch, only ranks import this.

Ranks of a site form a group; the first of each is its leader and talks to the other site. Between sites a message goes at once
only if its receiver had asked for it a way before (gloo's own collectives ask when they begin, and wait for the answer): so
receives are posted ahead of the computation that they follow.
"""

from __future__ import annotations

import queue
import threading
from typing import Any

import torch
import torch.distributed as dist

from argosy.testbed.training.exchange import clock

REDUCE_TAG, GATHER_TAG, WEIGHTS_TAG, RING_TAG = 101, 102, 103, 200


class Sites:
    """This rank's place: its site, the site's group and leader, and the leaders' group."""

    def __init__(self, rank: int, ranks: int, sites: int) -> None:
        each = ranks // sites
        self.number, self.sites, self.each, self.rank = rank // each, sites, each, rank
        groups = [dist.new_group(list(range(first, first + each))) for first in range(0, ranks, each)]
        self.group = groups[self.number]
        self.leader = self.number * each
        self.leaders = dist.new_group(list(range(0, ranks, each)))
        self.other = (self.leader + each) % ranks

    @property
    def leads(self) -> bool:
        """This rank talks to the other site."""
        return self.rank == self.leader

    def within(self, values: torch.Tensor) -> None:
        """Sum over the ranks of the site."""
        dist.all_reduce(values, group=self.group)

    def hand_on(self, values: torch.Tensor) -> None:
        """The leader's values to all of its site."""
        dist.broadcast(values, self.leader, group=self.group)


class Between:
    """A ring all-reduce between the leaders of two sites: each adds up one half, and hands it on. `ask` posts its receives."""

    def __init__(self, sites: Sites, length: int, kind: torch.dtype) -> None:
        self.sites = sites
        half = length // 2
        parts = slice(0, half), slice(half, length)
        self.own, self.others = parts[sites.number], parts[1 - sites.number]
        self.taken = torch.empty(length, dtype=kind)
        self.asked: list[Any] = []

    def ask(self) -> None:
        """Post both receives of the next exchange: call a way ahead of it."""
        if self.sites.leads:
            pairs = (self.own, REDUCE_TAG), (self.others, GATHER_TAG)
            self.asked = [
                dist.irecv(self.taken[part], self.sites.other, group=self.sites.leaders, tag=tag)
                for part, tag in pairs
            ]

    def add(self, values: torch.Tensor) -> None:
        """Sum over the leaders; others return at once."""
        if not self.sites.leads:
            return
        there, group = self.sites.other, self.sites.leaders
        sent = [dist.isend(values[self.others].clone(), there, group=group, tag=REDUCE_TAG)]
        self.asked[0].wait()
        values[self.own] += self.taken[self.own]
        sent.append(dist.isend(values[self.own].clone(), there, group=group, tag=GATHER_TAG))
        self.asked[1].wait()
        values[self.others] = self.taken[self.others]
        for work in sent:
            work.wait()


class Ring:
    """A ring all-reduce over all ranks in order, which crosses between the sites twice. `ask` posts all its receives."""

    def __init__(self, rank: int, ranks: int, length: int, kind: torch.dtype) -> None:
        self.rank, self.ranks = rank, ranks
        self.blocks = [
            slice(length * block // ranks, length * (block + 1) // ranks) for block in range(ranks)
        ]
        self.taken = [
            torch.empty(length, dtype=kind)[self._block(step + 1)] for step in range(2 * (ranks - 1))
        ]
        self.asked: list[Any] = []

    def _block(self, back: int) -> slice:
        """The block that is as many places before this rank's own."""
        return self.blocks[(self.rank - back) % self.ranks]

    def ask(self) -> None:
        """Post the receives of the next exchange: call a way ahead of it."""
        before = (self.rank - 1) % self.ranks
        self.asked = [dist.irecv(part, before, tag=RING_TAG + step) for step, part in enumerate(self.taken)]

    def add(self, values: torch.Tensor) -> None:
        """Sum over all ranks: rounds that add up, and as many that hand on."""
        after, sent = (self.rank + 1) % self.ranks, []
        for step, asked in enumerate(self.asked):
            part = values[self._block(step)].clone()
            sent.append(dist.isend(part, after, tag=RING_TAG + step))
            asked.wait()
            target = values[self._block(step + 1)]
            if step < self.ranks - 1:
                target += self.taken[step]
            else:
                target.copy_(self.taken[step])
        for work in sent:
            work.wait()


class Late:
    """Weights on their way to the other site while the steps go on; a thread of the leader sends and takes them."""

    def __init__(self, sites: Sites, length: int, kind: torch.dtype) -> None:
        self.sites = sites
        self.out: queue.Queue[torch.Tensor | None] = queue.Queue()
        self.came: queue.Queue[tuple[float, torch.Tensor]] = queue.Queue()
        self.length, self.kind = length, kind
        self.thread = threading.Thread(target=self._carry, daemon=True)
        if sites.leads:
            self.thread.start()

    def _carry(self) -> None:
        there, group = self.sites.other, self.sites.leaders
        while True:
            taken = torch.empty(self.length + 1, dtype=self.kind)
            asked = dist.irecv(taken, there, group=group, tag=WEIGHTS_TAG)
            given = self.out.get()
            if given is None:
                return
            sent = dist.isend(given, there, group=group, tag=WEIGHTS_TAG)
            asked.wait()
            self.came.put((clock(), taken))
            sent.wait()

    def send(self, weights: torch.Tensor, steps: int) -> None:
        """These weights, after so many steps, to the other site."""
        if self.sites.leads:
            self.out.put(torch.cat([weights, torch.tensor([float(steps)], dtype=weights.dtype)]))

    def arrived(self) -> tuple[float, torch.Tensor] | None:
        """What has come since, for all ranks of the site: when, and the other's weights with their number of steps."""
        found = None
        if self.sites.leads and not self.came.empty():
            found = self.came.get()
        told = torch.tensor([found[0] if found else 0.0], dtype=torch.float64)
        self.sites.hand_on(told)
        if not float(told):
            return None
        weights = found[1] if found else torch.empty(self.length + 1, dtype=self.kind)
        self.sites.hand_on(weights)
        return float(told), weights

    def end(self) -> None:
        """No more will be sent."""
        self.out.put(None)


class Outer:
    """DiLoCo's outer optimizer: Nesterov momentum on the mean of what the sites moved by."""

    def __init__(self, weights: torch.Tensor, rate: float, momentum: float) -> None:
        self.start = weights.clone()
        self.velocity = torch.zeros_like(weights)
        self.rate, self.momentum = rate, momentum

    def step(self, moved: torch.Tensor) -> torch.Tensor:
        """`moved`: mean of start − weights over the sites; the weights from which all go on."""
        self.velocity.mul_(self.momentum).add_(moved)
        self.start -= self.rate * (moved + self.momentum * self.velocity)
        return self.start
