"""Sites side by side in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from argosy.report import text as write

_MOST_DISTANCES = 8  # a table of distances that a terminal still shows


def sites(answer: Mapping[str, Any]) -> RenderableType:
    """The best site and what it saves, the table, distances between the first few, what to be careful about."""
    rows = answer["sites"]
    best, own = rows[0], next((row for row in rows if row["site"] == answer["own_site"]), None)
    parts: list[RenderableType] = [Text(_headline(answer, best, own), "bold"), _table(answer)]
    if len(rows) > 1:
        parts.append(_distances(answer))
    parts += [Text(f"note: {note}", "yellow") for note in answer["notes"]]
    if answer["verdict"]["status"] == "infeasible":
        parts += [
            Text(f"infeasible at every site: {reason}", "red") for reason in answer["verdict"]["reasons"][:1]
        ]
    meaning = f"cheaper: share of joint draws in which it costs less than {answer['own_site']}"
    parts.append(Text(f"{meaning}; * assumed: argosy catalog show SITE", "dim"))
    return Group(*parts)


def _headline(answer: Mapping[str, Any], best: Mapping[str, Any], own: Mapping[str, Any] | None) -> str:
    spread = answer["spread"]
    told = (
        f"{best['site']} is first of {len(answer['sites'])} by {answer['ranked_by']}; between the best and the worst lie "
        f"{write.dollars(spread['usd'])} and {write.significant(spread['carbon_kg'] / 1e3)} t CO2e"
    )
    if own is None or own is best:
        return told
    money = own["total_usd"]["nominal"] - best["total_usd"]["nominal"]
    carbon = (own["carbon_kg"] - best["carbon_kg"]) / 1e3
    verb, gas = ("saves" if money >= 0 else "costs"), ("saves" if carbon >= 0 else "adds")
    return (
        f"{told}\nagainst {own['site']} it {verb} {write.dollars(abs(money))} and {gas} "
        f"{write.significant(abs(carbon))} t CO2e"
    )


def _table(answer: Mapping[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("site", no_wrap=True)
    for heading in ("cost", "cheaper", "$/kWh", "PUE", "t CO2e", "g/kWh"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in answer["sites"]:
        usd, cheaper = row["total_usd"], row["share_of_draws_cheaper_than_own"]
        starred = {fact: "*" if fact in row["assumed"] else "" for fact in ("electricity", "temperature")}
        table.add_row(
            f"{row['rank']:>2} {row['site']}",
            write.dollars(usd["nominal"]),
            "" if cheaper is None else write.percent(cheaper, 0),
            f"{row['electricity_usd_per_kwh']:.3f}{starred['electricity']}",
            f"{row['pue']:.3f}{starred['temperature']}",
            write.significant(row["carbon_kg"] / 1e3),
            f"{row['carbon_kg_per_kwh'] * 1e3:.0f}",
        )
    return table


def _distances(answer: Mapping[str, Any]) -> Table:
    """Milliseconds one way over fibre between the first sites."""
    names = [row["site"] for row in answer["sites"]][:_MOST_DISTANCES]
    table = Table(
        title="Milliseconds one way over fibre",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("", no_wrap=True)
    for number in range(1, len(names) + 1):
        table.add_column(str(number), justify="right")
    for number, (name, row) in enumerate(zip(names, answer["latency_s"], strict=False), start=1):
        cells = ["–" if seconds is None else f"{seconds * 1e3:.0f}" for seconds in row[: len(names)]]
        table.add_row(f"{number:>2} {name}", *cells)
    return table
