"""The simulation for people: the answer first, then where the time goes, then what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = {"spare_wait": "wait for spare"}
_COLOURS = {
    "productive": "#2a7f62", "checkpoint": "#33658a", "rework": "#c8553d", "detection": "#e0a458", "restart": "#a26769",
    "spare_wait": "#6d597a", "queue": "#9aa0a6", "degraded": "#d8a48f", "maintenance": "#b8c4bb",
}  # fmt: skip


def show(answer: Mapping[str, Any]) -> None:
    """Print a simulation (the payload of `argosy simulate`) to standard output."""
    from rich.console import Console
    from rich.table import Table

    from argosy.report import text as write

    console = Console(highlight=False)
    days, good = answer["days"], answer["goodput"]
    if answer["finishes"]:
        console.print(
            f"[bold]{answer['job']}[/] finishes after {write.significant(days['p50'])} days "
            f"(P10 {write.significant(days['p10'])}, P90 {write.significant(days['p90'])}); goodput "
            f"{write.percent(good['mean'])} ± {write.percent(good['stderr'], 2)}, closed form "
            f"{write.percent(answer['closed_form_goodput'])}"
        )
    else:
        console.print(
            f"[bold red]{answer['job']} will never finish[/]: goodput {write.percent(good['mean'], 3)}"
        )
    console.print(
        f"{answer['replications']:,} lives, {answer['replications_per_s']:,.0f} a second; a checkpoint every "
        f"{write.duration(answer['interval_s'])}, {answer['spares']} spare nodes"
    )
    table = Table("where the time goes", "GPU-hours", "share", "", box=None, pad_edge=False)
    total = answer["total_gpu_s"] or 1.0
    for state, amount in answer["ledger_gpu_s"].items():
        bar = "█" * round(30 * amount / total)
        table.add_row(
            _NAMES.get(state, state), write.large(amount / 3600.0), write.percent(amount / total, 2), bar
        )
    console.print(table)
    for name, value in answer["views"].items():
        console.print(f"{name:20} {write.percent(value, 2):>8}  {answer['definitions'][name]}")
    failures = Table("failures", "expected", "mean", box=None, pad_edge=False)
    for name, count in sorted(answer["failures"].items(), key=lambda each: -each[1]["mean"])[:8]:
        expected = "–" if count["expected"] is None else f"{count['expected']:.1f}"
        failures.add_row(name, expected, f"{count['mean']:.1f}")
    console.print(failures)
    if "fix_first" in answer:
        table = Table("what to fix first", "goodput gained", "±", "days saved", box=None, pad_edge=False)
        for row in answer["fix_first"]:
            table.add_row(
                row["name"], f"{row['gain']:+.2%}", f"{row['stderr']:.2%}", f"{row['days_saved']:+.2f}"
            )
        console.print(table)
        spares, interval = answer["spares_curve"], answer["interval_curve"]
        console.print(
            f"recommended: {spares['recommended']} spare nodes ({spares['suffice_99_9']} suffice at 99.9 % of moments), "
            f"a checkpoint every {write.duration(interval['recommended_s'])}"
        )
    for note in answer["notes"]:
        console.print(f"note: {note}", style="dim")


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
