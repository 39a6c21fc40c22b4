"""`argosy testbed collectives`: real collectives on network namespaces against the flow simulator; `clean` after a kill."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Run on this very machine what the simulators claim: network namespaces, shaped links, MPI."
)
HEAD = "testbed-collectives"


@app.command("collectives")
def collectives(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            help="A fleet of at most 16 accelerators; else the fabrics of --fabric.", show_default=False
        ),
    ] = None,
    fabric: Annotated[
        str,
        typer.Option(
            "--fabric", help="With commas: flat, rail, oversubscribed, degraded, two-sites; or all."
        ),
    ] = "all",
    size: Annotated[
        str, typer.Option("--bytes", help="Message of the larger cases, 64 KiB to 64 MiB.")
    ] = "8 MiB",
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale",
            min=1000.0,
            help="Rates are divided by this. Default: a card has 100 Mb/s; of a scenario all cards 400.",
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=20, help="Measured runs of every case.")
    ] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Also write a Markdown page here, its picture into images beside it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Ring, tree, double tree and hierarchical all-reduce over MPI between network namespaces whose links tc shapes: the
    sums, the bytes of every link, the busiest link and the time, beside what the flow simulator predicts. Root and Linux;
    without namespaces on the loopback, where only the sums are checked. Takes some two minutes; takes away all it made.
    """
    from argosy.cli.fabric.head import head
    from argosy.testbed.experiment import collectives as run
    from argosy.testbed.fabrics import BUILDERS, chosen

    names = tuple(BUILDERS) if fabric == "all" else tuple(word.strip() for word in fabric.split(","))
    wanted = (
        chosen(names, _bytes(size), scale) if scenario is None else [_fleet(scenario, _bytes(size), scale)]
    )
    answer = run(wanted, repeats, say=lambda line: print(line, file=sys.stderr))
    answer = {**head(HEAD), **answer}
    if report is not None:
        from argosy.report.testbed import write_page

        for path in write_page(answer, report):
            print(f"wrote {path}", file=sys.stderr)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        _show(answer)


@app.command("clean")
def clean() -> None:
    """Take away what a killed run left: processes in its namespaces, and the namespaces."""
    from argosy.testbed.hosts import clean as take_away

    found = take_away()
    print(f"removed {len(found)} namespaces" if found else "nothing was left")


def _fleet(path: Path, size: int, scale: float | None) -> Any:
    """The compute fabric of a scenario's fleet."""
    from dataclasses import replace

    from argosy import load
    from argosy.planning.context import context
    from argosy.testbed.fabrics import of_fleet

    found = of_fleet(context(load(path)).fleet, size)
    return found if scale is None else replace(found, scale=scale)


def _bytes(text: str) -> int:
    from argosy.cli.fabric import words

    size = int(words.parse(text, "byte", "--bytes"))
    if not 64 << 10 <= size <= 64 << 20:
        raise typer.BadParameter(f"--bytes {text}: write 64 KiB to 64 MiB; the links are slow")
    return size


def _show(answer: dict[str, Any]) -> None:
    """The answer for people."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from argosy.report.testbed import COLUMNS, RATIO, cells, verdict

    console = Console(highlight=False)
    console.print(verdict(answer), style="bold", soft_wrap=True)
    kept = [number for number, name in enumerate(COLUMNS) if name != RATIO]
    table = Table(*(COLUMNS[number] for number in kept), box=SIMPLE_HEAD, pad_edge=False)
    for row in answer["rows"]:
        texts = cells(row)
        table.add_row(*(texts[number] for number in kept))
    console.print(table)
    for note in answer["notes"]:
        console.print(f"· {note}", soft_wrap=True)
