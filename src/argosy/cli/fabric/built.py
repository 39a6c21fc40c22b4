"""`argosy fabric built IBNETDISCOVER`: a fabric as it was found, measured like a planned one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from argosy.cli.fabric import options


def built(
    found: Path = typer.Argument(
        help="The output of ibnetdiscover.", metavar="IBNETDISCOVER", show_default=False
    ),
    lenient: bool = typer.Option(False, "--lenient", help="Read on where the file breaks off or is unknown."),
    traffic: options.Traffic = None,
    seed: options.Seed = 0,
    routing: options.Routing = None,
    analysis: options.Analysis = False,
    picture: options.Picture = [],  # noqa: B006 (typer copies defaults)
    as_json: options.AsJson = False,
) -> None:
    """What a built fabric is: tiers, rates, bisection; its load, its weak points, its picture."""
    from argosy.cli.fabric.draw import add
    from argosy.cli.fabric.head import head
    from argosy.fabric import imports
    from argosy.fabric.built import built_topology
    from argosy.fabric.request import fabric_payload
    from argosy.facts import Values, load_catalog

    topology = built_topology(imports.read_ibnetdiscover(found, lenient=lenient))
    payload: dict[str, Any] = fabric_payload("as-built", topology, Values(load_catalog().facts))
    cards = int(topology.cables.ports_used()[: topology.cables.hosts].sum())
    payload |= {
        "nics": cards,
        "endpoints": cards,
        "usd": None,
        "w": None,
        "bill": [],
        "notes": list(topology.notes),
    }
    run = None
    if traffic is not None:
        from argosy.fabric import flows

        run = flows.run_traffic(topology, traffic, seed, routing or "ecmp")
        add(payload, flows.run_payload(topology, traffic, seed, run))
    if analysis:
        from argosy.fabric.failures import analysis_payload

        add(payload, analysis_payload(topology))
    if picture:
        from argosy.cli.fabric.picture import draw_pictures

        draw_pictures(topology, run, traffic, picture)
    if as_json:
        print(json.dumps({**head("fabric-built"), **payload}, indent=1, ensure_ascii=False))
    else:
        from argosy.cli.fabric.show import show

        show(payload)
