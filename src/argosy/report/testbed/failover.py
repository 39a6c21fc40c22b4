"""`argosy testbed failover` for people: waits by policy, what kills do, the rolling upgrade."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import charts as drawing
from argosy.report.markdown import table
from argosy.report.testbed.pairs import WHAT, pairs
from argosy.testbed.failover.disturbances import NAMES

TITLE = "Replicas behind a load balancer"
SHOWN = ("mean wait", "p50 of the time", "p95 of the time", "p99 of the time")

INTRODUCTION = """
`argosy testbed failover` puts four stateless replicas behind HAProxy, each in a network namespace of its own, and sends
requests at a fixed rate from another. It measures Q = λT at the users, in the proxy and in the replicas, queues by
policy, a rolling upgrade, kill −9 of a replica, and of more than the rest can make up for. Predictions are the fleet
simulation's ([Serving](../serving.md)) of the very requests that are sent, and the queueing laws'. `apt-get install haproxy`;
root for namespaces, else everything runs on the loopback, which changes little here.

```
argosy testbed failover                          # some five minutes
argosy testbed failover --short --json           # one minute
```
"""

_HOW = """
## How

- *Replicas.* A small HTTP server of ours with four slots and a queue. A request says how long its work takes; the work is a
  wait, so that a slot is occupied and no core is. A replica keeps nothing between requests, so that any of them may be tried
  again anywhere.
- *Users.* Every request is sent when it is due, whatever became of those before it, and its time counts from when it was
  due: nothing is left out while a server is slow (coordinated omission).
- *HAProxy.* Health checks every 0.5 s, down after three failures, up after two successes. A request is tried again elsewhere
  when its replica refuses, or ends without an answer; three times at most. Drain, maintenance and ready by the admin socket.
  Requests are read from its log, requests under way from its statistics every 50 ms.
- *Prediction.* A replica is an engine of the fleet simulation whose iterations take 0.1 ms whatever they carry; a request's
  answer has as many tokens as its work has iterations. One queue in the proxy is one replica with all slots.
- *Noise.* Replicas, proxy and users run ahead of others (real-time scheduling) where that is allowed. A case in which the
  users' program was kept from running for 1 % of the time is run again; what came of it does not matter for that.
"""

_TAUGHT = """
## What it taught

- A dead replica attracts requests. It has no connections, so that "least connections" sends everything to it until three
  checks have failed: every request is refused once and tried again. Round robin sends one in three, not one in four: whoever
  is refused takes the next one's turn, and the dead replica's own comes round sooner.
- Without retries, kill −9 under least connections would have failed every user for more than a second. With them nobody
  saw an error, and the cost was the work that had begun.
- `balance random(2)` draws on a ring with places by weight. With weight 1 a server has 16 places, and shares differ by a
  quarter; with 100 they are alike.
- Users, proxy and replicas count different requests as under way: the proxy's queue is missing in the replicas' Q, and what
  the network takes is missing in the proxy's. Each fulfils Q = λT with its own T.
- Mean waits over tens of seconds differ widely from one draw to the next: the law's interval is wide, while the simulation of
  the very same requests is held to 15 %, and was within a few.
"""

_OPEN = """
## What this does not show

- Work is a wait: no KV cache is lost, and a request that is tried again costs its time alone.
- A killed program refuses connections at once. A host that vanishes does not: checks would time out first.
- What is sent to a dead replica until the checks notice follows from the proxy's ways. The fleet simulation sends requests there
  too (`health_checks`), but its clients come back after a pause, while the proxy tries again at once.
