"""A job's reliability from its scenario: rates, checkpoints, recovery and maintenance in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from argosy.facts import Values
from argosy.reliability.checkpoints import CheckpointCost, checkpoint_cost
from argosy.reliability.goodput import Goodput, goodput
from argosy.reliability.rates import FailureRates, failure_rates
from argosy.reliability.recovery import Maintenance, Recovery, restart_s, spares_needed
from argosy.reliability.renewal import Lives, lives
from argosy.spec import Reliability

Array = Any  # float or numpy array (n,): one entry per draw


@dataclass(frozen=True, slots=True)
class JobReliability:
    """All that decides how long a job's productive seconds take on the wall clock."""

    rates: FailureRates
    cost: CheckpointCost
    recovery: Recovery
    maintenance: Maintenance
    interval_s: Array | None
    spares_suffice: Array

    def goodput(self) -> Goodput:
        """The closed form; see `reliability.goodput`."""
        return goodput(self.rates, self.cost, self.recovery, self.maintenance, self.interval_s)

    def lives(self, work_s: Array, draws: int = 1000, seed: int = 0) -> Lives:
        """Monte Carlo lives of a job of `work_s` productive seconds; see `reliability.lives`."""
        return lives(
            work_s, self.rates, self.cost, self.recovery, self.maintenance, self.interval_s, draws, seed
        )


def job_reliability(
    values: Values,
    settings: Reliability,
    accelerators: Array,
    nodes: Array,
    spare_nodes: int,
    checkpoint_bytes: Array,
    storage_bytes_per_s: Array,
    replicas: Array = 1.0,
    populations: Mapping[str, Array] | None = None,
) -> JobReliability:
    """The reliability of a job on `nodes` with `accelerators`, as the scenario's `settings` describe it.

    `spare_nodes`: hot spares at hand; `checkpoint_bytes`: the job's whole state; `storage_bytes_per_s`:
    sustained write bandwidth; `replicas`: data-parallel replicas, for tolerant policies; `populations`: counts
    of other parts (switch, cable, optic) that overrides may name. Raises FactError for unknown presets and
    categories.
    """
    overrides = {name: override.rate_per_s for name, override in settings.overrides.items()}
    rates = failure_rates(values, settings.preset, accelerators, nodes, overrides, populations)
    suffice = spares_needed(rates, settings.repair.time)
    checkpoint, planned = settings.checkpoint, settings.maintenance
    cost = checkpoint_cost(
        values,
        checkpoint_bytes,
        accelerators,
        nodes,
        storage_bytes_per_s,
        checkpoint.mode,
        checkpoint.tiers,
        rates.node_share,
    )
    recovery = Recovery(
        settings.detection,
        _restart_s(values, settings, accelerators, cost),
        settings.policy,
        spare_nodes,
        settings.repair.time,
        replicas=replicas,
        pause_s=values["reliability.recovery.elastic_pause"],
    )
    maintenance = Maintenance(planned.per_day, planned.duration)
    return JobReliability(rates, cost, recovery, maintenance, checkpoint.interval, suffice)


def _restart_s(values: Values, settings: Reliability, accelerators: Array, cost: CheckpointCost) -> Array:
    """Seconds from knowing of a failure to training again: the time given, or the sum of its parts."""
    given = settings.restart
    if given.total is not None:
        return given.total
    load = cost.load_s if given.load is None else given.load
    return restart_s(
        values, accelerators, cost.size_bytes, 1.0, given.collectives, given.scheduling, given.container, load
    )
