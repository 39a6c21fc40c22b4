"""`argosy sites`: the same plan at many sites, ranked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

INFEASIBLE = 2


def sites(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    sites: Annotated[
        str | None,
        typer.Option("--sites", help="Sites of the catalog, with commas: norway,us-texas. All without."),
    ] = None,
    rank: Annotated[
        str,
        typer.Option("--rank", help="usd, carbon, electricity, energy, pue, water or peak; the least first."),
    ] = "usd",
    draws: Annotated[
        int, typer.Option("--draws", min=100, max=100_000, help="Joint draws of the facts.")
    ] = 500,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """The same plan at many sites: price, carbon, climate, PUE, water, distance; ranked."""
    from argosy import load
    from argosy.cli.left_out import tell_left_out
    from argosy.planning.sites import compare_sites

    named = [name.strip() for name in (sites or "").split(",") if name.strip()]
    loaded = load(scenario)
    tell_left_out(loaded)
    answer = compare_sites(loaded, named, rank, draws, seed)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        from rich.console import Console

        from argosy.report import sites as report

        Console(highlight=False).print(report.sites(answer))
    if answer["verdict"]["status"] == "infeasible":
        raise typer.Exit(INFEASIBLE)
