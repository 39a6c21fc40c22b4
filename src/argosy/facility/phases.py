"""What the accelerators do during a step, as seconds: all that the facility needs to know of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argosy.facility.node import NodePower
from argosy.facts import Values

Array = Any  # float or numpy array (n,): one entry per draw

ACTIVITIES = ("compute", "memory", "communication", "idle")


@dataclass(frozen=True, slots=True)
class PowerPhases:
    """Seconds of one step (or of any stretch) by activity of a typical accelerator; they sum to the step.

    `compute_s`: dense kernels; `memory_s`: kernels bound by memory bandwidth; `communication_s`: exposed
    collectives; `idle_s`: bubbles, waiting, host work.
    """

    compute_s: Array
    memory_s: Array = 0.0
    communication_s: Array = 0.0
    idle_s: Array = 0.0

    @property
    def total_s(self) -> Array:
        """Seconds of the whole stretch."""
        return self.compute_s + self.memory_s + self.communication_s + self.idle_s

    def node_w(self, values: Values, node: NodePower) -> Array:
        """Mean watts of a node over the stretch: each activity at its own power, none above the node's cap."""
        powers = {name: node.at(values[f"facility.activity.{name}"]) for name in ACTIVITIES}
        joules = sum(getattr(self, f"{name}_s") * watts for name, watts in powers.items())
        return joules / self.total_s

    def utilization(self, values: Values) -> Array:
        """Mean share of the way from idle to measured maximum power that a node draws, 0 to about 1."""
        weighted = (
            self.compute_s * values["facility.activity.compute"]
            + self.memory_s * values["facility.activity.memory"]
            + self.communication_s * values["facility.activity.communication"]
            + self.idle_s * values["facility.activity.idle"]
        )
        return weighted / self.total_s
