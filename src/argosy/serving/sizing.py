"""The smallest fleet that keeps its promises under its trace, and the spares for what fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from argosy.serving.failures import Failures
from argosy.serving.fleet import FleetRun, Scaling, simulate_seeds
from argosy.serving.objectives import Objective, met
from argosy.serving.option import Limits, Mean, Option
from argosy.serving.redundancy import replicas_for, up_share
from argosy.serving.traffic import Requests

TRIAL_REQUESTS = 60_000
"""Requests of the busiest stretch on which fleets are compared; the answer is then run on the whole trace."""
LEAST_S = 60.0
"""Seconds of a run at least, however many requests they have: in less, batches would not fill."""
TRIAL_S = 120.0
"""Seconds of that stretch at least."""
WHOLE_REQUESTS = 600_000
"""Requests of a run at most, thrice as many with an autoscaler; of longer traces the busiest stretch is run, and that is told."""


@dataclass(frozen=True)
class ScalingRule:
    """An autoscaler's settings (s, 0–1); see `fleet.Scaling`."""

    target: float
    delay_s: float
    stay_s: float
    least: int = 1


@dataclass(frozen=True)
class Service:
    """What is asked: one trace per seed, promises, the share of time in which the needed replicas are up, what fails.

    `node_size`: accelerators of a node; replicas take whole nodes where they are larger. `accelerators`: a fixed number
    of them; `fixed_first`: of replicas that see prompts; `hits`: share of prefixes found in the cache, for estimates.
    """

    name: str
    traces: tuple[Requests, ...]
    wanted: tuple[Objective, ...]
    availability: float
    failures: Failures
    node_size: int
    seeds: tuple[int, ...]
    scaling: ScalingRule | None = None
    spares: int | None = None
    accelerators: int | None = None
    fixed_first: int | None = None
    hits: float = 1.0

    @property
    def tpot_limit_s(self) -> float:
        """The tightest promise on the time per token (s)."""
        return min((each.limit_s for each in self.wanted if each.metric == "tpot"), default=np.inf)

    @property
    def mean(self) -> Mean:
        """The mean request of the first trace."""
        return Mean.of(self.traces[0], self.hits)

    def whole(self) -> list[Requests]:
        """Each trace, or its busiest stretch where it is too long to be run."""
        most = WHOLE_REQUESTS * (3 if self.scaling is not None else 1)
        return [busiest(trace, max(most, int(trace.rate_per_s * LEAST_S))) for trace in self.traces]

    def trial(self) -> list[Requests]:
        """The busiest stretch of each trace on which fleets are compared: long enough for batches to fill."""
        enough = [max(TRIAL_REQUESTS, int(trace.rate_per_s * TRIAL_S)) for trace in self.traces]
        return [
            busiest(trace, min(many, max(WHOLE_REQUESTS, int(trace.rate_per_s * LEAST_S))))
            for trace, many in zip(self.traces, enough, strict=True)
        ]


