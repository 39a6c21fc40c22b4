"""Which hosts can reach which through the switches up to a tier: nested domains, found from the cables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.fabric.analysis import plain_name
from argosy.fabric.cables import CableList


@dataclass(frozen=True)
class Reach:
    """One tier of nested domains: `domain` of every node of the cable list, shape (nodes,); −1 for nodes of higher
    tiers; `name` is the tier's, such as leaf. Domains count from 0 in the order of their first host.
    """

    name: str
    tier: int
    domain: np.ndarray

    def count(self) -> int:
        """How many domains there are."""
        return int(self.domain.max()) + 1


def nested_domains(cables: CableList) -> list[Reach]:
    """Per tier of switches, the domains within which hosts reach each other without what is above; a tier that joins no
    more than the one below is left out.

    Cables between switches of one tier count as above it: they join the groups of a dragonfly.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tier = cables.tier_of_nodes()
    a, b = tier[cables.a], tier[cables.b]
    height = np.maximum(a, b) + 0.5 * ((a == b) & (a > 0))
    hosts = np.flatnonzero(tier == 0)
    found: list[Reach] = []
    for level in np.unique(height[height >= 1]).tolist():
        below = height <= level
        graph = coo_array(
            (np.ones(int(below.sum()), dtype=np.int8), (cables.a[below], cables.b[below])),
            shape=(cables.nodes, cables.nodes),
        )
        _, piece = connected_components(graph, directed=False)
        first, place = np.unique(piece[hosts], return_index=True)
        order = np.full(int(piece.max()) + 1, -1)
        order[first[np.argsort(place)]] = np.arange(len(first))
        if not found or len(first) < found[-1].count():
            names = (plain_name(group.name) for group in cables.groups if group.tier == int(level))
            name = next(names) if level == int(level) else "groups"
            found.append(Reach(name, int(level), np.where(tier <= level, order[piece], -1)))
    return found
