"""A fleet of replicas under a trace: routing, failures, retries, warm-up, autoscaling, upgrades, in one run."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter

import numpy as np

from argosy.kernels import serving_records as records
from argosy.kernels.memory import addresses
from argosy.serving.failures import Failures, planned_events
from argosy.serving.provider import StepTable, StepTimeProvider, table
from argosy.serving.traffic import Requests

ROUTERS = ("round-robin", "least-work", "power-of-two", "prefix-aware")
STATES = ("off", "warming", "up", "draining", "down")
ENDS = ("unfinished", "done", "shed", "failed", "late")
SAMPLE_S = 15.0
"""Seconds between looks of the autoscaler: Kubernetes' default (--horizontal-pod-autoscaler-sync-period)."""
STAY_S = 300.0
"""Seconds below the target before replicas are drained: its default too (--horizontal-pod-autoscaler-downscale-stabilization)."""
MARKS = (*(2.0**-each for each in range(12, 1, -1)), 1.0)
"""Shares of the horizon at which the books are copied: the warm-up is over at one of the first, the last is the horizon."""


@dataclass(frozen=True)
class Scaling:
    """An autoscaler: holds `target` of `slots` requests in each replica, between `least` and `most` replicas.

    It acts on what it saw `delay_s` ago; a replica serves `cold_start_s` after the decision.
    """

    target: float
    slots: float
    least: int
    most: int
    delay_s: float = 0.0
    stay_s: float = STAY_S


@dataclass(frozen=True)
class Pool:
    """Replicas alike: what an iteration of one takes, how many there are, how many of these are up at the start.

    `spares`: replicas' worth of idle machines that take a failed one's place. `evicts`: requests are admitted by the memory that
    they take now, and computed again where it runs out; else by what they may come to take. `chunk`: tokens of an iteration,
    prompts and generated ones together; not `mixed`: prompts have iterations of their own, before all else.
    """

    provider: StepTimeProvider
    count: int
    initial: int | None = None
    spares: int = 0
    evicts: bool = True
    chunk: int = 8192
    least_chunk: int = 256
    max_batch: int | None = None
    mixed: bool = True
    prefill_only: bool = False
    scaling: Scaling | None = None

    @property
    def batch(self) -> int:
        """Most sequences that run at once."""
        return min(self.max_batch or self.provider.max_batch, self.provider.max_batch)

    @property
    def gpus(self) -> int:
        """Accelerators of all replicas, spares apart."""
        return self.count * self.provider.gpus


@dataclass(frozen=True)
class Policy:
    """How requests are handled: the router, retries, timeouts, shedding, the cache, warm-up.

    `queue_limit`: requests waiting at a replica beyond which more are shed, the least urgent class first; `timeout_s`: a request
    without a first token after that is given up; `everywhere`: share of a prefix that every replica holds; `affinity`: how much
    busier than the idlest a prefix's home may be; `request_s`: of every request, outside of the replica; `unnoticed_s`: after a
    failure, seconds in which the router still sends requests to the dead replica, each of which is refused and tried again.
    """

    router: str = "power-of-two"
    retries: int = 3
    retry_s: float = 1.0
    timeout_s: float = np.inf
    queue_limit: float = np.inf
    cold_start_s: float = 240.0
    detection_s: float = 10.0
    unnoticed_s: float = 0.0
    everywhere: float = 0.0
    affinity: float = 2.0
    transfer_s: float = 0.0
    transfer_s_per_token: float = 0.0
    request_s: float = 0.0
    drain_limit_s: float = 3600.0


