"""Capacity by quarter: a table with bars for the terminal, a chart, and the answer in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import text as write

_PARTS = (
    ("own", "█", "#2a7f62"),
    ("rented", "▒", "#d9a441"),
    ("unmet", "!", "#c8553d"),
    ("idle", "·", "#c9ccd1"),
)
_BAR = 20  # characters of the longest bar


def show_capacity(answer: Mapping[str, Any]) -> None:
    """Print the payload of `argosy capacity`: the answer first, then the quarters, then what one accelerator costs."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for number, line in enumerate(sentences(answer)):
        console.print(Text(line, "" if number else "bold"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("quarter", no_wrap=True)
    for heading in ("asked", "usable", "rented", "unmet", "bought", "running"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    longest = max(sum(row[name]["nominal"] for name, _, _ in _PARTS) for row in answer["quarters"]) or 1.0
    for row in answer["quarters"]:
        spent = row["running_usd"]["nominal"] + row["electricity_usd"]["nominal"] + row["rent_usd"]["nominal"]
        counts = [write.count(row[key]["nominal"]) for key in ("demand", "usable", "rented", "unmet")]
        bar = "".join(mark * round(_BAR * row[name]["nominal"] / longest) for name, mark, _ in _PARTS)
        bought = row["capital_usd"]["nominal"]
        table.add_row(
            row["quarter"], *counts, write.dollars(bought) if bought else "–", write.dollars(spent), bar
        )
    console.print(table)
    console.print(Text("bars: " + ", ".join(f"{mark} {name}" for name, mark, _ in _PARTS), "dim"))
    console.print(Text(unit_sentence(answer["unit"])))
    console.print(Text(f"{answer['basis']}; running is staff, maintenance, electricity and rent", "dim"))


def sentences(answer: Mapping[str, Any]) -> list[str]:
    """Whether buying pays, from when on, and where demand is not met."""
    decision = answer["rent_or_buy"]
    gain = decision["advantage_of_buying_usd"]
    last = answer["quarters"][-1]["quarter"]
    better = "buying as planned" if gain["nominal"] >= 0 else "renting everything"
    told = [
        f"by {last} {better} is ahead by {write.dollars(abs(gain['nominal']))} of present value "
        f"(P10 to P90 of buying's advantage: {_signed(gain['p10'])} to {_signed(gain['p90'])}); "
        f"buying wins in {write.percent(decision['share_of_draws_in_which_buying_wins'], 0)} of draws"
    ]
    since, cash = decision["break_even_quarter"], decision["break_even_quarter_in_cash"]
    told.append(
        f"ahead for good from {since or 'no quarter'} on counting what the machines are worth, "
        f"from {cash or 'no quarter'} on in cash alone"
    )
    short = [row for row in answer["quarters"] if row["unmet"]["nominal"] > 0.5]
    if short:
        worst = max(short, key=lambda row: row["unmet"]["nominal"])
        told.append(
            f"demand is not met in {len(short)} quarters, worst in {worst['quarter']}: "
            f"{write.count(worst['unmet']['nominal'])} accelerators"
        )
    return told


def unit_sentence(unit: Mapping[str, Any]) -> str:
    """What one accelerator costs, owned and rented."""
    return (
        f"one {unit['accelerator']}: {write.dollars(unit['hardware_usd'])} with host, network and storage, "
        f"{write.dollars(unit['site_usd'])} of plant and building, {write.dollars(unit['running_usd_per_hour'])} an hour to "
        f"keep, {write.dollars(unit['electricity_usd_per_hour'])} of electricity while it works; "
        f"{write.dollars(unit['rent_usd_per_hour'])} an hour to rent; {write.percent(unit['in_service'], 2)} of accepted "
        "ones are in service"
    )


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else ''}{write.dollars(abs(value))}"


def chart(answer: Mapping[str, Any]) -> Any:
    """Stacked accelerators of every quarter, and demand with its P10 to P90 over them."""
    import altair as alt

    from argosy.report.charts import WIDTH

    order = [row["quarter"] for row in answer["quarters"]]
    stacked = [
        {"quarter": row["quarter"], "part": name, "accelerators": row[name]["nominal"], "order": rank}
        for row in answer["quarters"]
        for rank, (name, _, _) in enumerate(_PARTS)
        if name != "unmet"
    ]
    asked = [{"quarter": row["quarter"], **row["demand"]} for row in answer["quarters"]]
    x = alt.X("quarter:O", sort=order, title=None)
    names, colours = ([part[index] for part in _PARTS if part[0] != "unmet"] for index in (0, 2))
    bars = (
        alt.Chart(alt.Data(values=stacked))  # type: ignore[no-untyped-call]
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y("accelerators:Q", title="accelerators, mean of the quarter"),
            color=alt.Color("part:N", title=None, scale=alt.Scale(domain=names, range=colours)),
            order="order:Q",
        )
    )
    base = alt.Chart(alt.Data(values=asked)).encode(x=x)  # type: ignore[no-untyped-call]
    line = base.mark_line(color="#1d1d1f", point=True).encode(y="nominal:Q")
    band = base.mark_errorbar(color="#1d1d1f").encode(y=alt.Y("p10:Q", title=""), y2="p90:Q")
    title = "Accelerators by quarter; the line is demand with its P10 to P90"
    return alt.layer(bars, line, band).properties(title=title, width=WIDTH, height=300)
