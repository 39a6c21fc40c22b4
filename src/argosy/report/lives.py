"""Pictures of a job's lives: where the time goes, when it ends, one life day by day, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import text as write
from argosy.report.charts import WIDTH

Chart = Any  # an Altair chart: its layered types do not tell themselves apart
DAY = 86400.0
NAMES = {"spare_wait": "wait for spare"}
COLOURS = {
    "productive": "#2a7f62", "checkpoint": "#33658a", "rework": "#c8553d", "detection": "#e0a458", "restart": "#a26769",
    "spare_wait": "#6d597a", "queue": "#9aa0a6", "degraded": "#d8a48f", "maintenance": "#b8c4bb",
}  # fmt: skip
_BLUE, _GREEN, _RED, _GREY = "#33658a", "#2a7f62", "#c8553d", "#c9ccd1"
_LEAST = 5e-5  # shares of the time below this are not drawn
_MOST_DAYS = 90  # rows of the picture of one life: longer lives are cut into longer rows


def life_charts(answer: Mapping[str, Any]) -> dict[str, Chart]:
    """Every picture that a payload of `argosy simulate` has, by name, in the order in which to show them."""
    charts = {"ledger": waterfall(answer), "finish": finishing(answer), "life": one_life(answer)}
    if answer.get("fix_first"):
        charts["fixes"] = gains(answer)
    if answer.get("spares_curve"):
        charts["spares"] = spares(answer)
    if answer.get("interval_curve"):
        charts["interval"] = interval(answer)
    return charts


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def state_name(state: str) -> str:
    """A state of the ledger in words."""
    return NAMES.get(state, state)


def waterfall(answer: Mapping[str, Any]) -> Chart:
    """From all time down to the productive part: each loss starts where the one before it ends. Axis: per cent of GPU-time.

    The axis begins shortly below the productive share, or losses of a per cent could not be seen; its title says so.
    """
    total, edge, rows = answer["total_gpu_s"] or 1.0, 100.0, []
    states = [state for state in answer["ledger_gpu_s"] if state != "productive"]
    for state in [*states, "productive"]:
        share = answer["ledger_gpu_s"][state] / total
        if share >= _LEAST:
            rows.append(
                {
                    "state": state_name(state),
                    "start": edge - 100.0 * share,
                    "end": edge,
                    "shown": f"{write.percent(share, 2)}, {write.large(answer['ledger_gpu_s'][state] / 3600.0)} GPU-hours",
                    "colour": COLOURS[state],
                }
            )
            edge -= 100.0 * share
    productive = 100.0 * answer["ledger_gpu_s"]["productive"] / total
    first = 0.0 if productive < 60.0 else 5.0 * int((productive - 0.3 * (100.0 - productive)) / 5.0)
    for row in rows:
        row["start"] = max(row["start"], first)
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y("state:N", sort=[row["state"] for row in rows], title=None, axis=alt.Axis(ticks=False))
    )
    note = f" (the axis begins at {first:.0f} %)" if first else ""
    bars = base.mark_bar(size=16).encode(
        x=alt.X("start:Q", title=f"per cent of all GPU-time{note}", scale=alt.Scale(domain=[first, 100.0])),
        x2="end:Q",
        color=alt.Color("colour:N", scale=None),
    )
    labels = base.mark_text(align="left", dx=4, fontSize=11).encode(x="end:Q", text="shown:N")
    return alt.layer(bars, labels).properties(
        title="Where the time goes", width=WIDTH - 160, height=24 * max(1, len(rows))
    )


def finishing(answer: Mapping[str, Any]) -> Chart:
    """How many lives end when, with the tenth, the fiftieth and the ninetieth per cent. Axis: days since the start."""
    edges, lives = answer["histogram"]["edges_days"], answer["histogram"]["lives"]
    bars = [
        {"from": a, "to": b, "lives": n, "none": 0}
        for a, b, n in zip(edges[:-1], edges[1:], lives, strict=True)
    ]
    marks = [
        {
            "days": answer["days"][key],
            "label": f"{key.upper()} {write.significant(answer['days'][key], 4)} d",
            "y": dy,
        }
        for key, dy in (("p10", 0), ("p50", 1), ("p90", 2))
    ]
    x = alt.X("from:Q", title="days since the start", scale=alt.Scale(zero=False, nice=True))
    room = alt.Scale(domain=[0, 1.35 * max(lives)])  # above the bars, for what the rules say
    drawn = (
        alt.Chart(_data(bars))
        .mark_rect(color=_BLUE, stroke="white")
        .encode(x=x, x2="to:Q", y=alt.Y("lives:Q", title="lives", scale=room), y2="none:Q")
    )
    rules = alt.Chart(_data(marks)).mark_rule(color=_RED, strokeDash=[4, 3]).encode(x="days:Q")
    names = [
        alt.Chart(_data([mark]))
        .mark_text(align="left", dx=4, fontSize=11, color=_RED)
        .encode(x="days:Q", y=alt.value(8 + 13 * mark["y"]), text="label:N")
        for mark in marks
    ]
    return alt.layer(drawn, rules, *names).properties(
        title=f"When it finishes: {answer['replications']:,} lives", width=WIDTH, height=170
    )


def one_life(answer: Mapping[str, Any]) -> Chart:
    """One life, a row for each day (or several), with what each stretch of time was and where failures fell. Axis: hours."""
    stretches = answer["timeline"]["stretches"]
    end = max((stretch["end_s"] for stretch in stretches), default=DAY)
    per_row = max(1, -(-int(end / DAY) // _MOST_DAYS)) * DAY
    rows = [row for stretch in stretches for row in _cut(stretch, per_row)]
    points = [
        {"row": int(each["start_s"] // per_row), "at": (each["start_s"] % per_row) / 3600.0}
        for each in answer["timeline"]["failures"]
        if each["start_s"] < end
    ]
    count = int(end // per_row) + 1
    states = [state for state in COLOURS if any(row["state"] == state_name(state) for row in rows)]
    scale = alt.Scale(domain=[0, per_row / 3600.0], nice=False)
    height = max(3, min(12, 480 // count))
    y = alt.Y(
        "row:O", title="day" if per_row == DAY else f"{per_row / DAY:.0f} days each", sort="ascending",
        axis=alt.Axis(values=list(range(0, count, max(1, count // 12))), ticks=False, domain=False),
    )  # fmt: skip
    colours = alt.Scale(domain=[state_name(s) for s in states], range=[COLOURS[s] for s in states])
    bars = (
        alt.Chart(_data(rows))
        .mark_bar(size=max(2, height - 1))
        .encode(
            x=alt.X("from:Q", title="hours", scale=scale), x2="to:Q", y=y,
            color=alt.Color("state:N", scale=colours, legend=alt.Legend(orient="bottom", title=None, columns=5)),
        )
    )  # fmt: skip
    ticks = alt.Chart(_data(points)).mark_tick(color="#111", thickness=1, size=height).encode(x="at:Q", y=y)
    return alt.layer(bars, ticks).properties(
        title="One life: colours are states, ticks are failures", width=WIDTH, height=height * count
    )


def _cut(stretch: Mapping[str, Any], per_row: float) -> list[dict[str, Any]]:
    """A stretch of time as pieces, none of which crosses from one row of the picture into the next."""
    pieces, start = [], stretch["start_s"]
    while start < stretch["end_s"] - 1e-6:
        row = int((start + 1e-6) // per_row)
        until = min(stretch["end_s"], (row + 1) * per_row)
        pieces.append(
            {
                "row": row,
                "from": max(start - row * per_row, 0.0) / 3600.0,
                "to": (until - row * per_row) / 3600.0,
                "state": state_name(stretch["state"]),
            }
        )
        start = until
    return pieces


def gains(answer: Mapping[str, Any]) -> Chart:
    """Goodput gained by each change, with two standard errors. Axis: percentage points of goodput."""
    rows = [
        {
            "name": row["name"],
            "gain": 100.0 * row["gain"],
            "low": 100.0 * (row["gain"] - 2 * row["stderr"]),
            "high": 100.0 * (row["gain"] + 2 * row["stderr"]),
            "shown": f"{100 * row['gain']:+.2f} ± {100 * row['stderr']:.2f}, {row['days_saved']:+.2f} days",
            "colour": _GREEN if row["gain"] > 2 * row["stderr"] else _GREY,
        }
        for row in answer["fix_first"]
    ]
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y(
            "name:N", sort=[r["name"] for r in rows], title=None, axis=alt.Axis(labelLimit=320, ticks=False)
        )
    )
    bars = base.mark_bar(size=14).encode(
        x=alt.X("gain:Q", title="percentage points of goodput"), color=alt.Color("colour:N", scale=None)
    )
    errors = base.mark_rule().encode(x="low:Q", x2="high:Q")
    labels = base.mark_text(align="left", dx=6, fontSize=11).encode(x="high:Q", text="shown:N")
    return alt.layer(bars, errors, labels).properties(
        title="What to fix first: each change alone, under the same luck",
        width=WIDTH - 260,
        height=24 * len(rows),
    )


def spares(answer: Mapping[str, Any]) -> Chart:
    """Goodput over the number of spare nodes: simulated (dots, two standard errors) and in closed form (line)."""
    found = answer["spares_curve"]
    title = f"Spares: {found['recommended']} nodes come within 0.1 % of plenty"
    return _curve(
        found["curve"], "spares", alt.X("spares:Q", title="spare nodes"), found["recommended"], title
    )


def interval(answer: Mapping[str, Any]) -> Chart:
    """Goodput over the checkpoint interval: simulated (dots, two standard errors) and in closed form (line)."""
    found = answer["interval_curve"]
    rows = [{**row, "minutes": row["interval_s"] / 60.0} for row in found["curve"]]
    x = alt.X(
        "minutes:Q", title="minutes of compute between checkpoints", scale=alt.Scale(type="log", nice=False)
    )
    title = (
        f"Checkpoints: every {write.duration(found['recommended_s'])}, by {found.get('by', 'closed form')}"
    )
    return _curve(rows, "minutes", x, found["recommended_s"] / 60.0, title)


def _curve(rows: list[dict[str, Any]], key: str, x: Any, best: float, title: str) -> Chart:
    points = [
        {
            key: row[key],
            "goodput": 100.0 * row["goodput"],
            "low": 100.0 * (row["goodput"] - 2.0 * row["stderr"]),
            "high": 100.0 * (row["goodput"] + 2.0 * row["stderr"]),
            "closed_form": 100.0 * row["closed_form"],
        }
        for row in rows
    ]
    base = alt.Chart(_data(points)).encode(x=x)
    scale = alt.Scale(zero=False)
    line = base.mark_line(color=_GREY).encode(
        y=alt.Y("closed_form:Q", scale=scale, title="goodput, per cent of time")
    )
    errors = base.mark_rule(color=_BLUE).encode(
        y=alt.Y("low:Q", scale=scale, title="goodput, per cent of time"), y2="high:Q"
    )
    dots = base.mark_point(color=_BLUE, filled=True, size=40).encode(y=alt.Y("goodput:Q", scale=scale))
    chosen = alt.Chart(_data([{key: best}])).mark_rule(color=_RED, strokeDash=[4, 3]).encode(x=f"{key}:Q")
    simulated = [point["goodput"] for point in points]
    apart = max(abs(point["closed_form"] - point["goodput"]) for point in points)
    if apart > 3.0 * (max(simulated) - min(simulated)):  # its line would flatten what the simulation tells
        layers, title = (
            [chosen, errors, dots],
            f"{title} (the closed form is {apart:.0f} points off, not drawn)",
        )
    else:
        layers = [line, chosen, errors, dots]
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=190)
