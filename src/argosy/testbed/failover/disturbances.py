"""What is done to the replicas while users send: kills, a rolling upgrade, more kills than the rest can make up for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from argosy.testbed.comparison import bounded, compared, counted
from argosy.testbed.failover import measured, predict
from argosy.testbed.failover.cases import (
    DISTURBED,
    QUIET,
    TAIL,
    TIMES,
    Case,
    Rows,
    Setting,
    sleep_until,
    unharmed,
)
from argosy.testbed.failover.measured import Answers
from argosy.testbed.failover.predict import Baseline
from argosy.testbed.failover.proxy import Passed
from argosy.testbed.failover.stage import Stage
from argosy.testbed.failover.trace import Trace

AWAY = 0.15  # bar of the seconds that an upgrade takes a replica away
COLD_S = 1.0  # an engine that loads, in a rolling upgrade
EVERY_S = 4.0  # from kill to kill: found down, started again, found up, and some more
LATE_S = (0.05, 0.15)  # that the log may be early or late with what the checks found
WAITING = 4  # requests that may wait at a replica where it sheds
NAMES = {"round-robin": "round robin", "least-work": "least connections", "power-of-two": "better of two"}
Event = dict[str, float]


def killed(setting: Setting, policy: str) -> Case:
    """A policy undisturbed, then kill −9 of one replica after another under load: what users saw, what was tried again, and how
    long the checks took.
    """
    lengths, base = setting.lengths, setting.base
    quiet = QUIET.draw(lengths.quiet_s, setting.seed)
    trace = quiet.then(DISTURBED.draw(lengths.kills * EVERY_S + 1.0, setting.seed))
    phase = np.random.default_rng([setting.seed, 5]).random(lengths.kills)
    events = []
    with Stage(setting.hosts, setting.fleet, policy, setting.checks) as stage:
        start = stage.users(trace)
        for number in range(lengths.kills):
            due = lengths.quiet_s + 1.0 + number * EVERY_S + phase[number] * setting.checks.inter_s
            if time.monotonic() > start + max(due, trace.horizon_s - EVERY_S):
                break  # the machine was slow: nobody sends any more
            sleep_until(start + due)
            events.append(_kill(stage, number % setting.fleet.replicas))
        answers = Answers.of(stage.answers(trace))
        passed = stage.passed()
    runs = [one.e2e_s for one in predict.quiet_runs(quiet, setting.fleet, policy, base)]
    said = [_figures(one, quiet, base) for one in runs]
    found = _figures(answers.time_s[: len(quiet)], quiet, base)
    name = NAMES[policy]
    rows = [_undisturbed(f"{name}: {what}", [one[what] for one in said], found[what], what) for what in found]
    again = [one for one in passed if one.retries]
    rows += _tried_again(name, setting, policy, again, answers, events)
    rows += unharmed(name, answers, passed, None)
    return rows, {
        "policy": policy,
        "requests": len(trace),
        "stalled": answers.stalled,
        "predicted": {what: float(np.mean([one[what] for one in said])) for what in found},
        "measured": found,
        "tried_again": len(again),
        "most_tries": max((one.retries for one in again), default=0),
        "kills": [{key: value - start for key, value in event.items()} for event in events],
        "series": _series(answers, again, start, lengths.quiet_s, trace.horizon_s),
    }


def _figures(times_s: np.ndarray, trace: Trace, base: Baseline) -> dict[str, float]:
    """Mean wait, mean, and percentiles of the times of a trace."""
    wait = float((times_s - trace.service_s).mean()) - base.held_s - base.request_s
    return {
        "mean wait": wait,
        **{f"{what} of the time": one for what, one in measured.percentiles(times_s).items()},
    }


def _undisturbed(title: str, said: Sequence[float], found: float, what: str) -> dict[str, Any]:
    """A figure within its bar; where the router draws, within the bar of what SHARE of simulations say."""
    bar = TAIL if what.startswith("p99") or what == "mean wait" else TIMES
    if len(said) == 1:
        return compared(title, said[0], found, "s", bar)
    low, high = np.quantile(said, [(1 - predict.SHARE) / 2, (1 + predict.SHARE) / 2])
    return bounded(title, float(low) / (1 + bar), float(high) * (1 + bar), found, "s", float(np.mean(said)))


def _kill(stage: Stage, number: int) -> Event:
    """kill −9, until the checks find it down; start again, until they find it up."""
    name = f"r{number + 1}"
    at = stage.kill(number)
    stage.wait(lambda: stage.turns.first(name, False, at) is not None, 20, f"{name} is not found down")
    stage.start(number)
    stage.wait(lambda: stage.turns.first(name, True, at) is not None, 20, f"{name} is not found up")
    down, up = (stage.turns.first(name, state, at) for state in (False, True))
    return {"killed": at, "down": down.at if down else at, "up": up.at if up else at}


def _tried_again(
    name: str,
    setting: Setting,
    policy: str,
    again: Sequence[Passed],
    answers: Answers,
    events: Sequence[Event],
) -> Rows:
    """How many requests the proxy tried again, which, and how long the checks took."""
    fleet = setting.fleet
    run = predict.fleet_run(DISTURBED.draw(60.0, setting.seed), fleet, policy, setting.base)
    unnoticed = [event["down"] - event["killed"] for event in events]
    time_s = float(run.e2e_s.mean())
    expected = sum(predict.retried(DISTURBED, fleet, policy, time_s, one) for one in unnoticed)
    low, high = setting.checks.down_s
    middle = predict.noticed_s(setting.checks)
    title = f"{name}: requests tried again, {len(events)} kill{'s' if len(events) > 1 else ''}"
    interval = predict.poisson(expected)
    return [
        bounded(title, *interval, len(again), "requests", expected),
        counted(f"{name}: of these, met no dead replica", 0, _strangers(again, answers, events), "requests"),
        bounded(f"{name}: shortest detection", low - LATE_S[0], None, min(unnoticed), "s", middle),
        bounded(f"{name}: longest detection", None, high + LATE_S[1], max(unnoticed), "s", middle),
    ]


def _strangers(again: Sequence[Passed], answers: Answers, events: Sequence[Event]) -> int:
    """Requests tried again that were not under way between a kill and its detection."""
    found = 0
    for one in again:
        due, end = answers.due[one.request], answers.end[one.request]
        found += not any(due <= event["down"] + LATE_S[0] and end >= event["killed"] for event in events)
    return found


def _series(
    answers: Answers, again: Sequence[Passed], start: float, begin_s: float, end_s: float
) -> dict[str, Any]:
    """For the picture: requests under way every 50 ms, and when those that were tried again were due."""
    moments = np.arange(begin_s, end_s, 0.05)
    inside = measured.inside_over_time(answers.due - start, answers.end - start, moments)
    return {
        "at_s": np.round(moments, 2).tolist(),
        "inside": inside.tolist(),
        "tried_again_s": sorted(round(float(answers.due[one.request] - start), 3) for one in again),
    }


def upgraded(setting: Setting) -> Case:
    """A rolling upgrade under load: drain, stop, start the new version, take in again; one replica after another."""
    fleet, base, lead, policy = setting.fleet, setting.base, 1.0, "least-work"
    away = predict.away_s(DISTURBED, fleet, policy, base, COLD_S)
    trace = DISTURBED.draw(lead + fleet.replicas * (away + 0.15) + 1.5, setting.seed)
    with Stage(setting.hosts, fleet, policy, setting.checks) as stage:
        start = stage.users(trace)
        sleep_until(start + lead)
        windows = [_upgrade(stage, number) for number in range(fleet.replicas)]
        answers = Answers.of(stage.answers(trace))
        passed, watch = stage.passed(), stage.watch
    run = predict.fleet_run(
        trace, replace(fleet, replicas=fleet.replicas - 1), policy, base
    )  # one is always away
    during = (answers.due >= windows[0][0]) & (answers.due < windows[-1][1])
    said, found = (measured.percentiles(one[during]) for one in (run.e2e_s, answers.time_s))
    serving = np.array(
        [sum(one[f"r{number + 1}"].up for number in range(fleet.replicas)) for one in watch.seen]
    )
    old = answers.version[answers.due > windows[-1][1] + LATE_S[0]] != "2"
    floor, name = fleet.replicas - 1, "rolling upgrade"
    mean_away = float(np.mean([back - out for out, back in windows]))
    rows = [
        bounded(f"{name}: fewest replicas that take requests", floor, None, int(serving.min()), "", floor),
        compared(f"{name}: a replica is away", away, mean_away, "s", AWAY),
        compared(f"{name}: mean of the time", said["mean"], found["mean"], "s", TIMES),
        compared(f"{name}: p95 of the time", said["p95"], found["p95"], "s", TAIL),
        counted(f"{name}: answers of the old version afterwards", 0, int(old.sum()), "requests"),
        *unharmed(name, answers, passed, 0),
    ]
    at = np.array(watch.at) - start
    kept = (at >= 0) & (at <= trace.horizon_s)
    return rows, {
        "requests": len(trace),
        "stalled": answers.stalled,
        "windows": [[out - start, back - start] for out, back in windows],
        "serving": [[round(float(x), 2), int(y)] for x, y in zip(at[kept], serving[kept], strict=True)],
    }


def _upgrade(stage: Stage, number: int) -> tuple[float, float]:
    """One replica: when it was taken out, and when it takes requests again."""
    name = f"r{number + 1}"
    out = time.monotonic()
    stage.admin.state(name, "drain")
    stage.wait(lambda: stage.admin.look()[name].current == 0, 30, f"{name} does not drain")
    stage.admin.state(name, "maint")
    stage.versions[number] = "2"
    stage.end(number)
    stage.start(number, COLD_S)
    stage.wait(lambda: stage.listens(number), 30, f"{name} does not start")
    stage.admin.state(name, "ready")
    return out, stage.wait(lambda: stage.admin.look()[name].up, 10, f"{name} is not taken in")


def beyond(setting: Setting) -> Case:
    """Two of four replicas killed at once: the rest cannot serve all; short queues keep those served quick, and the others are
    told at once.
    """
    fleet, base, left = replace(setting.fleet, waiting=WAITING), setting.base, setting.fleet.replicas - 2
    policy, lead, names = "round-robin", 1.0, ("r1", "r2")
    trace = DISTURBED.draw(lead + setting.checks.down_s[1] + 1.0 + setting.lengths.beyond_s, setting.seed)
    with Stage(setting.hosts, fleet, policy, setting.checks) as stage:
        start = stage.users(trace)
        sleep_until(start + lead)
        at = [stage.kill(0), stage.kill(1)][0]
        down = stage.wait(
            lambda: all(stage.turns.first(one, False, at) for one in names), 20, "not found down"
        )
        answers = Answers.of(stage.answers(trace))
        passed = stage.passed()
    noticed, first = (int(np.searchsorted(answers.due, down + more)) for more in (0.0, 0.5))
    run = predict.overloaded(trace.part(down - start, trace.horizon_s), fleet, left, policy, base)
    said, found = run.done[first - noticed :], answers.served[first:]
    times = measured.percentiles(run.e2e_s[first - noticed :][said])
    found_times = measured.percentiles(answers.time_s[first:][found])
    told = set(answers.status[first:].tolist()) <= {200, 503}
    name = "beyond capacity"
    rows = [
        compared(f"{name}: share served", float(said.mean()), float(found.mean()), "", TIMES),
        counted(f"{name}: who is not served is told so (503)", True, told),
        *(
            compared(
                f"{name}: {what} of the time of those served", times[what], found_times[what], "s", TIMES
            )
            for what in ("mean", "p95")
        ),
    ]
    return rows, {
        "left": left,
        "waiting": WAITING,
        "load_left": fleet.load(DISTURBED, fleet.replicas - left),
        "stalled": answers.stalled,
        "shed": float(1 - found.mean()),
        "shed_predicted": float(1 - said.mean()),
        "shed_at_least": predict.shed_at_least(DISTURBED, fleet, left, base),
        "errors_before_noticed": int((~answers.served[:noticed]).sum()),
        "tried_again": sum(one.retries > 0 for one in passed),
    }