@dataclass(frozen=True)
class FleetRun:
    """One run. Per request, in order of arrival: seconds of arrival, first token and end (NaN without), how it ended,
    how often it was tried again, its luck (0–1: where its prefix lies, when it is tried again); per pool the
    book (`serving_records`) and the time series; `marked` the books (marks, pools, places) at `MARKS` of the horizon; `end_s`
    when the last one left, `wall_s` the computer's own.
    """

    requests: Requests
    first_s: np.ndarray
    finish_s: np.ndarray
    end: np.ndarray
    tries: np.ndarray
    luck: np.ndarray
    books: np.ndarray
    marked: np.ndarray
    series: tuple[np.ndarray, ...]
    pools: tuple[Pool, ...]
    end_s: float
    request_s: float
    wall_s: float = field(compare=False)

    @property
    def done(self) -> np.ndarray:
        """Which requests were served to the end."""
        return np.asarray(self.end == records.DONE)

    @property
    def ttft_s(self) -> np.ndarray:
        """Seconds to the first token; infinity for requests that were not served."""
        return np.where(self.done, self.first_s - self.requests.arrival_s + self.request_s, np.inf)

    @property
    def tpot_s(self) -> np.ndarray:
        """Seconds per output token after the first; 0 for answers of one token, infinity for requests that were not served."""
        more = np.maximum(self.requests.output_tokens - 1, 1)
        return np.where(self.done, (self.finish_s - self.first_s) / more, np.inf)

    @property
    def e2e_s(self) -> np.ndarray:
        """Seconds from arrival to the last token; infinity for requests that were not served."""
        return np.where(self.done, self.finish_s - self.requests.arrival_s + self.request_s, np.inf)

    def seconds(self, pool: int, state: str) -> float:
        """Replica-seconds of a pool in one of STATES."""
        return float(self.books[pool, STATES.index(state)])

    @cached_property
    def _warm(self) -> int:
        """The mark at which the fleet is as full as its load makes it: nine in ten of the requests stay for less time.

        A quarter of the horizon at most: a shorter trace does not show a full fleet.
        """
        stays = self.e2e_s[self.done]
        longest = float(np.quantile(stays, 0.9)) if len(stays) else 0.0
        return min(int(np.searchsorted(MARKS, longest / self.requests.horizon_s)), len(MARKS) - 2)

    @property
    def warm_up_s(self) -> float:
        """Seconds at the start in which the empty fleet fills, and that tell nothing of one that stays open."""
        return MARKS[self._warm] * self.requests.horizon_s

    @property
    def window_s(self) -> float:
        """Seconds between the warm-up and the horizon: what the ledger and the utilisation are of."""
        return self.requests.horizon_s - self.warm_up_s

    @property
    def run_out_s(self) -> float:
        """Seconds after the horizon in which no request arrives and the fleet empties."""
        return self.end_s - self.requests.horizon_s

    def spans(self) -> dict[str, np.ndarray]:
        """The books (pools, places) of the warm-up, of the window, and of the run-out; they sum to `books`."""
        warm, horizon = self.marked[self._warm], self.marked[-1]
        return {"warm-up": warm, "window": horizon - warm, "run-out": self.books - horizon}

    def while_open_s(self, pool: int, *states: str) -> float:
        """Replica-seconds of a pool in states of STATES while requests arrive, from the start to the horizon."""
        return float(sum(self.marked[-1, pool, STATES.index(name)] for name in states))

    def held_s(self, pool: int) -> float:
        """Replica-seconds of a pool that are held, whatever it does, while requests arrive."""
        return self.while_open_s(pool, *STATES[1:])

    @property
    def requests_per_s(self) -> float:
        """Requests that one second of computing simulated."""
        return len(self.requests) / max(self.wall_s, 1e-9)


def simulate(
    requests: Requests,
    pools: Sequence[Pool],
    policy: Policy,
    failures: Failures | None = None,
    seed: int = 0,
    tables: Sequence[StepTable] | None = None,
) -> FleetRun:
    """One run of a fleet of one pool, or of two of which the first sees prompts and the second generates.

    `tables`: the pools' step times, tabulated before (else here). Requests that no replica's memory holds are turned away.
    """
    kept = tuple(tables) if tables is not None else tuple(step_tables(pools))
    settings, rows = _settings(requests, pools, policy), _requests(requests, seed)
    beyond = ~fitting(requests, pools)
    rows["end"][beyond], rows["finish"][beyond] = records.SHED, requests.arrival_s[beyond]
    tick_s = float(settings["tick_s"][0])
    ticks = int(settings["stop_s"][0] / tick_s) + 2
    planned = planned_events(failures, pools, float(settings["stop_s"][0]), seed)
    marks = np.array(MARKS) * requests.horizon_s
    distances = np.zeros(1) if requests.reuse is None else requests.reuse.distance
    world = records.empty_world(settings, _pools(requests, pools), rows, planned, marks, distances, ticks)
    directory = addresses(world)
    from argosy.kernels.serving_fleet import run_fleet

    began = perf_counter()
    end = run_fleet(np.uint64(seed), directory, tuple(each.grids for each in kept))
    spent = perf_counter() - began
    used = 1 + int(np.count_nonzero(world["series"]["at"][:: len(pools)]))  # the first row is of time 0
    series = tuple(world["series"][p :: len(pools)][:used] for p in range(len(pools)))
    first = np.where(rows["first"] >= 0.0, rows["first"], np.nan)
    finish = np.where(rows["end"] != records.UNFINISHED, rows["finish"], np.nan)
    ends, tries, luck = (rows[name].copy() for name in ("end", "tries", "home"))
    return FleetRun(
        requests,
        first,
        finish,
        ends,
        tries,
        luck,
        world["book"],
        world["marked"].reshape(len(marks), len(pools), records.BOOK),
        series,
        tuple(pools),
        float(end),
        policy.request_s,
        spent,
    )


