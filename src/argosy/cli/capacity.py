"""`argosy capacity`: accelerators by quarter, bought or rented."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def capacity(
    scenario: Annotated[
        Path, typer.Argument(help="The scenario, a YAML file with capacity:.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    picture: Annotated[
        Path | None, typer.Option("--chart", help="Also write the chart to this .svg or .png file.")
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=100, max=100_000, help="Joint draws of demand, delays and prices.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same answer.")] = 0,
) -> None:
    """Capacity by quarter: deliveries, bring-up, burn-in, demand, what is rented, and whether buying pays."""
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"{picture} is no picture; name it .svg or .png")
    from argosy import load
    from argosy.cli.left_out import tell_left_out
    from argosy.planning.capacity import capacity_payload

    loaded = load(scenario)
    tell_left_out(loaded)
    answer = capacity_payload(loaded, draws, seed)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        from argosy.report.capacity import show_capacity

        show_capacity(answer)
    if picture is not None:
        from argosy.report.capacity import chart
        from argosy.report.charts import save

        save(chart(answer), picture)
        print(f"argosy: wrote {picture}", file=sys.stderr)
