"""Pages of the testbed: verdict, table, picture, notes of any experiment; the index of all of them.

An experiment NAME has a module `argosy.report.testbed.NAME` (dashes as underscores) with TITLE, INTRODUCTION (Markdown: what is
run, how it is predicted), `charts(answer)` (name → chart; names become file names), and `more(answer)` (Markdown lines after
the table: what it taught, why something missed).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from argosy.report import charts
from argosy.report.markdown import table

COLUMNS = ["what", "predicted", "measured", "error", "bar"]


def module(name: str) -> Any:
    """The report module of an experiment."""
    return import_module(f"argosy.report.testbed.{name.replace('-', '_')}")


def verdict(answer: Mapping[str, Any]) -> str:
    """One sentence."""
    summary = answer["summary"]
    text = f"{summary['within_bar']} of {summary['judged']} comparisons within their bar"
    if answer["hosts"] == "loopback":
        text += f"; on the loopback: {answer['reason']}"
    return text


def cells(row: Mapping[str, Any]) -> list[str]:
    """One comparison as texts, in the order of COLUMNS."""
    mark = {True: "", False: " (outside)", None: " (not judged)"}[row["within"]]
    if row["interval"] is not None:
        low, high = row["interval"]
        bar = (
            f"{figure(low)} to {figure(high)}"
            if None not in (low, high)
            else (f"at least {figure(low)}" if high is None else f"at most {figure(high)}")
        )
    elif row["bar"] is None:
        bar = ""
    else:
        bar = f"±{100 * row['bar']:g} %" if row["bar"] else "exact"
    error = f"{100 * row['error']:+.1f} %" if row["error"] is not None else ""
    unit = f" {row['unit']}" if row["unit"] else ""
    predicted = "" if row["predicted"] is None else figure(row["predicted"]) + unit
    return [row["what"], predicted, figure(row["measured"]) + unit, (error + mark).strip(), bar]


def figure(value: Any) -> str:
    """A number with four digits that count; others as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def write_page(name: str, answer: Mapping[str, Any], path: Path) -> list[Path]:
    """Write an experiment's page to `path` and its pictures to `images` beside it; the files written."""
    one = module(name)
    images = path.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    written = [path]
    for title, chart in one.charts(answer).items():
        written.append(images / f"testbed-{title}.svg")
        charts.save(chart, written[-1])
    path.write_text(page(name, answer, [file.name for file in written[1:]]), encoding="utf-8")
    return written


def page(name: str, answer: Mapping[str, Any], pictures: list[str]) -> str:
    """An experiment's page, with the figures of this run."""
    one = module(name)
    told = answer["machine"]
    lines = [
        f"<!-- written by argosy testbed {name} --report; do not edit -->",
        f"# {one.TITLE}",
        "",
        one.INTRODUCTION.strip(),
        "",
        "## Predicted and measured",
        "",
        f"{verdict(answer)[0].upper()}{verdict(answer)[1:]}. {told['cores']} cores, Linux {told['kernel']},",
        f"load average {told['load_average']:g}; Argosy {answer['version']}. Error: predicted ÷ measured − 1.",
        "",
        *table(COLUMNS, [cells(row) for row in answer["comparisons"]]),
        "",
        *(f"![{one.TITLE}](images/{picture})\n" for picture in pictures),
        *one.more(answer),
        "",
        *(f"- {note[0].upper()}{note[1:]}." for note in answer["notes"]),
    ]
    return "\n".join(lines).rstrip() + "\n"
