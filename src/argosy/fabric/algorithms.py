"""Collectives step by step: who sends how much to whom, in how many rounds.

A step is a set of messages of equal bytes that start together; equal rounds are one step, repeated. Ranks are
accelerators; a group's members that share a scale-up domain stand together. Pieces of a message are as small as one
likes where steps overlap, as in the closed forms of `argosy.laws.collectives`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Step:
    """Messages `source` → `end` (flows,) of `bytes` each, `alike` (flows,) times each at once, over `rounds` rounds.

    `lag`: messages that one piece passes one after the other, (2, hops): their latencies add up to the step's, divided
    evenly over the rounds; None: every round waits for its slowest message. `switched`: bytes that every source also
    sends to, and gets from, its scale-up switches, which add them up; `in_network`: the fabric's switches add up what
    goes to one end, and send the sum back the same way. `everyone`: over all rounds every source sends to every other
    with its number in `end` (a rail), which are as many as there are rounds.
    """

    phase: str
    source: Array
    end: Array
    bytes: float
    rounds: float = 1.0
    alike: Array | None = None
    lag: Array | None = None
    switched: float = 0.0
    in_network: bool = False
    everyone: bool = False

    @property
    def amount(self) -> Array:
        """Bytes of every flow, those that are alike together."""
        return self.bytes * (np.ones(len(self.source)) if self.alike is None else self.alike)


@dataclass(frozen=True)
class Group:
    """The accelerators of one group, those that share a domain together: `pieces`, in order."""

    pieces: tuple[Array, ...]

    @classmethod
    def of(cls, ranks: Array, domain: int) -> Group:
        """The group of `ranks` (ascending accelerators) over domains of `domain` accelerators."""
        return cls(tuple(np.split(ranks, np.flatnonzero(np.diff(ranks // domain)) + 1)))

    @property
    def even(self) -> bool:
        """Whether all of its domains hold equally many."""
        return all(len(piece) == len(self.pieces[0]) for piece in self.pieces)

    @property
    def by_domain(self) -> Array:
        """An even group as (domains, members)."""
        return np.stack(self.pieces)

    @property
    def ranks(self) -> Array:
        """All of it, (ranks,)."""
        return np.concatenate(self.pieces)

    @property
    def size(self) -> int:
        """Ranks."""
        return sum(len(piece) for piece in self.pieces)

    @property
    def domains(self) -> int:
        """Domains that it touches."""
        return len(self.pieces)

    @property
    def members(self) -> int:
        """Ranks in each domain, or in the one that holds fewest."""
        return min(len(piece) for piece in self.pieces)

    def on_rail(self, rail: int) -> Array:
        """The members in one place of every domain, (domains,)."""
        return self.by_domain[:, rail]


def ring(group: Group, message: float, passes: int = 2, closed: bool = True) -> Iterator[Step]:
    """As many rings as a domain has members (the one with fewest), each with its share of the message and its own cards.

    Passes of N − 1 rounds of M/(N · rings) bytes. Not `closed`: a chain, which passes M / rings once in small pieces.
    A block goes on where the last pass left it, so two passes are 2(N − 1) messages one after the other around the ring: all
    of them twice but two, and of the blocks the slowest leaves out two that stay where the ring begins, inside a domain.
    """
    rings, size = group.members, group.size
    laps = ring_laps(group.by_domain) if group.even else uneven_laps(group.pieces)
    if not closed:  # every chain begins at the one rank that has the message
        root = np.argmax(laps == group.pieces[0][0], axis=1)
        laps = np.take_along_axis(laps, (np.arange(size)[None, :] + root[:, None]) % size, axis=1)
    after = np.roll(laps, -1, axis=1)
    if not closed:
        laps, after = laps[:, :-1], after[:, :-1]
    source, end, alike = merged(laps.ravel(), after.ravel())
    if closed:
        on = (passes + np.arange(passes * (size - 1))) % size
        lag = np.stack([laps[0], after[0]])[:, on]
        yield Step("ring", source, end, message / size / rings, passes * (size - 1.0), alike, lag)
    else:
        lag = np.stack([laps[0], after[0]])
        yield Step("chain", source, end, message / rings, 1.0, alike, lag)


def ring_laps(by_domain: Array) -> Array:
    """Ranks in the order of every ring, (..., members, ranks), of groups (..., domains, members).

    Domain after domain; ring c enters each at its member c and leaves it over the card of the next one's member c.
    """
    members = by_domain.shape[-1]
    turned = (np.arange(members)[None, :] + np.arange(members)[:, None]) % members
    laps = np.moveaxis(by_domain[..., turned], -3, -2)  # (..., domains, rings, members): rings before domains
    return laps.reshape(*by_domain.shape[:-2], members, -1)


def uneven_laps(pieces: Sequence[Array]) -> Array:
    """Ranks in the order of every ring, (rings, ranks), where domains hold unequal numbers: as many rings as the one
    with fewest; each domain is entered at evenly spread members.
    """
    rings = min(len(piece) for piece in pieces)
    return np.stack(
        [
            np.concatenate([np.roll(piece, -(ring * len(piece) // rings)) for piece in pieces])
            for ring in range(rings)
        ]
    )


def tree(group: Group, message: float) -> Iterator[Step]:
    """A binomial tree, the whole message at every level, up and then down; not pipelined."""
    ranks = group.ranks
    place = np.arange(len(ranks))
    levels = int(np.ceil(np.log2(len(ranks))))
    edges = []
    for level in range(levels):
        child = place[place % 2 ** (level + 1) == 2**level]
        edges.append((ranks[child], ranks[child - 2**level]))
    for child, parent in edges:
        yield Step("up", child, parent, message)
    for child, parent in reversed(edges):
        yield Step("down", parent, child, message)


def halving_doubling(group: Group, message: float) -> Iterator[Step]:
    """Halving: exchanges with the rank 1, 2, 4... further, of half, a quarter... of the message; doubling: backwards.

    So the largest parts stay inside a domain. What is beyond a power of two is folded in first, and unfolded last.
    """
    ranks = group.ranks
    folded = 2 ** int(np.log2(len(ranks)))
    extra, kept = ranks[folded:], ranks[: len(ranks) - folded]
    if len(extra):
        yield Step("fold", extra, kept, message)
    place = np.arange(folded)
    halves = []
    for level in range(int(np.log2(folded))):
        partner = ranks[place ^ 2**level]
        halves.append(
            Step(f"exchange at {2**level}", ranks[:folded], partner, message / 2 ** (level + 1), 2.0)
        )
    yield from halves
    if len(extra):
        yield Step("unfold", kept, extra, message)


def binary_trees(count: int) -> tuple[Array, Array]:
    """Parents, (count,) each, of the two binary trees over numbers 0 … count − 1; −1 for a root.

    In the first a number's level is its lowest set bit, and odd numbers are leaves; the second is the first mirrored
    (even counts) or moved by one (odd ones), so that no number is an inner one in both (NCCL's double binary tree,
    NVIDIA/nccl src/graph/trees.cc; P. Sanders et al., Parallel Computing 35(12), 2009).
    """
    number = np.arange(count)
    bit = number & -number
    up = (number ^ bit) | (bit << 1)
    first = np.where(number == 0, -1, np.where(up < count, up, number ^ bit))
    if count % 2 == 0:
        mirrored = first[::-1]
        return first, np.where(mirrored < 0, -1, count - 1 - mirrored)
    moved = np.roll(first, 1)
    return first, np.where(moved < 0, -1, (moved + 1) % count)


def deepest(parents: Array) -> Array:
    """The numbers on a longest way from a leaf to the root."""
    height, at = np.zeros(len(parents), dtype=np.int64), parents
    while (at >= 0).any():
        height += at >= 0
        at = np.where(at >= 0, parents[at], -1)
    way = [int(np.argmax(height))]
    while parents[way[-1]] >= 0:
        way.append(int(parents[way[-1]]))
    return np.array(way)


def across_trees(group: Group, message: float, phase: str = "trees") -> Iterator[Step]:
    """A double binary tree between domains on every rail: the rail's share of `message`, half on each tree, up and
    down at once.
    """
    if group.domains < 2:
        return
    source, end = [], []
    for parents in binary_trees(group.domains):
        child = np.flatnonzero(parents >= 0)
        low, high = group.by_domain[child].ravel(), group.by_domain[parents[child]].ravel()
        source += [low, high]
        end += [high, low]
    way = group.on_rail(0)[deepest(binary_trees(group.domains)[0])]
    lag = np.stack([np.concatenate([way[:-1], way[:0:-1]]), np.concatenate([way[1:], way[-2::-1]])])
    yield Step(phase, np.concatenate(source), np.concatenate(end), message / group.members / 2, lag=lag)


def double_tree(group: Group, message: float) -> Iterator[Step]:
    """NCCL's Tree: a chain inside the domain to the member that owns the rail, a double tree between domains."""
    rings, turned = group.members, (np.arange(group.members)[None, :] + np.arange(group.members)[:, None])
    if rings > 1:
        chains = group.by_domain[:, turned % rings].reshape(-1, rings)  # from the owner of the rail outwards
        near, far = chains[:, :-1].ravel(), chains[:, 1:].ravel()
        source, end, alike = merged(np.concatenate([near, far]), np.concatenate([far, near]))
        lag = np.stack([np.append(chains[0, :-1], chains[0, 1:]), np.append(chains[0, 1:], chains[0, :-1])])
        yield Step("chains", source, end, message / rings, 1.0, alike, lag)
    yield from across_trees(group, message)


