"""`argosy cost`: money, carbon and water of a scenario, from every side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

INFEASIBLE = 2


def cost(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    picture: Annotated[
        Path | None, typer.Option("--chart", help="Also write the tornado to this .svg or .png file.")
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=100, max=100_000, help="Joint draws of the facts.")
    ] = 500,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same answer.")] = 0,
) -> None:
    """What a run costs: purchase, bill, market, tokens, what moves it; its carbon and its water."""
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"{picture} is no picture; name it .svg or .png")
    from argosy import load
    from argosy.planning.money import cost_payload

    payload = cost_payload(load(scenario), draws, seed)
    if as_json:
        print(json.dumps(payload, indent=1, ensure_ascii=False))
    else:
        from argosy.report.money import show_money

        show_money(payload)
    if picture is not None:
        from argosy.report.charts import save
        from argosy.report.money import chart

        save(chart(payload["tco"]), picture)
        print(f"argosy: wrote {picture}", file=sys.stderr)
    if payload["verdict"]["status"] == "infeasible":
        raise typer.Exit(INFEASIBLE)
