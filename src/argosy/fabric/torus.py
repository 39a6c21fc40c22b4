"""What a collective costs on a torus of accelerators (TPU v4, v5p): neighbour links, no switches in the path.

Rank r stands at coordinates (r mod X, r ÷ X mod Y, …): the first side fills first, as JAX lays a mesh over a
slice. A group (size, stride) is then a box with `members` per axis at equal distances. A whole axis closes to
a ring; part of one is a line. The laws are those of `argosy.laws.torus`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.laws import torus as law

Array = Any


@dataclass(frozen=True)
class TorusNetwork:
    """Collectives over a torus.

    `shape`: sides, the first filled first; `link`: byte/s of one link one way; `delivered`: share of it that
    large messages get; `hop_s`: seconds per link passed; `start_s`: seconds to start a collective.
    `mean_links`: where the torus is twisted, links on a shortest path, mean over all pairs, a chip's with itself
    included: all links of a twisted torus carry the same share of a whole all-to-all.
    """

    shape: tuple[int, ...]
    link: Array
    delivered: Array
    hop_s: Array
    start_s: Array = 0.0
    mean_links: float | None = None

    @property
    def accelerators(self) -> int:
        """Chips of the torus."""
        return int(np.prod(self.shape))

    def collective(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Seconds of one collective of `kind` over `bytes` (the full tensor, as in nccl-tests)."""
        (seconds,) = self.algorithms(kind, bytes, size, stride).values()
        return np.asarray(seconds)[()]

    def algorithms(self, kind: str, bytes: Array, size: Array, stride: Array) -> dict[str, Array]:
        """Seconds of the one algorithm of each kind; 0 for a group of one. ValueError for an unknown kind.

        Rings on all axes at once; an all-reduce is a reduce-scatter and an all-gather. An all-to-all is set by
        the narrowest bisection. A broadcast is scattered, then gathered: counted as an all-gather twice.
        """
        box = _Box(self, size, stride)
        latency = self.start_s + box.hops * self.hop_s
        if kind == "all_to_all":
            cut = box.all_to_all(bytes, self.link * self.delivered)
            return {"bisection": np.where(box.size > 1, latency + cut, 0.0)}
        passes = {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 2, "broadcast": 2}.get(kind)
        if passes is None:
            raise ValueError(f"unknown collective {kind!r}")
        once = law.pass_seconds(np.asarray(bytes), box.members, box.rates(self.link * self.delivered))
        return {"axis rings": np.where(box.size > 1, passes * (latency + once), 0.0)}

    def point_to_point(self, bytes: Array, stride: Array, size: Array = None) -> Array:
        """Seconds for every rank to send `bytes` to the rank `stride` further on, at once.

        The partner is k links away along one axis; as many messages share each link: k·M/link. `size` is not
        needed: on a torus all chains look alike.
        """
        stride = np.asarray(stride, dtype=float)
        away: Array = 0.0
        below = 1
        for side in self.shape:
            ahead = stride / below
            on_axis = (ahead >= 1) & (ahead < side)
            away = away + np.where(on_axis, np.minimum(ahead, side - ahead), 0.0)
            below *= side
        away = np.maximum(away, np.where(stride < self.accelerators, 1.0, 0.0))
        return self.start_s + away * (self.hop_s + np.asarray(bytes) / (self.link * self.delivered))

    def bound(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array:
        """Seconds that no schedule can beat on these wires at their full rate, without latency."""
        box = _Box(self, size, stride)
        rates = box.rates(self.link)
        once = law.pass_bound(np.asarray(bytes), box.members, rates)
        if kind == "all_to_all":
            return np.maximum(once, box.all_to_all(bytes, self.link))[()]
        return (once * (2 if kind == "all_reduce" else 1))[()]

    def members_per_domain(self, size: Array, stride: Array) -> list[Array]:
        """A torus has one domain: all members share it."""
        return [np.asarray(size, dtype=float)]

    def phases(
        self, kind: str, bytes: float, size: int, stride: int
    ) -> Iterator[tuple[str, float, float, float]]:
        """Per axis that one group crosses: its name, its members, the links to the furthest, the bound (s)."""
        box = _Box(self, size, stride)
        bound = float(self.bound(kind, bytes, size, stride))
        for axis, members in enumerate(box.members):
            if members > 1:
                furthest = law.hops(members, box.spacing[axis], box.ring[axis])
                yield f"axis {axis + 1} of {self.shape[axis]}", float(members), float(furthest), bound


class _Box:
    """A group's box: per axis its members, the links between two of them, and whether the axis closes."""

    def __init__(self, network: TorusNetwork, size: Array, stride: Array) -> None:
        self.size = np.asarray(size, dtype=float)
        self.mean_links, self.accelerators = network.mean_links, network.accelerators
        stride = np.asarray(stride, dtype=float)
        self.members: list[Array] = []
        self.spacing: list[Array] = []
        self.ring: list[Array] = []
        below = 1
        for side in network.shape:
            first = np.clip(stride, below, below * side)
            beyond = np.clip(stride * self.size, below, below * side)
            self.members.append(np.maximum(beyond / first, 1.0))
            self.spacing.append(first / below)
            self.ring.append((beyond >= below * side) & (side > 2))
            below *= side

    @property
    def hops(self) -> Array:
        """Links to the furthest member, axis after axis."""
        return sum(law.hops(*axis) for axis in zip(self.members, self.spacing, self.ring, strict=True))

    def rates(self, link: Array) -> list[Array]:
        """Byte/s of a member per axis."""
        return [law.axis_rate(link, *axis) for axis in zip(self.spacing, self.ring, strict=True)]

    def all_to_all(self, bytes: Array, link: Array) -> Array:
        """Seconds of the narrowest cut; of a whole twisted torus: of its links, which share the load evenly."""
        cut = law.all_to_all_seconds(np.asarray(bytes), self.members, self.spacing, self.ring, link)
        if self.mean_links is None:
            return cut
        even = np.asarray(bytes) * self.mean_links / (2 * len(self.members) * link)
        return np.where(self.size >= self.accelerators, np.minimum(cut, even), cut)
