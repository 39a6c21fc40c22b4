"""What the nodes and ports of a cable list are called in every file that leaves Argosy.

`host-0001`, `leaf-012`, `plane-3-spine-01`: the group, then a number from 1, padded so that names sort; ports
count from 1, as InfiniBand and the labels on a switch do. The same names come back when a file is read again.
"""

from __future__ import annotations

from argosy.fabric.cables import CableList


def node_names(cables: CableList) -> list[str]:
    """The name of every node, in the order of its id."""
    if cables.names:
        return list(cables.names)
    names: list[str] = []
    for group in cables.groups:
        stem = group.name.replace("/", "-")
        width = len(str(group.count))
        names += [f"{stem}-{number:0{width}d}" for number in range(1, group.count + 1)]
    return names
