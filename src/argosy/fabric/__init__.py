"""Fabric: cable lists, topologies, collectives on a topology, bill of materials.

`build_network(fleet, values)` gives the `Network` that training asks for communication times;
`plan_fabric(fleet, values)` the plan's rows; `build(Design(...))` draws any topology as a cable list.
"""

from argosy.fabric.build import build_network
from argosy.fabric.fleet import fabric_row, plan_fabric
from argosy.fabric.network import KINDS, Level, Network, TieredNetwork
from argosy.fabric.topologies import Design, DesignError, Topology, build

__all__ = [
    "KINDS",
    "Design",
    "DesignError",
    "Level",
    "Network",
    "TieredNetwork",
    "Topology",
    "build",
    "build_network",
    "fabric_row",
    "plan_fabric",
]
