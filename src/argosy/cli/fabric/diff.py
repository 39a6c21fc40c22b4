"""`argosy fabric diff PLAN IBNETDISCOVER`: what was cabled otherwise than planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer


def diff(
    plan: Path = typer.Argument(help="A scenario, or a cable list that argosy exported (cables-csv)."),
    built: Path = typer.Argument(help="The output of ibnetdiscover.", metavar="IBNETDISCOVER"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Hold a built fabric against its plan: miswired, missing, extra and slow cables."""
    from argosy.cli.fabric.head import head
    from argosy.fabric import imports

    payload: dict[str, Any] = imports.diff(plan, imports.read_ibnetdiscover(built))
    if as_json:
        print(json.dumps({**head("fabric-diff"), **payload}, indent=1, ensure_ascii=False))
        return
    for kind in ("miswired", "missing", "extra", "degraded"):
        print(f"{kind}: {len(payload[kind])}")
        for one in payload[kind]:
            print(f"  {one}")
