"""A simulated step drawn: one row a pipeline stage, time to the right, empty where a stage waits."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import altair as alt

from argosy.report import text as write
from argosy.report.charts import WIDTH, to_svg

_COLOURS = {
    "forward": "#33658a",
    "backward": "#2a7f62",
    "weight gradients": "#d9a441",
    "forward and backward": "#6b5b95",
}


def chart(payload: Mapping[str, Any]) -> Any:
    """The timeline of a payload of `argosy timeline`. Axis: seconds from the step's first forward."""
    rows = [
        {**each, "stage": int(each["place"].split()[-1]), "kind": each["kind"]}
        for each in payload["timeline"]
    ]
    stages = 1 + max(row["stage"] for row in rows)
    kinds = [kind for kind in _COLOURS if any(row["kind"] == kind for row in rows)]
    return (
        alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]
        .mark_bar(stroke="white", strokeWidth=0.3)
        .encode(
            x=alt.X("start_s:Q", title="seconds"),
            x2="end_s:Q",
            y=alt.Y("stage:O", title="pipeline stage"),
            color=alt.Color(
                "kind:N", title=None, scale=alt.Scale(domain=kinds, range=[_COLOURS[kind] for kind in kinds])
            ),
        )
        .properties(width=WIDTH, height=max(60, 18 * stages), title=caption(payload))
    )


def caption(payload: Mapping[str, Any]) -> str:
    """The figure in words: schedule, length, share of waiting."""
    seconds = write.duration(payload["seconds"])
    return (
        f"{payload['schedule']}: {seconds}, of which stages wait {write.percent(payload['bubble_fraction'])}"
    )


def page(payload: Mapping[str, Any]) -> str:
    """The chart as one HTML file that asks nothing of the network."""
    title = f"{payload['scenario']['name']}, {payload['job']}: one step"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head><body>'
        f"<h1>{escape(title)}</h1><figure>{to_svg(chart(payload))}<figcaption>{escape(caption(payload))}</figcaption></figure>"
        "</body></html>\n"
    )
