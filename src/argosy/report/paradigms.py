"""The three paradigms on one load for people: the table's words by dimension, and below them what the queue showed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from argosy.report import text as write

_KEYS = ("hpc", "wsc", "ml")


def show_paradigms(answer: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the payload of `argosy schedule --paradigms`."""
    console = console or Console(highlight=False)
    cluster = answer["cluster"]
    console.print(
        f"[bold]{escape(answer['name'])}[/]: the same jobs and failures on {cluster['accelerators']:,} accelerators in "
        f"{cluster['nodes']:,} nodes under the policies {', '.join(answer['policies'].values())}"
    )
    table = Table("", box=None, pad_edge=False)
    for key in _KEYS:
        table.add_column(answer["paradigms"][key], justify="right", ratio=1)
    for dimension in answer["dimensions"]:
        table.add_row(
            f"[bold]{dimension['name']}[/]", *(f"[dim]{escape(dimension[key])}[/]" for key in _KEYS)
        )
        for measure in dimension["measures"]:
            table.add_row(f"  {measure['name']}", *(_cell(measure, key) for key in _KEYS))
    console.print(table)
    seeds = len(answer["seeds"])
    told = "one seed: write --seeds 10 for intervals"
    if seeds > 1:
        told = f"means over {seeds} seeds with 95 % intervals; * differs from hpc on the same jobs (paired)"
    console.print(f"[dim]{told}; –: nothing to measure here[/]")
    for note in answer["notes"]:
        console.print(f"[dim]note: {escape(note)}[/]")


def _cell(measure: Mapping[str, Any], key: str) -> str:
    """A measure, with an asterisk where its paired difference from the first paradigm is not 0."""
    against = measure["against_hpc"].get(key, {"low": None})
    sure = against["low"] is not None and (against["low"] > 0 or against["high"] < 0)
    return shown(measure[key], measure["unit"]) + (" *" if sure else "")


def shown(value: Mapping[str, float | None], unit: str) -> str:
    """A mean with the half of its interval and its unit."""
    mean, high = value["mean"], value["high"]
    if mean is None:
        return "–"
    factor, told = (100.0, " %") if unit == "share" else (1.0, "" if unit == "ratio" else f" {unit}")
    numbers = [mean] if high is None else [mean, high - mean]
    return " ± ".join(_short(number * factor) for number in numbers) + told


def _short(number: float) -> str:
    if abs(number) >= 1e4:
        return write.large(number)
    return (
        f"{number:,.0f}"
        if abs(number) >= 100 or number == 0
        else f"{number:.2f}"
        if abs(number) < 10
        else f"{number:.1f}"
    )
