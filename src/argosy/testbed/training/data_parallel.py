"""A data-parallel job in one form, step by step; torch, only ranks import this."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from argosy.testbed.training import data
from argosy.testbed.training.exchange import Exchange, clock
from argosy.testbed.training.model import Accelerator, Transformer, loss_of, tokens_of
from argosy.testbed.training.recorded import Recorder
from argosy.testbed.training.shape import Pace, Shape


def run(case: Mapping[str, Any], rank: int, ranks: int, folder: Path) -> dict[str, Any]:
    """Run a case's steps on all ranks. Ends of the steps (s, one more than steps: the first is the start), losses of the
    whole batch by step, bytes and blocks of the buckets in the order of the backward pass, bytes that the card sent.

    case: `shape`, `pace`, `form`, `overlap`, `blocks` (per bucket), `batch` (samples of a step over all ranks), `steps`,
    `factors` (slowness by rank), `read_s` (seconds that a rank's loader takes for its samples, by rank), `ahead` (whether it
    reads while the step goes on), `trace` (folder for profiles and log). Form `none`: every rank computes its share and
    exchanges nothing; `reference`: rank 0 alone computes everything.
    """
    shape, pace = Shape(**case["shape"]), Pace.of(case["pace"])
    if case["form"] == "reference":
        if rank:
            return {}
        rank, ranks = 0, 1
    factors = case.get("factors") or [1.0] * ranks
    accelerator = Accelerator(pace, factors[rank])
    model = Transformer(shape, accelerator=accelerator)
    exchange = Exchange(model, accelerator, case["form"], case["overlap"], case["blocks"])
    alone = exchange.ranks == 1
    samples = Loader(case, rank, ranks)
    shares: list[torch.Tensor] = []
    traced = folder / case["trace"] if case.get("trace") else None
    recorder = Recorder(traced, dist.get_rank(), case["steps"])
    if case["form"] != "reference":
        dist.barrier()
    before, ends = sent_bytes(), [clock()]
    accelerator.wait_over()
    for _ in range(case["steps"]):
        tokens = samples.next(accelerator)
        start = clock()
        exchange.begin()
        loss = loss_of(model(tokens[:, :-1]), tokens, case["batch"])
        middle = clock()
        loss.backward()
        done = clock()
        exchange.finish()
        shares.append(loss.detach())
        ends.append(clock())
        recorder.step(middle - start, done - middle)
    exchange.end()
    after = sent_bytes()
    losses = torch.stack(shares).to(torch.float64)
    if not alone:
        dist.all_reduce(losses)
    return {
        "ends_s": ends,
        "losses": losses.tolist(),
        "bucket_bytes": [bucket.bytes for bucket in exchange.buckets],
        "bucket_blocks": [bucket.numbers for bucket in exchange.buckets],
        "sent_bytes": after - before,
        "record": recorder.end(),
    }


class Loader:
    """A rank's samples of step after step through torch's DataLoader, which takes `read_s` of this rank for them; `ahead`: a
    thread reads the next while the step goes on.
    """

    def __init__(self, case: Mapping[str, Any], rank: int, ranks: int) -> None:
        seconds = case.get("read_s") or [0.0] * ranks
        self._loader = iter(
            torch.utils.data.DataLoader(_Reads(case, rank, ranks, seconds[rank]), batch_size=None)
        )
        self._queue: queue.Queue[torch.Tensor] | None = None
        if case.get("ahead"):
            self._queue = queue.Queue(maxsize=1)
            threading.Thread(target=self._fill, daemon=True).start()

    def _fill(self) -> None:
        assert self._queue is not None
        for tokens in self._loader:
            self._queue.put(tokens)

    def next(self, accelerator: Accelerator) -> torch.Tensor:
        """The next step's tokens; the accelerator idles until they are there."""
        tokens = next(self._loader) if self._queue is None else self._queue.get()
        accelerator.wait_over()
        return tokens


class _Reads(torch.utils.data.Dataset[torch.Tensor]):
    """Item k: a rank's share of step k's samples, after `seconds`."""

    def __init__(self, case: Mapping[str, Any], rank: int, ranks: int, seconds: float) -> None:
        self._shape, self._batch, self._steps = Shape(**case["shape"]), case["batch"], case["steps"]
        self._place, self._seconds = (rank, ranks), seconds

    def __len__(self) -> int:
        return int(self._steps)

    def __getitem__(self, step: int) -> torch.Tensor:
        if self._seconds:
            time.sleep(self._seconds)
        return tokens_of(data.share(data.numbers_of_step(step, self._batch), *self._place), self._shape)


def sent_bytes() -> int:
    """Bytes that this process's network namespace has sent by its first card, headers too; 0 without one."""
    for line in Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == "eth0":
            return int(counters.split()[8])
    return 0
