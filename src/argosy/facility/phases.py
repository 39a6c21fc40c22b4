"""What the accelerators do during a step, as seconds: all that the facility needs to know of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argosy.facts import Values

Array = Any  # float or numpy array (n,): one entry per draw


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

    def utilization(self, values: Values) -> Array:
        """Mean share of the way from idle to measured maximum power that a node draws, 0 to about 1."""
        weighted = (
            self.compute_s * values["facility.activity.compute"]
            + self.memory_s * values["facility.activity.memory"]
            + self.communication_s * values["facility.activity.communication"]
            + self.idle_s * values["facility.activity.idle"]
        )
        return weighted / self.total_s