def simulate_seeds(
    traces: Sequence[Requests],
    pools: Sequence[Pool],
    policy: Policy,
    failures: Failures | None = None,
    seeds: Sequence[int] = (0,),
    executor: Executor | None = None,
) -> list[FleetRun]:
    """A run for each seed, on its trace (the last one again where there are fewer), in this process or through `executor`.

    Threads serve well: the compiled run holds no lock.
    """
    tables = step_tables(pools)
    given = [traces[min(at, len(traces) - 1)] for at in range(len(seeds))]

    def one(requests: Requests, seed: int) -> FleetRun:
        return simulate(requests, pools, policy, failures, seed, tables)

    if executor is None:
        return [one(*pair) for pair in zip(given, seeds, strict=True)]
    return list(executor.map(one, given, seeds))


def step_tables(pools: Sequence[Pool]) -> list[StepTable]:
    """The pools' step times on grids."""
    return [
        table(pool.provider, most_batch=float(pool.batch), most_prefill_tokens=float(max(pool.chunk, 2)))
        for pool in pools
    ]


def fitting(requests: Requests, pools: Sequence[Pool]) -> np.ndarray:
    """Which requests one replica's memory holds to their end."""
    whole = requests.input_tokens + requests.output_tokens
    kept = np.ones(len(requests), bool)
    for pool in pools:
        most = pool.provider.kv_capacity_tokens
        kept &= (
            whole
            + pool.provider.window_tokens(float(whole.max(initial=0)))
            + 2.0 * pool.provider.tokens_per_step
            <= most
        )
    return kept


def _settings(requests: Requests, pools: Sequence[Pool], policy: Policy) -> np.ndarray:
    row = np.zeros(1, records.SETTINGS)
    for name, value in (
        ("retry_s", policy.retry_s), ("timeout_s", policy.timeout_s), ("queue_limit", policy.queue_limit),
        ("transfer_s", policy.transfer_s), ("transfer_s_per_token", policy.transfer_s_per_token),
        ("cold_s", policy.cold_start_s), ("detection_s", policy.detection_s), ("everywhere", policy.everywhere),
        ("affinity_bound", policy.affinity), ("stop_s", requests.horizon_s + policy.drain_limit_s),
        ("router", ROUTERS.index(policy.router)), ("tries", policy.retries), ("pools", len(pools)),
        ("unnoticed_s", policy.unnoticed_s), ("classes", int(requests.priority.max(initial=0)) + 1), ("tick_s", SAMPLE_S),
    ):  # fmt: skip
        row[name] = value
    scaling = next((pool.scaling for pool in pools if pool.scaling is not None), None)
    if scaling is not None:
        row["scales"], row["target"], row["stay_s"] = 1, scaling.target, scaling.stay_s
        row["delay_ticks"] = int(np.ceil(scaling.delay_s / SAMPLE_S))
    return row


def _pools(requests: Requests, pools: Sequence[Pool]) -> np.ndarray:
    rows = np.zeros(len(pools), records.POOL)
    mean_output = float(requests.output_tokens.mean()) if len(requests) else 0.0
    mean_context = mean_output / 2.0 + (float(requests.input_tokens.mean()) if len(requests) else 0.0)
    for row, pool in zip(rows, pools, strict=True):
        row["kv_capacity"] = pool.provider.kv_capacity_tokens
        row["kv_per_sequence"] = pool.provider.window_tokens(mean_context)
        row["tokens_per_step"] = pool.provider.tokens_per_step
        row["expected_output"], row["count"], row["spares"] = mean_output, pool.count, pool.spares
        row["initial"] = pool.count if pool.initial is None else pool.initial
        row["chunk"], row["least_chunk"], row["max_batch"] = pool.chunk, pool.least_chunk, pool.batch
        row["evicts"], row["mixed"], row["prefill_only"] = pool.evicts, pool.mixed, pool.prefill_only
        limits = pool.scaling or Scaling(1.0, 1.0, pool.count, pool.count)
        row["slots"], row["least"], row["most"] = limits.slots, limits.least, min(limits.most, pool.count)
    return rows


def _requests(requests: Requests, seed: int) -> np.ndarray:
    rows = np.zeros(len(requests), records.REQUEST)
    rows["arrival"], rows["input"], rows["output"] = (
        requests.arrival_s, requests.input_tokens, requests.output_tokens,
    )  # fmt: skip
    rows["prefix"], rows["priority"] = requests.prefix_tokens, requests.priority
    rows["prompt"], rows["rest"] = requests.input_tokens, requests.output_tokens - 1
    rows["first"], rows["next"] = -1.0, -1
    if requests.reuse is not None:
        rows["first_block"], rows["blocks"] = requests.reuse.first, requests.reuse.count
        rows["block"] = requests.reuse.block
    rows["home"] = np.random.default_rng([seed, 7]).random(len(requests))
    return rows


def scaled(pool: Pool, count: int) -> Pool:
    """The pool with another number of replicas."""
    return replace(pool, count=count)


__all__ = [
    "ENDS", "ROUTERS", "STATES", "FleetRun", "Policy", "Pool", "Scaling", "fitting", "scaled", "simulate",
    "simulate_seeds", "step_tables",
]  # fmt: skip
