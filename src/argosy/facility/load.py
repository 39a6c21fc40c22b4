"""What a fleet draws at its nodes' inlets: nodes at work and in reserve, network, storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argosy.facility.node import NodePower
from argosy.facility.phases import PowerPhases
from argosy.facts import Values

Array = Any  # float or numpy array (n,): one entry per draw


@dataclass(frozen=True, slots=True)
class ItLoad:
    """What draws power: `nodes` at work and `spare_nodes` idle, each as `node`; network in watts.

    `network_w`: switches and optics of all fabrics. `storage_w` None: a share of the nodes' power for storage
    and management together. `switches` and `storage_bytes` are what was made besides, for embodied carbon.
    """

    node: NodePower
    nodes: Array
    spare_nodes: Array = 0.0
    network_w: Array = 0.0
    storage_w: Array | None = None
    switches: Array = 0.0
    storage_bytes: Array = 0.0

    def others_w(self, values: Values, nodes_w: Array) -> Array:
        """Watts of network, storage and management, which hardly move with the load."""
        if self.storage_w is not None:
            return self.network_w + self.storage_w
        return self.network_w + nodes_w * values["facility.it.storage_and_management"]

    def mean_w(self, values: Values, phases: PowerPhases, busy_share: Array) -> Array:
        """Mean IT watts over a run that steps `busy_share` of its time and waits, at idle activity,
        otherwise."""
        busy = phases.node_w(values, self.node)
        waiting = self.node.at(values["facility.activity.idle"])
        nodes_w = self.nodes * (busy_share * busy + (1.0 - busy_share) * waiting)
        nodes_w = nodes_w + self.spare_nodes * self.node.idle_w
        return nodes_w + self.others_w(values, self.nodes * self.node.measured_w)

    def peak_w(self, values: Values) -> Array:
        """IT watts with every node, spares too, at its cap: what breakers and transformers are sized on."""
        nodes_w = (self.nodes + self.spare_nodes) * self.node.capped_w
        return nodes_w + self.others_w(values, nodes_w)

    def measured_w(self, values: Values) -> Array:
        """IT watts with every node, spares too, at the most that dense training was measured to draw."""
        nodes_w = (self.nodes + self.spare_nodes) * self.node.measured_w
        return nodes_w + self.others_w(values, nodes_w)
