"""Facts as numbers: one central value each, or one column of draws each.

Every domain takes its numbers from a `Values`, never from a `Fact`, so that the same code computes
the nominal answer (scalars) and the uncertainty (arrays of draws) and the list of facts that were used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from argosy.facts.catalog import FactError, suggest
from argosy.facts.fact import Fact

Array = Any  # float or numpy array: every law takes both
_NORMAL_90 = (
    1.6448536269514722  # half-width of the central 90 % of a normal distribution, in standard deviations
)


class MissingFact(FactError, KeyError):
    """A number that nobody published and the scenario does not give. Also a KeyError, as for any mapping."""

    __str__ = ValueError.__str__


class Values:
    """Numbers by fact path (`accelerators.H100-SXM.memory_bandwidth`), in SI units.

    Without `draws` a path gives its central value; with them, an array of shape (n,).
    `used` records every path that was asked for, in order: the facts behind an answer.
    """

    def __init__(
        self, facts: Mapping[str, Fact], draws: Mapping[str, np.ndarray] | None = None, count: int = 1
    ) -> None:
        self.facts = facts
        self.draws: Mapping[str, np.ndarray] = {} if draws is None else draws
        self.count = count
        self.used: dict[str, Fact] = {}

    def __contains__(self, path: object) -> bool:
        return path in self.facts

    def __getitem__(self, path: str) -> Array:
        fact = self.facts.get(path)
        if fact is None:
            raise MissingFact(
                f"no number is known for {path}: give it in assumptions.overrides{_near(path, self.facts)}"
            )
        self.used[path] = fact
        return self.draws.get(path, fact.value)

    def get(self, path: str, default: Array = None) -> Array:
        """The number at `path`, or `default` where the catalog has none."""
        return self[path] if path in self.facts else default

    def sample(self, count: int, seed: int = 0) -> Values:
        """`count` joint draws of every fact with a band (n,); facts without a band stay scalar.

        A band (low, value, high) becomes a two-piece normal with its median at the value and its 5th and 95th
        percentiles at low and high, cut at zero for numbers that cannot be negative.
        Each path has a stream of its own, so that adding a fact does not move the draws of another, and is
        drawn when it is first asked for.
        """
        return Values(self.facts, _Draws(self.facts, count, seed), count)


class _Draws(Mapping[str, np.ndarray]):
    """Draws by path, made on demand: a plan uses a few dozen of the catalog's facts."""

    def __init__(self, facts: Mapping[str, Fact], count: int, seed: int) -> None:
        self._facts, self._count, self._seed = facts, count, seed
        self._made: dict[str, np.ndarray] = {}

    def __getitem__(self, path: str) -> np.ndarray:
        if path not in self._made:
            fact = self._facts[path]
            if not _has_band(fact):
                raise KeyError(path)
            stream = np.random.default_rng([self._seed, *path.encode()])
            self._made[path] = two_piece_normal(fact, stream.standard_normal(self._count))
        return self._made[path]

    def __iter__(self) -> Iterator[str]:
        return (path for path, fact in self._facts.items() if _has_band(fact))

    def __len__(self) -> int:
        return sum(map(_has_band, self._facts.values()))


def _has_band(fact: Fact) -> bool:
    return fact.low is not None or fact.high is not None


def _near(path: str, facts: Mapping[str, Fact]) -> str:
    """A suggestion for a path with a slip in it; nothing where only this fact of the entry is missing."""
    entry, _, _ = path.rpartition(".")
    if any(known.startswith(f"{entry}.") for known in facts):
        return ""
    entries = dict.fromkeys(known.rpartition(".")[0] for known in facts)
    return f" ({suggest(entry, entries, [])})" if entries else ""


def two_piece_normal(fact: Fact, standard: np.ndarray) -> np.ndarray:
    """Standard normal draws on a fact's band: below the centre by its lower half, above by its upper half.

    `standard` has shape (n,), dimensionless; the result has the fact's unit. z = −1.645 gives `low`, 0 the
    value, 1.645 `high` (a missing bound counts as the value); what is not negative is never drawn negative.
    """
    low = fact.value if fact.low is None else fact.low
    high = fact.value if fact.high is None else fact.high
    half_width = np.where(standard < 0, fact.value - low, high - fact.value)
    draws = fact.value + standard / _NORMAL_90 * half_width
    return np.maximum(draws, 0.0) if fact.value >= 0 else draws
