"""What happens after a failure: policies, spares, repair; and what is planned: maintenance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts import Values
from argosy.laws import checkpoint as checkpoint_law
from argosy.laws import queueing
from argosy.laws import reliability as law
from argosy.reliability.rates import FailureRates

Array = Any  # float or numpy array (n,): one entry per draw

POLICIES = ("restart", "spare-swap", "elastic", "replica")


@dataclass(frozen=True, slots=True)
class Recovery:
    """How a job gets going again. All times in seconds.

    `detection_s`: from failure to knowing it; `restart_s`: from knowing to computing, loading included, nodes
    at hand. `policy`: - `restart`: the job stops, waits `queue_s` in the scheduler's queue, and starts on
    whole nodes; - `spare-swap`: a hot spare takes the failed node's place; without one the job waits for a
    repair; - `elastic`: the replica with the failed node is cut off after `pause_s`, without rework, and
    comes back after `detour_s`; until then the job runs on the other `replicas` − 1; - `replica`: as elastic,
    but the others do not pause, and the failed one returns after detection and restart. Failures of the whole
    job (software) stop it under every policy.
    """

    detection_s: Array
    restart_s: Array
    policy: str = "spare-swap"
    spare_nodes: int = 0
    repair_s: Array = 86400.0
    queue_s: Array = 0.0
    replicas: Array = 1.0
    pause_s: Array = 0.0

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"unknown recovery policy {self.policy!r}; write one of {', '.join(POLICIES)}")

    @property
    def tolerant(self) -> bool:
        """True where a node's failure does not stop the whole job."""
        return self.policy in ("elastic", "replica")

    @property
    def stall_s(self) -> Array:
        """Seconds that one node's failure stops a job which tolerates it."""
        return self.pause_s if self.policy == "elastic" else 0.0

    @property
    def degraded_s(self) -> Array:
        """Productive seconds lost to one node's failure under a tolerant policy: time away ÷ replicas.

        Losses of several replicas at once add up, which overstates when two nodes of one replica are away
        together.
        """
        if not self.tolerant:
            return 0.0
        waits = self.policy == "elastic" and self.spare_nodes == 0
        return (self.repair_s if waits else self.detection_s + self.restart_s) / self.replicas


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Planned stops: so many a day, each so many seconds long. The job saves first, so that no work is
    lost."""

    per_day: Array = 0.0
    duration_s: Array = 0.0

    def share(self, write_s: Array, restart_s: Array) -> Array:
        """Fraction of wall-clock time: the stop itself, the checkpoint before and the restart after; at most
        one."""
        return np.minimum(self.per_day * (self.duration_s + write_s + restart_s) / 86400.0, 1.0)


def spares_needed(rates: FailureRates, repair_s: Array, probability: Array = 0.999) -> Array:
    """Spare nodes that suffice with `probability` at a random moment: a quantile of the nodes in repair.

    `repair_s`: mean seconds until a failed node is back. Poisson, whatever the distribution of repair times.
    """
    return law.poisson_quantile(law.nodes_in_repair(rates.node_per_s, repair_s), probability)


def spare_wait_share(node_failures_per_s: Array, repair_s: Array, spare_nodes: int) -> Array:
    """Fraction of time that a job waits for a spare, with `spare_nodes` of them: Erlang's loss formula.

    The job stops when one node more than the spares is in repair, and a stopped job does not fail: a loss system of
    spares + 1 places. Exact for one failure at a time and any distribution of repair times with the same mean
    (Sevastyanov 1957).
    """
    return queueing.erlang_b(law.nodes_in_repair(node_failures_per_s, repair_s), spare_nodes + 1)


def group_start_up_s(values: Values, ranks: Array, method: str = "optimised") -> Array:
    """Seconds to build the collective groups of `ranks` processes.

    `method`: `tcp-store`, `redis` or `optimised`, published at 2,048 ranks (MegaScale); carried to other
    sizes in proportion to the ranks, which is an assumption (the first is nearer quadratic, the last was
    under 30 s at 10,000).
    """
    return values[f"reliability.group-start-up.{method}"] * ranks / values["reliability.group-start-up.ranks"]


def restart_s(
    values: Values, ranks: Array, size_bytes: Array, read_bytes_per_s: Array, method: str = "optimised"
) -> Array:
    """Seconds from knowing of a failure to computing again, built up: scheduling and containers, groups,
    loading.

    `ranks`: processes; `size_bytes`: of the checkpoint, read once and spread; `read_bytes_per_s`: of the
    storage. For scenarios that do not state a restart time.
    """
    return (
        values["reliability.recovery.scheduling"]
        + group_start_up_s(values, ranks, method)
        + checkpoint_law.transfer_time(size_bytes, read_bytes_per_s)
    )
