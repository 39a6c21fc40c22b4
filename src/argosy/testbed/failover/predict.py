"""What Argosy says beforehand: its fleet simulation of the very requests that are sent, and its queueing laws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy.laws import queueing
from argosy.serving.failures import Failures
from argosy.serving.fleet import FleetRun, Policy, Pool, simulate
from argosy.serving.layout import ReplicaLayout
from argosy.serving.traffic import Requests
from argosy.testbed.failover.trace import Checks, Fleet, Trace, Traffic

TICK_S = 0.0001  # an iteration of the simulated engine: a request's work is so many of them
DRAWS = 200  # traces drawn alike, for the interval of a mean over one
CHOICES = 40  # times that a router which draws is simulated
DRAINS = 20  # rolling upgrades that are simulated
# Of them inside the interval: of some sixty comparisons 95 % would leave three outside by chance.
SHARE = 0.99


@dataclass(frozen=True)
class Baseline:
    """Measured once, with one request at a time: `held_s`, by which a replica is occupied longer than the work takes, and
    `request_s`, what a request takes outside of it.
    """

    held_s: float
    request_s: float


@dataclass(frozen=True)
class Slots:
    """An engine whose iterations take TICK_S whatever they carry: `max_batch` requests at once, each for as many iterations as
    its answer has tokens. A server with slots, as the fleet simulation's step-time provider.
    """

    max_batch: int
    name: str = "slots"
    gpus: int = 1
    weight_bytes: float = 0.0
    kv_bytes_per_token: float = 0.0
    kv_capacity_tokens: int = 10**12
    grade: str = "measured-like"
    residual_sigma: float = 0.0
    tokens_per_step: float = 1.0

    @property
    def layout(self) -> ReplicaLayout:
        """One accelerator."""
        return ReplicaLayout()

    def window_tokens(self, context: Any) -> Any:
        """No memory beside the tokens."""
        return 0.0 * np.asarray(context, float)

    def prefill_s(self, tokens: Any, cached_tokens: Any = 0, batch: Any = 1) -> Any:
        """An iteration."""
        return self._tick(tokens, cached_tokens, batch)

    def decode_s(self, batch: Any, context: Any) -> Any:
        """An iteration."""
        return self._tick(batch, context)

    def mixed_s(
        self, prefill_tokens: Any, prefill_context: Any, decode_batch: Any, decode_context: Any
    ) -> Any:
        """An iteration."""
        return self._tick(prefill_tokens, prefill_context, decode_batch, decode_context)

    @staticmethod
    def _tick(*counts: Any) -> Any:
        return np.full(np.broadcast(*(np.asarray(one) for one in counts)).shape, TICK_S)


def requests(trace: Trace, held_s: float, shift_s: float = 0.0) -> Requests:
    """A trace for the fleet simulation: work as tokens of an answer, one iteration each."""
    ticks = np.maximum(np.rint((trace.service_s + held_s) / TICK_S), 1).astype(np.int64)
    none, one = np.zeros(len(trace), np.int64), np.ones(len(trace), np.int64)
    return Requests(trace.due_s + shift_s, one, ticks, none, none, trace.horizon_s + shift_s)


def fleet_run(
    trace: Trace,
    fleet: Fleet,
    router: str,
    base: Baseline,
    *,
    central: bool = False,
    upgrade: tuple[float, float] | None = None,
    seed: int = 0,
) -> FleetRun:
    """The fleet simulation of a trace. `central`: one queue before all slots, in the proxy; else a queue at every replica.
    `upgrade`: (seconds from the start, seconds that a replica is away): a rolling upgrade, one replica at a time.
    """
    replicas, slots = (1, fleet.replicas * fleet.slots) if central else (fleet.replicas, fleet.slots)
    pool = Pool(Slots(slots), replicas, evicts=False, max_batch=slots)
    failures, shift = None, 0.0
    drain_s = trace.horizon_s + 60.0
    if upgrade is not None:  # the simulation repeats upgrades: begin so late that the second is never reached
        shift = trace.horizon_s + drain_s
        failures = Failures(0.0, 1.0, upgrade_every_s=shift + upgrade[0], upgrade_s=upgrade[1])
    policy = Policy(
        router,
        queue_limit=float(fleet.waiting),
        cold_start_s=0.0,
        request_s=base.request_s,
        drain_limit_s=drain_s,
    )
    return simulate(requests(trace, base.held_s, shift), [pool], policy, failures, seed)


def quiet_runs(trace: Trace, fleet: Fleet, router: str, base: Baseline) -> list[FleetRun]:
    """The fleet simulation of a trace; as often as CHOICES where the router draws, with other draws."""
    seeds = range(CHOICES if router == "power-of-two" else 1)
    return [fleet_run(trace, fleet, router, base, seed=seed) for seed in seeds]


def waits_s(run: FleetRun, base: Baseline, trace: Trace) -> np.ndarray:
    """Seconds that every request waited for a slot."""
    return np.asarray(np.maximum(run.e2e_s - base.request_s - base.held_s - trace.service_s, 0.0))


@dataclass(frozen=True)
class Queue:
    """Means of one queue before all slots: `wait_s`, and `inside`, requests in the system."""

    wait_s: float
    inside: float


def law(trace: Trace, cv: float, fleet: Fleet, base: Baseline) -> Queue:
    """M/M/c, and beyond exponential work Allen–Cunneen's approximation of M/G/c, of a trace's own rate and mean work, with what
    the baseline adds; `cv` of its work.
    """
    slots, work = fleet.replicas * fleet.slots, float(trace.service_s.mean()) + base.held_s
    wait = float(queueing.mean_wait(trace.rate, work, slots, 1.0, cv**2))
    inside = float(queueing.in_system(trace.rate, wait + work + base.request_s))
    return Queue(wait, inside)


def spread(
    traffic: Traffic, fleet: Fleet, base: Baseline, horizon_s: float, draws: int = DRAWS
) -> dict[str, tuple[float, float]]:
    """By how much the means over one trace of this length differ from its law's: the ratios between which SHARE of traces drawn
    alike lie, of the Queue's figures.
    """
    rows = []
    for seed in range(draws):
        trace = traffic.draw(horizon_s, 1000 + seed)
        run, said = (
            fleet_run(trace, fleet, "round-robin", base, central=True),
            law(trace, traffic.cv, fleet, base),
        )
        inside = trace.rate * float(run.e2e_s.mean())
        rows.append((float(waits_s(run, base, trace).mean()) / said.wait_s, inside / said.inside))
    low, high = np.quantile(np.array(rows), [(1 - SHARE) / 2, (1 + SHARE) / 2], axis=0)
    names = ("wait_s", "inside")
    return {name: (float(a), float(b)) for name, a, b in zip(names, low, high, strict=True)}


def drawn_to_dead(router: str, replicas: int) -> float:
    """Share of arrivals that the proxy sends to a dead replica first, until health checks notice; each is refused at once, and
    tried again elsewhere.

    In turn: 1/(R − 1), as whoever is refused takes the next one's turn. The fewest requests: all, since a dead replica has none
    under way (as long as no other is empty). The better of two drawn with replacement: 1 − (1 − 1/R)².
    """
    if router == "round-robin":
        return 1.0 / (replicas - 1)
    if router == "least-work":
        return 1.0
    return 1.0 - (1.0 - 1.0 / replicas) ** 2


def retried(traffic: Traffic, fleet: Fleet, router: str, time_s: float, unnoticed_s: float) -> float:
    """Requests that one kill −9 makes the proxy try again: those under way at the replica (Little: λ/R × T), and those sent to it
    while its death is not noticed.
    """
    inside = float(queueing.in_system(traffic.rate / fleet.replicas, time_s))
    return inside + drawn_to_dead(router, fleet.replicas) * traffic.rate * unnoticed_s


def poisson(mean: float) -> tuple[float, float]:
    """The counts between which a Poisson count of this mean lies in SHARE of cases at least."""
    from scipy.stats import poisson as law_of_counts

    low, high = law_of_counts.interval(SHARE, mean)
    return float(low), float(high)


def away_s(traffic: Traffic, fleet: Fleet, router: str, base: Baseline, cold_s: float) -> float:
    """Mean seconds that an upgrade takes a replica away, by the fleet simulation of DRAINS rolling upgrades: until its last
    request has ended, and until the new one has loaded.
    """
    total = 0.0
    for seed in range(DRAINS):
        trace = traffic.draw(2.0 + 1.5 * fleet.replicas * (cold_s + traffic.service_s), 2000 + seed)
        run = fleet_run(trace, fleet, router, base, upgrade=(2.0, cold_s))
        total += run.seconds(0, "draining") / fleet.replicas
    return total / DRAINS + cold_s


def noticed_s(checks: Checks) -> float:
    """Mean seconds until health checks take a killed replica down: it dies at any moment of an interval."""
    return sum(checks.down_s) / 2


def overloaded(trace: Trace, fleet: Fleet, left: int, router: str, base: Baseline) -> FleetRun:
    """The fleet simulation of `left` replicas alone."""
    return fleet_run(trace, replace(fleet, replicas=left), router, base)


def shed_at_least(traffic: Traffic, fleet: Fleet, left: int, base: Baseline) -> float:
    """Share of requests that `left` replicas cannot serve in the long run, however long their queues: 1 − c/(λS)."""
    return max(1.0 - left * fleet.slots / (traffic.rate * (traffic.service_s + base.held_s)), 0.0)