@dataclass(frozen=True)
class Sized:
    """A fleet: replicas `needed` and in all, by pool, without failures and with spares; its runs; whether promises are kept."""

    option: Option
    limits: Limits
    needed: tuple[int, ...]
    replicas: tuple[int, ...]
    runs: tuple[FleetRun, ...]
    met: bool
    tried: tuple[tuple[tuple[int, ...], bool], ...] = ()
    least_kept: int | None = None
    """Where the autoscaler misses promises: the fewest replicas that must always run to keep them (None: no number does)."""

    @property
    def spares(self) -> int:
        """Replicas beyond those needed."""
        return sum(self.replicas) - sum(self.needed)

    @property
    def gpus(self) -> int:
        """Accelerators of all replicas."""
        return self.option.gpus(self.replicas)

    def whole_gpus(self, node_size: int) -> int:
        """Accelerators of the nodes that the replicas take: small ones share a node, larger ones take whole nodes."""
        total = 0
        for count, pool in zip(self.replicas, self.option.kinds, strict=True):
            gpus = pool.provider.gpus
            fits = max(node_size // gpus, 1)
            total += -(-count // fits) * (-(-gpus // node_size)) * node_size
        return total


def busiest(requests: Requests, most: int) -> Requests:
    """The stretch of `most` successive requests that takes the least time (all, where there are no more), from time 0."""
    if len(requests) <= most:
        return requests
    spans = requests.arrival_s[most - 1 :] - requests.arrival_s[: len(requests) - most + 1]
    first = int(np.argmin(spans))
    kept = np.zeros(len(requests), bool)
    kept[first : first + most] = True
    part = requests.where(kept)
    return replace(
        part, arrival_s=part.arrival_s - part.arrival_s[0], horizon_s=max(float(spans[first]), 1e-9)
    )


def size(
    service: Service, option: Option, executor: Executor | None = None, whole: bool = False
) -> Sized | None:
    """The smallest fleet of an option, on the busiest stretch, or, `whole`, verified and enlarged on all of the trace.

    None where even 64 times the fluid need does not keep the promises, or the given accelerators cannot hold a replica.
    """
    limits = Limits(option, service.mean, service.tpot_limit_s)
    if any(most.rate_per_s <= 0.0 for most in limits.by_pool):
        return None
    tried: list[tuple[tuple[int, ...], bool]] = []
    stretch = service.trial()

    def keeps(counts: tuple[int, ...]) -> bool:
        answer = met(run(service, option, counts, stretch[:1], executor=executor), service.wanted)
        tried.append((counts, answer))
        return answer

    start = tuple(limits.replicas(stretch[0].rate_per_s))
    if service.accelerators is not None:
        needed = _given(service, option, start)
    elif option.decode is None:
        needed = _smallest_one(keeps, start[0])
    else:
        needed = _smallest_two(keeps, start, service.fixed_first)
    if needed is None:
        return None
    replicas = needed if service.accelerators is not None else with_spares(service, option, needed)
    if not whole:
        runs = run(service, option, needed, stretch[:1], executor=executor)
        return Sized(option, limits, needed, replicas, tuple(runs), met(runs, service.wanted), tuple(tried))
    return _verified(service, option, limits, needed, tried, executor)


def _verified(
    service: Service, option: Option, limits: Limits, needed: tuple[int, ...],
    tried: list[tuple[tuple[int, ...], bool]], executor: Executor | None,
) -> Sized:  # fmt: skip
    """On the whole trace and all seeds; a replica more, a few times, where that asks for it."""
    whole = service.whole()
    for grown in range(12):
        if service.accelerators is not None:
            break
        enough = met(run(service, option, needed, whole, executor=executor), service.wanted)
        tried.append((needed, enough))
        if enough:
            break
        more = [max(1, round(0.02 * 2 ** (grown // 2) * each)) for each in needed]
        if service.fixed_first is not None and option.decode is not None:
            more[0] = 0
        needed = tuple(each + add for each, add in zip(needed, more, strict=True))
    replicas = needed if service.accelerators is not None else with_spares(service, option, needed)
    runs = run(service, option, replicas, whole, scaled=True, executor=executor)
    kept = met(runs, service.wanted)
    least = (
        None if kept or service.scaling is None else _least_kept(service, option, replicas, whole, executor)
    )
    return Sized(option, limits, needed, replicas, tuple(runs), kept, tuple(tried), least)


def _least_kept(
    service: Service,
    option: Option,
    replicas: tuple[int, ...],
    whole: list[Requests],
    executor: Executor | None,
) -> int | None:
    """The fewest replicas that must always run so that the autoscaled fleet keeps the promises."""
    assert service.scaling is not None
    low, high = service.scaling.least, max(replicas)

    def keeps(least: int) -> bool:
        other = replace(service, scaling=replace(service.scaling, least=least))  # type: ignore[type-var]
        return met(run(other, option, replicas, whole, scaled=True, executor=executor), service.wanted)

    if not keeps(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def run(
    service: Service,
    option: Option,
    counts: Sequence[int],
    traces: Sequence[Requests],
    scaled: bool = False,
    executor: Executor | None = None,
) -> list[FleetRun]:
    """Runs of so many replicas on traces, one seed each; with failures and the autoscaler where `scaled`."""
    pools = option.pools(counts)
    if scaled and service.scaling is not None:
        rule, at_best = service.scaling, Limits(option, service.mean, service.tpot_limit_s).by_pool
        pools = [
            replace(
                pool,
                scaling=Scaling(
                    rule.target, max(best.batch, 1.0), rule.least, pool.count, rule.delay_s, rule.stay_s
                ),
                initial=min(max(rule.least, _at_first(pool.count, traces[0], rule.target)), pool.count),
            )
            for pool, best in zip(pools, at_best, strict=True)
        ]
    seeds = service.seeds[: len(traces)]
    return simulate_seeds(traces, pools, option.policy, service.failures if scaled else None, seeds, executor)


def _at_first(count: int, trace: Requests, target: float) -> int:
    """Replicas up at the start: the fleet's size, scaled by the first five minutes' share of the peak five minutes."""
    slot = 300.0
    counts = np.bincount((trace.arrival_s // slot).astype(int))
    peak = max(int(counts.max(initial=1)), 1)
    return int(np.ceil(count * counts[0] / peak)) if len(counts) else count


def with_spares(service: Service, option: Option, needed: tuple[int, ...]) -> tuple[int, ...]:
    """Replicas of each pool with the spares that the promised availability asks for, or the scenario's number."""
    if service.spares is not None:
        return (*needed[:-1], needed[-1] + service.spares)
    share = service.availability ** (1.0 / len(needed))  # all pools must have theirs
    fails, restart = service.failures, option.policy.cold_start_s
    return tuple(
        replicas_for(
            many, fails.own_availability(gpus, restart), share, fails.standing(gpus, restart)
        ).replicas
        for many, gpus in zip(needed, (pool.provider.gpus for pool in option.kinds), strict=True)
    )


def availability(service: Service, sized: Sized) -> float:
    """Share of the time (0–1) in which the needed replicas of every pool are up, by what fails alone and together."""
    fails, restart = service.failures, sized.option.policy.cold_start_s
    shares = [
        up_share(need, all_, fails.own_availability(gpus, restart), fails.standing(gpus, restart))
        for need, all_, gpus in zip(
            sized.needed, sized.replicas, (pool.provider.gpus for pool in sized.option.kinds), strict=True
        )
    ]
    return float(np.prod(shares))


def _given(service: Service, option: Option, start: tuple[int, ...]) -> tuple[int, ...] | None:
    """As many replicas as the given accelerators hold, pools in proportion to their fluid need."""
    assert service.accelerators is not None
    if option.decode is None:
        many = service.accelerators // option.replica.provider.gpus
        return (many,) if many else None
    first, second = (pool.provider.gpus for pool in option.kinds)
    share = start[0] * first / (start[0] * first + start[1] * second)
    best = None
    fixed = service.fixed_first
    for prompts in (fixed,) if fixed else range(1, service.accelerators // first + 1):
        answers = (service.accelerators - prompts * first) // second
        if answers < 1:
            break
        distance = abs(prompts * first / (prompts * first + answers * second) - share)
        if best is None or distance < best[0]:
            best = (distance, (prompts, answers))
    return best[1] if best else None


def _smallest_one(keeps: Callable[[tuple[int, ...]], bool], start: int) -> tuple[int, ...] | None:
    """Bracketed from the fluid need upwards, then bisected; below the need where that is enough (short bursts)."""
    low, high = 0, start
    while not keeps((high,)):
        low, high = high, max(high + 1, int(high * 1.25))
        if high > 64 * start + 64:
            return None
    if low == 0 and high > 1:
        low = high // 2 if keeps((high // 2,)) else 0
        low, high = (0, high // 2) if low else (high // 2, high)
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if middle and keeps((middle,)) else (middle, high)
    return (high,)


def _smallest_two(
    keeps: Callable[[tuple[int, ...]], bool], start: tuple[int, ...], fixed: int | None
) -> tuple[int, ...] | None:
    """Both pools grow together until the promises are kept, then each shrinks in turn until neither can.

    The other pool's size shapes what arrives at one, so that shrinking one may let the other shrink again.
    """
    first, second = fixed or start[0], start[1]
    grown = 0
    while not keeps((first, second)):
        first = fixed or max(first + 1, int(first * 1.2))
        second = max(second + 1, int(second * 1.2))
        grown += 1
        if grown > 24:
            return None
    for _ in range(6):
        before = first, second
        own = first
        second = _fewest(lambda count, own=own: keeps((own, count)), second)  # type: ignore[misc]
        if fixed is None:
            other = second
            first = _fewest(lambda count, other=other: keeps((count, other)), first)  # type: ignore[misc]
        if (first, second) == before:
            break
    return (first, second)


def _fewest(keeps: Callable[[int], bool], count: int) -> int:
    """The fewest that keep the promises, from a `count` that does, to a hundredth of it."""
    step = max(1, count // 100)
    if count - step < 1 or not keeps(count - step):
        return count
    low, high = 0, count - step
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if middle and keeps(middle) else (middle, high)
    return high
