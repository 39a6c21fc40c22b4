"""The port-level cable list: the one source of truth for counts, bills, drawings and exports of a fabric.

Nodes (hosts, then switches, group by group) have whole-number ids; a cable joins port `a_port` of node `a` to
port `b_port` of node `b`. Everything is a NumPy column, so that a hundred thousand hosts are a few arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

COLUMNS = ("a", "a_port", "b", "b_port", "rate", "boundary", "circuit")  # one number per cable


@dataclass(frozen=True)
class NodeGroup:
    """Nodes of one kind: `count` of them from id `first` on, each with `ports`; `tier` 0 for hosts, 1 for
    leaves...

    `ports` counts links: where a physical port (`cages` of them; 0: as many as ports) is broken out into
    several links, each counts.
    """

    name: str
    first: int
    count: int
    ports: int
    tier: int
    switch: str = ""
    cages: int = 0

    @property
    def ids(self) -> np.ndarray:
        """The ids of the group's nodes, shape (count,)."""
        return np.arange(self.first, self.first + self.count)


@dataclass(frozen=True)
class Boundary:
    """Cables of one kind: between which groups; `in_rack` where both ends always share a rack."""

    name: str
    in_rack: bool = False


@dataclass(frozen=True)
class CableList:
    """Groups of nodes and the cables between them, as columns of shape (cables,).

    `rate` is bit/s one way; `boundary` indexes `boundaries`. `circuit`: two cables with the same number ≥ 0
    are joined inside an optical circuit switch into one link between their `a` ends; −1 elsewhere. `names`: of the
    nodes of a fabric that was found, where they have names of their own.
    """

    groups: tuple[NodeGroup, ...]
    boundaries: tuple[Boundary, ...]
    a: np.ndarray
    a_port: np.ndarray
    b: np.ndarray
    b_port: np.ndarray
    rate: np.ndarray
    boundary: np.ndarray
    circuit: np.ndarray
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.a)

    @property
    def nodes(self) -> int:
        """Nodes in all: hosts and switches."""
        return sum(group.count for group in self.groups)

    @property
    def hosts(self) -> int:
        """Hosts (tier 0)."""
        return sum(group.count for group in self.groups if group.tier == 0)

    def group(self, name: str) -> NodeGroup:
        """The group of that name (KeyError with the names there are)."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"no group {name!r}: there are {', '.join(group.name for group in self.groups)}")

    def tier_of_nodes(self) -> np.ndarray:
        """The tier of every node, shape (nodes,)."""
        return np.concatenate([np.full(group.count, group.tier) for group in self.groups])

    def cables_by_boundary(self) -> dict[str, int]:
        """How many cables each boundary has."""
        counts = np.bincount(self.boundary, minlength=len(self.boundaries))
        return {boundary.name: int(count) for boundary, count in zip(self.boundaries, counts, strict=True)}

    def ports_used(self) -> np.ndarray:
        """Cables that end at every node, shape (nodes,)."""
        return np.bincount(np.concatenate([self.a, self.b]), minlength=self.nodes)

    def capacity(self, upwards: bool) -> np.ndarray:
        """Bit/s one way of every node's cables to higher (else to lower) tiers, shape (nodes,).

        Cables between switches of one tier (the groups of a dragonfly) lead away from the hosts: upwards for
        both.
        """
        tier = self.tier_of_nodes()
        a_below = tier[self.a] < tier[self.b]
        low = np.where(a_below, self.a, self.b)
        high = np.where(a_below, self.b, self.a)
        between = tier[low] != tier[high]
        node = low if upwards else high
        found = np.bincount(node[between], weights=self.rate[between], minlength=self.nodes)
        if upwards:
            level = ~between & (tier[low] > 0)
            ends = np.concatenate([low[level], high[level]])
            found = found + np.bincount(ends, weights=np.tile(self.rate[level], 2), minlength=self.nodes)
        return found

    def kept(self, cables: np.ndarray) -> CableList:
        """The same nodes with some of the cables: `cables` are their indices, or True where one stays.

        An optical circuit that loses one of its two fibres loses the other.
        """
        kept = np.arange(len(self))[cables]
        circuits, fibres = np.unique(self.circuit[kept], return_counts=True)
        halves = circuits[(circuits >= 0) & (fibres == 1)]
        kept = kept[~np.isin(self.circuit[kept], halves)]
        return replace(self, **{name: getattr(self, name)[kept] for name in COLUMNS})

    def without_hosts(self, hosts: np.ndarray) -> CableList:
        """The list without the hosts of these ids (distinct) and their cables; ids after them move up."""
        gone = np.zeros(self.nodes, dtype=bool)
        gone[hosts] = True
        shifted = np.cumsum(~gone) - 1
        groups = tuple(
            replace(
                group,
                first=group.first - int(gone[: group.first].sum()),
                count=group.count - int(gone[group.ids].sum()),
            )
            for group in self.groups
        )
        left = self.kept(~(gone[self.a] | gone[self.b]))
        names = tuple(name for name, away in zip(self.names, gone, strict=False) if not away)
        return replace(left, groups=groups, a=shifted[left.a], b=shifted[left.b], names=names)

    def problems(self) -> list[str]:
        """What cannot be built: a port used twice, more cables at a node than it has ports, nodes left
        unconnected.
        """
        found = []
        ports = np.concatenate([np.full(group.count, group.ports) for group in self.groups])
        used = self.ports_used()
        for group in self.groups:
            over = group.ids[used[group.ids] > ports[group.ids]]
            if len(over):
                need = int(used[over].max())
                found.append(
                    f"{group.name}: {len(over)} of {group.count} need {need} ports, but have {group.ports}"
                )
            if group.tier and (idle := int((used[group.ids] == 0).sum())):
                found.append(f"{group.name}: {idle} of {group.count} have no cable")
        if doubled := self._doubled_ports():
            found.append(f"{doubled} ports have more than one cable")
        return found

    def _doubled_ports(self) -> int:
        """Cable ends beyond the first at a port, counted in one pass over a number for every port of every node."""
        node, port = np.concatenate([self.a, self.b]), np.concatenate([self.a_port, self.b_port])
        highest = np.zeros(self.nodes, dtype=np.int64)
        np.maximum.at(highest, node, port + 1)
        place = np.concatenate([[0], np.cumsum(highest)[:-1]])
        return len(node) - int(np.count_nonzero(np.bincount(place[node] + port)))


@dataclass
class Wiring:
    """Collects groups and cables, giving each cable the next free port at both ends."""

    groups: list[NodeGroup] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    columns: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    next_port: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add_nodes(
        self, name: str, count: int, ports: int, tier: int, switch: str = "", cages: int = 0
    ) -> np.ndarray:
        """A new group of nodes; their ids, shape (count,)."""
        first = len(self.next_port)
        self.next_port = np.append(self.next_port, np.zeros(count, dtype=np.int64))
        self.groups.append(NodeGroup(name, first, count, ports, tier, switch, cages))
        return np.arange(first, first + count)

    def connect(
        self,
        boundary: str,
        a: np.ndarray,
        b: np.ndarray,
        rate: Any,
        circuit: Any = -1,
        a_port: Any = None,
        in_rack: bool = False,
    ) -> None:
        """One cable from each of `a` to the node at the same place in `b` (ids, same shape), at `rate` bit/s
        one way.

        Both ends take their node's next free port; `a_port` names those of `a` instead (same shape).
        """
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
        a, b = (np.ascontiguousarray(ends).ravel() for ends in np.broadcast_arrays(a, b))
        index = next((i for i, known in enumerate(self.boundaries) if known.name == boundary), None)
        if index is None:
            index = len(self.boundaries)
            self.boundaries.append(Boundary(boundary, in_rack))
        if a_port is None:
            ports = self._take_ports(np.concatenate([a, b]))
            near, far = ports[: len(a)], ports[len(a) :]
        else:
            near, far = np.broadcast_to(a_port, shape).ravel(), self._take_ports(b)
        rates = np.broadcast_to(np.asarray(rate, dtype=float), shape).ravel()
        circuits = np.broadcast_to(np.asarray(circuit, dtype=np.int64), shape).ravel()
        self.columns.append((a, near, b, far, rates, np.full(len(a), index), circuits))

    def _take_ports(self, nodes: np.ndarray) -> np.ndarray:
        """The next free port of each node, counting repeats: ports of the n-th mention come after the
        first's.
        """
        order = np.argsort(nodes, kind="stable")
        ordered = nodes[order]
        starts = (
            np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, int)
        )
        rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
        ports = np.empty(len(nodes), dtype=np.int64)
        ports[order] = self.next_port[ordered] + rank
        self.next_port += np.bincount(nodes, minlength=len(self.next_port))
        return ports

    def finish(self) -> CableList:
        """The cable list."""
        empty = (np.zeros(0, dtype=np.int64),) * 4 + (np.zeros(0),) + (np.zeros(0, dtype=np.int64),) * 2
        columns = zip(*(self.columns or [empty]), strict=True)
        a, a_port, b, b_port, rate, boundary, circuit = (np.concatenate(column) for column in columns)
        return CableList(
            tuple(self.groups), tuple(self.boundaries), a, a_port, b, b_port, rate, boundary, circuit
        )
