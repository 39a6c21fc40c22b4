"""Gradients of all ranks added up, bucket by bucket, after the backward pass or during it; torch, only ranks import this.

A bucket is a run of blocks whose weights and gradients lie one after the other in one flat buffer. `all-reduce`: every rank
gets all sums and updates all weights. `sharded` (ZeRO, Rajbhandari et al. 2020): every rank gets the sums of its own part of a
bucket, updates the weights of that part, and the parts are gathered. gloo's own reduce_scatter is an all-reduce whose result
is cut (its bytes on the wire say so), so parts are exchanged directly here (all-to-all) and added by their owner.
"""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.distributed as dist

from argosy.testbed.training.model import Accelerator, Transformer

LEARNING_RATE = 1e-3
AT_ONCE = 4  # buckets that a cube's second dimension takes together; the third takes as many times more


class Bucket:
    """Blocks `numbers` of a model in flat buffers, padded so that every rank's part is as long."""

    def __init__(self, model: Transformer, numbers: list[int], ranks: int, rank: int) -> None:
        self.numbers = numbers
        self.weights_of = [
            weight for number in numbers for weight in model.blocks[number - model.first].parameters()
        ]
        count = sum(weight.numel() for weight in self.weights_of)
        self.length = -(-count // ranks) * ranks
        kind = self.weights_of[0].dtype
        self.weights, self.gradients = (
            torch.zeros(self.length, dtype=kind),
            torch.zeros(self.length, dtype=kind),
        )
        at = 0
        for weight in self.weights_of:
            own = slice(at, at + weight.numel())
            self.weights[own] = weight.detach().reshape(-1)
            weight.data = self.weights[own].view_as(weight)
            weight.grad = self.gradients[own].view_as(weight)
            at += weight.numel()
        part = self.length // ranks
        self.own = slice(rank * part, (rank + 1) * part)
        self.received = torch.zeros(self.length, dtype=kind)
        self.missing = len(self.weights_of)
        self.work: Any = None

    @property
    def bytes(self) -> int:
        """Of the gradients, padding included."""
        return int(self.length * self.gradients.element_size())


class Exchange:
    """Exchanges a model's gradients and updates its weights. `form`: `all-reduce`, `sharded`, `cube` (an all-reduce
    along every dimension of a cube of ranks), `none` (every rank keeps its own sums), `reference` (one rank alone);
    `overlap`: buckets go as soon as their gradients are there, and gathered weights are waited for by the block that needs
    them; `blocks`: per bucket.
    """

    def __init__(
        self, model: Transformer, accelerator: Accelerator, form: str, overlap: bool, blocks: int = 1
    ) -> None:
        self.form, self.overlap, self.accelerator = form, overlap, accelerator
        alone = form == "reference"
        self.rank: int = 0 if alone else dist.get_rank()
        self.ranks: int = 1 if alone else dist.get_world_size()
        last_first = list(range(len(model.blocks)))[::-1]
        runs = [last_first[at : at + blocks] for at in range(0, len(last_first), blocks)]
        self.buckets = [Bucket(model, run[::-1], self.ranks, self.rank) for run in runs]
        sharded = form == "sharded"
        states = [bucket.weights[bucket.own] if sharded else bucket.weights for bucket in self.buckets]
        self.states = [torch.nn.Parameter(state) for state in states]
        for state, bucket in zip(self.states, self.buckets, strict=True):
            state.grad = torch.zeros_like(state) if sharded else bucket.gradients
        self.optimizer = torch.optim.AdamW(self.states, lr=LEARNING_RATE, foreach=True)
        self.lines = cube_lines(self.rank, self.ranks) if form == "cube" else []
        for bucket in self.buckets:
            for weight in bucket.weights_of:
                weight.register_post_accumulate_grad_hook(lambda _, own=bucket: self._arrived(own))
            for number in bucket.numbers if sharded and overlap else ():
                model.blocks[number].register_forward_pre_hook(lambda *_, own=bucket: self._gathered(own))

    def begin(self) -> None:
        """Before a forward pass."""
        for bucket in self.buckets:
            bucket.gradients.zero_()
            bucket.missing = len(bucket.weights_of)

    def _arrived(self, bucket: Bucket) -> None:
        bucket.missing -= 1
        if bucket.missing == 0 and self.overlap:
            self._send(bucket)

    def _send(self, bucket: Bucket) -> None:
        if self.form == "all-reduce":
            bucket.work = dist.all_reduce(bucket.gradients, async_op=True)
        elif self.form == "sharded":
            bucket.work = dist.all_to_all_single(bucket.received, bucket.gradients, async_op=True)

    def finish(self) -> None:
        """After a backward pass: all sums are there, the weights are updated; in the overlapped sharded form they are still
        being gathered.
        """
        sharded = self.form == "sharded"
        for bucket in self.buckets if not self.overlap else ():
            self._send(bucket)
        for state, bucket in zip(self.states, self.buckets, strict=True):
            if bucket.work is not None:
                bucket.work.wait()
                bucket.work = None
            if sharded:
                torch.sum(bucket.received.view(self.ranks, -1), dim=0, out=state.grad)
        for level, line in enumerate(self.lines):
            self._add_up(line, AT_ONCE**level)
        self.optimizer.step()
        for bucket in self.buckets[::-1] if sharded else ():
            bucket.work = dist.all_gather_into_tensor(
                bucket.weights, bucket.weights[bucket.own].clone(), async_op=True
            )
        for bucket in self.buckets if not self.overlap else ():
            self._gathered(bucket)
        self.accelerator.wait_over()

    def _add_up(self, line: Any, count: int) -> None:
        """All-reduce in a group of two, `count` buckets at once."""
        for at in range(0, len(self.buckets), count):
            some = self.buckets[at : at + count]
            whole = torch.cat([bucket.gradients for bucket in some])
            dist.all_reduce(whole, group=line)
            for bucket, part in zip(some, whole.split([bucket.length for bucket in some]), strict=True):
                bucket.gradients.copy_(part)

    def _gathered(self, bucket: Bucket) -> None:
        """A block's weights are there; the accelerator idles while they are not."""
        if bucket.work is not None:
            if not bucket.work.is_completed():
                bucket.work.wait()
                self.accelerator.wait_over()
            bucket.work = None

    def end(self) -> None:
        """After the last step: nothing is under way any more."""
        for bucket in self.buckets:
            self._gathered(bucket)


def cube_lines(rank: int, ranks: int) -> list[Any]:
    """Process groups of two along each dimension of a cube of 2 × 2 × 2 … ranks that this rank stands in: all-reduces along
    one after the other add up over all ranks.
    """
    found = []
    for bit in [1 << each for each in range(ranks.bit_length() - 1)]:
        for first in range(ranks):
            if not first & bit:
                group = dist.new_group([first, first | bit])
                if rank in (first, first | bit):
                    found.append(group)
    return found


def clock() -> float:
    """Seconds that all ranks of this machine share."""
    return time.monotonic()
