"""Power over time, as a value: what a simulated or assumed schedule draws, at a named boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.facility.node import NodePower
from argosy.facility.phases import ACTIVITIES, PowerPhases
from argosy.facts import Values


@dataclass(frozen=True, slots=True)
class PowerTimeline:
    """Piecewise constant power: `watts[i]` from `edges_s[i]` to `edges_s[i + 1]`, at `boundary` (such as IT).

    `edges_s` has shape (k + 1,), increasing; `watts` (k,). The facility room reads power from this alone,
    whether it came from a step's breakdown, an event schedule or a meter.
    """

    edges_s: np.ndarray
    watts: np.ndarray
    boundary: str = "IT"

    def __post_init__(self) -> None:
        if self.edges_s.shape != (self.watts.size + 1,) or np.any(np.diff(self.edges_s) < 0):
            raise ValueError("a power timeline needs one edge more than powers, in order of time")

    @property
    def energy_j(self) -> float:
        """Joules of the whole timeline."""
        return float(np.sum(np.diff(self.edges_s) * self.watts))

    @property
    def mean_w(self) -> float:
        """Mean watts."""
        return self.energy_j / float(self.edges_s[-1] - self.edges_s[0])

    @property
    def swing_w(self) -> float:
        """Highest minus lowest watts."""
        return float(self.watts.max() - self.watts.min())

    def sampled(self, dt_s: float) -> np.ndarray:
        """Mean watts of each interval of `dt_s` seconds, so that energy is kept; the last may be shorter."""
        start, end = float(self.edges_s[0]), float(self.edges_s[-1])
        whole = np.arange(start, end, dt_s)
        ticks = np.append(whole[end - whole > 1e-9 * dt_s], end)  # rounding makes no interval of its own
        energy = np.concatenate([[0.0], np.cumsum(np.diff(self.edges_s) * self.watts)])
        return np.asarray(np.diff(np.interp(ticks, self.edges_s, energy)) / np.diff(ticks))


def step_timeline(
    values: Values, node: NodePower, nodes: float, phases: PowerPhases, steps: int = 1
) -> PowerTimeline:
    """`steps` synchronous steps of `nodes` nodes, each step its activities one after the other, at the nodes'
    inlets.

    All nodes change activity together: the upper bound of the swing, since real steps interleave. Scalars
    only.
    """
    lengths = [float(getattr(phases, f"{activity}_s")) for activity in ACTIVITIES]
    powers = [float(nodes * node.at(values[f"facility.activity.{activity}"])) for activity in ACTIVITIES]
    edges = np.concatenate([[0.0], np.cumsum(np.tile(lengths, steps))])
    return PowerTimeline(edges, np.tile(powers, steps), "IT, nodes alone")
