"""Dimension-order routing on a torus: axis by axis, the shorter way round; the same for everyone, free of deadlock with
two virtual channels (W. Dally, C. Seitz, IEEE ToC C-36(5), 1987). With an even side both ways are equally long half-way
round: even chips go up, odd ones down, so that neither way is left idle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.fabric.linkgraph import LinkGraph
from argosy.fabric.routing import Paths
from argosy.fabric.topologies.design import DesignError, Topology
from argosy.fabric.topologies.direct import most_cubic


@dataclass(frozen=True)
class DimensionOrder:
    """A torus of `shape`; `place` (chips, axes): coordinates; `ahead[chip, axis, 0|1]`: the link up or down that axis."""

    graph: LinkGraph
    shape: tuple[int, ...]
    place: np.ndarray
    ahead: np.ndarray

    @classmethod
    def of(cls, graph: LinkGraph, topology: Topology) -> DimensionOrder:
        """The routing of a torus that `argosy.fabric.topologies` drew. DesignError where a link is missing."""
        shape = tuple(topology.design.shape or most_cubic(topology.design.hosts))
        slowest_first = np.argsort(
            [-side for side in shape], kind="stable"
        )  # the builder's numbering of chips
        place = np.empty((topology.design.hosts, len(shape)), dtype=np.int64)
        rest = np.arange(topology.design.hosts)
        for axis in slowest_first[::-1]:
            rest, place[:, axis] = np.divmod(rest, shape[axis])
        ahead = np.full((*place.shape, 2), -1)
        step = (place[graph.head] - place[graph.tail]) % np.array(shape)
        for axis, side in enumerate(shape):
            moves = step[:, axis] != 0
            for way, by in ((0, 1 % side), (1, side - 1)):
                link = np.flatnonzero(moves & (step[:, axis] == by))
                # Two chips on an axis of two have one link, which serves both ways.
                ahead[graph.tail[link], axis, way] = link
        if any(side > 1 and (ahead[:, axis] < 0).any() for axis, side in enumerate(shape)):
            raise DesignError("a torus without all of its links cannot be routed by dimension order")
        return cls(graph, shape, place, ahead)

    def paths(
        self,
        source: np.ndarray,
        end: np.ndarray,
        routing: str = "",
        seed: int = 0,
        pair: np.ndarray | int = 0,
    ) -> Paths:
        """Paths of flows between chips `source` and `end` (flows,). The other arguments are those of `Routes.paths`."""
        here = self.place[source].copy()
        pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        hops = 0
        chip = source.copy()
        for axis, side in enumerate(self.shape):
            far = (self.place[end, axis] - here[:, axis]) % side
            tie = (2 * far == side) & (here.sum(axis=1) % 2 == 1)
            down = (2 * far > side) | tie
            left = np.where(down, side - far, far)
            for step in range(side // 2):
                moving = np.flatnonzero(left > step)
                if not len(moving):
                    break
                link = self.ahead[chip[moving], axis, down[moving].astype(int)]
                pieces.append((moving, np.full(len(moving), hops), link))
                chip[moving] = self.graph.head[link]
                hops += 1
            here[:, axis] = self.place[end, axis]
        flow, hop, links = (np.concatenate(column) for column in zip(*pieces, strict=True))
        by_flow = np.lexsort((hop, flow))
        first = np.append(0, np.cumsum(np.bincount(flow, minlength=len(source))))
        links = links[by_flow].astype(np.int32)
        failed = np.bincount(flow[by_flow], weights=self.graph.rate[links] == 0, minlength=len(source)) > 0
        return Paths(first, links, np.ones(len(links)), ~failed)
