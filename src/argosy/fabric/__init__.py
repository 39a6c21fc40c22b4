"""Fabric: cable lists, topologies, collectives on a topology, bill of materials.

`build_network(fleet, values)` gives the `Network` that training asks for communication times.
"""

from argosy.fabric.build import build_network
from argosy.fabric.network import KINDS, Level, Network, TieredNetwork

__all__ = ["KINDS", "Level", "Network", "TieredNetwork", "build_network"]
