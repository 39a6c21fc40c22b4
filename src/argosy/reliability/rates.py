"""Failure rates by category: what fails, how often, and whether a node must be replaced for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np

from argosy.facts import FactError, Values, load_catalog
from argosy.laws import reliability as law

Array = Any  # float or numpy array (n,): one entry per draw

SECTION = "reliability"
MEMORYLESS_NOTE = "Poisson failures at constant rates; shared causes and bursts are not modelled here"


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of failure: its component group, what its rate is per, and what it takes away.

    `scope` is `node` when the node must be replaced, `job` when the job stops but the same nodes go on. Which
    of the two a category is, is our reading of the published names: an assumption.
    """

    component: str
    per: str
    scope: str


@cache
def categories() -> dict[str, Category]:
    """Every kind of failure that the catalog knows, by name."""
    return {
        entry.name: Category(entry.text["component"], entry.text["per"], entry.text["scope"])
        for entry in load_catalog().section("failure-categories")
    }


@dataclass(frozen=True, slots=True)
class CategoryRate:
    """One category in one fleet: `count` parts, each failing `rate_per_s` times a second."""

    name: str
    component: str
    per: str
    scope: str
    count: Array
    rate_per_s: Array

    @property
    def system_per_s(self) -> Array:
        """Failures per second of all parts together."""
        return self.count * self.rate_per_s


@dataclass(frozen=True, slots=True)
class FailureRates:
    """The failures of one fleet, by category; sums broadcast over draws."""

    preset: str
    categories: tuple[CategoryRate, ...]

    @property
    def per_s(self) -> Array:
        """Failures of the job per second, all categories."""
        return law.system_failure_rate(
            [c.count for c in self.categories], [c.rate_per_s for c in self.categories]
        )

    @property
    def node_per_s(self) -> Array:
        """Failures per second that take a node away."""
        return sum((c.system_per_s for c in self.categories if c.scope == "node"), start=0.0)

    @property
    def mtbf_s(self) -> Array:
        """Mean seconds between failures of the job; ∞ where nothing fails."""
        with np.errstate(divide="ignore"):
            return np.divide(1.0, self.per_s)

    def with_category(self, category: CategoryRate) -> FailureRates:
        """These rates and one category more."""
        return FailureRates(self.preset, (*self.categories, category))

    @property
    def node_share(self) -> Array:
        """Fraction of failures that take a node away; 0 where nothing fails."""
        total = np.asarray(self.per_s, dtype=float)
        return np.divide(self.node_per_s, total, out=np.zeros_like(total), where=total > 0)[()]

    def by_component(self) -> dict[str, Array]:
        """Failures per second by component group (gpu, host, network, software, ...)."""
        groups: dict[str, Array] = {}
        for category in self.categories:
            groups[category.component] = groups.get(category.component, 0.0) + category.system_per_s
        return groups


def presets(values: Values) -> list[str]:
    """Names of the published sets of rates that the catalog holds."""
    entries = (path.split(".") for path in values.facts if path.startswith(f"{SECTION}."))
    return list(dict.fromkeys(parts[1] for parts in entries if len(parts) == 3 and parts[2] in categories()))


def failure_rates(
    values: Values,
    preset: str,
    accelerators: Array,
    nodes: Array,
    overrides: Mapping[str, Array] | None = None,
    populations: Mapping[str, Array] | None = None,
) -> FailureRates:
    """The rates of `preset` on a fleet of `accelerators` in `nodes`, with the scenario's overrides.

    `overrides`: failures per second of one part, by category (`faulty-gpu`) or by component group (`gpu`: all
    of its categories are scaled so that they sum to the rate given). A name that the preset does not have
    becomes a category of its own, per part of `populations` (counts of switches, cables, optics, ...). Raises
    FactError for a name that is neither, or an unknown preset. Each preset's facts say in their note where
    they must not be extrapolated.
    """
    counts: dict[str, Array] = {"gpu": accelerators, "node": nodes, "job": 1.0, **(populations or {})}
    names = [name for name in categories() if f"{SECTION}.{preset}.{name}" in values]
    if not names:
        raise FactError(_unknown(f"reliability preset {preset!r}", preset, presets(values)))
    rates = [
        CategoryRate(
            name,
            *_fields(categories()[name]),
            _count(counts, categories()[name].per),
            values[f"{SECTION}.{preset}.{name}"],
        )
        for name in names
    ]
    for name, rate in (overrides or {}).items():
        rates = _overridden(rates, name, rate, counts)
    return FailureRates(preset, tuple(rates))


def _count(counts: Mapping[str, Array], part: str) -> Array:
    if part not in counts:
        raise FactError(
            f"reliability.overrides: how many of {part} this fleet has is not known, its node in the catalog does not "
            "say; give the rate to another category, per node"
        )
    return counts[part]


def _fields(category: Category) -> tuple[str, str, str]:
    return category.component, category.per, category.scope


def _overridden(
    rates: list[CategoryRate], name: str, rate: Array, counts: Mapping[str, Array]
) -> list[CategoryRate]:
    """`rates` with one category or one component group replaced, or a new one added."""
    if any(r.name == name and r.component != name for r in rates):
        return [replace(r, rate_per_s=rate) if r.name == name else r for r in rates]
    group = [r for r in rates if r.component == name]
    if group:
        total = sum((r.rate_per_s for r in group), start=0.0)
        return [replace(r, rate_per_s=r.rate_per_s / total * rate) if r in group else r for r in rates]
    if name in categories():
        known = categories()[name]
        return [*rates, CategoryRate(name, *_fields(known), _count(counts, known.per), rate)]
    if name in counts:
        return [
            *rates,
            CategoryRate(name, name, name, "job" if name == "job" else "node", counts[name], rate),
        ]
    known_names = [r.name for r in rates] + [r.component for r in rates] + list(counts)
    raise FactError(_unknown(f"failure category {name!r}", name, known_names))


def _unknown(what: str, name: str, known: list[str]) -> str:
    near = get_close_matches(name, list(dict.fromkeys(known)), n=3)
    return f"unknown {what}; " + (
        f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(dict.fromkeys(known))}"
    )
