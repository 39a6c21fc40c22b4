"""`argosy testbed hang` for people."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import charts as drawing
from argosy.testbed.hang import plan, predict

TITLE = "Silent hangs"
INTRODUCTION = f"""
A job of {plan.RANKS} ranks adds its gradients up in pairs of neighbours, then across the pairs, and its loss in the world.
One rank hangs without a word: no process ends, no connection closes, no collective times out.

{chr(10).join(f"- *{kind}*: {what}." for kind, what in plan.KINDS.items())}

A thread of every rank beats every {plan.BEAT_S:g} s over UDP and says how many steps are done. The manager takes a rank for dead
after {plan.MISSED} missed beats, and the job for hanging when {plan.PATIENCE} beats in a row tell no new step. When it is,
`argosy.laws.control_plane.detection_time` says: (missed − ½) intervals on average, the hang beginning at any moment
between two beats. Then every rank that still answers writes torch's flight recorder, `argosy diagnose` reads them, the rank it
blames is killed, and torchrun restarts the job for the next hang.
"""


def charts(answer: Mapping[str, Any]) -> dict[str, drawing.Chart]:
    """Seconds until each hang was noticed, on the window that the law gives."""
    kinds = list(plan.KINDS)
    windows = [
        {
            "kind": kind,
            "low": low + predict.SLACK_S,
            "high": high - predict.SLACK_S,
            "mean": predict.seconds(kind),
        }
        for kind in kinds
        for low, high in [predict.window(kind)]
    ]
    dots = [{"kind": one["kind"], "seconds": one["seen_s"]} for one in answer["hangs"]]
    y = alt.Y("kind:N", sort=kinds, title=None)
    band = (
        alt.Chart(drawing._data(windows))
        .mark_bar(color=drawing._FULL, opacity=0.5, height=22)
        .encode(
            y=y,
            x=alt.X("low:Q", title="seconds until the hang is noticed", scale=alt.Scale(zero=True)),
            x2="high:Q",
        )
    )
    mean = alt.Chart(drawing._data(windows)).mark_tick(color="#222222", height=22).encode(y=y, x="mean:Q")
    seen = (
        alt.Chart(drawing._data(dots))
        .mark_point(filled=True, size=30, color=drawing._USEFUL)
        .encode(y=y, x="seconds:Q")
    )
    chart = alt.layer(band, mean, seen)
    return {
        "hang-detection": chart.properties(
            title="Until a hang is noticed: law (band, mean) and measured", width=drawing.WIDTH, height=120
        )
    }


def more(answer: Mapping[str, Any]) -> list[str]:
    """What the page says after the table."""
    named = statistics.median(one["named_s"] for one in answer["hangs"])
    back = statistics.median(one["back_s"] for one in answer["hangs"] if "back_s" in one)
    early = sum(one["false_alarms"] for one in answer["hangs"])
    said = {one["kind"]: one["says"][0] for one in answer["hangs"] if one["says"]}
    return [
        f"From the alarm to the name of the culprit {named:.1f} s (recorders written and read; median), from its kill until the",
        f"job ran again {back:.1f} s. False alarms, while nothing hung: {early}. What `argosy diagnose` said, once of each kind:",
        "",
        *(f"- *{kind}*: {sentence}." for kind, sentence in said.items()),
        "",
        TAUGHT.strip(),
    ]


TAUGHT = """
## What it taught

- Beats alone do not show a hang: a rank that waits for its data for ever beats on. Steps must be in the beats.
- In a job with several groups, who is behind need not be to blame: the pair of the hung rank never comes to its other group,
  and `argosy diagnose` blamed it, too. Now ranks that wait themselves are victims. Where all wait in a circle (a sum that one
  rank left out), the rank whose collectives took another order than the others' is to blame: the group that waits longest,
  the first rule here, blamed the wrong one when a rank came late to its own wait.
- Recorders read at the very moment of the alarm blame a rank that is merely late: they are read 0.3 s after it.
- gloo's flight recorder never sets the state of its work: all of it seemed to hang. What is done is told by the group's last
  completed sequence number.
"""
