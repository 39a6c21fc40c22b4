"""Collectives over point-to-point messages: ring, tree, double tree, hierarchical; written for this testbed, with NumPy.

A collective is a set of lanes: generators that send and receive, hand over the requests that they wait for, and go on
when these are done. All lanes of a rank run at once, so that pieces follow each other on the wire without gaps. Whoever
waits sleeps in between: MPI's own waiting would keep the cores busy that have to move the bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np

Array = np.ndarray
Lane = Generator[list[Any], None, None]
POLL_S = 0.0005


class Messages(Protocol):
    """What of an MPI communicator is used: mpi4py's own names."""

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """Start to send; a request with `Test()`."""

    def Irecv(self, buf: Any, source: int, tag: int = 0) -> Any:
        """Start to receive; a request with `Test()`."""


def run(
    lanes: Iterable[Lane], at_once: int | None = None, pause: Callable[[float], None] = time.sleep
) -> None:
    """Drive all lanes to their ends, in order; `at_once`: lanes under way at a time (None: all)."""
    ahead = iter(lanes)
    active: list[tuple[Lane, list[Any]]] = [(lane, []) for lane in islice(ahead, at_once)]
    while active:
        still, moved = [], False
        for lane, requests in active:
            left = [request for request in requests if not request.Test()]
            while not left:
                moved = True
                try:
                    left = [request for request in next(lane) if not request.Test()]
                except StopIteration:
                    break
            else:
                still.append((lane, left))
        active = still + [(lane, []) for lane in islice(ahead, len(active) - len(still))]
        if active and not moved:
            pause(POLL_S)


def pieces(data: Array, count: int) -> list[Array]:
    """`data` cut into `count` views, as even as can be."""
    return np.array_split(data, count)


def ring_lane(
    messages: Messages, lap: Sequence[int], me: int, data: Array, tag: int, passes: str = "both"
) -> Lane:
    """All-reduce of `data` over the ranks of `lap`, in its order: N − 1 rounds that add up, N − 1 that hand on.

    `passes`: `scatter` or `gather` for one half; the block that is whole in between is `owned(lap, me)`.
    """
    size, at = len(lap), lap.index(me)
    after, before = lap[(at + 1) % size], lap[at - 1]
    blocks = pieces(data, size)
    taken = np.empty(max(len(block) for block in blocks), dtype=data.dtype)
    sent: list[
        Any
    ] = []  # a round waits for what it receives alone: over a long cable a send ends a way later
    for step in range(size - 1) if passes != "gather" else ():
        target = blocks[(at - step - 1) % size]
        part = taken[: len(target)]
        received = messages.Irecv(part, before, tag)
        sent.append(messages.Isend(blocks[(at - step) % size], after, tag))
        yield [received]
        target += part
    for step in range(size - 1) if passes != "scatter" else ():
        if passes == "both":
            yield [sent[step]]  # its block is written to now
        received = messages.Irecv(blocks[(at - step) % size], before, tag)
        sent.append(messages.Isend(blocks[(at + 1 - step) % size], after, tag))
        yield [received]
    yield sent


def owned(lap: Sequence[int], me: int) -> int:
    """The block of which a rank has the sum after the first half of a ring."""
    return (lap.index(me) + 1) % len(lap)


def tree_lane(messages: Messages, ranks: Sequence[int], me: int, data: Array, tag: int) -> Lane:
    """All-reduce over a binomial tree: the whole of `data` up level by level, and back down."""
    at, size = ranks.index(me), len(ranks)
    taken = np.empty_like(data)
    level = 1
    while level < size and not at & level:
        if at + level < size:
            yield [messages.Irecv(taken, ranks[at + level], tag)]
            data += taken
        level *= 2
    if at:
        yield [messages.Isend(data, ranks[at - level], tag), messages.Irecv(taken, ranks[at - level], tag)]
        data[:] = taken
    while level > 1:
        level //= 2
        if at + level < size:
            yield [messages.Isend(data, ranks[at + level], tag)]


def parents_lane(
    messages: Messages, ranks: Sequence[int], me: int, data: Array, tag: int, parents: Sequence[int]
) -> Lane:
    """All-reduce of one piece over a tree given by `parents` (places in `ranks`; −1: the root)."""
    at = ranks.index(me)
    children = [place for place, parent in enumerate(parents) if parent == at]
    taken = [np.empty_like(data) for _ in children]
    if children:
        yield [
            messages.Irecv(buffer, ranks[child], tag) for buffer, child in zip(taken, children, strict=True)
        ]
        for buffer in taken:
            data += buffer
    if parents[at] >= 0:
        total = np.empty_like(data)
        yield [messages.Irecv(total, ranks[parents[at]], tag), messages.Isend(data, ranks[parents[at]], tag)]
        data[:] = total
    if children:
        yield [messages.Isend(data, ranks[child], tag) for child in children]


def ring(
    messages: Messages, laps: Sequence[Sequence[int]], me: int, data: Array, slices: int, passes: str = "both"
) -> None:
    """As many rings as `laps`, each with its share of `data`, in `slices` that follow each other."""
    shares = [piece for share in pieces(data, len(laps)) for piece in pieces(share, slices)]
    run(
        ring_lane(messages, laps[number // slices], me, piece, number, passes)
        for number, piece in enumerate(shares)
    )


def tree(messages: Messages, ranks: Sequence[int], me: int, data: Array) -> None:
    """The binomial tree, not pipelined."""
    run([tree_lane(messages, ranks, me, data, 0)])


def tree_lanes(
    messages: Messages,
    ranks: Sequence[int],
    me: int,
    data: Array,
    parents: Sequence[Sequence[int]],
    count: int,
    first_tag: int = 0,
) -> list[Lane]:
    """Half of `data` over each of two trees, in `count` pieces, piece by piece from both."""
    halves = [pieces(half, count) for half in pieces(data, len(parents))]
    together = [pair for both in zip(*halves, strict=True) for pair in zip(both, parents, strict=True)]
    return [
        parents_lane(messages, ranks, me, piece, first_tag + number, tree_parents)
        for number, (piece, tree_parents) in enumerate(together)
    ]


def double_tree(
    messages: Messages,
    ranks: Sequence[int],
    me: int,
    data: Array,
    parents: Sequence[Sequence[int]],
    count: int,
    at_once: int | None = None,
) -> None:
    """All-reduce over two trees at once, pipelined in `count` pieces each, `at_once` of them under way."""
    run(tree_lanes(messages, ranks, me, data, parents, count), at_once)


def hierarchical(
    messages: Messages,
    by_domain: Sequence[Sequence[int]],
    me: int,
    data: Array,
    parents: Sequence[Sequence[int]],
    count: int,
    slices: int,
    at_once: int | None = None,
) -> None:
    """Reduce-scatter by a ring in the node group, a double tree across on the shard, all-gather by a ring.

    `by_domain`: ranks of every node group; those in one place of their groups reduce across. One phase after the other,
    each in pieces: `slices` for the rings, `count` on each tree, `at_once` of these under way.
    """
    home = next(group for group in by_domain if me in group)
    across = [group[home.index(me)] for group in by_domain]
    parts = pieces(data, slices)
    run(ring_lane(messages, home, me, part, tag, "scatter") for tag, part in enumerate(parts))
    if len(across) > 1:
        each = max(1, count // slices)
        lanes: list[Lane] = []
        for part in parts:
            shard = pieces(part, len(home))[owned(home, me)]
            lanes += tree_lanes(messages, across, me, shard, parents, each, len(lanes))
        run(lanes, at_once)
    run(ring_lane(messages, home, me, part, tag, "gather") for tag, part in enumerate(parts))