- Drains are predicted by the fleet simulation's rolling upgrade, times during the upgrade by three replicas.
"""


def waits_chart(answer: Mapping[str, Any]) -> drawing.Chart:
    """Waits and times of every policy, predicted and measured."""
    rows = [
        {"policy": NAMES[one["policy"]], "what": what, "figure": figure, "seconds": one[what][figure]}
        for one in answer["policies"]
        for figure in SHOWN
        for what in WHAT
    ]
    return (
        pairs(rows, "policy", list(NAMES.values()), "seconds")
        .encode(row=alt.Row("figure:N", sort=list(SHOWN), title=None))
        .properties(width=drawing.WIDTH, height=90, title="Waits and times: fleet simulation and HAProxy")
    )


def kills_chart(answer: Mapping[str, Any]) -> drawing.Chart:
    """Requests under way while replicas are killed, and every request that was tried again."""
    parts = []
    for one in answer["policies"]:
        series = one["series"]
        begin, end = series["at_s"][0], series["at_s"][-1]
        lines = [{"s": at, "under way": n} for at, n in zip(series["at_s"], series["inside"], strict=True)]
        again = [{"s": at, "y": 0} for at in series["tried_again_s"]]
        spans = [{"from": kill["killed"], "to": kill["down"]} for kill in one["kills"]]
        scale = alt.Scale(domain=[begin, end], nice=False)
        x = alt.X("s:Q", title="seconds", scale=scale)
        dead = alt.Chart(drawing._data(spans)).mark_rect(fill=drawing._FULL)
        line = alt.Chart(drawing._data(lines)).mark_line(color=drawing._PLAIN, strokeWidth=1.2)
        tick = alt.Chart(drawing._data(again)).mark_tick(color=drawing._LOSS, thickness=1, size=8)
        layers = (
            dead.encode(x=alt.X("from:Q", scale=scale), x2="to:Q"),
            line.encode(x=x, y=alt.Y("under way:Q", title="requests under way")),
            tick.encode(x=x, y=alt.Y("y:Q", title="requests under way")),
        )
        title = f"{NAMES[one['policy']]}: dead and not yet noticed (shaded), tried again (ticks)"
        parts.append(alt.layer(*layers).properties(width=drawing.WIDTH, height=110, title=title))
    return alt.vconcat(*parts)


def upgrade_chart(answer: Mapping[str, Any]) -> drawing.Chart:
    """Replicas that take requests during the rolling upgrade."""
    rows = [{"s": at, "replicas": count} for at, count in answer["upgrade"]["serving"]]
    return (
        alt.Chart(drawing._data(rows))
        .mark_line(interpolate="step-after", color=drawing._USEFUL)
        .encode(
            x=alt.X("s:Q", title="seconds"),
            y=alt.Y("replicas:Q", scale=alt.Scale(domain=[0, answer["fleet"]["replicas"]]), axis=alt.Axis(tickMinStep=1)),
        )
        .properties(width=drawing.WIDTH, height=110, title="Rolling upgrade: replicas that take requests")
    )  # fmt: skip


def charts(answer: Mapping[str, Any]) -> dict[str, drawing.Chart]:
    """The page's pictures."""
    return {
        "failover-waits": waits_chart(answer),
        "failover-kills": kills_chart(answer),
        "failover-upgrade": upgrade_chart(answer),
    }


def more(answer: Mapping[str, Any]) -> list[str]:
    """What the page says after the table of comparisons."""
    rows = [
        [
            NAMES[one["policy"]],
            str(one["tried_again"]),
            str(one["most_tries"]),
            ", ".join(f"{kill['down'] - kill['killed']:.2f}" for kill in one["kills"]),
        ]
        for one in answer["policies"]
    ]
    return [
        "## Kills, policy by policy",
        "",
        *table(["policy", "tried again", "most tries of one", "seconds until found down"], rows),
        "",
        *_beyond(answer["beyond"]),
        "",
        _HOW.strip(),
        "",
        _TAUGHT.strip(),
        "",
        _OPEN.strip(),
    ]


def _beyond(told: Mapping[str, Any]) -> list[str]:
    """What became of those who could not be served."""
    return [
        f"With two of four replicas killed at once the rest has a load of {told['load_left']:.0%}. {told['shed']:.0%} of",
        f"requests were shed (simulated {told['shed_predicted']:.0%}; at least {told['shed_at_least']:.0%} in the long run, by",
        f"1 − c/(λS)), each told so by a 503 at once; {told['errors_before_noticed']} more users saw an error before the checks",
        "had noticed.",
    ]
