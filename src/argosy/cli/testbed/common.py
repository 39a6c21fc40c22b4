"""What the commands of the testbed share: their options, and how an answer is printed and written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Short = Annotated[bool, typer.Option("--short", help="The short form: at most a minute, fewer repeats.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Also write a Markdown page here, its pictures into images beside it.",
        show_default=False,
    ),
]


def say(line: str) -> None:
    """Progress."""
    print(line, file=sys.stderr, flush=True)


def finish(name: str, answer: dict[str, Any], as_json: bool, report: Path | None) -> None:
    """Print an experiment's answer (as `argosy.testbed.comparison.answer` gives it), and write its page."""
    from argosy.cli.fabric.head import head

    answer = {**head(f"testbed-{name}"), **answer}
    if report is not None:
        from argosy.report.testbed.pages import write_page

        for path in write_page(name, answer, report):
            say(f"wrote {path}")
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        _show(answer)


def _show(answer: dict[str, Any]) -> None:
    """The answer for people."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from argosy.report.testbed.pages import COLUMNS, cells, verdict

    console = Console(highlight=False)
    console.print(verdict(answer), style="bold", soft_wrap=True)
    table = Table(*COLUMNS, box=SIMPLE_HEAD, pad_edge=False)
    for row in answer["comparisons"]:
        table.add_row(*cells(row))
    console.print(table)
    for note in answer["notes"]:
        console.print(f"· {note}", soft_wrap=True)
