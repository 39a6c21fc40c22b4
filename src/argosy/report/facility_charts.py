"""Pictures of the facility: the power tree, the waveform, its spectrum, a piece of the job's life, PUE, power caps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import text as write
from argosy.report.charts import WIDTH

Chart = Any  # an Altair chart: its layered types do not tell themselves apart
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BLUE, _GREEN, _RED, _GREY, _AMBER = "#33658a", "#2a7f62", "#c8553d", "#c9ccd1", "#d9a441"
_LETTER = 6.0  # pixels that a letter takes
_SHOWN = 1500  # points of a line that a picture can show


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def tree_icicle(payload: Mapping[str, Any]) -> Chart:
    """The power tree from the utility (top) to the boards (bottom), as wide as its load. Axis: MW.

    Colour: how much of what a level may carry for hours the peak takes; grey where nothing is rated.
    """
    rows: list[dict[str, Any]] = []
    whole = payload["tree"]["drawn_w"]

    def place(part: Mapping[str, Any], start: float, depth: int) -> None:
        drawn = part["drawn_w"]
        label = f"{part['name']}: {write.scaled(drawn, 'W')}"
        if len(label) * _LETTER > drawn / whole * WIDTH:
            label = part["name"] if len(part["name"]) * _LETTER < drawn / whole * WIDTH else ""
        rows.append(
            {
                "start": start / 1e6,
                "end": (start + drawn) / 1e6,
                "depth": depth,
                "below": depth + 0.94,
                "middle": depth + 0.47,
                "centre": (start + drawn / 2) / 1e6,
                "label": label,
                "colour": _of_margin(part["margin"]),
                "text": "white" if part["margin"] is not None else "#333",
            }
        )
        edge = start
        for child in part["children"]:
            place(child, edge, depth + 1)
            edge += child["drawn_w"]

    place(payload["tree"], 0.0, 0)
    depth = max(row["depth"] for row in rows) + 1
    y = alt.Y("depth:Q", axis=None, scale=alt.Scale(domain=[0, depth], reverse=True))
    base = alt.Chart(_data(rows))
    boxes = base.mark_rect(stroke="white", strokeWidth=1).encode(
        x=alt.X(
            "start:Q",
            title="MW at the peak: every node at its cap, the year's hottest hour",
            axis=alt.Axis(tickCount=8),
        ),
        x2="end:Q",
        y=y,
        y2="below:Q",
        color=alt.Color("colour:N", scale=None, legend=None),
    )
    names = base.mark_text(fontSize=11).encode(
        x="centre:Q", y=alt.Y("middle:Q"), text="label:N", color=alt.Color("text:N", scale=None)
    )
    title = [
        f"Power tree at the peak; trips first: {payload['trips_first']}",
        "green: below 95 % of what a level may carry for hours, amber: to 100 %, red: above",
    ]
    return alt.layer(boxes, names).properties(title=title, width=WIDTH, height=34 * depth)


def _of_margin(margin: float | None) -> str:
    if margin is None:
        return _GREY
    return _GREEN if margin > 0.05 else _AMBER if margin >= -1e-9 else _RED


def waveform(payload: Mapping[str, Any]) -> Chart:
    """Power of one step, second by second. Axes: seconds, MW."""
    wave = payload["waveform"]
    every = max(1, len(wave["w"]) // _SHOWN)
    rows = [{"s": i * wave["dt_s"], "mw": w / 1e6} for i, w in enumerate(wave["w"])][::every]
    mean = (
        alt.Chart(_data([{"mw": wave["mean_w"] / 1e6}]))
        .mark_rule(strokeDash=[4, 3], color=_RED)
        .encode(y="mw:Q")
    )
    line = (
        alt.Chart(_data(rows))
        .mark_line(color=_BLUE, strokeWidth=1.2)
        .encode(x=alt.X("s:Q", title="seconds of one step"), y=alt.Y("mw:Q", title="MW of IT"))
    )
    swing, around = write.scaled(wave["swing_w"], "W"), write.scaled(wave["mean_w"], "W")
    title = f"One step of {wave['job']}: swings by {swing} around {around}"
    return alt.layer(line, mean).properties(title=title, width=WIDTH, height=200)


def spectrum(payload: Mapping[str, Any]) -> Chart:
    """Amplitude of every line of the step's power in the band that utilities mind. Axes: Hz (log), kW."""
    lines = payload["waveform"]["spectrum"]
    rows = [
        {"hz": hz, "kw": amplitude / 1e3}
        for hz, amplitude in zip(lines["hz"], lines["amplitude_w"], strict=True)
    ]
    return (
        alt.Chart(_data(rows))
        .mark_rule(color=_BLUE, strokeWidth=1.5)
        .encode(
            x=alt.X("hz:Q", title="Hz", scale=alt.Scale(type="log", domain=[0.1, 20])),
            y=alt.Y("kw:Q", title="kW of amplitude"),
            y2=alt.value(160),
        )
        .properties(title="Spectrum of the step's power, 0.1 to 20 Hz", width=WIDTH, height=160)
    )


