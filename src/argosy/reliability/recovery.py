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

POLICIES = ("restart", "spare-swap", "elastic", "replica", "redundancy")


@dataclass(frozen=True, slots=True)
class RackStock:
    """Racks that carry spare nodes: `count` racks of `nodes`, `needed` of them by the job; see `hazards.Racks`."""

    count: float
    nodes: int
    needed: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """How a job gets going again. All times in seconds.

    `detection_s`: from failure to knowing it; `restart_s`: from knowing to computing, loading included, nodes
    at hand. `policy`: - `restart`: the job stops, gives its nodes back, waits `queue_s` in the scheduler's queue, and
    starts anew (HPC); - `spare-swap`: the job keeps its nodes, and a hot spare takes the failed one's place; in both,
    without a spare, it waits for a repair; - `elastic`: the replica with the failed node is cut off after
    `pause_s`, without rework, and comes back after detection and restart (with no spares at all: after the repair);
    until then the job runs on the other `replicas` − 1; - `replica`: as elastic, but the others do not pause; -
    `redundancy`: each of `replicas` groups of nodes is there `copies` times in step, on nodes beyond the job's
    (warehouse-scale failover): a failure costs `pause_s`, and the job stops only when all copies of a group are away at once;
    a copy is away as under `elastic`. Failures of the whole job (software) stop it under every policy.
    """

    detection_s: Array
    restart_s: Array
    policy: str = "spare-swap"
    spare_nodes: int = 0
    repair_s: Array = 86400.0
    queue_s: Array = 0.0
    replicas: Array = 1.0
    pause_s: Array = 0.0
    copies: int = 1
    racks: RackStock | None = None

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"unknown recovery policy {self.policy!r}; write one of {', '.join(POLICIES)}")

    @property
    def tolerant(self) -> bool:
        """True where a node's failure does not stop the whole job."""
        return self.policy in ("elastic", "replica", "redundancy")

    @property
    def stall_s(self) -> Array:
        """Seconds that one node's failure stops a job which tolerates it."""
        return self.pause_s if self.policy in ("elastic", "redundancy") else 0.0

    def shortage(self, node_per_s: Array) -> Array:
        """Probability that a failure finds no spare: P(N ≥ spares) of nodes in repair N ~ Poisson (Palm's theorem).

        `node_per_s`: failures per second of all nodes that draw on the spares. An upper bound where the job stands still
        meanwhile, since a stopped job does not fail.
        """
        from scipy.special import pdtrc

        mean = np.asarray(law.nodes_in_repair(node_per_s, self.repair_s), dtype=float)
        return pdtrc(self.spare_nodes - 1, mean) if self.spare_nodes > 0 else np.ones_like(mean)

    def away_s(self, node_per_s: Array) -> Array:
        """Seconds that a replica or copy is missing after its node failed: detection and restart, or the wait for a spare.

        `node_per_s`: failures of all nodes that draw on the spares. Nodes in repair N ~ Poisson (Palm's theorem); a
        failure that finds no spare (N ≥ spares) waits W in the mean of all failures, by Little's law
        E[(N − spares)⁺] ÷ node_per_s. Away = D·P(N < spares) + max(W, D·P(N ≥ spares)) for D = detection + restart.
        """
        from scipy.special import pdtrc

        spares = self.spare_nodes
        mean = np.asarray(law.nodes_in_repair(node_per_s, self.repair_s), dtype=float)
        short = self.shortage(node_per_s)
        missing = mean * short - spares * pdtrc(spares, mean) if spares > 0 else mean
        rate = np.asarray(node_per_s, dtype=float)
        waits = np.divide(missing, rate, out=np.zeros_like(missing), where=rate > 0)
        swap = self.detection_s + self.restart_s
        return swap * (1.0 - short) + np.maximum(waits, swap * short)

    def degraded_s(self, node_per_s: Array) -> Array:
        """Productive seconds lost to one node's failure under a tolerant policy: time away ÷ replicas.

        Losses of several replicas at once add up, which overstates when two nodes of one replica are away
        together. Redundant copies lose none.
        """
        if not self.tolerant or self.policy == "redundancy":
            return 0.0
        return self.away_s(node_per_s) / self.replicas

    def wait_share(self, node_per_s: Array) -> Array:
        """Fraction of the time that the job waits for nodes; `node_per_s`: failures of its nodes per second.

        Spare nodes: Erlang's loss formula, see `spare_wait_share`. Racks with spares inside: a rack's own spares are a loss
        system of (nodes − needed) places, or with spare racks one that begins empty after each overflow; what finds none there
        exchanges the rack, away until the first of its repairs is done (repair ÷ places + 1, as for exponential repairs), and
        whole spare racks are a second loss system behind it. First-order where the job waits long.
        """
        stock = self.racks
        if stock is None:
            return spare_wait_share(node_per_s, self.repair_s, self.spare_nodes)
        inside = stock.nodes - stock.needed
        load = law.nodes_in_repair(node_per_s / stock.count, self.repair_s)
        if self.spare_nodes < stock.nodes:  # no spare rack: it goes on with its first repair, and stays short
            exchanged = node_per_s * (queueing.erlang_b(load, inside) if inside else 1.0)
        else:  # the rack that comes in has all of its spares
            exchanged = node_per_s / queueing.arrivals_until_overflow(load, inside)
        return spare_wait_share(exchanged, self.repair_s / (inside + 1), self.spare_nodes // stock.nodes)

    def groups_lost_per_s(self, node_per_s: Array) -> Array:
        """Losses per second of a whole redundant group, all its copies away at once; 0 under other policies.

        `node_per_s`: failures of the job's own nodes, one copy of each. A copy fails at λ = node_per_s ÷ replicas and is away
        for D = `away_s`, so that another copy is away with probability 1 − exp(−λD): rate = replicas · c · λ ·
        (1 − exp(−λD))^(c−1). Exact to first order in λD (renewal of independent copies).
        """
        if self.policy != "redundancy":
            return 0.0
        each = node_per_s / self.replicas
        away = -np.expm1(-each * self.away_s(node_per_s * self.copies))
        return self.replicas * self.copies * each * away ** (self.copies - 1)


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
    values: Values,
    ranks: Array,
    size_bytes: Array,
    read_bytes_per_s: Array,
    method: str | float = "optimised",
    scheduling_s: Array | None = None,
    container_s: Array = 0.0,
    load_s: Array | None = None,
) -> Array:
    """Seconds from knowing of a failure to computing again, built up: scheduling, containers, groups, loading.

    `ranks`: processes; `size_bytes`: of the checkpoint, read once and spread; `read_bytes_per_s`: of the
    storage. `method`: see `group_start_up_s`, or seconds. `scheduling_s` None takes the catalog's, which holds containers
    and imports too; `load_s` None computes it. Grows with the ranks by the groups and with the model by the load.
    """
    groups = group_start_up_s(values, ranks, method) if isinstance(method, str) else method
    load = checkpoint_law.transfer_time(size_bytes, read_bytes_per_s) if load_s is None else load_s
    scheduling = values["reliability.recovery.scheduling"] if scheduling_s is None else scheduling_s
    return scheduling + container_s + groups + load