def hierarchical(group: Group, message: float) -> Iterator[Step]:
    """Reduce-scatter by a ring in every domain, a double tree per rail on the shards, all-gather by a ring."""
    inside = list(_in_domain(group, message))
    yield from inside
    yield from across_trees(group, message)
    yield from (replace(step, phase="all-gather inside") for step in inside)


def in_switch(group: Group, message: float) -> Iterator[Step]:
    """The scale-up switches add up (NVLS): every rank sends its message once, and its N-th part to all; then trees."""
    ranks = group.ranks
    none = np.zeros((2, 0), dtype=np.int64)
    yield Step(
        "in the scale-up switch", ranks, ranks, 0.0, lag=none, switched=(1 + 1 / group.members) * message
    )
    yield from across_trees(group, message)


def in_fabric(group: Group, message: float) -> Iterator[Step]:
    """The fabric's switches add up (SHARP): shards by a ring inside the domain; one tree of switches per rail.

    Every member sends its shard up once and gets the sum back once.
    """
    inside = list(_in_domain(group, message))
    yield from inside
    for rail in range(group.members):
        own = group.on_rail(rail)
        others = own[own != own[0]]
        if len(others):
            yield Step(
                "in the fabric's switches", others, np.full(len(others), own[0]), message / group.members,
                in_network=True, lag=np.array([[others[-1], own[0]], [own[0], others[-1]]]) if rail == 0 else None,
            )  # fmt: skip
    yield from (replace(step, phase="all-gather inside") for step in inside)


