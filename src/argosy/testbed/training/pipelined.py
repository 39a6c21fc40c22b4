"""A pipeline of stages that hand over by send and receive, in the order that a schedule of `training.schedule` fixes; torch.

Every receive of a step is posted when the step begins: gloo moves a message only once its receiver has asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from argosy.testbed.training import data
from argosy.testbed.training.exchange import LEARNING_RATE, clock
from argosy.testbed.training.model import Accelerator, Transformer, loss_of, tokens_of
from argosy.testbed.training.recorded import Recorder
from argosy.testbed.training.shape import Pace, Shape
from argosy.training.schedule import order


class Stage:
    """One rank of a pipeline: its chunks of the model, what they keep between forward and backward, and its messages.

    `bounds`: first block of every chunk, and a closing one; chunk i is on rank i modulo the ranks.
    """

    def __init__(self, case: Mapping[str, Any], rank: int, ranks: int) -> None:
        self.shape, pace = Shape(**case["shape"]), Pace.of(case["pace"])
        self.rank, self.ranks = rank, ranks
        self.bounds: Sequence[int] = case["bounds"]
        self.batches, self.batch = case["micro_batches"], case["batch"]
        self.samples = self.batch // self.batches
        factors = case.get("factors") or [1.0] * ranks
        self.accelerator = Accelerator(pace, factors[rank])
        chunks = len(self.bounds) - 1
        self.parts = {
            chunk: Transformer(
                self.shape, self.bounds[chunk], self.bounds[chunk + 1], self.accelerator, whole=True
            )
            for chunk in range(rank, chunks, ranks)
        }
        self.last = chunks - 1
        weights = [weight for part in self.parts.values() for weight in part.parameters()]
        self.optimizer = torch.optim.AdamW(weights, lr=LEARNING_RATE, foreach=True)
        steps = order(case["schedule"], rank, ranks, self.batches, chunks // ranks)
        self.order = [operation for group in steps for operation in group]
        self.kept: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}
        self.waited_s = self.forward_s = self.backward_s = 0.0

    def step(self, number: int) -> float:
        """One step: all operations in order, weights updated; this stage's share of the loss (0 on all but the last)."""
        self.optimizer.zero_grad()
        tokens = self._read(number)
        expected = {(kind, chunk, each): self._ask(kind, chunk, each) for kind, chunk, each in self.order}
        sent: list[Any] = []
        total = 0.0
        for kind, chunk, each in self.order:
            given = self._take(expected[kind, chunk, each])
            start = clock()
            if kind == "F":
                result = self._forward(chunk, each, given, tokens)
                self.forward_s += clock() - start
                if chunk == self.last:
                    total += float(result.detach())
                else:
                    sent.append(self._send("F", chunk + 1, each, result.detach()))
            else:
                x = self._backward(chunk, each, given)
                self.backward_s += clock() - start
                if chunk:
                    sent.append(self._send("B", chunk - 1, each, x))
        for work, _ in sent:
            work.wait()
        self.optimizer.step()
        return total

    def _read(self, number: int) -> list[torch.Tensor]:
        """A step's micro-batches, for the first chunk's inputs and the last one's targets; none for stages between."""
        numbers = data.numbers_of_step(number, self.batch)
        if not {0, self.last} & set(self.parts):
            return []
        shares = [data.share(numbers, each, self.batches) for each in range(self.batches)]
        return [tokens_of(share, self.shape) for share in shares]

    def _ask(self, kind: str, chunk: int, each: int) -> tuple[Any, torch.Tensor] | None:
        """Post the receive of an operation's input; None where it has none from another chunk."""
        source = chunk - 1 if kind == "F" else chunk + 1
        if not 0 <= source <= self.last:
            return None
        shape = (self.samples, self.shape.context, self.shape.hidden)
        into = torch.empty(shape, dtype=getattr(torch, self.shape.dtype))
        return dist.irecv(into, source % self.ranks, tag=self._tag(kind, chunk, each)), into

    def _tag(self, kind: str, chunk: int, each: int) -> int:
        return int(((kind == "B") * len(self.bounds) + chunk) * self.batches + each)

    def _take(self, expected: tuple[Any, torch.Tensor] | None) -> torch.Tensor | None:
        if expected is None:
            return None
        work, into = expected
        start = clock()
        work.wait()
        waited = clock() - start
        if start + waited > self.accelerator.ready:
            self.waited_s += start + waited - max(start, self.accelerator.ready)
            self.accelerator.wait_over()
        return into

    def _forward(
        self, chunk: int, each: int, given: torch.Tensor | None, tokens: list[torch.Tensor]
    ) -> torch.Tensor:
        x = tokens[each][:, :-1] if given is None else given.requires_grad_()
        y = self.parts[chunk](x)
        if chunk == self.last:
            y = loss_of(y, tokens[each], self.batch)
        self.kept[chunk, each] = x, y
        return y

    def _backward(self, chunk: int, each: int, given: torch.Tensor | None) -> torch.Tensor:
        x, y = self.kept.pop((chunk, each))
        y.backward(given)
        return x if x.grad is None else x.grad

    def _send(self, kind: str, chunk: int, each: int, what: torch.Tensor) -> tuple[Any, torch.Tensor]:
        return dist.isend(what, chunk % self.ranks, tag=self._tag(kind, chunk, each)), what


def run(case: Mapping[str, Any], rank: int, ranks: int, folder: Path) -> dict[str, Any]:
    """Run a case's steps on all ranks: ends of the steps (s, the first is the start), losses by step, seconds that this rank
    waited for others in each step, the end of the step included.

    case: `shape`, `pace`, `schedule`, `bounds`, `micro_batches`, `batch`, `steps`, `factors`, `trace`.
    """
    stage = Stage(case, rank, ranks)
    recorder = Recorder(folder / case["trace"] if case.get("trace") else None, rank, case["steps"])
    dist.barrier()
    ends, shares, waited = [clock()], [], []
    for number in range(case["steps"]):
        stage.accelerator.wait_over()
        stage.waited_s = stage.forward_s = stage.backward_s = 0.0
        loss = torch.tensor([stage.step(number)], dtype=torch.float64)
        start = clock()
        dist.all_reduce(loss)  # all begin the next step together, as gradient norms make them do
        shares.append(float(loss))
        waited.append(stage.waited_s + clock() - start)
        ends.append(clock())
        recorder.step(stage.forward_s, stage.backward_s)
    return {"ends_s": ends, "losses": shares, "waited_s": waited, "record": recorder.end()}
