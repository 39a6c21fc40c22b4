"""The charts of a service's fleet, from the JSON of `argosy serving`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import altair as alt

from argosy.report import text as write
from argosy.report.charts import _LOSS, _PLAIN, _USEFUL, WIDTH, Chart, _data

_STATES = (("up", _USEFUL), ("warming", "#e0a458"), ("draining", "#8aa29e"), ("down", _LOSS))
_METRICS = {
    "ttft_s": "time to first token",
    "tpot_s": "time per token after it",
    "e2e_s": "whole request",
}


def over_time(entry: Mapping[str, Any]) -> Chart | None:
    """Replicas by state, and arrivals per second, over the first run."""
    series = entry.get("series") or []
    if len(series) < 3:
        return None
    rows, rates = [], []
    for before, now in pairwise(series):
        span = now["at_s"] - before["at_s"] or 1.0
        rates.append({"t": now["at_s"] / 60.0, "rate": now["arrivals"] / span})
        rows += [{"t": now["at_s"] / 60.0, "state": state, "replicas": now[state]} for state, _ in _STATES]
    colours = alt.Scale(domain=[state for state, _ in _STATES], range=[colour for _, colour in _STATES])
    axis = alt.X("t:Q", title="minutes")
    areas = (
        alt.Chart(_data(rows))
        .mark_area(interpolate="step-after")
        .encode(
            x=axis,
            y=alt.Y("replicas:Q", title="replicas"),
            color=alt.Color("state:N", scale=colours, title=None),
        )
        .properties(width=WIDTH, height=140)
    )
    line = (
        alt.Chart(_data(rates))
        .mark_line(color=_PLAIN)
        .encode(x=axis, y=alt.Y("rate:Q", title="arrivals per second"))
        .properties(width=WIDTH, height=110)
    )
    return alt.vconcat(line, areas).properties(title="Arrivals, and the replicas that answer them")


def front(entry: Mapping[str, Any]) -> Chart | None:
    """All fleets that were compared: GPUs against the time to the first token; those that keep the promises filled."""
    points = [
        {"gpus": each["gpus"], "ttft": each["ttft_p99_s"], "kept": "keeps the promises" if each["met"] else "misses one",
         "label": each["label"]}
        for each in entry["search"]["points"]
        if each["ttft_p99_s"] is not None
    ]  # fmt: skip
    if not points:
        return None
    colours = alt.Scale(domain=["keeps the promises", "misses one"], range=[_USEFUL, _LOSS])
    return (
        alt.Chart(_data(points))
        .mark_point(size=70, filled=True)
        .encode(
            x=alt.X("gpus:Q", title="GPUs (spares apart)", scale=alt.Scale(zero=False)),
            y=alt.Y("ttft:Q", title="time to first token, p99 (s)", scale=alt.Scale(type="log")),
            color=alt.Color("kept:N", scale=colours, title=None),
            tooltip=[alt.Tooltip("label:N", title="replica"), alt.Tooltip("gpus:Q", title="GPUs")],
        )
        .properties(width=WIDTH, height=240, title="The fleets that were compared")
    )


def latency(entry: Mapping[str, Any]) -> Chart | None:
    """What share of all arrivals stays within which latency, by metric; promises as points."""
    found = entry.get("curves")
    if not found:
        return None
    rows = [
        {"metric": name, "seconds": each["seconds"], "share": 100.0 * each["share"]}
        for key, name in _METRICS.items()
        for each in found["latency"][key]
        if each["seconds"]  # a logarithmic axis has no 0, the time per token of an answer of one
    ]
    promises = [
        {"metric": _METRICS[f"{metric}_s"], "seconds": each["limit_s"], "share": float(share.removeprefix("p")),
         "promise": f"{each['name']}: {write.duration(each['limit_s'])}"}
        for each in entry["objectives"]
        for metric, _, share in [each["name"].partition("_")]
    ]  # fmt: skip
    colours = alt.Scale(domain=list(_METRICS.values()), range=[_PLAIN, _USEFUL, "#8a6d3b"])
    x = alt.X("seconds:Q", title="seconds", scale=alt.Scale(type="log"))
    y = alt.Y("share:Q", title="per cent of all arrivals within it", scale=alt.Scale(domain=[0, 100]))
    colour = alt.Color("metric:N", scale=colours, title=None)
    lines = alt.Chart(_data(rows)).mark_line().encode(x=x, y=y, color=colour)
    points = (
        alt.Chart(_data(promises))
        .mark_point(shape="diamond", size=90, filled=True)
        .encode(x=x, y=y, color=colour, tooltip=[alt.Tooltip("promise:N", title="promised")])
    )
    return alt.layer(lines, points).properties(
        width=WIDTH, height=220, title="Latency of all arrivals; diamonds are what is promised"
    )


def frontier(entry: Mapping[str, Any]) -> Chart | None:
    """Tokens per second and accelerator against tokens per second of one answer, by batch."""
    found = entry.get("curves")
    if not found or len(found["frontier"]) < 2:
        return None
    rows = [
        {"own": 1.0 / each["tpot_s"], "rate": each["tokens_per_gpu_s"], "batch": f"{each['batch']:,.0f}",
         "kept": "within the promise" if each["within_promise"] else "beyond it"}
        for each in found["frontier"]
    ]  # fmt: skip
    x = alt.X("own:Q", title="tokens per second of one answer", scale=alt.Scale(zero=True))
    y = alt.Y("rate:Q", title="tokens per second and accelerator", scale=alt.Scale(type="log"))
    colours = alt.Scale(domain=["within the promise", "beyond it"], range=[_USEFUL, _LOSS])
    base = alt.Chart(_data(rows))
    line = base.mark_line(color=_PLAIN).encode(x=x, y=y)
    points = base.mark_point(size=55, filled=True).encode(
        x=x,
        y=y,
        color=alt.Color("kept:N", scale=colours, title=None),
        tooltip=[alt.Tooltip("batch:N", title="batch")],
    )
    return alt.layer(line, points).properties(
        width=WIDTH, height=220, title="One replica that decodes: throughput against speed, by batch"
    )


def inside(entry: Mapping[str, Any]) -> Chart | None:
    """Requests that wait or run, over the first run."""
    series = entry.get("series") or []
    if len(series) < 3:
        return None
    rows = [{"t": each["at_s"] / 60.0, "inside": each["inside"]} for each in series]
    return (
        alt.Chart(_data(rows))
        .mark_area(color=_PLAIN, opacity=0.5, line={"color": _PLAIN}, interpolate="step-after")
        .encode(x=alt.X("t:Q", title="minutes"), y=alt.Y("inside:Q", title="requests that wait or run"))
        .properties(width=WIDTH, height=120, title="The queue: requests inside the fleet")
    )
