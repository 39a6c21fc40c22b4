"""`argosy facility`: power tree, waveform, cooling, money, carbon and water of a scenario."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

INFEASIBLE = 2


def facility(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a page with the pictures to this file.")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="Also write every chart to this folder, as SVG and PNG.")
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=100, max=100_000, help="Joint draws of the facts.")
    ] = 500,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same answer.")] = 0,
) -> None:
    """Megawatts second by second: power tree, racks, waveform, cooling, power cap, cost, carbon, water."""
    from argosy import load
    from argosy.planning.facility import facility_payload

    payload = facility_payload(load(scenario), draws, seed)
    if as_json:
        print(json.dumps(payload, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from argosy.report.facility import show_facility

        show_facility(payload)
    if html is not None:
        from argosy.report.facility_html import facility_html

        html.write_text(facility_html(payload), encoding="utf-8")
        print(f"argosy: wrote {html}", file=sys.stderr)
    if pictures is not None:
        from argosy.report.pictures import write_pictures

        for file in write_pictures(payload, pictures):
            print(f"argosy: wrote {file}", file=sys.stderr)
    if payload["verdict"]["status"] == "infeasible":
        raise typer.Exit(INFEASIBLE)
