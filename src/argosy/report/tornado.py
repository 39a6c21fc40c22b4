"""The answer of `argosy sensitivity` for people: what moves the answer most, and what measuring it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import text as write

MOST_ROWS = 12


def headline(answer: Mapping[str, Any]) -> str:
    """One sentence: the answer with its range, and the fact that moves it most."""
    unit = answer["unit"]
    shown = _amount(answer["nominal"], unit)
    span = f"P10–P90 {write.quantity(answer['p10'], unit)} – {write.quantity(answer['p90'], unit)}"
    told = f"{answer['output']}: {shown} at central facts, {span}"
    if answer["sobol"]:
        best = max(answer["sobol"], key=lambda row: row["first_order"])
        left, share = _amount(best["range_left_if_known"], unit), write.percent(best["first_order"], 0)
        told += f". {best['fact']} carries {share} of the variance; knowing it would leave a range of {left}"
    return told


def show_sensitivity(answer: Mapping[str, Any]) -> None:
    """Headline, tornado, variance shares, and the measurement that would help most."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(headline(answer), style="bold")
    unit = answer["unit"]
    table = Table(
        title="Each fact at the ends of its band, all others central", title_justify="left", box=box.SIMPLE
    )
    for column in ("fact", "band", "at its low end", "at its high end"):
        table.add_column(
            column, justify="left" if column in ("fact", "band") else "right", no_wrap=column == "fact"
        )
    for row in answer["tornado"][:MOST_ROWS]:
        table.add_row(
            row["fact"] + (" *" if row["assumption"] else ""),
            f"{row['low']:.3g} – {row['high']:.3g} {row['unit']}".rstrip(),
            _effect(row["effect_low"], unit),
            _effect(row["effect_high"], unit),
        )
    console.print(table)
    if len(answer["tornado"]) > MOST_ROWS:
        more = len(answer["tornado"]) - MOST_ROWS
        console.print(f"{more} more facts move it less (--json lists them); * an assumption without a source")
    if not answer["sobol"]:
        return
    shares = Table(title="Shares of the variance (Sobol')", title_justify="left", box=box.SIMPLE)
    for column in ("fact", "alone", "90 % interval", "in all", "range left if known"):
        shares.add_column(column, justify="left" if column == "fact" else "right", no_wrap=column == "fact")
    for row in answer["sobol"][:6]:
        low, high = row["first_order_interval"]
        shares.add_row(
            row["fact"],
            write.percent(row["first_order"], 0),
            f"{write.percent(max(low, 0.0), 0)} – {write.percent(high, 0)}",
            write.percent(row["total"], 0),
            _amount(row["range_left_if_known"], unit),
        )
    console.print(shares)
    best = max(answer["sobol"], key=lambda row: row["first_order"])
    console.print(f"one life's failures (luck) are {write.percent(answer['luck'], 1)} of the variance")
    console.print(f"what would help most: {best['measurement']}", style="bold")


def _amount(value: float, unit: str) -> str:
    """A quantity with its unit, days too."""
    return write.quantity(value, unit) + (" days" if unit == "days" else "")


def _effect(value: float, unit: str) -> str:
    return ("−" if value < 0 else "+") + _amount(abs(value), unit)


def tornado_chart(answer: Mapping[str, Any]) -> Any:
    """The tornado as an Altair chart: bars from the low to the high end of each band. Axis: change of the output."""
    import altair as alt

    rows = []
    for row in answer["tornado"][:MOST_ROWS]:
        for end in ("low", "high"):
            rows.append(
                {
                    "fact": row["fact"],
                    "change": row[f"effect_{end}"],
                    "end": f"{end} end of the band",
                    "shown": f"{row[end]:.4g} {row['unit']}".strip(),
                }
            )
    order = [row["fact"] for row in answer["tornado"][:MOST_ROWS]]
    title = f"What moves {answer['output']} of {answer['scenario']['name']}"
    return (
        alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]
        .mark_bar(height=14)
        .encode(
            x=alt.X("change:Q", title=f"change from {_amount(answer['nominal'], answer['unit'])}"),
            y=alt.Y("fact:N", sort=order, title=None, axis=alt.Axis(labelLimit=320)),
            color=alt.Color(
                "end:N",
                title=None,
                scale=alt.Scale(range=["#33658a", "#c8553d"]),
                legend=alt.Legend(orient="bottom"),
            ),
            tooltip=["fact:N", "end:N", "shown:N", "change:Q"],
        )
        .properties(title=title, width=620, height=24 * max(1, len(order)))
    )
