"""What every rank of the training experiment runs: the cases of a plan, one after the other. torch.

`python -m argosy.testbed.training.rank_main FOLDER`: reads FOLDER/plan.json, rank 0 writes FOLDER/found.json: for every case
what each rank gave.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

SMALL, EXCHANGES = 8, 200  # elements of a small message; times it goes there and back
HELD_SECONDS = 30.0  # that the manager may take for what it is asked


def main(folder: Path) -> None:
    """Join the group, run the plan, tell what was found."""
    punctual()
    import torch
    import torch.distributed as dist

    from argosy.testbed.training.recorded import write_log

    torch.set_num_threads(1)
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    found = []
    for case in plan["cases"]:
        every: list[Any] = [None] * ranks
        dist.all_gather_object(every, run(case, rank, ranks, folder))
        if rank == 0 and case.get("trace"):
            write_log(folder / case["trace"] / "train.log", case, every)
        found.append(every)
    if rank == 0:
        (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def punctual() -> None:
    """Run ahead of others on a busy machine, where that is allowed: ranks mostly wait. Threads begun later inherit it."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def run(case: Mapping[str, Any], rank: int, ranks: int, folder: Path) -> dict[str, Any]:
    """One case by its `kind`."""
    from argosy.testbed.training import data_parallel, pipelined

    kind = case["kind"]
    if kind == "messages":
        return messages(case["bytes"], rank)
    if kind == "hold":
        return hold(case["name"], rank, folder)
    if kind == "reduce-scatter":
        return own_reduce_scatter(case["bytes"], ranks)
    runs = {"data-parallel": data_parallel.run, "pipeline": pipelined.run}
    return runs[kind](case, rank, ranks, folder)


def hold(name: str, rank: int, folder: Path) -> dict[str, Any]:
    """Ask the manager for something: FOLDER/hold-NAME appears, and all wait until it has answered by FOLDER/go-NAME."""
    import torch.distributed as dist

    dist.barrier()
    if rank == 0:
        (folder / f"hold-{name}").touch()
        limit = time.monotonic() + HELD_SECONDS
        while not (folder / f"go-{name}").exists():
            if time.monotonic() > limit:
                raise TimeoutError(f"nobody answered {name}")
            time.sleep(0.02)
    dist.barrier()
    return {}


def own_reduce_scatter(size: int, ranks: int) -> dict[str, Any]:
    """What torch's reduce_scatter_tensor sends by this rank's card for `size` bytes."""
    import torch
    import torch.distributed as dist

    from argosy.testbed.training.data_parallel import sent_bytes

    given, got = (
        torch.ones(size // 8, dtype=torch.float64),
        torch.empty(size // 8 // ranks, dtype=torch.float64),
    )
    dist.barrier()
    before = sent_bytes()
    dist.reduce_scatter_tensor(got, given)
    dist.barrier()
    return {"sent_bytes": sent_bytes() - before, "right": bool((got == ranks).all())}


def messages(size: int, rank: int) -> dict[str, Any]:
    """Rank 0 sends to rank 1: small messages there and back (`small_s`, both ways), then large ones with a small answer."""
    import torch
    import torch.distributed as dist

    from argosy.testbed.training.exchange import clock

    found: dict[str, Any] = {"small_s": [], "large_s": []}
    for name, count, repeats in (("small_s", SMALL, EXCHANGES), ("large_s", size // 8, 4)):
        sent, taken = torch.ones(count, dtype=torch.float64), torch.empty(count, dtype=torch.float64)
        short = torch.ones(SMALL, dtype=torch.float64)
        dist.barrier()
        for _ in range(repeats):
            start = clock()
            if rank == 0:
                dist.send(sent, 1)
                dist.recv(short, 1)
            elif rank == 1:
                dist.recv(taken, 0)
                dist.send(short, 0)
            found[name].append(clock() - start)
    dist.barrier()
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