def all_to_all(group: Group, message: float) -> Iterator[Step]:
    """What goes to another domain is handed to the neighbour on the receiver's rail, and stays on that rail.

    Inside a domain every pair passes what stays and what is handed on: domains · M/N. Between domains, everyone sends
    members · M/N to everyone on its rail, one after the other.
    """
    size, members, domains = group.size, group.members, group.domains
    if members > 1:
        shift = np.arange(1, members)
        mate = (np.arange(members)[:, None] + shift[None, :]) % members
        source = np.repeat(group.by_domain[:, :, None], members - 1, axis=2)
        end = group.by_domain[:, mate]
        yield Step("inside", source.ravel(), end.ravel(), domains * message / size)
    if domains > 1:
        ranks, rail = group.by_domain.T.ravel(), np.repeat(np.arange(members), domains)
        yield Step("between", ranks, rail, members * message / size, domains - 1.0, everyone=True)


def _in_domain(group: Group, message: float) -> Iterator[Step]:
    """A reduce-scatter by a ring inside every domain: m − 1 rounds of M/m."""
    members = group.members
    if members > 1:
        source, end = group.by_domain.ravel(), np.roll(group.by_domain, -1, axis=1).ravel()
        lag = np.stack([group.by_domain[0, :-1], group.by_domain[0, 1:]])
        yield Step("reduce-scatter inside", source, end, message / members, members - 1.0, lag=lag)


def merged(source: Array, end: Array) -> tuple[Array, Array, Array]:
    """Equal messages as one, with their numbers."""
    width = int(max(source.max(), end.max())) + 1
    pair, count = np.unique(source * width + end, return_counts=True)
    return pair // width, pair % width, count.astype(float)


def one_pass(group: Group, message: float) -> Iterator[Step]:
    """The ring of a reduce-scatter or an all-gather."""
    return ring(group, message, passes=1)


def chain(group: Group, message: float) -> Iterator[Step]:
    """The pipelined chain of a broadcast."""
    return ring(group, message, passes=1, closed=False)


@dataclass(frozen=True)
class Algorithm:
    """`steps` of an algorithm; `overlap`: whether they work at once, in small pieces, or one after the other.

    `pairs`: whose latencies and shares of the wire it has: `ring`, `tree`, `exchange` or `in-switch` ones. `uneven`:
    whether domains may hold unequal numbers of ranks.
    """

    steps: Callable[[Group, float], Iterator[Step]]
    overlap: bool
    pairs: str = "ring"
    uneven: bool = False


ALGORITHMS: dict[str, dict[str, Algorithm]] = {
    "all_reduce": {
        "ring": Algorithm(ring, False, uneven=True),
        "tree": Algorithm(tree, False, "tree", uneven=True),
        "double-tree": Algorithm(double_tree, True, "tree"),
        "halving-doubling": Algorithm(halving_doubling, False, uneven=True),
        "hierarchical": Algorithm(hierarchical, True),
        "hierarchical-serial": Algorithm(hierarchical, False),
        "nvls": Algorithm(in_switch, True, "in-switch"),
        "sharp": Algorithm(in_fabric, True),
    },
    "all_gather": {"ring": Algorithm(one_pass, False, uneven=True)},
    "reduce_scatter": {"ring": Algorithm(one_pass, False, uneven=True)},
    "broadcast": {"chain": Algorithm(chain, True, uneven=True)},
    "all_to_all": {
        "pairwise": Algorithm(all_to_all, True, "exchange"),
        "rail-aware": Algorithm(all_to_all, True, "exchange"),
    },
}
