"""What a collective costs on a fleet: the communication-cost protocol that training asks and the fabric answers.

A fleet is seen as nested domains: the scale-up domain (accelerators joined by NVLink or its like), the leaf or rail unit,
the pod, the whole fabric. A group of ranks is (size, stride) in the rank order; ranks fill domains in order. What a group
pays at each boundary follows from how many of its members share a domain, because all groups of a layout talk at once:
a domain's way out is shared fairly by the groups inside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from argosy.laws import collectives

Array = Any  # float or numpy array: (L,) layouts or (n,) draws; they broadcast

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")


class Network(Protocol):
    """The communication-cost protocol. A group is `size` ranks spaced by `stride` in the rank order tp, cp, dp, pp."""

    def collective(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Seconds for one collective of `kind` (KINDS) over `bytes` (the full tensor, nccl-tests convention)."""

    def point_to_point(self, bytes: Array, stride: Array, size: Array = None) -> Array:
        """Seconds for every rank to send `bytes` to the rank `stride` further on, at once; of the slowest pair.

        `size`: ranks in the chain; None: it runs through the whole fleet."""

    def bound(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Seconds that no schedule of the collective can beat on these wires (0 for a group of one)."""

    def members_per_domain(self, size: Array, stride: Array) -> list[Array]:
        """Members of the group that share a domain, from the innermost domain outwards; the last entry is `size`."""


@dataclass(frozen=True)
class Level:
    """One kind of domain and the wires inside it.

    `size`: accelerators in one domain (`inf` for the outermost); `bandwidth`: byte/s one way per accelerator over the wires
    that this domain adds (scale-up links; network cards; leaf uplinks; pod uplinks), after oversubscription;
    `delivered`: share of it that large transfers get (protocol, routing); `latency`: seconds per round over these wires.
    """

    name: str
    size: float
    bandwidth: Array
    delivered: Array
    latency: Array


@dataclass(frozen=True)
class TieredNetwork:
    """Collectives over nested domains of a fleet of `accelerators`. `levels` run from the scale-up domain outwards."""

    levels: tuple[Level, ...]
    accelerators: int

    def domains_spanned(self, size: Array, stride: Array) -> list[Array]:
        """How many domains of each level a group touches at worst, shape of the arguments.

        A group covers `size·stride` consecutive ranks (or a comb of them). Groups tile the ranks from 0, so one that does not
        nest in its domain straddles a border: with extent E, domain D and g = gcd(E, D) the worst offset is D − g, which
        touches ⌈(D − g + E)/D⌉ domains; never more than its own members.
        """
        size, stride = np.broadcast_arrays(
            np.asarray(size, dtype=np.int64), np.asarray(stride, dtype=np.int64)
        )
        extent = size * stride
        spanned = []
        touched = size
        for level in self.levels:
            touched = np.minimum(_domains_touched(extent, level.size), touched)
            spanned.append(touched)
        return spanned

    def members_per_domain(self, size: Array, stride: Array) -> list[Array]:
        """Mean members of a group per domain that it touches, from the innermost level outwards."""
        return [np.asarray(size) / spanned for spanned in self.domains_spanned(size, stride)]

    def collective(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Seconds for one collective: the faster of the algorithms that apply, every rail in use and phases overlapping."""
        size = np.asarray(size, dtype=float)
        spanned = self.domains_spanned(size, stride)
        if kind == "all_reduce":
            ring = 2 * self._ring_pass(bytes, size, spanned)
            return np.minimum(ring, self._double_tree(bytes, size, spanned))[()]
        if kind in ("all_gather", "reduce_scatter"):
            return self._ring_pass(bytes, size, spanned)[()]
        if kind == "broadcast":
            return self._chain(bytes, size, spanned)[()]
        if kind == "all_to_all":
            return self._all_to_all(bytes, size, spanned)[()]
        raise ValueError(f"unknown collective {kind!r}: one of {', '.join(KINDS)}")

    def point_to_point(self, bytes: Array, stride: Array, size: Array = None) -> Array:
        """Seconds for every rank to send `bytes` to the rank `stride` further on, at once: of the slowest pair.

        `size`: ranks in the chain; None: the chain runs through the whole fleet. Inside a scale-up domain and on its own card
        a message has the wire for itself; of a larger domain of D ranks the share φ = min(1, stride/D) sends out of it at
        once, so that a crossing message gets bandwidth/φ of the way out per rank.
        """
        stride = np.asarray(stride, dtype=float)
        size = np.maximum(self.accelerators // np.maximum(stride, 1), 1) if size is None else np.asarray(size)
        slowest, latency = np.zeros(()), np.zeros(())
        outer, inner_size = np.asarray(size, dtype=float), 1.0
        for index, (level, touched) in enumerate(
            zip(self.levels, self.domains_spanned(size, stride), strict=True)
        ):
            sharing = 1.0 if index < 2 else np.minimum(stride / inner_size, 1.0)
            wire = sharing * np.asarray(bytes) / (level.bandwidth * level.delivered)
            # A pair that leaves its scale-up domain does not use the scale-up wire.
            slowest = np.where(outer > touched, wire if index < 2 else np.maximum(slowest, wire), slowest)
            latency = np.where(outer > touched, level.latency, latency)
            outer, inner_size = touched, level.size
        return (slowest + latency)[()]

    def bound(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """The largest of the cut bounds: for every level, the bytes that must leave a domain over its fair way out.

        Full wire rates, no latency. In-network reduction (NVLS, SHARP) sends less and may beat this bound; the model
        does not use it.
        """
        size = np.asarray(size, dtype=float)
        spanned = self.domains_spanned(size, stride)
        bound = np.zeros(())
        outer = size
        for level, touched in zip(self.levels, spanned, strict=True):
            members = size / outer
            # What leaves a domain must pass the next level's wires; inside the innermost, only its own members talk.
            partners = size / touched if level is self.levels[0] else size
            wall = collectives.cut_bound(
                kind, np.asarray(bytes), partners, members, members * level.bandwidth
            )
            bound = np.maximum(bound, np.where(outer > touched, wall, 0.0))
            outer = touched
        return bound[()]

    def _ring_pass(self, bytes: Array, size: Array, spanned: list[Array]) -> Array:
        """One pass of the multi-rail ring (s): as many rings as a domain has members, each leaving it over its own card."""
        return collectives.ring_pass_share(size) * bytes / self._ring_bandwidth(size, spanned) + self._rounds(
            size, spanned
        )

    def _ring_bandwidth(self, size: Array, spanned: list[Array]) -> Array:
        """Byte/s that each rank passes on in a ring: the narrowest of members × way out over the boundaries crossed."""
        narrowest = np.full((), np.inf)
        outer = size
        for level, touched in zip(self.levels, spanned, strict=True):
            way_out = size / outer * level.bandwidth * level.delivered
            narrowest = np.where(outer > touched, np.minimum(narrowest, way_out), narrowest)
            outer = touched
        return narrowest

    def _rounds(self, size: Array, spanned: list[Array]) -> Array:
        """Latency of N−1 rounds: a ring steps over a boundary once per domain that it touches (s)."""
        latency = np.zeros(())
        outer = size
        for level, touched in zip(self.levels, spanned, strict=True):
            latency = latency + (outer - touched) * level.latency
            outer = touched
        return latency

    def _double_tree(self, bytes: Array, size: Array, spanned: list[Array]) -> Array:
        """Chain inside the scale-up domain, double binary tree between domains on every rail, pieces overlapping (s)."""
        slowest, latency = np.zeros(()), np.zeros(())
        outer = size
        for index, (level, touched) in enumerate(zip(self.levels, spanned, strict=True)):
            branching = outer / touched
            members = size / outer
            # A rank of a chain, and an inner node of a tree, passes the message up and down; of two peers, each sends once.
            moves = np.where((outer if index else branching) > 2, 2.0, 1.0)
            wire = moves * bytes / (members * level.bandwidth * level.delivered)
            slowest = np.maximum(slowest, np.where(branching > 1, wire, 0.0))
            depth = branching - 1 if index == 0 else np.log2(np.maximum(branching, 1.0))
            latency = latency + 2 * depth * level.latency
            outer = touched
        return slowest + latency

    def _chain(self, bytes: Array, size: Array, spanned: list[Array]) -> Array:
        """Pipelined broadcast along the ring (s)."""
        return np.asarray(bytes) / self._ring_bandwidth(size, spanned) + self._rounds(size, spanned)

    def _all_to_all(self, bytes: Array, size: Array, spanned: list[Array]) -> Array:
        """Every rank sends M/N to every other; wires of all levels work at once, the slowest sets the pace (s).

        Latency: one round per peer, over the wires that reach it.
        """
        slowest = np.zeros(())
        outer = size
        for level, touched in zip(self.levels, spanned, strict=True):
            leaving = 1 - 1 / outer if level is not self.levels[0] else 1 / touched - 1 / size
            wire = leaving * bytes / (level.bandwidth * level.delivered)
            slowest = np.maximum(slowest, np.where(outer > touched, wire, 0.0))
            outer = touched
        return slowest + self._rounds(size, spanned)


def _domains_touched(extent: np.ndarray, domain: float) -> np.ndarray:
    """Domains of `domain` ranks that an aligned block of `extent` ranks touches at worst."""
    if not np.isfinite(domain):
        return np.ones_like(extent)
    domain = int(domain)
    touched = -(-extent // domain)
    ragged = (extent % domain != 0) & (domain % extent != 0)
    if np.any(ragged):
        worst = -(-(domain - np.gcd(extent, domain) + extent) // domain)
        touched = np.where(ragged, worst, touched)
    return touched
