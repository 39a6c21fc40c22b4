"""All cases of the serving failover, and the payload of `argosy testbed failover`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any

from argosy.fabric.topologies import Design, build
from argosy.testbed.comparison import answer
from argosy.testbed.fabrics import CARD_BPS, Fabric
from argosy.testbed.failover import cases, disturbances, predict
from argosy.testbed.failover.cases import FULL, SHORT, Case, Setting
from argosy.testbed.failover.stage import haproxy
from argosy.testbed.failover.trace import Fleet
from argosy.testbed.hosts import Hosts, why_not
from argosy.testbed.wiring import Wiring

MOST_STALLED = 0.01  # of a case's time


def run(short: bool, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Run every case; the payload without its head. Without namespaces on the loopback. TestbedError without HAProxy, or where
    a program fails.
    """
    haproxy()
    reason, lengths = why_not(), SHORT if short else FULL
    with nullcontext(None) if reason else Hosts(Wiring.of(fabric())) as hosts:
        say("baseline: requests one at a time")
        base = cases.baseline(hosts)
        setting = Setting(hosts, lengths, base)

        def held(title: str, case: Callable[..., Case], *which: str) -> Case:
            return _steadily(partial(case, setting, *which), title, lengths.tries, say)

        steady = [held(f"steady, {work} work", cases.steady, work) for work in lengths.works]
        policies = [
            held(f"{disturbances.NAMES[policy]}, and kills", disturbances.killed, policy)
            for policy in lengths.policies
        ]
        upgrade = held("rolling upgrade", disturbances.upgraded)
        beyond = held("two of four replicas killed at once", disturbances.beyond)
    every = [*steady, *policies, upgrade, beyond]
    return answer(
        [row for rows, _ in every for row in rows],
        _notes(setting),
        reason,
        short,
        baseline=asdict(base),
        fleet=asdict(setting.fleet),
        checks=asdict(setting.checks),
        steady=[told for _, told in steady],
        policies=[told for _, told in policies],
        upgrade=upgrade[1],
        beyond=beyond[1],
    )


def _steadily(case: Callable[[], Case], title: str, tries: int, say: Callable[[str], None]) -> Case:
    """Run a case; again, up to `tries` times, when the users' program was kept from running meanwhile: that, and not what came
    of it, decides.
    """
    for number in range(1, tries + 1):
        say(title if number == 1 else f"{title}, again: the machine was busy with other things")
        rows, told = case()
        if told["stalled"] <= MOST_STALLED:
            break
    return rows, {**told, "tries": number}


def fabric() -> Fabric:
    """Users, proxy and replicas on one switch."""
    count = Fleet().replicas + 2
    return Fabric("replicas", build(Design("fat-tree", count, 1, count, CARD_BPS, tiers=1)), 1, ())


def _notes(setting: Setting) -> list[str]:
    """What the reader must know."""
    base, fleet = setting.base, setting.fleet
    return [
        f"{fleet.replicas} replicas of {fleet.slots} slots; a request's work is a wait, drawn beforehand with a mean of "
        f"{cases.WORK_S * 1000:g} ms, and is the same wherever it is tried",
        "users send when a request is due, whatever became of those before it, and count its time from then on",
        f"one request alone holds a replica {1000 * base.held_s:.1f} ms longer than it works, and takes "
        f"{1000 * base.request_s:.1f} ms more outside: measured once, used in every prediction",
        "predictions run the fleet simulation on the very requests that are sent; the law knows only their rate and mean, and "
        f"its interval holds {100 * predict.SHARE:g} % of {predict.DRAWS} traces drawn alike",
        "in the steady cases requests wait in one queue in the proxy, in all others at the replicas",
        "how often the proxy tries again follows from its ways: in turn, whoever is refused takes the next one's turn, "
        "λ/(R − 1); a dead replica has the fewest connections, so that all come to it first, λ; of two drawn with replacement it "
        "is among them for λ(1 − (1 − 1/R)²)",
    ]
