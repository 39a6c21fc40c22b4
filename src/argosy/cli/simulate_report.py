"""The charts of a simulation: one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COLOURS = {
    "productive": "#2a7f62", "checkpoint": "#33658a", "rework": "#c8553d", "detection": "#e0a458", "restart": "#a26769",
    "spare_wait": "#6d597a", "queue": "#9aa0a6", "degraded": "#d8a48f", "maintenance": "#b8c4bb",
}  # fmt: skip


def page(answer: Mapping[str, Any]) -> str:
    """The charts of a simulation as one self-contained HTML page."""
    from html import escape

    from argosy.report.charts import to_svg

    charts = [_waterfall(answer), _finishing(answer), _life(answer)]
    if "fix_first" in answer:
        charts += [
            _gains(answer),
            _curve(answer, "spares_curve", "spares"),
            _curve(answer, "interval_curve", "interval_s"),
        ]
    body = "\n".join(f"<figure>{to_svg(chart)}</figure>" for chart in charts)
    title = f"Life of {escape(str(answer['job']))}"
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
        f'<body style="font-family: Arial, sans-serif; max-width: 60em; margin: auto"><h1>{title}</h1>\n{body}\n</body></html>\n'
    )


def _data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _waterfall(answer: Mapping[str, Any]) -> Any:
    """From all time to the productive part, state by state. Axis: per cent of all GPU-time."""
    import altair as alt

    total, edge, rows = answer["total_gpu_s"] or 1.0, 100.0, []
    states = [s for s in answer["ledger_gpu_s"] if s != "productive"]
    for state in [*states, "productive"]:
        share = 100.0 * answer["ledger_gpu_s"][state] / total
        rows.append({"state": state, "start": max(edge - share, 0.0), "end": edge, "colour": _COLOURS[state]})
        edge -= share
    return (
        alt.Chart(_data(rows), title="Where the time goes", width=620)
        .mark_bar()
        .encode(
            y=alt.Y("state:N", sort=None, title=None),
            x=alt.X("start:Q", title="per cent of all GPU-time"),
            x2="end:Q",
            color=alt.Color("colour:N", scale=None),
        )
    )


def _finishing(answer: Mapping[str, Any]) -> Any:
    """How many lives end when. Axis: days since the start."""
    import altair as alt

    edges, lives = answer["histogram"]["edges_days"], answer["histogram"]["lives"]
    rows = [{"from": a, "to": b, "lives": n} for a, b, n in zip(edges[:-1], edges[1:], lives, strict=True)]
    return (
        alt.Chart(_data(rows), title="When it finishes", width=620, height=180)
        .mark_bar(color="#33658a")
        .encode(
            x=alt.X("from:Q", title="days since the start", scale=alt.Scale(zero=False)),
            x2="to:Q",
            y="lives:Q",
        )
    )


def _life(answer: Mapping[str, Any]) -> Any:
    """One life: what each stretch of time was, one row for each day. Axis: hours of the day."""
    import altair as alt

    rows = []
    for stretch in answer["timeline"]["stretches"][:4000]:
        start, end = stretch["start_s"] / 86400.0, stretch["end_s"] / 86400.0
        while start < end:
            day = int(start + 1e-9)
            until = min(end, day + 1.0)
            rows.append(
                {
                    "day": day,
                    "from": 24 * (start - day),
                    "to": 24 * (until - day),
                    "colour": _COLOURS[stretch["state"]],
                }
            )
            start = until if until > start else end
    return (
        alt.Chart(_data(rows), title="One life, day by day (colours as above)", width=620)
        .mark_bar(size=3)
        .encode(
            x=alt.X("from:Q", title="hour"), x2="to:Q", y=alt.Y("day:Q", title="day"),
            color=alt.Color("colour:N", scale=None),
        )
    )  # fmt: skip


def _gains(answer: Mapping[str, Any]) -> Any:
    """Goodput gained by each improvement. Axis: percentage points."""
    import altair as alt

    rows = [{"name": row["name"], "gain": 100 * row["gain"]} for row in answer["fix_first"]]
    return (
        alt.Chart(_data(rows), title="What to fix first", width=620)
        .mark_bar(color="#2a7f62")
        .encode(
            y=alt.Y("name:N", sort=None, title=None), x=alt.X("gain:Q", title="percentage points of goodput")
        )
    )


def _curve(answer: Mapping[str, Any], key: str, x: str) -> Any:
    """Goodput over one choice, simulated (dots) and in closed form (line)."""
    import altair as alt

    base = alt.Chart(_data(answer[key]["curve"])).encode(x=alt.X(f"{x}:Q"))
    scale = alt.Scale(zero=False)
    return alt.layer(
        base.mark_line(color="#c9ccd1").encode(y=alt.Y("closed_form:Q", scale=scale, title="goodput")),
        base.mark_point(color="#33658a").encode(y=alt.Y("goodput:Q", scale=scale)),
    ).properties(title=key.replace("_", " "), width=620, height=180)
