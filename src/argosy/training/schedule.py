"""An event simulation of pipeline schedules over stages that may differ, with the timeline it gives.

Each rank runs its operations in the order that the schedule fixes; an operation starts when its rank is free
and its input has arrived. That is all: bubbles, ramps and stragglers follow. Where stages are even, the
result equals the closed form of `pipeline.schedule_seconds` (tested).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.ledger import Interval
from argosy.training.orders import Group, Operation, alone, dualpipe, zero_bubble_h2, zero_bubble_v

SIMULATED = ("gpipe", "1f1b", "interleaved", "zero-bubble", "zero-bubble-h2", "zero-bubble-v", "dualpipe")
_EXPLICIT = {"zero-bubble-h2": zero_bubble_h2, "zero-bubble-v": zero_bubble_v, "dualpipe": dualpipe}


@dataclass(frozen=True)
class Simulation:
    """What a simulated step took: `seconds`, busy seconds per rank (p,), and the operations as intervals."""

    seconds: float
    busy: np.ndarray
    timeline: tuple[Interval, ...]

    @property
    def bubble_fraction(self) -> float:
        """Idle rank-seconds over all rank-seconds."""
        return float(1 - self.busy.sum() / (self.seconds * len(self.busy)))


def order(schedule: str, rank: int, pp: int, micro_batches: int, vp: int = 1) -> list[Group]:
    """The operations of one pipeline rank in the order in which it runs them, those that run side by side grouped.

    GPipe (Huang et al. 2019): all forwards, then all backwards. 1F1B (Narayanan et al. 2019): p − 1 − rank
    forwards, then one forward and one backward in turn. Interleaved (Narayanan et al. 2021): the same over v
    chunks, micro-batches in groups of p. Zero-bubble H1 (Qi et al. 2023): 1F1B of inputs' gradients; weight
    gradients are not listed, the simulation fills idle time with them.
    """
    if schedule in _EXPLICIT:
        return _EXPLICIT[schedule](rank, pp, micro_batches)
    work = micro_batches * vp
    forwards = [_forward(k, rank, pp, vp) for k in range(work)]
    backwards = [_backward(k, rank, pp, vp) for k in range(work)]
    if schedule == "gpipe":
        return alone(forwards + backwards)
    ahead = pp - 1 - rank if vp == 1 else 2 * (pp - 1 - rank) + (vp - 1) * pp
    warm = min(ahead, work)
    steady = [op for pair in zip(forwards[warm:], backwards, strict=False) for op in pair]
    return alone(forwards[:warm] + steady + backwards[work - warm :])


def _forward(k: int, rank: int, pp: int, vp: int) -> Operation:
    """The k-th forward of a rank: groups of p micro-batches go through its chunks one after the other."""
    group, within = divmod(k, pp * vp)
    if vp == 1:
        return Operation("F", rank, k)
    return Operation("F", within // pp * pp + rank, group * pp + within % pp)


def _backward(k: int, rank: int, pp: int, vp: int) -> Operation:
    """The k-th backward: as the forwards, from the last chunk to the first."""
    forward = _forward(k, rank, pp, vp)
    return Operation("B", pp * vp - pp + 2 * rank - forward.chunk, forward.micro_batch)


def simulate(
    schedule: str,
    forward: Any,
    backward: Any,
    micro_batches: int,
    vp: int = 1,
    transfer: Any = 0.0,
    weight_gradient: Any = None,
) -> Simulation:
    """One step of a pipeline, operation by operation.

    `forward`, `backward`: seconds per chunk (p·v,) from first to last, or per chunk and micro-batch (p·v, m)
    for stragglers and jitter; backward includes the weight gradients. `transfer`: seconds for an activation
    to reach the next rank, with no cost to the sender; or such seconds for every boundary between chunks
    (p·v − 1,), where one of them is a long cable. `weight_gradient`: the part of `backward` that zero-
    bubble may postpone (default: half). Raises ValueError for a schedule without an order here, or sizes
    that do not divide.
    """
    if schedule not in SIMULATED:
        raise ValueError(f"no simulated order for schedule {schedule!r}; there is {', '.join(SIMULATED)}")
    forward, backward = (
        np.broadcast_to(_columns(x), (len(forward), micro_batches)) for x in (forward, backward)
    )
    chunks = len(forward)
    if chunks % vp:
        raise ValueError(f"{chunks} chunks do not divide by {vp} virtual stages")
    if schedule == "interleaved" and micro_batches % (chunks // vp):
        raise ValueError(
            f"interleaving needs micro-batches in multiples of the {chunks // vp} ranks, not {micro_batches}"
        )
    ranks = chunks // vp
    if schedule == "dualpipe" and (ranks % 2 or micro_batches % 2 or micro_batches < 2 * ranks or vp > 1):
        raise ValueError(
            "DualPipe needs an even pipeline of one chunk a rank, and an even 2·p micro-batches or more"
        )
    if schedule == "zero-bubble-v" and vp != 2:
        raise ValueError(f"zero-bubble V has two chunks a rank, not {vp}")
    seconds = {"F": forward, "B": backward, "W": np.zeros_like(forward)}
    if schedule == "zero-bubble" or schedule in _EXPLICIT:
        postponed = (
            backward / 2
            if weight_gradient is None
            else np.broadcast_to(_columns(weight_gradient), backward.shape)
        )
        seconds = {"F": forward, "B": backward - postponed, "W": postponed, "A": backward}
    hops = np.broadcast_to(np.asarray(transfer, float), (max(chunks - 1, 1),)).tolist()
    return _run(schedule, seconds, chunks // vp, micro_batches, vp, hops)


def _columns(values: Any) -> np.ndarray:
    array: np.ndarray = np.asarray(values, float)
    return array[:, None] if array.ndim == 1 else array


def _run(
    schedule: str, seconds: dict[str, np.ndarray], pp: int, micro_batches: int, vp: int, hops: list[float]
) -> Simulation:
    """Run every rank's queue; a rank that waits for another is taken up again when that one has moved on."""
    queues = [deque(order(schedule, rank, pp, micro_batches, vp)) for rank in range(pp)]
    postponed: list[deque[Operation]] = [deque() for _ in range(pp)]
    done: dict[Operation, float] = {}
    clock, busy = np.zeros(pp), np.zeros(pp)
    timeline: list[Interval] = []
    split = schedule == "zero-bubble"

    def execute(rank: int, group: Group, earliest: float) -> None:
        start = max(float(clock[rank]), earliest)
        lengths = [float(seconds[each.kind][each.chunk, each.micro_batch]) for each in group]
        end = clock[rank] = start + sum(lengths)
        busy[rank] += end - start
        for operation in group:
            done[operation._replace(kind="B") if operation.kind == "A" else operation] = end
            if split and operation.kind == "B":
                postponed[rank].append(operation._replace(kind="W"))
        name = "+".join(f"{each.kind}{each.micro_batch}" for each in group)
        timeline.append(Interval(start, float(end), name, f"stage {rank}"))

    waiting = deque(range(pp))
    while waiting:
        rank = waiting.popleft()
        moved = False
        while queues[rank]:
            inputs = [_arrival(each, done, pp * vp, pp, hops) for each in queues[rank][0]]
            if None in inputs:
                break
            arrival = max(each for each in inputs if each is not None)
            while postponed[rank] and arrival > clock[rank]:
                execute(rank, (postponed[rank].popleft(),), 0.0)
            execute(rank, queues[rank].popleft(), arrival)
            moved = True
        if moved:
            waiting.extend(
                other
                for other in ((rank - 1) % pp, (rank + 1) % pp)
                if other not in waiting and queues[other]
            )
    for rank in range(pp):
        while postponed[rank]:
            execute(rank, (postponed[rank].popleft(),), 0.0)
    if any(queues):
        raise RuntimeError("the schedule deadlocked: an order is wrong")
    return Simulation(float(clock.max()), busy, tuple(timeline))


def _arrival(
    operation: Operation, done: dict[Operation, float], chunks: int, pp: int, hops: list[float]
) -> float | None:
    """When the operation's input is there, or None while nobody has made it."""
    kind, chunk, micro_batch = operation
    if kind == "W":
        return 0.0  # its rank has run the backward of the inputs before
    if kind == "F":
        source = None if chunk == 0 else Operation("F", chunk - 1, micro_batch)
    else:
        source = (
            Operation("F", chunk, micro_batch)
            if chunk == chunks - 1
            else Operation("B", chunk + 1, micro_batch)
        )
    if source is None:
        return 0.0
    if source not in done:
        return None
    crosses = source.chunk != chunk and pp > 1
    return done[source] + (hops[min(source.chunk, chunk)] if crosses else 0.0)
