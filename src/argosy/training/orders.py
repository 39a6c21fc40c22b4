"""Pipeline schedules whose order names the weight gradients as well: zero-bubble H2 and V, DualPipe.

Each function gives the operations of one rank in order; those in one group run side by side and end together.
Kinds: F forward, B backward of the inputs, W of the weights, A all of the backward at once.
"""

from __future__ import annotations

from typing import NamedTuple


class Operation(NamedTuple):
    """One piece of work on one model chunk (0 … p·v − 1 from the embedding to the head) and micro-batch.

    Kinds: F forward, B backward (where the schedule splits it: of the inputs only), W weight gradients, A both.
    """

    kind: str
    chunk: int
    micro_batch: int


Group = tuple[Operation, ...]
_KINDS = {"F": "forward", "B": "backward", "W": "weight gradients", "A": "backward"}


def kind(state: str) -> str:
    """What an interval's state such as `F3`, `W2` or `F3+A1` is, in words."""
    return " and ".join(dict.fromkeys(_KINDS.get(part[:1], part) for part in state.split("+")))


def alone(operations: list[Operation]) -> list[Group]:
    """Every operation as a group of its own."""
    return [(operation,) for operation in operations]


def zero_bubble_h2(rank: int, pp: int, micro_batches: int) -> list[Group]:
    """H2 (Qi et al. 2023, arXiv:2401.10241, section 2.2): twice the warm-up of 1F1B, then F, B, W in turn.

    2(p − 1 − rank) forwards come first, so that the first backward finds its rank busy. Towards the end, when the
    first ranks have no forwards left, W waits on the last ranks, so that backwards keep coming: every rank works
    without a gap from its first forward to its last W, rank i being i forwards later than the first.
    """
    warm, ahead = min(2 * (pp - 1 - rank), micro_batches), 2 * pp - 2
    found = [Operation("F", rank, k) for k in range(warm)]
    put_off: list[Operation] = []
    tail = micro_batches - ahead - 1
    for k in range(micro_batches):
        if warm + k < micro_batches:
            found.append(Operation("F", rank, warm + k))
        found.append(Operation("B", rank, k))
        put_off.append(Operation("W", rank, k))
        if not tail <= k < tail + 2 * rank:
            found.append(put_off.pop(0))
    return alone(found + put_off)


def zero_bubble_v(rank: int, pp: int, micro_batches: int) -> list[Group]:
    """ZB-V (Qi et al. 2024, arXiv:2405.15362): two chunks a rank, laid as a V: down on `rank`, back up on 2p − 1 − rank.

    The rank that embeds also computes the loss. Memory is that of 1F1B, and with F = B = W nothing idles. At
    least 2p − 1 micro-batches fill it.
    """
    down, up = rank, 2 * pp - 1 - rank
    count = {(kind, chunk): 0 for kind in "FBW" for chunk in (down, up)}
    found: list[Operation] = []

    def add(kind: str, chunk: int) -> None:
        if count[kind, chunk] < micro_batches:
            found.append(Operation(kind, chunk, count[kind, chunk]))
            count[kind, chunk] += 1

    for _ in range(2 * (pp - rank) - 1):
        add("F", down)
    for _ in range(rank):
        add("F", up)
        add("F", down)
    for _ in range(pp - rank):
        for kind in "FBW":
            add(kind, up)
    while count["F", up] < micro_batches:
        add("F", down)
        for kind, chunk in (("B", down), ("W", down), ("F", up), ("B", up), ("W", up)):
            add(kind, chunk)
    for _ in range(rank):
        add("B", down)
        add("B", up)
    for _ in range(pp - rank):
        add("B", down)
        add("W", down)
    for chunk in (down, up):
        for _ in range(micro_batches):
            add("B", chunk)
    for chunk in (up, down):
        for _ in range(micro_batches):
            add("W", chunk)
    return alone(found)


def dualpipe(rank: int, pp: int, micro_batches: int) -> list[Group]:
    """DualPipe (DeepSeek-V3, arXiv:2412.19437, section 3.2.1): half of the micro-batches from either end.

    Every rank holds chunk `rank` for one direction and p − 1 − rank for the other. Micro-batches 0 … m/2 − 1
    go down, the others up. The eight phases are those of the published figure for p = 8, m = 20.
    """
    half, near = micro_batches // 2, min(rank, pp - 1 - rank)
    inner = pp // 2 - near - 1  # ranks between this one and the middle
    mirrored = rank >= pp // 2
    count = {(kind, way): 0 for kind in "FB" for way in (0, 1)}
    found: list[Group] = []
    put_off: list[Operation] = []

    def take(kind: str, way: int, split: bool = False) -> Operation:
        """The next forward or backward of a direction: 0 comes from this rank's nearer end, 1 from the other."""
        chunk, index = (rank, 0) if way ^ mirrored == 0 else (pp - 1 - rank, half)
        operation = Operation(kind, chunk, index + count[kind, way])
        count[kind, way] += 1
        if kind == "B" and split:
            put_off.append(operation._replace(kind="W"))
        return operation if kind == "F" or split else operation._replace(kind="A")

    def add(*group: Operation) -> None:
        found.append(group)

    for _ in range(2 * inner):
        add(take("F", 0))
    for _ in range(near + 1):
        add(take("F", 0))
        add(take("F", 1))
    for _ in range(inner):
        add(take("B", 1, split=True))
        add(put_off.pop(0))
        add(take("F", 1))
    for i in range(half - pp + near + 1):
        if i == 0 and near == pp // 2 - 1:  # the two middle ranks: nothing to pair the first forward with yet
            add(take("F", 0))
            add(take("B", 1))
        else:
            add(take("F", 0), take("B", 1))
        add(take("F", 1), take("B", 0))
    for _ in range(inner):
        add(take("B", 1))
        add(take("F", 1), take("B", 0))
    split = False
    for i in range(near + 1):
        split = split or (2 * i == near + 1 and near % 2 == 1)
        add(take("B", 1, split))
        split = split or (i == (near + 1) // 2 and near % 2 == 0)
        add(take("B", 0, split))
    for _ in range(inner):
        add(put_off.pop(0))
        add(take("B", 0, split=True))
    return found + alone(put_off)
