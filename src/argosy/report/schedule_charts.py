"""Pictures of a cluster's queue: how full it was and who held it, jobs on nodes, leaves as a heat map, policies compared."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import altair as alt

from argosy.report.charts import WIDTH
from argosy.report.schedule import FIGURE_NAMES

Chart = Any

_SIZES = {"1": "#a9cfe0", "2–8": "#6fa8c9", "9–64": "#33658a", "65–512": "#2a7f62", "513 and more": "#d9a441"}
_AWAY, _FREE, _QUEUE = "#c8553d", "#eceff1", "#6b5b95"
_PALETTE = ["#33658a", "#2a7f62", "#d9a441", "#6b5b95", "#3a9ea5", "#a3577e", "#7a8450", "#86bbd8", "#b08968"]
_HEIGHT = 240


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _clock(seconds: float) -> tuple[float, str]:
    """The unit of a time axis: seconds of one, and its name."""
    for limit, unit, name in ((7200.0, 60.0, "minutes"), (4 * 86400.0, 3600.0, "hours")):
        if seconds <= limit:
            return unit, name
    return 86400.0, "days"


def charts(answer: Mapping[str, Any]) -> dict[str, Chart]:
    """The pictures of a payload with `pictures`, by name: occupancy, nodes or leaves, waits, policies."""
    pictures = answer["pictures"]
    made = {"occupancy": occupancy_chart(pictures["occupancy"])}
    if "stretches" in pictures:
        made["nodes"] = gantt(pictures["stretches"], answer["cluster"]["nodes"], answer["horizon_s"])
    elif "leaves" in pictures:
        made["leaves"] = leaf_map(pictures["leaves"])
    made["waits"] = wait_chart(answer["by_size"])
    if "compare" in answer and len(answer["compare"]["policies"]) > 1:
        made["policies"] = policy_chart(answer["compare"])
    return made


def picture(answer: Mapping[str, Any]) -> Chart:
    """Occupancy above jobs on nodes (or the leaves), one picture."""
    made = charts(answer)
    parts = [made[name] for name in ("occupancy", "nodes", "leaves") if name in made]
    return alt.vconcat(*parts, spacing=24).resolve_scale(color="independent")


def occupancy_chart(series: Mapping[str, Any]) -> Chart:
    """Accelerators over time by the size of the job that held them, nodes out of service, and the queue as a line."""
    edges = series["edges_s"]
    unit, name = _clock(edges[-1])
    middle = [(a + b) / 2 / unit for a, b in pairwise(edges)]
    layers = {f"jobs of {size}": values for size, values in series["held"].items()}
    layers["out of service"] = series["away"]
    used = [sum(values[at] for values in layers.values()) for at in range(len(middle))]
    layers["free"] = [max(series["capacity"] - each, 0.0) for each in used]
    colours = [*(_SIZES[size] for size in series["held"]), _AWAY, _FREE]
    order = {layer: number for number, layer in enumerate(layers)}
    rows = [
        {"time": middle[at], "what": layer, "accelerators": values[at], "order": order[layer]}
        for layer, values in layers.items()
        for at in range(len(middle))
    ]
    x = alt.X("time:Q", title=name, scale=alt.Scale(domain=[0, edges[-1] / unit], nice=False))
    area = (
        alt.Chart(_data(rows))
        .mark_area(interpolate="step")
        .encode(
            x=x,
            y=alt.Y("accelerators:Q", title="accelerators"),
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=list(layers), range=colours),
                legend=alt.Legend(orient="top", columns=7, labelLimit=200),
            ),
            order="order:Q",
        )
    )
    queue = [{"time": middle[at], "queued": series["queued"][at]} for at in range(len(middle))]
    line = (
        alt.Chart(_data(queue))
        .mark_line(interpolate="step", color=_QUEUE, strokeWidth=1.5)
        .encode(x=x, y=alt.Y("queued:Q", title="asked for in the queue"))
        .properties(width=WIDTH, height=90)
    )
    top = area.properties(
        width=WIDTH, height=_HEIGHT, title="Who holds the accelerators, and what the queue asks for"
    )
    return alt.vconcat(top, line, spacing=6)


def gantt(stretches: list[dict[str, Any]], nodes: int, horizon_s: float) -> Chart:
    """A row a node, a bar a stretch in which a job held some of it, as high as its share of the row; red: out of service."""
    unit, name = _clock(horizon_s)
    jobs = list(dict.fromkeys(each["job"] for each in stretches if each["job"] is not None))
    colour = {job: _PALETTE[number % len(_PALETTE)] for number, job in enumerate(jobs)}
    rows = [
        {
            "from": each["from_s"] / unit,
            "to": each["to_s"] / unit,
            "node": each["node"] + lane,
            "end": each["node"] + lane + height,
            "colour": _AWAY if each["job"] is None else colour[each["job"]],
            "told": "out of service"
            if each["job"] is None
            else f"{each['job']}: {each['held']:g} accelerators",
        }
        for each, (lane, height) in zip(stretches, _lanes(stretches), strict=True)
    ]
    return (
        alt.Chart(_data(rows))
        .mark_rect(stroke="white", strokeWidth=0.3)
        .encode(
            x=alt.X("from:Q", title=name, scale=alt.Scale(domain=[0, horizon_s / unit], nice=False)),
            x2="to:Q",
            y=alt.Y("node:Q", title="node", scale=alt.Scale(domain=[nodes, 0], nice=False)),
            y2="end:Q",
            color=alt.Color("colour:N", scale=None),
            tooltip="told:N",
        )
        .properties(width=WIDTH, height=max(120, min(12 * nodes, 720)), title="Jobs on nodes")
    )


def _lanes(stretches: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Where in its node's row each stretch lies, and how high: side by side where several share a node."""
    size = max((each["held"] for each in stretches), default=1.0)
    open_lanes: dict[int, list[tuple[float, float, float]]] = {}
    placed: dict[int, tuple[float, float]] = {}
    for index in sorted(range(len(stretches)), key=lambda at: stretches[at]["from_s"]):
        each = stretches[index]
        taken = sorted(
            (lane, high)
            for lane, high, end in open_lanes.get(each["node"], [])
            if end > each["from_s"] + 1e-9
        )
        height, at = min(each["held"] / size, 1.0), 0.0
        for lane, high in taken:
            if lane - at >= height - 1e-9:
                break
            at = max(at, lane + high)
        at = min(at, 1.0 - height)
        keep = [one for one in open_lanes.get(each["node"], []) if one[2] > each["from_s"] + 1e-9]
        open_lanes[each["node"]] = [*keep, (at, height, each["to_s"])]
        placed[index] = (at, height)
    return [placed[index] for index in range(len(stretches))]


