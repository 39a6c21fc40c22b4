"""What a collective costs on a fleet: the cost protocol that training asks and the fabric answers.

A fleet is seen as nested domains: the scale-up domain (accelerators joined by NVLink or its like), the leaf
or rail unit, the pod, the whole fabric. A group of ranks is (size, stride) in the rank order; ranks fill
domains in order. What a group pays at each boundary follows from how many of its members share a domain: all
groups of a layout talk at once, so a domain's way out is shared fairly by the groups inside it.

The laws are those of `argosy.laws.collectives`; the pairs (latency, delivered share) are those of NCCL's
protocols, measured or from its tuning model (`argosy.fabric.pairs`). NCCL takes the fastest; so does this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from argosy.laws import collectives

Array = Any  # float or numpy array: (L,) layouts or (n,) draws; they broadcast

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")


class Network(Protocol):
    """The cost protocol. A group is `size` ranks spaced by `stride` in the rank order tp, cp, dp, pp."""

    def collective(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Seconds of one collective of `kind` (KINDS) over `bytes` (the full tensor, as in nccl-tests)."""

    def point_to_point(self, bytes: Array, stride: Array, size: Array = None) -> Array:
        """Seconds for every rank to send `bytes` to the rank `stride` further on, at once: of the slowest
        pair.

        `size`: ranks in the chain; None: it runs through the whole fleet.
        """

    def bound(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Seconds that no schedule of the collective can beat on these wires (0 for a group of one)."""

    def members_per_domain(self, size: Array, stride: Array) -> list[Array]:
        """Members of the group that share a domain, innermost level first; the last entry is `size`."""


@dataclass(frozen=True)
class Pair:
    """One protocol over one level's wires: latencies per round (s), and the share of the wire that large
    messages get.
    """

    delivered: Array
    ring_s: Array
    tree_s: Array


@dataclass(frozen=True)
class Level:
    """One kind of domain and the wires that it adds.

    `size`: accelerators in one domain (`inf` for the outermost). `bandwidth`: byte/s one way per accelerator
    over these wires (scale-up links; network cards; leaf uplinks; pod uplinks), after oversubscription.
    `ring`: one pair per protocol, the same count at every level; `exchange`: likewise for all-to-all and
    point-to-point, where `ring_s` is the cost of one more peer and `tree_s` that of reaching the first over
    these wires.
    """

    name: str
    size: float
    bandwidth: Array
    ring: tuple[Pair, ...]
    exchange: tuple[Pair, ...]


@dataclass(frozen=True)
class InNetwork:
    """Reduction in the scale-up switches (NVLS).

    `rank_s`: seconds to start, per rank of the domain; `delivered`: share of the wire; `members`: from how many on it is used;
    `hop_s`: seconds of a hop of the tree that joins the domains.
    """

    rank_s: float
    delivered: float
    members: int
    hop_s: Array


@dataclass(frozen=True)
class TieredNetwork:
    """Collectives over nested domains of a fleet of `accelerators`; `levels` run from the scale-up domain
    outwards.

    `ring_base_s`, `tree_base_s`, `exchange_base_s`: seconds to start a collective, per protocol. `relay_s`:
    what a round inside the scale-up domain costs at least, per protocol, in a ring that also leaves it.
    `ring_few_ranks`, `exchange_few_ranks` κ: m members of a scale-up domain get 1 − κ/m of its delivered
    share (fewer channels). `leave_s`: added once to every collective that leaves the scale-up domain (what
    its transport takes to start).
    """

    levels: tuple[Level, ...]
    accelerators: int
    ring_base_s: tuple[float, ...]
    tree_base_s: tuple[float, ...]
    exchange_base_s: tuple[float, ...]
    relay_s: tuple[float, ...]
    ring_few_ranks: float = 0.0
    exchange_few_ranks: float = 0.0
    in_network: tuple[InNetwork, ...] = ()
    leave_s: Array = 0.0
    one_group: bool = False

    def of_one_group(self) -> TieredNetwork:
        """The same wires for a single group that begins at rank 0, as a benchmark runs it: it straddles no border that
        it need not, and the domain that holds fewest of it sets the number of its rings.
        """
        return replace(self, one_group=True)

    def domains_spanned(self, size: Array, stride: Array) -> list[Array]:
        """How many domains of each level a group touches at worst; shape of the arguments.

        Groups tile the ranks from 0, so one that does not nest in its domain straddles a border: with extent
        E = size·stride, domain D and g = gcd(E, D) the worst offset is D − g, which touches ⌈(D − g + E)/D⌉
        domains; never more than its own members. `one_group`: those from rank 0 on.
        """
        size, stride = np.broadcast_arrays(
            np.asarray(size).astype(np.int64), np.asarray(stride).astype(np.int64)
        )
        spanned, touched = [], size
        for level in self.levels:
            if self.one_group:
                across = np.ceil(((size - 1) * stride + 1) / level.size).astype(np.int64)
            else:
                across = _domains_touched(size * stride, level.size)
            touched = np.minimum(np.maximum(across, 1), touched)
            spanned.append(touched)
        return spanned

    def members_per_domain(self, size: Array, stride: Array) -> list[Array]:
        """Mean members of a group per domain that it touches, innermost level first."""
        return [np.asarray(size) / touched for touched in self.domains_spanned(size, stride)]

    def collective(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Seconds of one collective: the fastest algorithm and protocol, all rails in use, phases
        overlapping.
        """
        fastest = np.minimum.reduce(np.broadcast_arrays(*self.algorithms(kind, bytes, size, stride).values()))
        return fastest[()]

    def algorithms(self, kind: str, bytes: Array, size: Array, stride: Array) -> dict[str, Array]:
        """Seconds of each algorithm that NCCL has for this kind; `inf` where it does not apply, 0 for one
        rank.
        """
        group = _Group(self, size, stride)
        if kind == "all_reduce":
            found = {
                "ring": self._ring(bytes, group, passes=2),
                "double-tree": self._double_tree(bytes, group),
            }
            if self.in_network:
                found["nvls"] = self._in_network(bytes, group)
        elif kind in ("all_gather", "reduce_scatter"):
            found = {"ring": self._ring(bytes, group, passes=1)}
        elif kind == "broadcast":
            found = {"chain": self._ring(bytes, group, passes=1, share=1.0)}
        elif kind == "all_to_all":
            found = {"pairwise": self._all_to_all(bytes, group)}
        else:
            raise ValueError(f"unknown collective {kind!r}: one of {', '.join(KINDS)}")
        start = np.where(group.leaves, self.leave_s, 0.0)
        return {name: seconds + start for name, seconds in found.items()}

    def point_to_point(self, bytes: Array, stride: Array, size: Array = None) -> Array:
        """Seconds for every rank to send `bytes` to the rank `stride` further on, at once: of the slowest
        pair.

        `size`: ranks in the chain; None: the chain runs through the whole fleet. Inside a scale-up domain and
        on its own card a message has the wire for itself; of a larger domain of D ranks the share φ = min(1,
        stride/D) sends out of it at once, so that a crossing message gets bandwidth/φ of the way out per
        rank.
        """
        stride = np.asarray(stride, dtype=float)
        if size is None:
            size = np.maximum(self.accelerators // np.maximum(stride, 1), 2)
        group = _Group(self, size, stride)
        times = []
        for index, base in enumerate(self.exchange_base_s):
            wire, latency, inner = np.zeros(()), np.zeros(()), 1.0
            for depth, (level, crosses) in enumerate(zip(self.levels, group.crosses, strict=True)):
                pair = level.exchange[index]
                sharing = np.minimum(stride / inner, 1.0) if depth > 1 else 1.0
                rate = level.bandwidth * pair.delivered
                if depth == 0:  # the fit of two ranks that exchange: few channels
                    rate = rate * (1 - self.exchange_few_ranks / 2)
                this = sharing * bytes / rate
                # A pair that leaves its scale-up domain does not use the scale-up wires.
                wire = np.where(crosses, this if depth < 2 else np.maximum(wire, this), wire)
                latency = np.where(crosses, pair.tree_s, latency)
                inner = level.size
            times.append(np.where(group.size > 1, base + latency + wire, 0.0))
        return (np.minimum.reduce(times) + np.where(group.leaves, self.leave_s, 0.0))[()]

    def bound(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """The largest of the cut bounds: at every level, the bytes that must leave a domain over its fair way
        out.

        Full wire rates, no latency. Where the scale-up switches reduce (NVLS), an all-reduce inside the
        domain need only send each rank's message once and receive one result: (1 + 1/N)·M where that is less
        than 2(N−1)/N·M.
        """
        return np.maximum.reduce(np.broadcast_arrays(*self.cut_bounds(kind, bytes, size, stride)))[()]

    def cut_bounds(self, kind: str, bytes: Array, size: Array, stride: Array) -> list[Array]:
        """The cut bound of every level (s), 0 where the group does not cross it."""
        group = _Group(self, size, stride)
        bounds = []
        for depth, (level, crosses) in enumerate(zip(self.levels, group.crosses, strict=True)):
            members = group.size / group.outer[depth]
            # What leaves a domain must pass the next level's wires; inside the innermost, its own members
            # talk.
            partners = group.size if depth else group.size / group.outer[1]
            wall = collectives.cut_bound(
                kind, np.asarray(bytes), partners, members, members * level.bandwidth
            )
            if depth == 0 and kind == "all_reduce" and self.in_network:
                reduced = collectives.in_switch_all_reduce(np.asarray(bytes), partners, level.bandwidth)
                wall = np.minimum(wall, reduced)
            if depth and self.one_group:
                narrow = group.fewest[depth]
                lone = collectives.lone_domain_share(kind, group.size, narrow)
                wall = np.maximum(wall, lone * np.asarray(bytes) / (narrow * level.bandwidth))
            bounds.append(np.where(crosses, wall, 0.0))
        return bounds

    def _ring(self, bytes: Array, group: _Group, passes: int, share: Array = None) -> Array:
        """Multi-rail ring (s): as many rings as a domain has members, each leaving over a card of its own."""
        wire = passes * (collectives.ring_pass_share(group.size) if share is None else share) * bytes
        times = []
        for index, base in enumerate(self.ring_base_s):
            latency, narrowest = np.zeros(()), np.inf
            for depth, level in enumerate(self.levels):
                pair = level.ring[index]
                round_s = pair.ring_s
                if depth == 0:
                    round_s = np.where(group.leaves, np.maximum(round_s, self.relay_s[index]), round_s)
                latency = latency + group.steps[depth] * round_s
                narrowest = np.minimum(
                    narrowest, group.way_out[depth] * group.ring_share(depth) * pair.delivered
                )
            times.append(base + passes * latency + wire / narrowest)
        return np.where(group.size > 1, np.minimum.reduce(np.broadcast_arrays(*times)), 0.0)

    def _double_tree(self, bytes: Array, group: _Group) -> Array:
        """Chain in the scale-up domain, double binary tree between domains on every rail, pieces overlapping
        (s).
        """
        times = []
        for index, base in enumerate(self.tree_base_s):
            latency, wire = np.zeros(()), np.zeros(())
            for depth, level in enumerate(self.levels):
                pair = level.ring[index]
                if (
                    depth == 0
                ):  # a rank in the middle of a chain passes the message up and down, one at its end once
                    moves = np.where(group.size / group.outer[1] > 2, 2.0, 1.0)
                    rounds = group.steps[0] / group.outer[1]
                else:  # an inner node sends half up and twice down one tree, and half up the other
                    moves = np.where(group.outer[depth] > 2, 2.0, 1.0)
                    rounds = np.log2(group.outer[depth] / group.outer[depth + 1])
                latency = latency + 2 * rounds * pair.tree_s
                rate = group.way_out[depth] * group.ring_share(depth) * pair.delivered * TREE_SHARE
                wire = np.maximum(wire, moves * bytes / rate)
            times.append(base + latency + wire)
        return np.where(group.size > 1, np.minimum.reduce(np.broadcast_arrays(*times)), 0.0)

    def _in_network(self, bytes: Array, group: _Group) -> Array:
        """Reduction in the scale-up switches, then a tree per rail between domains, overlapping (s)."""
        members = group.size / group.outer[1]
        times = []
        for reduction in self.in_network:
            wire = collectives.in_switch_all_reduce(
                bytes, members, self.levels[0].bandwidth * reduction.delivered
            )
            latency = reduction.rank_s * members
            for depth, level in enumerate(self.levels[1:], start=1):
                pair = level.ring[-1]
                moves = np.where(group.outer[depth] > 2, 2.0, 1.0)
                wire = np.maximum(wire, moves * bytes / (group.way_out[depth] * pair.delivered * TREE_SHARE))
                latency = latency + 2 * reduction.hop_s * np.log2(group.outer[depth] / group.outer[depth + 1])
            times.append(np.where(members >= reduction.members, latency + wire, np.inf))
        return np.where(group.size > 1, np.minimum.reduce(np.broadcast_arrays(*times)), 0.0)

    def _all_to_all(self, bytes: Array, group: _Group) -> Array:
        """Every rank sends M/N to every other; the wires of all levels work at once, the slowest sets the
        pace (s).
        """
        times = []
        for index, base in enumerate(self.exchange_base_s):
            latency, wire = np.zeros(()), np.zeros(())
            for depth, level in enumerate(self.levels):
                pair = level.exchange[index]
                outer, touched = group.outer[depth], group.outer[depth + 1]
                # The share of its buffer that a rank sends out of its domain, or to the others inside the
                # innermost.
                leaving = 1 - 1 / outer if depth else 1 / touched - 1 / group.size
                peers = group.size / touched - group.size / outer
                rate = level.bandwidth * pair.delivered
                if depth == 0:
                    rate = rate * (1 - self.exchange_few_ranks * group.outer[1] / group.size)
                crosses = group.crosses[depth]
                wire = np.maximum(
                    wire, np.where(crosses, leaving * bytes / np.where(crosses, rate, 1.0), 0.0)
                )
                latency = np.where(
                    group.crosses[depth], latency + (peers - 1) * pair.ring_s + pair.tree_s, latency
                )
            times.append(base + latency + wire)
        return np.where(group.size > 1, np.minimum.reduce(np.broadcast_arrays(*times)), 0.0)


TREE_SHARE = 0.92  # of the ring's bandwidth; NCCL's tuning model (NVIDIA/nccl@b6475625 src/graph/tuning.cc)


class _Group:
    """A group's spread over the levels, computed once per call.

    `outer[k]`: pieces that level k joins (the ranks themselves for k = 0), so outer[k+1] are the domains of
    level k; `steps[k]`: rounds of one ring pass over level k's wires; `fewest[k]`: members of such a piece;
    `way_out[k]`: byte/s over the wires per ring of the group, infinite where it does not cross; `leaves`:
    whether it leaves its scale-up domain.
    """

    def __init__(self, network: TieredNetwork, size: Array, stride: Array) -> None:
        self.size = np.asarray(size, dtype=float)
        self.outer: list[Array] = [self.size]
        self.outer += [touched.astype(float) for touched in network.domains_spanned(size, stride)]
        self.steps = [outer - touched for outer, touched in zip(self.outer, self.outer[1:], strict=False)]
        self.crosses = [steps > 0 for steps in self.steps]
        self.fewest = list(self._fewest(network, stride))
        self.way_out = [
            np.where(crosses, fewest * level.bandwidth, np.inf)
            for crosses, fewest, level in zip(self.crosses, self.fewest, network.levels, strict=False)
        ]
        self.leaves = self.outer[1] > 1
        self._inside_share = 1 - network.ring_few_ranks * self.outer[1] / self.size

    def _fewest(self, network: TieredNetwork, stride: Array) -> Iterator[Array]:
        """Members of each piece that a level joins: their mean; of one group, those of the piece that holds fewest."""
        yield np.ones_like(self.size)
        for level, touched in zip(network.levels, self.outer[1:], strict=True):
            mean = self.size / touched
            if network.one_group and np.isfinite(level.size):
                last = self.size - (touched - 1) * level.size / np.asarray(stride)
                mean = np.where((touched > 1) & (last > 0), np.minimum(last, mean), mean)
            yield mean

    def ring_share(self, depth: int) -> Array:
        """What few members of a scale-up domain get of its delivered share in a ring; else 1."""
        return self._inside_share if depth == 0 else 1.0


def _domains_touched(extent: np.ndarray, domain: float) -> np.ndarray:
    """Domains of `domain` ranks that an aligned block of `extent` ranks touches at worst."""
    if not np.isfinite(domain):
        return np.ones_like(extent)
    side = int(domain)
    touched = -(-extent // side)
    ragged = (extent % side != 0) & (side % extent != 0)
    if np.any(ragged):
        worst = -(-(side - np.gcd(extent, side) + extent) // side)
        touched = np.where(ragged, worst, touched)
    return np.asarray(touched)


def group_spread(
    network: TieredNetwork, kind: str, bytes: float, size: int, stride: int
) -> Iterator[tuple[str, float, float, float]]:
    """Per level that one group crosses: its name, the domains that it joins, a ring pass's rounds, its cut
    bound (s).
    """
    group = _Group(network, size, stride)
    bounds = network.cut_bounds(kind, bytes, size, stride)
    for depth, level in enumerate(network.levels):
        if group.crosses[depth]:
            yield level.name, float(group.outer[depth]), float(group.steps[depth]), float(bounds[depth])
