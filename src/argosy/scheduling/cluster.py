"""The machines that jobs are placed on: nodes with their accelerators and their place in the fabric; tenants' quotas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType

import numpy as np


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant has: `accelerators` of its own, and how far it may go beyond (`borrow`) while others of its `cohort` use
    less than theirs. `weight`: its share under fair sharing. `lend`: how many of its own others may use, None for all."""

    tenant: str
    accelerators: int
    cohort: str = ""
    borrow: float = inf
    lend: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Nodes as arrays (nodes,): accelerators, type (an index into `types`), and the NVLink domain, leaf and pod of each.

    `speeds`: how fast a type works against the one that durations were measured on; 1 where not stated. `cpus` and
    `memory_bytes` of a node, None where they do not bind. `quotas`: empty where tenants are not limited.
    """

    accelerators: np.ndarray
    type_index: np.ndarray
    types: tuple[str, ...]
    domain: np.ndarray
    leaf: np.ndarray
    pod: np.ndarray
    quotas: tuple[Quota, ...] = ()
    speeds: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    cpus: np.ndarray | None = None
    memory_bytes: np.ndarray | None = None

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.accelerators)

    @property
    def total(self) -> int:
        """Accelerators of all nodes."""
        return int(self.accelerators.sum())

    @property
    def largest_node(self) -> int:
        """Accelerators of the node that has most."""
        return int(self.accelerators.max())


def uniform(
    nodes: int,
    per_node: int = 8,
    nodes_per_domain: int = 1,
    nodes_per_leaf: int = 32,
    leaves_per_pod: int = 8,
    accelerator: str = "",
    quotas: tuple[Quota, ...] = (),
) -> Cluster:
    """A cluster of equal nodes: `nodes_per_domain` share an NVLink domain, `nodes_per_leaf` a leaf, `leaves_per_pod` a pod."""
    at = np.arange(nodes)
    return Cluster(
        accelerators=np.full(nodes, per_node, dtype=np.int64),
        type_index=np.zeros(nodes, dtype=np.int64),
        types=(accelerator,),
        domain=at // nodes_per_domain,
        leaf=at // nodes_per_leaf,
        pod=at // (nodes_per_leaf * leaves_per_pod),
        quotas=quotas,
    )


def joined(parts: tuple[Cluster, ...], quotas: tuple[Quota, ...] = ()) -> Cluster:
    """Clusters of different types side by side as one: nothing of the fabric is shared between them but the queue."""

    def places(name: str) -> np.ndarray:
        first, pieces = 0, []
        for part in parts:
            index = getattr(part, name)
            pieces.append(index + first)
            first += int(index.max()) + 1
        return np.concatenate(pieces)

    names = tuple(dict.fromkeys(name for part in parts for name in part.types))
    stated = [part.cpus is not None and part.memory_bytes is not None for part in parts]
    return Cluster(
        accelerators=np.concatenate([part.accelerators for part in parts]),
        type_index=np.concatenate(
            [np.array([names.index(t) for t in part.types])[part.type_index] for part in parts]
        ),
        types=names,
        domain=places("domain"),
        leaf=places("leaf"),
        pod=places("pod"),
        quotas=quotas,
        speeds={name: speed for part in parts for name, speed in part.speeds.items()},
        cpus=np.concatenate([part.cpus for part in parts]) if all(stated) else None,
        memory_bytes=np.concatenate([part.memory_bytes for part in parts]) if all(stated) else None,
    )
