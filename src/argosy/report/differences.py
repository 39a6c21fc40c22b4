"""The answer of `argosy diff` for people: what changed, what it costs, in a terminal or a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import text as write
from argosy.report.markdown import table

MOST_LINES = 12  # ledger lines shown; the rest is summed in one
_UNITS = {"days": "days", "usd": "usd", "mw": "MW"}


def headline(answer: Mapping[str, Any]) -> str:
    """One sentence: how many days, dollars and megawatts B is more or less than A."""
    lacking = [
        f"{side.upper()} ({answer[side]['name']})"
        for side in "ab"
        if answer[side]["status"] == "infeasible" and answer["headline"]["usd"][side] is None
    ]
    if lacking:
        return f"{' and '.join(lacking)} cannot run: only inputs compare"
    told = []
    idle = [f"{side.upper()} cannot run" for side in "ab" if answer[side]["status"] == "infeasible"]
    for name, word in (("days", "days"), ("usd", "dollars"), ("mw", "MW at peak")):
        figure = answer["headline"][name]
        delta, whole = figure["delta"], figure["a"]
        if delta is None:
            continue  # of one that trains and one that serves
        if abs(delta) < 5e-4 * abs(whole):
            told.append(f"the same {word}")
            continue
        amount = write.dollars(abs(delta)) if name == "usd" else f"{write.significant(abs(delta))} {word}"
        told.append(f"{amount} {'more' if delta > 0 else 'less'} ({delta / whole:+.1%})")
    return "; ".join(["B against A: " + ", ".join(told), *idle])


def input_rows(answer: Mapping[str, Any], key: str) -> list[list[str]]:
    """Path, A, B of every input (or choice) that differs."""
    return [[row["path"], _value(row["a"]), _value(row["b"])] for row in answer[key]]


def figure_rows(answer: Mapping[str, Any]) -> list[list[str]]:
    """Headline figures that differ, with P10–P90 beside each side's central value."""
    rows = []
    for row in answer["figures"]:
        if row["a"] != row["b"]:
            rows.append([row["label"], *(_banded(row[side], row["unit"]) for side in "ab")])
    return rows


def ledger_rows(answer: Mapping[str, Any], most: int = MOST_LINES) -> list[list[str]]:
    """Leaves of the ledger by how many days they add or take, largest first, and all others in one line."""
    leaves = sorted(
        (line for line in answer["ledger"] if line["leaf"]), key=lambda line: -abs(line["delta_days"])
    )
    rows = [_ledger_row(line["path"], line) for line in leaves[:most]]
    if rest := leaves[most:]:
        keys = ("delta", "delta_days", "delta_usd")
        rows.append(
            _ledger_row(f"{len(rest)} others", {key: sum(line[key] for line in rest) for key in keys})
        )
    if leaves:
        keys = ("delta", "delta_days", "delta_usd")
        rows.append(_ledger_row("in all", {key: sum(line[key] for line in leaves) for key in keys}))
    return rows


def _ledger_row(name: str, line: Mapping[str, float]) -> list[str]:
    return [
        name.replace("_", " "),
        _signed(line["delta"] / 3600, write.large),
        _signed(line["delta_days"], write.significant),
        _signed(line["delta_usd"], write.dollars),
    ]


def _signed(value: float, writer: Any) -> str:
    told = str(writer(abs(value)))
    return told if told == writer(0.0) else f"{'−' if value < 0 else '+'}{told}"


def _banded(side: Mapping[str, Any], unit: str) -> str:
    central = write.quantity(side["nominal"] if side.get("nominal") is not None else side["p50"], unit)
    if side.get("p10") is None or side["p10"] == side["p90"]:
        return central
    return f"{central} ({write.quantity(side['p10'], unit)} – {write.quantity(side['p90'], unit)})"


def _value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def diff_markdown(answer: Mapping[str, Any]) -> str:
    """The whole answer as Markdown, for a pull request."""
    a, b = answer["a"], answer["b"]
    lines = [f"## {a['name']} → {b['name']}", "", headline(answer), ""]
    lines += [
        f"- {side.upper()}: {one['status']}" + (f", what binds: {one['binding']}" if one["binding"] else "")
        for side, one in (("a", a), ("b", b))
    ]
    for title, heads, rows in sections(answer):
        lines += ["", f"**{title}**", "", *table(heads, rows)]
    return "\n".join(lines) + "\n"


def sections(answer: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Title, heads and rows of every table that has rows."""
    tables = [
        ("Figures", ["", "A", "B"], figure_rows(answer)),
        ("Changed inputs (SI units)", ["field", "A", "B"], input_rows(answer, "inputs")),
        ("Chosen otherwise", ["field", "A", "B"], input_rows(answer, "chosen")),
        ("Changed losses", ["ledger line", "GPU-hours", "days", "dollars"], ledger_rows(answer)),
    ]
    return [each for each in tables if each[2]]


def show_diff(answer: Mapping[str, Any]) -> None:
    """The whole answer in the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(headline(answer), style="bold")
    for title, heads, rows in sections(answer):
        grid = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
        for index, head in enumerate(heads):
            grid.add_column(head, justify="left" if index == 0 or "losses" not in title else "right")
        for row in rows:
            grid.add_row(*row)
        console.print(grid)
    if not answer["inputs"]:
        console.print("no input differs")
