"""How real durations and clocks scatter: laws that generator families choose from. Dimensionless factors around 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

LAWS: dict[str, Callable[[np.random.Generator, float], float]] = {
    "lognormal": lambda rng, sigma: float(np.exp(rng.normal(0.0, sigma))),
    # A kernel now and then meets a refresh, an interrupt, another tenant.
    "spiked": lambda rng, sigma: float(
        np.exp(rng.normal(0.0, sigma)) * (1 + (rng.random() < 2e-3) * rng.exponential(0.5))
    ),
    "gamma": lambda rng, sigma: float(1 + sigma * (rng.gamma(4.0) - 4.0) / 2.0),  # skewed: never much faster
    "student": lambda rng, sigma: float(max(1 + sigma * rng.standard_t(5.0), 0.5)),  # heavy tails
}


@dataclass(frozen=True)
class Noise:
    """`law` and `sigma` of single kernels; `spread`: of ranks among each other, lasting (chips differ); `exchange`: sigma of
    collectives; `end_s`: by how much members of one collective end apart.
    """

    law: str = "lognormal"
    sigma: float = 0.01
    spread: float = 0.003
    exchange: float = 0.03
    end_s: float = 4e-6


@dataclass(frozen=True)
class Clocks:
    """`offset_s`: sigma of clocks among nodes; `rank_offset_s`: among ranks of one node (0 where they share a clock);
    `drift`: sigma of rates, dimensionless.
    """

    offset_s: float = 1e-3
    rank_offset_s: float = 0.0
    drift: float = 2e-6


@dataclass
class Scatter:
    """A noise with its generator of random numbers and the ranks' lasting factors."""

    noise: Noise
    rng: np.random.Generator
    ranks: int
    lasting: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.lasting = np.exp(self.rng.normal(0.0, self.noise.spread, self.ranks))

    def kernel(self, rank: int) -> float:
        """Factor on one kernel of a rank."""
        return LAWS[self.noise.law](self.rng, self.noise.sigma) * float(self.lasting[rank])

    def exchange(self) -> float:
        """Factor on one collective's transfer."""
        return LAWS[self.noise.law](self.rng, self.noise.exchange)

    def ending_s(self) -> float:
        """How much later than the first member another one ends, s."""
        return abs(float(self.rng.normal(0.0, self.noise.end_s)))


def clock(
    clocks: Clocks, nodes: int, ranks_per_node: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Offset (s) and rate of every rank's clock."""
    offset = np.repeat(rng.normal(0.0, clocks.offset_s, nodes), ranks_per_node)
    rate = 1 + np.repeat(rng.normal(0.0, clocks.drift, nodes), ranks_per_node)
    return offset + rng.normal(
        0.0, clocks.rank_offset_s, len(offset)
    ) if clocks.rank_offset_s else offset, rate
