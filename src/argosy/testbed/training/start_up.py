"""How long a job's collective group takes to start, for several numbers of ranks. torch: `python -m …start_up FOLDER`.

Every start has keys of its own in the store (a TCPStore on the control plane), so that nothing is there from the one before.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from argosy.testbed.training.rank_main import punctual

LIMIT = timedelta(seconds=60)


def main(folder: Path) -> None:
    """Start and end groups of the first n ranks as FOLDER/plan.json says (`sizes`, `repeats`); rank 0 writes
    FOLDER/found.json: seconds of every start by n, from when all ranks were there until the last member had its group.
    """
    punctual()
    import torch.distributed as dist

    from argosy.testbed.training.exchange import clock

    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))["cases"][0]
    store, rank, ranks = next(dist.rendezvous("env://"))
    found: dict[str, list[float]] = {}
    for size in plan["sizes"]:
        for repeat in range(plan["repeats"]):
            own: Any = dist.PrefixStore(f"{size}-{repeat}", store)
            _meet(own, "begin", rank, ranks)
            start = clock()
            if rank < size:
                dist.init_process_group("gloo", store=own, rank=rank, world_size=size, timeout=LIMIT)
                own.set(f"took-{rank}", str(clock() - start))
            _meet(own, "end", rank, ranks)
            if rank == 0:
                every = [float(own.get(f"took-{each}")) for each in range(size)]
                found.setdefault(str(size), []).append(max(every))
            if rank < size:
                dist.destroy_process_group()
    if rank == 0:
        (folder / "found.json").write_text(json.dumps([[found]]), encoding="utf-8")
    _meet(store, "over", rank, ranks)


def _meet(store: Any, name: str, rank: int, ranks: int) -> None:
    """All wait for all, by the store."""
    if store.add(name, 1) == ranks:
        store.set(f"{name}-all", "1")
    store.wait([f"{name}-all"], LIMIT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
