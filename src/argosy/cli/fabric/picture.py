"""`--picture FILE`: the fabric, or the load of its links, as SVG, PNG or HTML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

ENDINGS = (".svg", ".png", ".html")


def draw_pictures(topology: Any, run: Any, traffic: str | None, paths: list[Path]) -> None:
    """Draw into the first path the fabric (its links' load, where `run` has one), into a second one a heat map."""
    from argosy.fabric.drawing import drawing, heat, rail_drawing
    from argosy.report.fabric_picture import heat_map, picture, rails, save

    for path in paths:
        if path.suffix.lower() not in ENDINGS:
            raise typer.BadParameter(f"--picture {path}: write a name that ends in {', '.join(ENDINGS)}")
    if len(paths) > (1 if run is None else 2):
        raise typer.BadParameter(
            "--picture draws the fabric, and with --traffic a second file with its hot links"
        )
    load = (run.graph, run.results[0].load) if run is not None else (None, None)
    small = rail_drawing(topology) if run is None else None
    charts = [picture(drawing(topology, *load)) if small is None else rails(small)]
    if len(paths) == 2:
        title = f"{topology.design.topology}: load of every link under {traffic} traffic"
        why = f"{run.routing} routing; 1 is a link's whole rate; flows in balance, no packets: bursts are not shown"
        maps = heat(topology, *load)
        if not maps:
            raise typer.BadParameter(
                "this fabric has no links between switches: leave the second --picture out"
            )
        charts.append(heat_map(maps, title, why))
    for path, chart in zip(paths, charts, strict=True):
        save(chart, path)
        print(f"argosy: wrote {path}", file=sys.stderr)
