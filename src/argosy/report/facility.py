"""The facility in the terminal: verdict, power by boundary, tree, racks, cooling, waveform, power cap, money, carbon, water."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from argosy.report import text as write
from argosy.report.terminal import verdict

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def show_facility(payload: Mapping[str, Any], console: Console | None = None) -> None:
    """Print a payload of `argosy facility` to `console`, or to standard output."""
    console = console or Console(highlight=False)
    console.print(verdict(payload))
    if payload.get("tree") is None:
        return
    for part in (_power(payload), _tree(payload), _racks(payload), _cooling(payload)):
        console.print(part)


def _table(title: str, columns: str, names: int = 1) -> Table:
    """A table with a title; the first `names` of the columns (separated by |) are words, the others numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns.split("|")):
        table.add_column(column, justify="left" if number < names else "right")
    return table


def watts(value: float | None) -> str:
    """Watts with a prefix, or a dash."""
    return "–" if value is None else write.scaled(value, "W")


def _power(payload: Mapping[str, Any]) -> Table:
    table = _table("Power by boundary", "boundary|idle|measured|capped|nameplate")
    for row in payload["power"]:
        levels = (watts(row[key]) for key in ("idle_w", "measured_w", "capped_w", "nameplate_w"))
        table.add_row(row["boundary"], *levels)
    return table


def _tree(payload: Mapping[str, Any]) -> RenderableType:
    title = "Power tree, with every node at its cap in the year's hottest hour"
    table = _table(title, "level|units|each|usable|load|left|loss", 1)
    for row in payload["levels"]:
        units = f"{write.count(row['units'])} ({row['redundancy']})"
        numbers = (row["unit_rating_w"], row["usable_w"], row["peak_w"])
        shown = (watts(number) for number in numbers)
        table.add_row(row["name"], units, *shown, write.percent(row["margin"]), watts(row["loss_peak_w"]))
    first = next(row for row in payload["levels"] if row["name"] == payload["trips_first"])
    line = f"trips first: {first['name']}, {write.percent(first['margin'])} below what it may carry ({first['origin']})"
    return Group(table, Text(line))


def _racks(payload: Mapping[str, Any]) -> RenderableType:
    racks = payload["racks"]
    each = f"{write.significant(racks['nodes_per_rack'])} nodes, {watts(racks['rack_w'])}, {write.count(racks['rack_kg'])} kg"
    lines = [
        Text.assemble(
            ("Racks: ", "bold"), f"{write.count(racks['count'])} of {each}; limited by {racks['limited_by']}"
        )
    ]
    return Group(*lines, *(Text(f"  - {problem}") for problem in racks["problems"]))


def _cooling(payload: Mapping[str, Any]) -> RenderableType:
    cooling = payload["cooling"]
    head = Text.assemble(("Cooling: ", "bold"), f"{cooling['class']}; {cooling['why']}")
    lines = [
        head,
        Text(
            f"  PUE {cooling['pue']:.3f} over the year ({cooling['pue_origin']}), {cooling['pue_peak']:.3f} at the peak; "
            f"{write.percent(cooling['liquid_fraction'], 0)} of the heat in liquid, supply {cooling['supply_temperature_c']:.0f} °C, "
            f"{cooling['airflow_m3_per_s_per_rack']:.2f} m³/s of air per rack"
        ),
    ]
    if cooling["free_cooling_hours"] is not None:
        lines.append(
            Text(
                f"  free cooling {cooling['free_cooling_hours']:,.0f} h a year, in part {cooling['partly_free_hours']:,.0f} h more"
            )
        )
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    for month in MONTHS:
        table.add_column(month, justify="right")
    table.add_row(*(f"{pue:.2f}" for pue in cooling["pue_by_month"]))
    return Group(*lines, table)
