"""What all cases have in common, the baseline, and the undisturbed queue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from argosy.testbed.comparison import bounded, compared, counted
from argosy.testbed.failover import measured, predict, replica
from argosy.testbed.failover.measured import Answers
from argosy.testbed.failover.predict import Baseline
from argosy.testbed.failover.proxy import POLICIES, Passed
from argosy.testbed.failover.stage import Stage
from argosy.testbed.failover.trace import Checks, Fleet, Trace, Traffic
from argosy.testbed.hosts import Hosts

Rows = list[dict[str, Any]]
Case = tuple[Rows, dict[str, Any]]
WORK_S = 0.1
QUIET = Traffic(130.0, WORK_S)  # 81 % of all slots
DISTURBED = Traffic(96.0, WORK_S)  # 60 % of all slots, 80 % of those of three replicas, 120 % of two
STEADY = {"exponential": QUIET, "nearly constant": replace(QUIET, cv=0.25)}
# Bars: Q = λT; means and percentiles; the 99th, and waits, which a millisecond of every slot changes by a twentieth.
LITTLE, TIMES, TAIL = 0.03, 0.10, 0.15


@dataclass(frozen=True)
class Lengths:
    """Seconds of the cases, how many kills of each policy, kinds of work, policies, and how often a case may be tried."""

    steady_s: float
    quiet_s: float
    kills: int
    beyond_s: float
    works: tuple[str, ...]
    policies: tuple[str, ...]
    tries: int


FULL = Lengths(40.0, 25.0, 5, 12.0, tuple(STEADY), tuple(POLICIES), 3)
SHORT = Lengths(6.0, 4.0, 1, 3.0, ("exponential",), ("round-robin", "least-work"), 2)


@dataclass(frozen=True)
class Setting:
    """What the cases of a run share; `hosts` None: the loopback."""

    hosts: Hosts | None
    lengths: Lengths
    base: Baseline
    seed: int = 1
    fleet: Fleet = field(default_factory=Fleet)
    checks: Checks = field(default_factory=Checks)


def baseline(hosts: Hosts | None) -> Baseline:
    """Requests one at a time: by how much longer than its work a replica is held, and the rest of a request's time."""
    count, every = 80, 0.03
    work = np.random.default_rng(0).uniform(
        0.015, 0.025, count
    )  # spread over HAProxy's clock of whole milliseconds
    trace = Trace(np.arange(count) * every, work, count * every)
    with Stage(hosts, Fleet(), "least-work", Checks(), queue_in_proxy=True) as stage:
        stage.users(trace)
        answers = Answers.of(stage.answers(trace))
        passed = sorted(stage.passed(), key=lambda one: one.request)
    held = measured.middle(np.array([one.total_s - one.wait_s for one in passed]) - work)
    return Baseline(held, measured.middle(answers.time_s - work) - held)


def steady(setting: Setting, work: str) -> Case:
    """One queue in the proxy before all slots: Q = λT at three places, waits against the simulation of the same requests and
    against the law.
    """
    traffic, fleet = STEADY[work], setting.fleet
    trace = traffic.draw(setting.lengths.steady_s, setting.seed)
    with Stage(setting.hosts, fleet, "least-work", setting.checks, queue_in_proxy=True) as stage:
        stage.users(trace)
        answers = Answers.of(stage.answers(trace))
        passed, watch = stage.passed(), stage.watch
        books = [measured.book(stage.book(number).read_text()) for number in range(fleet.replicas)]
    begin, end = float(answers.sent.min()), float(answers.end.max())
    places = {
        "users": measured.of_users(answers),
        "proxy": measured.of_proxy(watch.at, watch.seen, passed, begin, end),
        "replicas": measured.of_replicas(books, begin, end),
    }
    name = f"steady, {work} work"
    rows = [
        compared(f"{name}: Q at the {place}, as λT", one.product, one.inside, "requests", LITTLE)
        for place, one in places.items()
    ]
    rows += _waits(
        name, setting, traffic, trace, np.array([one.wait_s for one in passed]), places["users"].inside
    )
    rows += unharmed(name, answers, passed, 0)
    slept = measured.stalled([one.samples[:, 0] for one in books], replica.SAMPLE_S)
    told = {
        place: {"inside": one.inside, "rate_per_s": one.rate, "time_s": one.time_s}
        for place, one in places.items()
    }
    return rows, {
        "work": work,
        "load": fleet.load(traffic),
        "requests": len(trace),
        "stalled": max(answers.stalled, slept),
        "latest_sent_s": answers.late_s,
        "little": told,
        "waits_s": sorted(round(one.wait_s, 3) for one in passed),
        "waits_predicted_s": sorted(np.round(_said(setting, trace), 4).tolist()),
    }


def _said(setting: Setting, trace: Trace) -> np.ndarray:
    """Waits of the simulation of these requests."""
    run = predict.fleet_run(trace, setting.fleet, "round-robin", setting.base, central=True)
    return predict.waits_s(run, setting.base, trace)


def _waits(
    name: str, setting: Setting, traffic: Traffic, trace: Trace, found: np.ndarray, inside: float
) -> Rows:
    """Measured waits beside those of the simulation and of the law."""
    said, law = _said(setting, trace), predict.law(trace, traffic.cv, setting.fleet, setting.base)
    spread = predict.spread(traffic, setting.fleet, setting.base, trace.horizon_s)
    tail, tail_found = (float(np.quantile(one, 0.95)) for one in (said, found))
    mean = float(found.mean())
    return [
        compared(f"{name}: mean wait, simulated", float(said.mean()), mean, "s", TAIL),
        compared(f"{name}: 95 % of waits below, simulated", tail, tail_found, "s", TAIL),
        bounded(
            f"{name}: mean wait, by the law", *_times(spread["wait_s"], law.wait_s), mean, "s", law.wait_s
        ),
        bounded(
            f"{name}: Q, by the law", *_times(spread["inside"], law.inside), inside, "requests", law.inside
        ),
    ]


def _times(ratios: tuple[float, float], value: float) -> tuple[float, float]:
    """An interval of ratios around a value."""
    return ratios[0] * value, ratios[1] * value


def unharmed(name: str, answers: Answers, passed: Sequence[Passed], again: int | None) -> Rows:
    """Every request answered; `again`: how many may have been tried again (None: another row says)."""
    rows = [counted(f"{name}: errors that users saw", 0, answers.errors, "requests")]
    if again is not None:
        found = sum(one.retries > 0 for one in passed)
        rows.append(counted(f"{name}: requests tried again", again, found, "requests"))
    return rows


def sleep_until(moment: float) -> None:
    """Sleep until a monotonic moment."""
    time.sleep(max(0.0, moment - time.monotonic()))
