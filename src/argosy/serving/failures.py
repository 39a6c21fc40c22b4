"""When replicas fail, alone or with a domain that they share, and when they are upgraded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from argosy.kernels import serving_records as records
from argosy.serving.redundancy import Standing

if TYPE_CHECKING:
    from argosy.serving.fleet import Pool


@dataclass(frozen=True)
class Shared:
    """A domain that `gpus` neighbouring accelerators share; one of it fails `rate_per_s` times a second.

    `places`: how many of it the fleet has; replicas are spread evenly over them (0: not known, they fill one after another).
    """

    name: str
    gpus: int
    rate_per_s: float
    repair_s: float
    places: int = 0

    def standing(self, gpus: int, restart_s: float = 0.0) -> Standing:
        """The domain as replicas of `gpus` accelerators (no more than it has) share it."""
        up = 1.0 / (1.0 + self.rate_per_s * (self.repair_s + restart_s))
        return Standing(max(self.gpus // gpus, 1), up, self.places)


@dataclass(frozen=True)
class Failures:
    """What fails: `gpu_rate_per_s` of one accelerator with its share of the node (its replica is lost), shared domains, and the
    mean seconds of a repair. `upgrade_every_s` > 0: a rolling upgrade starts that often (once the one before is over); each
    replica is drained and down for `upgrade_s`, `upgrade_together` at a time: the next ones drain when those are back.
    """

    gpu_rate_per_s: float
    repair_s: float
    domains: tuple[Shared, ...] = ()
    upgrade_every_s: float = 0.0
    upgrade_s: float = 0.0
    upgrade_together: int = 1

    def replica_rate_per_s(self, gpus: int) -> float:
        """Failures per second of one replica of `gpus` accelerators: g times one's, and the shared domains'."""
        shared = sum(each.rate_per_s * max(1.0, gpus / each.gpus) for each in self.domains)
        return gpus * self.gpu_rate_per_s + shared

    def availability(self, gpus: int, restart_s: float = 0.0) -> float:
        """A = MTBF ÷ (MTBF + MTTR) of one replica that waits for its repair and then takes `restart_s` to serve."""
        own = self.own_availability(gpus, restart_s)
        return own * float(np.prod([each.availability for each in self.standing(gpus, restart_s)]))

    def own_availability(self, gpus: int, restart_s: float = 0.0) -> float:
        """The same by what fails of a replica alone: its accelerators, and domains smaller than it."""
        down = gpus * self.gpu_rate_per_s * (self.repair_s + restart_s)
        for each in self.domains:
            if each.gpus < gpus:
                down += each.rate_per_s * gpus / each.gpus * (each.repair_s + restart_s)
        return 1.0 / (1.0 + down)

    def standing(self, gpus: int, restart_s: float = 0.0) -> tuple[Standing, ...]:
        """The domains that hold whole replicas of `gpus` accelerators: they fail together."""
        return tuple(each.standing(gpus, restart_s) for each in self.domains if each.gpus >= gpus)


def planned_events(failures: Failures | None, pools: Sequence[Pool], until_s: float, seed: int) -> np.ndarray:
    """The failures (Poisson, drawn by `seed`) and upgrades of a run until `until_s`, in order of time.

    Replicas stand in order on the machines, pool after pool, spread over the fleet's domains where their number is known; a
    domain's failure takes every replica with a part in it.
    """
    if failures is None:
        return np.zeros(0, records.PLANNED)
    stream = np.random.default_rng([seed, 3])
    rows: list[np.ndarray] = []
    first = 0
    for pool in pools:
        gpus, count = pool.provider.gpus, pool.count
        many = stream.poisson(count * gpus * failures.gpu_rate_per_s * until_s)
        which = first + stream.integers(0, max(count, 1), many)
        rows.append(_rows(stream.random(many) * until_s, failures.repair_s, records.STRIKE, which, which))
        for each in failures.domains:
            spread = each.places > 0 and each.gpus >= gpus
            size = each.standing(gpus).holds(count) * gpus if spread else each.gpus
            domains = -(-count * gpus // size)
            struck = stream.integers(0, max(domains, 1), stream.poisson(domains * each.rate_per_s * until_s))
            low = first + struck * size // gpus
            high = first + np.minimum(((struck + 1) * size - 1) // gpus, count - 1)
            at = stream.random(len(struck)) * until_s
            rows.append(_rows(at, each.repair_s, records.STRIKE, np.minimum(low, high), high))
        if failures.upgrade_every_s > 0.0:
            rows.append(_upgrades(failures, first, count, until_s))
        first += count
    events = np.concatenate(rows)
    return np.ascontiguousarray(events[np.argsort(events["at"], kind="stable")])


def _rows(at: np.ndarray, lasts_s: float, kind: int, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    rows = np.zeros(len(at), records.PLANNED)
    rows["at"], rows["lasts_s"], rows["kind"], rows["first"], rows["last"] = at, lasts_s, kind, first, last
    return rows


def _upgrades(failures: Failures, first: int, count: int, until_s: float) -> np.ndarray:
    """When rolling upgrades of a pool begin; how they go on depends on how long replicas drain."""
    at = np.arange(failures.upgrade_every_s, until_s, failures.upgrade_every_s)
    pool = np.full(len(at), first)
    rows = _rows(at, failures.upgrade_s, records.UPGRADE, pool, pool + count - 1)
    rows["together"] = max(failures.upgrade_together, 1)
    return rows
