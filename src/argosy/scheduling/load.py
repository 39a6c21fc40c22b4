"""Jobs drawn from a scenario's mix: when they come, who sends them, what they ask for, how long they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, exp, inf, log, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtr

from argosy.scheduling.jobs import ELASTIC, MOLDABLE, SERVICE, Job
from argosy.spec import JobClass, Scheduling

HOUR_S, DAY_S = 3600.0, 86400.0


@dataclass(frozen=True, slots=True)
class Load:
    """Drawn jobs by submission, and what they are drawn from: jobs per second, accelerator-seconds asked for ÷ available."""

    jobs: tuple[Job, ...]
    rate_per_s: float
    offered: float


def drawn_load(given: Scheduling, accelerators: int, per_node: int, seed: int = 0) -> Load:
    """Jobs that arrive within `given.horizon` s at a fleet of `accelerators`, on nodes of `per_node`.

    The rate is the one given, else the one that asks for `given.load` of the fleet's accelerator-seconds. Times between
    arrivals are gamma-distributed with the given coefficient of variation (1: a Poisson process), durations lognormal.
    The same seed gives the same jobs, whatever the policy.
    """
    rate, offered = offered_load(given, accelerators)
    shares = _shares(given)
    luck = np.random.default_rng([seed, 1030])
    submit = arrivals(rate, given.horizon, given.arrivals_cv, given.diurnal, luck)
    kind = luck.choice(len(shares), len(submit), p=shares)
    jobs: list[Job | None] = [None] * len(submit)
    for index, one in enumerate(given.mix):
        chosen = np.flatnonzero(kind == index)
        for place, job in zip(chosen, _jobs(one, submit[chosen], per_node, luck), strict=True):
            jobs[place] = job
    return Load(tuple(job for job in jobs if job is not None), rate, offered)


def offered_load(given: Scheduling, accelerators: int) -> tuple[float, float]:
    """Jobs per second of the mix, and the accelerator-seconds that they ask for ÷ those of so many accelerators."""
    work = float(_shares(given) @ np.array([mean_work(each) for each in given.mix]))
    rate = given.rate if given.rate is not None else given.load * accelerators / work
    return rate, rate * work / accelerators


def _shares(given: Scheduling) -> np.ndarray:
    shares = np.array([each.share for each in given.mix])
    return np.asarray(shares / shares.sum())


def mean_work(one: JobClass) -> float:
    """Accelerator-seconds that a job of the class asks for, on average."""
    weights = np.array(list(one.sizes.values()))
    size = float(np.array(list(one.sizes)) @ weights / weights.sum())
    return size * (one.fraction or 1.0) * mean_duration(one)


def mean_duration(one: JobClass) -> float:
    """Seconds: the mean of the lognormal between `least` and `most`.

    E min(max(X, l), m) = l Φ(a) + μ (Φ(b − σ) − Φ(a − σ)) + m (1 − Φ(b)), a and b the standardised logarithms of l and m.
    """
    given = one.duration
    spread = sqrt(2.0 * log(given.mean / given.median))
    if spread == 0:
        return min(max(given.median, given.least), given.most)
    with np.errstate(divide="ignore"):
        low, high = (np.log(np.array([given.least, given.most]) / given.median) / spread).tolist()
    inside = given.mean * (ndtr(high - spread) - ndtr(low - spread))
    return float(given.least * ndtr(low) + inside + given.most * (1.0 - ndtr(high)))


def arrivals(
    rate_per_s: float, horizon_s: float, cv: float, diurnal: tuple[float, ...], luck: np.random.Generator
) -> np.ndarray:
    """Times of arrival (n,), sorted: a renewal process of gamma gaps, whose clock runs by 24 hourly factors."""
    shape = 1.0 / cv**2
    times, last = [], 0.0
    while last < horizon_s:
        gaps = luck.gamma(shape, 1.0 / (rate_per_s * shape), max(1000, int(1.1 * rate_per_s * horizon_s)))
        steps = last + np.cumsum(gaps)
        times.append(steps)
        last = float(steps[-1])
    even = np.concatenate(times)
    even = even[even < horizon_s]
    if not diurnal:
        return even
    factors = np.array(diurnal) / np.mean(diurnal)
    days = ceil(horizon_s / DAY_S)
    edges = np.arange(24 * days + 1) * HOUR_S
    clock = np.concatenate([[0.0], np.cumsum(np.tile(factors, days))]) * HOUR_S
    times_of_day = np.interp(even, clock, edges)
    return np.asarray(times_of_day[times_of_day < horizon_s])


def _jobs(one: JobClass, submit: np.ndarray, per_node: int, luck: np.random.Generator) -> Iterator[Job]:
    """The jobs of one class at these times."""
    n, given = len(submit), one.duration
    weights = np.array(list(one.sizes.values()))
    sizes = luck.choice(np.array(list(one.sizes)), n, p=weights / weights.sum())
    spread = sqrt(2.0 * log(given.mean / given.median))
    durations = np.clip(given.median * np.exp(spread * luck.standard_normal(n)), given.least, given.most)
    names = list(one.tenants) or [""]
    tenants = np.array(list(one.tenants.values()) or [1.0])
    owners = luck.choice(len(names), n, p=tenants / tenants.sum())
    crashing = luck.random(n) < one.crashing
    crash_after = np.where(crashing, luck.random(n) * durations, inf)
    common: dict[str, Any] = {
        "priority": one.priority,
        "kind": one.kind,
        "checkpoint_s": one.checkpoint,
        "checkpoint_interval_s": one.checkpoint_interval or inf,
        "restart_s": one.restart,
        "topology": one.topology,
        "accelerator": one.accelerator,
        "fraction": one.fraction or 0.0,
    }
    shapes = {int(size): _shape(one, int(size), per_node) for size in np.unique(sizes)}
    for number in range(n):
        size, duration = int(sizes[number]), float(durations[number])
        yield Job(
            job=f"{one.name}-{number + 1}",
            submit_s=float(submit[number]),
            duration_s=duration,
            accelerators=size,
            tenant=names[owners[number]],
            walltime_s=duration * one.time_limit,
            deadline_s=inf if one.deadline is None else float(submit[number]) + duration * one.deadline,
            crash_after_s=max(float(crash_after[number]), 1e-3),
            **common,
            **shapes[size],
        )


def _shape(one: JobClass, size: int, per_node: int) -> dict[str, Any]:
    """What the class's kind adds for a size: the least of it, or the sizes to choose from."""
    least = max(1, ceil(one.minimum * size))
    worker = Job("", 0.0, 0.0, size).worker_size(per_node)
    if one.kind == MOLDABLE:
        halves = [size]
        while halves[-1] % 2 == 0 and halves[-1] // 2 >= least:
            halves.append(halves[-1] // 2)
        return {"sizes": tuple((n, exp(one.scaling * log(n / size))) for n in sorted(halves))}
    if one.kind == ELASTIC:
        return {"elastic_min": ceil(least / worker), "resize_s": one.resize}
    if one.kind == SERVICE:
        return {"floor": ceil(least / worker)}
    return {}
