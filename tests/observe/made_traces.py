"""Ranks' reduced traces made by hand: a job of steps, in each some work and a few collectives, played out on true clocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from argosy.observe.records import Batch, Collectives, Input, Position, RankTrace

MS = 1_000_000  # ns
OPERATIONS = ("all_reduce", "send_recv", "all_gather")
Work = Callable[[int, int, int], float]  # (rank, step, collective) → ms of own work before it


def traces(
    ranks: int,
    steps: int,
    work_ms: Work,
    collectives: int = 4,
    transfer_ms: float = 1.0,
    offset_ns: Sequence[int] | None = None,
    group: str = "",
    metadata: bool = False,
    nodes: int = 1,
    activity: str = "compute",
    bytes_: int = 1 << 20,
) -> list[RankTrace]:
    """Every rank works, then joins the step's collectives; each ends for all a transfer after the last rank came.

    `activity`: what own work beyond the first rank's counts as; clocks are off by `offset_ns`.
    """
    clock = np.zeros(ranks)
    starts, ends = np.zeros((ranks, steps, collectives)), np.zeros((ranks, steps, collectives))
    begun, own = np.zeros((ranks, steps)), np.zeros((ranks, steps))
    for step in range(steps):
        begun[:, step] = clock
        for k in range(collectives):
            work = np.array([work_ms(rank, step, k) for rank in range(ranks)])
            own[:, step] += work
            starts[:, step, k] = clock + work
            clock = np.full(ranks, starts[:, step, k].max() + transfer_ms)
            ends[:, step, k] = clock
    finished = np.concatenate([begun[:, 1:], np.tile(clock[:, None], (1, 1))], axis=1)
    least = own.min(axis=0)
    found = []
    for rank in range(ranks):
        shift = 10**15 + (offset_ns[rank] if offset_ns else 0)

        def ns(ms: np.ndarray, shift: int = shift) -> np.ndarray:
            return np.rint(ms * MS).astype(np.int64) + shift

        start, end = ns(starts[rank].ravel()), ns(ends[rank].ravel())
        length = (finished[rank] - begun[rank]) * 1e-3
        seconds = {
            kind: np.zeros(steps) for kind in ("compute", "communication", "copy", "host", "data", "idle")
        }
        seconds["communication"] = length - own[rank] * 1e-3
        seconds["compute"] = least * 1e-3
        seconds[activity] = seconds[activity] + (own[rank] - least) * 1e-3
        count = len(start)
        found.append(
            RankTrace(
                path=f"rank{rank}.json",
                position=Position(
                    rank=rank if metadata else None,
                    world=ranks if metadata else None,
                    node=f"node{rank * nodes // ranks}" if nodes > 1 else None,
                ),
                device=None,
                era="relative-us",
                step_number=np.arange(10, 10 + steps),
                step_start_ns=ns(begun[rank]),
                step_end_ns=ns(finished[rank]),
                activity_s=seconds,
                communication_s=seconds["communication"],
                collectives=Collectives(
                    OPERATIONS,
                    (group,),
                    np.zeros(count, np.int64),
                    np.zeros(count, np.int64),
                    np.arange(count) if metadata else np.full(count, -1),
                    start,
                    end,
                    np.full(count, bytes_),
                    end - start,
                    np.repeat(np.arange(steps), collectives),
                    np.arange(count),
                ),
                groups={group: tuple(range(ranks))} if metadata and group else {},
                kernels={},
                categories={"gemm": float(seconds["compute"].sum())},
                flops=None,
            )
        )
    return found


def batches(found: Sequence[RankTrace]) -> list[Batch]:
    """As a reader hands them over."""
    return [Batch(Input(trace.path, "kineto", "read", 1), traces=(trace,)) for trace in found]


def even(rank: int, step: int, collective: int) -> float:
    """Equal work of 25 ms, scattered by half a per cent."""
    return 25.0 * float(1 + 0.005 * np.random.default_rng((rank, step, collective)).standard_normal())
