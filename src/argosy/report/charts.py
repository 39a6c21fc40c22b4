"""The charts, each defined once as an Altair specification drawn from the plan's JSON; terminal-free, browser-free."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import altair as alt
from altair.utils import schemapi

from argosy.report import sentences
from argosy.report import text as write

WIDTH = 620
_FONT = "Arial, Helvetica, sans-serif"  # what a browser draws must be as wide as what was measured here
_USEFUL, _LOSS, _PLAIN, _FULL = "#2a7f62", "#c8553d", "#33658a", "#c9ccd1"


Chart = Any  # an Altair chart: its layered types do not tell themselves apart


def unchecked() -> AbstractContextManager[None]:
    """While charts are made: no check of every part against Vega-Lite's schema, which takes most of the time of making
    one. The tests check every chart instead.
    """
    return schemapi.debug_mode(False)


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _bars(rows: list[dict[str, Any]], title: str, axis: str, height: int = 22) -> Chart:
    """Horizontal bars in the order given, each with its text at the end. Rows: name, value, shown[, colour]."""
    order = [row["name"] for row in rows]
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=320, ticks=False))
    )
    bars = base.mark_bar(size=height - 8).encode(
        x=alt.X("start:Q", title=axis),
        x2=alt.X2("end:Q"),
        color=alt.Color("colour:N", scale=None, legend=None),
    )
    labels = base.mark_text(align="left", dx=4, fontSize=11).encode(
        x=alt.X("end:Q"), text=alt.Text("shown:N")
    )
    return alt.layer(bars, labels).properties(title=title, width=WIDTH, height=height * max(1, len(rows)))


def ledger_waterfall(plan: Mapping[str, Any]) -> Chart:
    """From all GPU-time to the useful part: each loss starts where the one before it ends. Axis: per cent of the whole."""
    tree = plan["ledger"]
    whole = tree["amount"]
    rows = [
        {
            "name": tree["name"],
            "start": 0.0,
            "end": 100.0,
            "shown": write.large(whole / 3600) + " GPU-hours",
            "colour": _FULL,
        }
    ]
    edge = 100.0
    shown = [node for node in _leaves(tree) if node["amount"] / whole > 5e-4]
    for leaf in reversed(shown):
        share = 100.0 * leaf["amount"] / whole
        useful = leaf["name"].startswith("useful")
        start = 0.0 if useful and leaf is shown[0] else edge - share
        rows.append(
            {
                "name": leaf["name"],
                "start": start,
                "end": share if useful and leaf is shown[0] else edge,
                "shown": f"{share:.1f} %",
                "colour": _USEFUL if useful else _LOSS,
            }
        )
        edge -= share
    return _bars(rows, "Where every GPU-second goes", "per cent of all GPU-time")


def _leaves(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if not node["children"]:
        return [node]
    return [leaf for child in node["children"] for leaf in _leaves(child)]


def step_breakdown(job: Mapping[str, Any]) -> Chart:
    """The parts of one step, in order; they sum to the step. Axis: seconds."""
    rows, edge = [], 0.0
    for key, seconds in job["breakdown_s"].items():
        if not seconds:
            continue
        colour = _USEFUL if key == "compute" else _LOSS
        rows.append(
            {
                "name": sentences.STEP_NAMES.get(key, key),
                "start": edge,
                "end": edge + seconds,
                "shown": write.duration(seconds),
                "colour": colour,
            }
        )
        edge += seconds
    return _bars(rows, f"One step of {job['name']}: {write.duration(edge)}", "seconds")


def memory_bar(job: Mapping[str, Any]) -> Chart:
    """Memory of the fullest stage, part by part, against capacity. Axis: GiB."""
    figures = job["memory_bytes"]
    rows, edge = [], 0.0
    for key in ("weights", "gradients", "optimizer", "activations", "buffers", "overhead"):
        size = (figures[key] or 0.0) / 2**30
        if size:
            rows.append(
                {
                    "name": key,
                    "start": edge,
                    "end": edge + size,
                    "shown": f"{size:,.1f} GiB",
                    "colour": _PLAIN,
                }
            )
            edge += size
    capacity = figures["capacity"] / 2**30
    rows.append(
        {"name": "capacity", "start": 0.0, "end": capacity, "shown": f"{capacity:,.1f} GiB", "colour": _FULL}
    )
    return _bars(rows, f"Memory per GPU, fullest at pipeline rank {figures['stage']}", "GiB")


def layout_ranking(job: Mapping[str, Any]) -> Chart | None:
    """The best layouts the search found, by step time. Axis: seconds; none where the layout was given."""
    best = (job.get("search") or {}).get("best") or []
    if not best:
        return None
    rows = [
        {
            "name": f"{number}. {entry['label']}",
            "start": 0.0,
            "end": entry["step_time_s"],
            "shown": write.duration(entry["step_time_s"]),
            "colour": _USEFUL if number == 1 else _PLAIN,
        }
        for number, entry in enumerate(best, 1)
    ]
    return _bars(rows, "The best layouts by step time", "seconds per step")


def headline_intervals(plan: Mapping[str, Any]) -> Chart:
    """How far each headline number may move: P10 to P90 as a share of its P50. Axis: per cent of P50."""
    rows = [
        {
            "name": row["label"],
            "start": 100 * row["p10"] / row["p50"],
            "end": 100 * row["p90"] / row["p50"],
            "shown": write.quantity(row["p50"], row["unit"]),
            "colour": _PLAIN,
        }
        for row in plan["headline"]
        if row["p50"]
    ]
    chart = _bars(rows, "How sure are we? P10 to P90 around the median", "per cent of the median")
    chart.layer[0].encoding.x.scale = alt.Scale(zero=False)
    return chart


def fabric_drawing(fabric: Mapping[str, Any], width: int = WIDTH) -> Chart:
    """The tiers of a fabric, aggregated to one box a tier and one bundle of cables between, readable at any size."""
    tiers = fabric["tiers"]
    levels = [{"level": 0, "label": f"{write.count(fabric['endpoints'])} endpoints"}]
    levels += [
        {
            "level": number,
            "label": f"{write.count(tier['switches'])} × {tier['name']}"
            + (f" ({tier['switch']})" if tier.get("switch") else ""),
        }
        for number, tier in enumerate(tiers, 1)
    ]
    bundles = [
        {
            "from": number - 1,
            "to": number,
            "middle": number - 0.5,
            "label": f"{write.count(tier['links'])} cables",
        }
        for number, tier in enumerate(tiers, 1)
    ]
    scale = alt.Scale(domain=[-0.4, len(tiers) + 0.4])
    y = alt.Y("level:Q", scale=scale, axis=None)
    boxes = (
        alt.Chart(_data(levels))
        .mark_rect(height=30, width=340, fill="#eef2f5", stroke=_PLAIN, cornerRadius=4)
        .encode(y=y, x=alt.value(width / 2))
    )
    names = (
        alt.Chart(_data(levels))
        .mark_text(fontSize=12)
        .encode(y=y, x=alt.value(width / 2), text=alt.Text("label:N"))
    )
    lines = (
        alt.Chart(_data(bundles))
        .mark_rule(strokeWidth=4, color=_FULL)
        .encode(y=alt.Y("from:Q", scale=scale, axis=None), y2=alt.Y2("to:Q"), x=alt.value(width / 2))
    )
    counts = (
        alt.Chart(_data(bundles))
        .mark_text(align="left", dx=10, fontSize=11, color="#555")
        .encode(y=alt.Y("middle:Q", scale=scale, axis=None), x=alt.value(width / 2), text=alt.Text("label:N"))
    )
    return alt.layer(lines, boxes, names, counts).properties(
        title=f"{fabric['role']} fabric: {fabric['topology']}", width=width, height=75 * (len(tiers) + 1)
    )


def specification(chart: Chart) -> dict[str, Any]:
    """The chart as a Vega-Lite specification, on a transparent ground: for SVG here, or for a browser that draws it."""
    padding = {"left": 40, "right": 50, "top": 5, "bottom": 5}
    with unchecked():
        drawn = dict(chart.to_dict(validate=False))
    # written here and not by chart.configure(), which copies the chart and its data once for each call
    config = drawn.get("config", {})
    look = {"font": _FONT, "background": "transparent", "padding": padding}
    drawn["config"] = {**config, **look, "view": {**config.get("view", {}), "stroke": None}}
    return drawn


def to_svg(chart: Chart) -> str:
    """The chart as SVG text, rendered offline without a browser."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(specification(chart)))


def save(chart: Chart, path: Path) -> None:
    """Write the chart to a .svg file, or as a picture of twice the size on white to a .png file.

    ValueError for another ending.
    """
    if path.suffix == ".svg":
        path.write_text(to_svg(chart), encoding="utf-8")
    elif path.suffix == ".png":
        import vl_convert

        specification = chart.configure(font=_FONT, background="white", padding=10).to_dict()
        path.write_bytes(vl_convert.vegalite_to_png(specification, scale=2))
    else:
        raise ValueError(f"{path}: a picture ends in .svg or .png")
