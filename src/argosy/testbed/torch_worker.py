"""One rank of collectives over torch.distributed and gloo: as `worker`, with gloo's own all-reduce. Only ranks import this.

`ring`: gloo's all-reduce, which is one ring in rank order. `hierarchical`: a ring reduce-scatter inside every group of
neighbours (by messages: gloo's own reduce_scatter is an all-reduce inside), gloo's all-reduce across, gloo's all-gather inside.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from argosy.testbed.namespaces import counters, retransmitted
from argosy.testbed.worker import ELEMENT, _numbers


def main(path: Path) -> None:
    """Run a plan; rank 0 writes what was measured."""
    plan = json.loads(path.read_text(encoding="utf-8"))
    with suppress(OSError):  # gloo's threads inherit it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    dist.init_process_group("gloo")
    rows = [_case(plan, case) for case in plan["cases"]]
    if dist.get_rank() == 0:
        Path(plan["output"]).write_text(json.dumps(rows), encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def _case(plan: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """Times of a case, whether every sum was right, and the counters of the measured repeats."""
    me, count = dist.get_rank(), case["bytes"] // ELEMENT
    groups = [dist.new_group(ranks) for ranks in case["groups"]]
    across = [dist.new_group(ranks) for ranks in case["across"]]
    own = next(number for number, ranks in enumerate(case["groups"]) if me in ranks)
    beside = next((number for number, ranks in enumerate(case["across"]) if me in ranks), None)
    added = range(dist.get_world_size()) if case["across"] else case["groups"][own]
    times, right, before = [], True, None
    for repeat in range(plan["warm_up"] + plan["repeats"]):
        data = torch.from_numpy(_numbers(me, repeat, count))
        dist.barrier()
        if repeat == plan["warm_up"]:
            before = _counters(plan)
            dist.barrier()
        start = time.monotonic()
        if beside is None:
            dist.all_reduce(data, group=groups[own])
        else:
            _hierarchical(data, case["groups"][own], groups[own], across[beside])
        end = time.monotonic()
        dist.barrier()  # others may still be at it: what follows takes the cores
        if repeat >= plan["warm_up"]:
            times.append((start, end))
        right = right and bool(
            np.array_equal(data.numpy(), sum(_numbers(rank, repeat, count) for rank in added))
        )
    dist.barrier()
    after = _counters(plan)
    spans: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(spans, (times, right))
    return {
        "times_s": [
            max(end for _, end in at) - max(start for start, _ in at)
            for at in zip(*(times for times, _ in spans), strict=True)
        ],
        "right": all(fine for _, fine in spans),
        "before": before[0] if before else None,
        "after": after[0] if after else None,
        "retransmitted": after[1] - before[1] if after and before else 0,
    }


def _counters(plan: dict[str, Any]) -> tuple[Any, int] | None:
    if dist.get_rank() or not plan["counted"]:
        return None
    return counters(plan["counted"]), sum(retransmitted(plan["counted"]).values())


def _hierarchical(data: torch.Tensor, ranks: list[int], inside: Any, across: Any) -> None:
    """Reduce-scatter, all-reduce of the part, all-gather. `data` divides by the group's size."""
    part = reduce_scatter(data, ranks, inside)
    dist.all_reduce(part, group=across)
    dist.all_gather_single(data, part, group=inside)


def reduce_scatter(data: torch.Tensor, ranks: list[int], group: Any) -> torch.Tensor:
    """Part i of the sum at place i of `ranks`, by a ring of messages: N − 1 rounds of M/N, as the law says. Overwrites `data`."""
    at, size = ranks.index(dist.get_rank()), len(ranks)
    parts = list(data.view(size, -1))
    taken = torch.empty_like(parts[0])
    for step in range(size - 1):
        sent = dist.isend(parts[(at - step - 1) % size], ranks[(at + 1) % size], group=group)
        dist.recv(taken, ranks[at - 1], group=group)
        parts[(at - step - 2) % size].add_(taken)
        sent.wait()
    return parts[at].clone()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
