"""What happens to nodes: failures, maintenance, drains, rolling upgrades; failures drawn from the reliability room's rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np

from argosy.reliability import FailureEvent, FailureRates


@dataclass(frozen=True, slots=True)
class Planned:
    """A node taken out with notice at `start_s`: no new work from then on; when it is empty it is away for `lasts_s`.

    Work that still runs after `patience_s` is evicted (inf: waited for); services move their replicas, never below their
    floor. `lasts_s` inf: the node does not come back.
    """

    start_s: float
    node: int
    lasts_s: float
    patience_s: float = inf


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A rolling upgrade from `start_s` on: every node, in order, away for `lasts_s`, as `Planned`, with so many out at once
    that `capacity_floor` (0–1) of all nodes stay up and open; at least one goes at a time."""

    start_s: float
    lasts_s: float
    capacity_floor: float = 0.9
    patience_s: float = inf


@dataclass(frozen=True, slots=True, eq=False)
class Outages:
    """Failures as arrays (n,) sorted by time: when, which node, how long it is away; and what is planned."""

    at_s: np.ndarray
    node: np.ndarray
    away_s: np.ndarray
    planned: tuple[Planned, ...] = ()
    upgrades: tuple[Upgrade, ...] = ()


@dataclass(frozen=True, slots=True)
class Random:
    """Failures drawn while the simulation runs: `per_s` of all nodes together (a Poisson process), the struck node uniform, its
    repair exponential of mean `repair_s`. A node that is away is not struck again meanwhile."""

    per_s: float
    repair_s: float
    planned: tuple[Planned, ...] = ()
    upgrades: tuple[Upgrade, ...] = ()


def random_outages(rates: FailureRates, repair_s: float) -> Random:
    """Failures at the rate at which the reliability room's categories take nodes away."""
    return Random(float(rates.node_per_s), repair_s)


def no_outages(planned: tuple[Planned, ...] = (), upgrades: tuple[Upgrade, ...] = ()) -> Outages:
    """No failures; what is planned alone."""
    nothing = np.zeros(0)
    return Outages(nothing, nothing.astype(np.int64), nothing, planned, upgrades)


def outages(events: Iterable[FailureEvent]) -> Outages:
    """Failures of known nodes, as the reliability room tells them; those without a node take none away and are left out."""
    rows = sorted((e.start_s, e.node, e.end_s - e.start_s) for e in events if e.node is not None)
    at, node, away = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.zeros(0),) * 3
    return Outages(at.astype(float), node.astype(np.int64), away.astype(float))
