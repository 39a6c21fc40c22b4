"""`argosy testbed collectives`: real collectives on network namespaces against the flow simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from argosy.cli.testbed.common import Json, Report, Short, finish, say

SHORT_BYTES = 4 << 20


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
    short: Short = False,
    as_json: Json = False,
    report: Report = None,
) -> None:
    """Ring, tree, double tree and hierarchical all-reduce over MPI between network namespaces whose links tc shapes: the
    sums, the bytes of every link, the busiest link and the time, beside what the flow simulator predicts. Root and Linux;
    without namespaces on the loopback, where only the sums are checked. Takes some two minutes; takes away all it made.
    """
    from argosy.testbed.experiment import collectives as run
    from argosy.testbed.fabrics import BUILDERS, chosen, shortened

    names = tuple(BUILDERS) if fabric == "all" else tuple(word.strip() for word in fabric.split(","))
    bytes_ = min(_bytes(size), SHORT_BYTES) if short else _bytes(size)
    wanted = chosen(names, bytes_, scale) if scenario is None else [_fleet(scenario, bytes_, scale)]
    if short:  # two sites have an experiment of their own
        wanted = [shortened(one) for one in wanted if one.name != "two-sites" or fabric != "all"]
    finish("collectives", run(wanted, 1 if short else repeats, say, short), as_json, report)


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