def leaf_map(leaves: Mapping[str, Any]) -> Chart:
    """A row a leaf, a column a stretch of time: the share of its accelerators that jobs held."""
    edges = leaves["edges_s"]
    unit, name = _clock(edges[-1])
    rows = [
        {
            "leaf": row["leaf"],
            "end": row["leaf"] + 1,
            "from": edges[at] / unit,
            "to": edges[at + 1] / unit,
            "held": held,
        }
        for row in leaves["leaves"]
        for at, held in enumerate(row["held"])
    ]
    count = len(leaves["leaves"])
    return (
        alt.Chart(_data(rows))
        .mark_rect()
        .encode(
            x=alt.X("from:Q", title=name, scale=alt.Scale(domain=[0, edges[-1] / unit], nice=False)),
            x2="to:Q",
            y=alt.Y("leaf:Q", title="leaf", scale=alt.Scale(domain=[count, 0], nice=False)),
            y2="end:Q",
            color=alt.Color(
                "held:Q",
                title="held by jobs",
                scale=alt.Scale(domain=[0, 1], range=["#f4f7f9", "#33658a"]),
                legend=alt.Legend(orient="bottom", format=".0%"),
            ),
        )
        .properties(width=WIDTH, height=max(120, min(14 * count, 520)), title="How full the leaves were")
    )


def wait_chart(rows: list[dict[str, Any]]) -> Chart:
    """Quantiles of the wait by class of sizes, on a logarithmic axis."""
    known = [row for row in rows if row["wait_s"]["p50"] is not None]
    colours = {"P50": "#a9cfe0", "P90": "#33658a", "P99": "#c8553d"}
    data = [
        {"size": row["name"], "quantile": told, "wait": max(row["wait_s"][told.lower()], 1.0)}
        for row in known
        for told in colours
    ]
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    base = alt.Chart(_data(data)).encode(
        y=alt.Y("size:N", sort=[row["name"] for row in known], title="accelerators"),
        x=alt.X("wait:Q", title="wait, seconds (1 and less at 1)", scale=alt.Scale(type="log", domainMin=1)),
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        color=alt.Color("quantile:N", title=None, scale=scale)
    )
    line = base.mark_line(color="#c9ccd1").encode(detail="size:N")
    return alt.layer(line, points).properties(
        width=WIDTH, height=max(90, 34 * len(known)), title="Wait by size"
    )


_COMPARED = {
    "utilization": (100.0, "%"),
    "wait_p99_s": (1 / 3600, "hours"),
    "large_wait_p90_s": (1 / 3600, "hours"),
}


def policy_chart(compared: Mapping[str, Any]) -> Chart:
    """Policies by productive share and by waits, means with their intervals."""
    names = [row["policy"] for row in compared["policies"]]
    panels = []
    for figure, (scale, unit) in _COMPARED.items():
        rows = []
        for row in compared["policies"]:
            mean, low, high = (row["figures"][figure][key] for key in ("mean", "low", "high"))
            if mean is not None:
                low, high = (mean if each is None else each for each in (low, high))
                rows.append(
                    {
                        "policy": row["policy"],
                        "mean": mean * scale,
                        "low": max(low, 0.0) * scale,
                        "high": high * scale,
                    }
                )
        base = alt.Chart(_data(rows)).encode(y=alt.Y("policy:N", sort=names, title=None))
        title = f"{FIGURE_NAMES[figure]}, {unit}"
        bars = base.mark_rule(strokeWidth=2, color="#33658a").encode(
            x=alt.X("low:Q", title=title), x2="high:Q"
        )
        dots = base.mark_point(filled=True, size=60, color="#33658a").encode(x="mean:Q")
        panels.append(
            alt.layer(bars, dots).properties(width=(WIDTH - 80) / 3 - 20, height=max(60, 26 * len(rows)))
        )
    return alt.hconcat(*panels, title="Policies, means with 95 % intervals")
