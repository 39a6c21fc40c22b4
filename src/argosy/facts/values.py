"""Facts as numbers: one central value each, or one column of draws each.

Every domain takes its numbers from a `Values`, never from a `Fact`, so that the same code computes
the nominal answer (scalars) and the uncertainty (arrays of draws) and the list of facts that were used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argosy.facts.fact import Fact

Array = Any  # float or numpy array: every law takes both
_NORMAL_90 = (
    1.6448536269514722  # half-width of the central 90 % of a normal distribution, in standard deviations
)


class Values:
    """Numbers by fact path (`accelerators.H100-SXM.memory_bandwidth`), in SI units.

    Without `draws` a path gives its central value; with them, an array of shape (n,).
    `used` records every path that was asked for, in order: the facts behind an answer.
    """

    def __init__(
        self, facts: Mapping[str, Fact], draws: Mapping[str, np.ndarray] | None = None, count: int = 1
    ) -> None:
        self.facts = facts
        self.draws = draws or {}
        self.count = count
        self.used: dict[str, Fact] = {}

    def __contains__(self, path: object) -> bool:
        return path in self.facts

    def __getitem__(self, path: str) -> Array:
        fact = self.facts[path]
        self.used[path] = fact
        return self.draws.get(path, fact.value)

    def get(self, path: str, default: Array = None) -> Array:
        """The number at `path`, or `default` where the catalog has none."""
        return self[path] if path in self.facts else default

    def sample(self, count: int, seed: int = 0) -> Values:
        """`count` joint draws of every fact with a band (n,); facts without a band stay scalar.

        A band (low, value, high) becomes a two-piece normal whose 5th and 95th percentiles are low and high when
        the two halves are equally wide, cut at zero for numbers that cannot be negative.
        Each path has a stream of its own, so that adding a fact does not move the draws of another.
        """
        draws: dict[str, np.ndarray] = {}
        for path, fact in self.facts.items():
            if fact.low is None and fact.high is None:
                continue
            stream = np.random.default_rng([seed, *path.encode()])
            draws[path] = two_piece_normal(fact, stream.standard_normal(count))
        return Values(self.facts, draws, count)


def two_piece_normal(fact: Fact, standard: np.ndarray) -> np.ndarray:
    """Map standard normal draws onto a fact's band: below the centre by its lower half, above by its upper half.

    `standard` has shape (n,), dimensionless; the result has the fact's unit.
    """
    low = fact.value if fact.low is None else fact.low
    high = fact.value if fact.high is None else fact.high
    half_width = np.where(standard < 0, fact.value - low, high - fact.value)
    draws = fact.value + standard / _NORMAL_90 * half_width
    return np.maximum(draws, 0.0) if fact.value >= 0 else draws
