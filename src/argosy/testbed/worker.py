"""One rank: runs the cases of a plan, and rank 0 writes what was measured.

`mpiexec -n N python -m argosy.testbed.worker PLAN.json`. The process manager's proxy has started it in its host's namespace. All
messages are TCP over the rank's own card; none go through memory.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

PARENT_DEATH = 1  # prctl: end with whoever started this
ELEMENT = 4  # bytes of a float32
SMALL = 1  # elements of the message whose time is latency
EXCHANGES = 20


def main(path: Path) -> None:
    """Run a plan."""
    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    plan = json.loads(path.read_text(encoding="utf-8"))
    rank = int(os.environ["PMI_RANK"])
    os.environ |= {
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "MPIR_CVAR_NOLOCAL": "1",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": plan["interfaces"][rank],
        "OMP_NUM_THREADS": "1",
    }
    from mpi4py import MPI

    rows = _Rank(MPI, plan).run()
    if rank == 0:
        Path(plan["output"]).write_text(json.dumps(rows), encoding="utf-8")


class _Rank:
    """The communicator, and collectives of it that sleep while they wait."""

    def __init__(self, mpi: Any, plan: dict[str, Any]) -> None:
        self.mpi, self.plan, self.world = mpi, plan, mpi.COMM_WORLD
        self.me = int(self.world.Get_rank())

    def run(self) -> list[dict[str, Any]]:
        """All cases; ahead of others on a busy machine, where that is allowed: a rank mostly sleeps."""
        from argosy.testbed.priority import ahead

        rows = []
        with ahead():
            for case in self.plan["cases"]:
                rows.append(self._exchange(case) if case["algorithm"] == "exchange" else self._case(case))
            self._wait(self.world.Ibarrier())
        return rows

    def _wait(self, *requests: Any) -> None:
        from argosy.testbed.collectives import POLL_S

        for request in requests:
            while not request.Test():
                time.sleep(POLL_S)

    def _largest(self, value: float) -> float:
        """The largest of all ranks' values."""
        import numpy as np

        found = np.array([value])
        self._wait(self.world.Iallreduce(self.mpi.IN_PLACE, found, self.mpi.MAX))
        return float(found[0])

    def _case(self, case: dict[str, Any]) -> dict[str, Any]:
        """Median and all times of a case, whether every sum was right, and the counters of the measured repeats."""
        import numpy as np

        group = next((one for one in case["groups"] if self.me in one["ranks"]), None)
        count = case["bytes"] // ELEMENT
        data = np.empty(count, dtype=np.float32)
        times, right = [], True
        before: Any = None
        for repeat in range(self.plan["warm_up"] + self.plan["repeats"]):
            data[:] = _numbers(self.me, repeat, count)
            self._wait(self.world.Ibarrier())
            if repeat == self.plan["warm_up"]:
                before = self._counters()
                self._wait(self.world.Ibarrier())
            start = time.monotonic()
            if group is not None:
                _all_reduce(self.world, case, group, self.me, data)
            end = time.monotonic()
            seconds = self._largest(end) - self._largest(start)
            if group is not None:
                total = sum(_numbers(rank, repeat, count) for rank in group["ranks"])
                right = right and bool(np.array_equal(data, total))
            if repeat >= self.plan["warm_up"]:
                times.append(seconds)
        self._wait(self.world.Ibarrier())
        wrong = self._largest(0.0 if right else 1.0)
        after = self._counters()
        return {
            "times_s": times,
            "right": wrong == 0.0,
            "before": before[0] if before else None,
            "after": after[0] if after else None,
            "retransmitted": after[1] - before[1] if after and before else 0,
        }

    def _counters(self) -> tuple[Any, int] | None:
        """Bytes by namespace and interface, and TCP segments sent again by all; of rank 0 alone."""
        if self.me or not self.plan["counted"]:
            return None
        from argosy.testbed.namespaces import counters, retransmitted

        return counters(self.plan["counted"]), sum(retransmitted(self.plan["counted"]).values())

    def _exchange(self, case: dict[str, Any]) -> dict[str, Any]:
        """Rank 0 sends to rank 1: a small message there and back, then large ones with a small answer."""
        import numpy as np

        data = np.ones(case["bytes"] // ELEMENT, dtype=np.float32)
        taken = np.empty_like(data)
        found: dict[str, list[float]] = {"small_s": [], "times_s": []}
        for length, name, repeats in (
            (SMALL, "small_s", EXCHANGES),
            (len(data), "times_s", self.plan["warm_up"] + self.plan["repeats"]),
        ):
            for repeat in range(repeats):
                self._wait(self.world.Ibarrier())
                start = time.monotonic()
                if self.me == 0:
                    self._wait(self.world.Isend(data[:length], 1), self.world.Irecv(taken[:SMALL], 1))
                elif self.me == 1:
                    self._wait(self.world.Irecv(taken[:length], 0))
                    self._wait(self.world.Isend(data[:SMALL], 0))
                if name == "small_s" or repeat >= self.plan["warm_up"]:
                    found[name].append(time.monotonic() - start)
        return found


def _numbers(rank: int, repeat: int, count: int) -> Any:
    """Whole numbers whose sums a float32 holds exactly, different for every rank, place and repeat."""
    import numpy as np

    return ((np.arange(count, dtype=np.int64) * (2 * rank + 3) + repeat) % 1009).astype(np.float32)


def _all_reduce(world: Any, case: dict[str, Any], group: dict[str, Any], me: int, data: Any) -> None:
    from argosy.testbed import collectives

    name, slices = case["algorithm"], case["slices"]
    pieces, at_once = case["pieces"], case["at_once"]
    if name == "ring":
        collectives.ring(world, group["laps"], me, data, slices)
    elif name == "tree":
        collectives.tree(world, group["ranks"], me, data)
    elif name == "double-tree":
        collectives.double_tree(world, group["ranks"], me, data, group["parents"], pieces, at_once)
    else:
        collectives.hierarchical(
            world, group["by_domain"], me, data, group["parents"], pieces, slices, at_once
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