def life(payload: Mapping[str, Any]) -> Chart:
    """A piece of the job's life: steps, a checkpoint, a failure and its restart. Axes: seconds, MW; band: lowest to highest."""
    shown = payload["waveform"]["life"]
    rows = [
        {"s": i * shown["dt_s"], "low": low / 1e6, "mean": mean / 1e6, "high": high / 1e6}
        for i, (low, mean, high) in enumerate(
            zip(shown["lowest_w"], shown["mean_w"], shown["highest_w"], strict=True)
        )
    ]
    base = alt.Chart(_data(rows)).encode(x=alt.X("s:Q", title="seconds"))
    band = base.mark_area(color=_BLUE, opacity=0.35).encode(y=alt.Y("low:Q", title="MW of IT"), y2="high:Q")
    line = base.mark_line(color=_BLUE, strokeWidth=1).encode(y="mean:Q")
    told = [event for event in shown["events"] if event["kind"] != "steps"]
    top = max(row["high"] for row in rows)
    names = [  # one below the other, near the axis, where the lines leave room
        {"s": event["start_s"], "name": event["kind"], "mw": top * (0.3 - 0.1 * number)}
        for number, event in enumerate(told)
    ]
    marks = alt.Chart(_data(names)).mark_rule(color=_RED, strokeDash=[3, 3]).encode(x="s:Q")
    words = (
        alt.Chart(_data(names))
        .mark_text(align="left", dx=3, fontSize=10, color=_RED)
        .encode(x="s:Q", y="mw:Q", text="name:N")
    )
    title = "Steps, a checkpoint, a failure with its restart"
    return alt.layer(band, line, marks, words).properties(title=title, width=WIDTH, height=180)


def pue_by_month(payload: Mapping[str, Any]) -> Chart:
    """PUE of every month at the run's mean load. Axis: PUE, from 1."""
    rows = [
        {"month": month, "pue": pue, "one": 1.0, "shown": f"{pue:.2f}"}
        for month, pue in zip(_MONTHS, payload["cooling"]["pue_by_month"], strict=True)
    ]
    base = alt.Chart(_data(rows)).encode(x=alt.X("month:N", sort=list(_MONTHS), title=None))
    bars = base.mark_bar(color=_GREEN).encode(
        y=alt.Y("one:Q", title="PUE", scale=alt.Scale(zero=False)), y2="pue:Q"
    )
    words = base.mark_text(dy=-7, fontSize=10).encode(y="pue:Q", text="shown:N")
    return alt.layer(bars, words).properties(title="PUE by month", width=WIDTH, height=130)


def cap_gain(payload: Mapping[str, Any]) -> Chart | None:
    """Tokens of a capped fleet over an uncapped one in the same envelope, with P10 to P90. Axes: W per board, per cent."""
    cap = payload["power_cap"]
    if cap is None:
        return None
    rows = [
        {"cap": row["cap_w"], **{key: 100 * row["gain"][key] for key in ("nominal", "p10", "p90")}}
        for row in cap["rows"]
    ]
    base = alt.Chart(_data(rows)).encode(
        x=alt.X("cap:Q", title="W per accelerator", scale=alt.Scale(zero=False))
    )
    band = base.mark_area(color=_GREEN, opacity=0.25).encode(
        y=alt.Y("p10:Q", title="per cent more tokens"), y2="p90:Q"
    )
    line = base.mark_line(color=_GREEN, point=True).encode(y="nominal:Q")
    return alt.layer(band, line).properties(title=cap["answer"], width=WIDTH, height=180)
