"""`argosy fabric`: a fabric from its cables: switches, links, bisection, price, power; a collective or traffic on
it; its analysis, export and picture.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from argosy.cli.fabric import options


def draw(
    scenario: options.Scenario = None,
    role: options.Role = "compute",
    topology: options.TopologyName = None,
    hosts: options.Hosts = None,
    nics_per_host: options.NicsPerHost = 1,
    card_ports: options.CardPorts = None,
    radix: options.Radix = [],  # noqa: B006 (typer copies defaults)
    upper_radix: options.UpperRadix = None,
    switch: options.Switch = [],  # noqa: B006
    rate: options.Rate = [],  # noqa: B006
    host_rate: options.HostRate = [],  # noqa: B006
    tiers: options.Tiers = None,
    oversubscription: options.Oversubscription = [],  # noqa: B006
    pods: options.Pods = None,
    planes: options.Planes = None,
    rails: options.Rails = None,
    shape: options.Shape = None,
    twist: options.Twist = False,
    hosts_per_leaf: options.HostsPerLeaf = None,
    hosts_per_rack: options.HostsPerRack = None,
    missing: options.Missing = None,
    collective: options.Collective = None,
    message: options.Message = "1 GiB",
    ranks: options.Ranks = None,
    accelerator: options.Accelerator = "H100-SXM",
    algorithm: options.Algorithm = None,
    protocol: options.Protocol = None,
    placement: options.Placement = False,
    traffic: options.Traffic = None,
    seed: options.Seed = 0,
    routing: options.Routing = None,
    queue_pairs: options.QueuePairs = 1,
    failed: options.Failed = [],  # noqa: B006
    degraded: options.Degraded = [],  # noqa: B006
    analysis: options.Analysis = False,
    export: options.Export = None,
    picture: options.Picture = [],  # noqa: B006
    as_json: options.AsJson = False,
) -> None:
    """Build a fabric from its cables: switches, links, bisection, price, power; load it, break it, export it."""
    given = dict(locals())
    with_network = _needs_network(given)
    if scenario is not None:
        payload, drawn, network = _of_scenario(scenario, role, with_network)
    else:
        payload, drawn, network = _of_numbers(given, accelerator, protocol, with_network)
    run = _load(payload, drawn, network, given)
    if analysis:
        from argosy.fabric.failures import analysis_payload

        add(payload, analysis_payload(drawn))
    if export is not None:
        from argosy.cli.fabric.export import export as write

        add(payload, {"notes": write(drawn, *export, network, scenario, accelerator)})
    if picture:
        from argosy.cli.fabric.picture import draw_pictures

        draw_pictures(drawn, run, traffic, picture)
    if as_json:
        from argosy.cli.fabric.head import head

        print(json.dumps({**head("fabric"), **payload}, indent=1, ensure_ascii=False))
    else:
        from argosy.cli.fabric.show import show

        show(payload)


def _needs_network(given: dict[str, Any]) -> bool:
    """Whether what is asked runs on the accelerators' network; typer.BadParameter where it cannot be asked together."""
    scenario, of_layout = given["scenario"], given["placement"] or given["traffic"] == "layout"
    if (scenario is None) == (given["topology"] is None):
        raise typer.BadParameter("give either a scenario or --topology with --hosts")
    if scenario is None and of_layout:
        raise typer.BadParameter("a layout's traffic and placement need a scenario with training")
    if (given["collective"] is not None or of_layout) and given["role"] != "compute":
        role = given["role"]
        raise typer.BadParameter(f"collectives and layouts run on the compute fabric, not on --role {role}")
    exported = given["export"]
    return (
        given["collective"] is not None or of_layout or (exported is not None and exported[0] == "astra-sim")
    )


def _load(payload: dict[str, Any], drawn: Any, network: Any, given: dict[str, Any]) -> Any:
    """A collective, a layout's placement and traffic put on the fabric, as asked, into the payload; the traffic's run."""
    if given["collective"] is not None:
        from argosy.cli.fabric.collective import timed

        add(payload, timed(drawn, network, given))
    if given["placement"]:
        from argosy.cli.fabric.placement import placed

        add(payload, placed(drawn, network, given))
    if given["traffic"] is None:
        return None
    from argosy.cli.fabric.traffic import load

    answer, run = load(drawn, given["traffic"], given, network)
    add(payload, answer)
    return run


def add(payload: dict[str, Any], more: dict[str, Any]) -> None:
    """More keys; notes are added to those there are."""
    notes = [*payload["notes"], *(note for note in more.get("notes", ()) if note not in payload["notes"])]
    payload.update(more)
    payload["notes"] = notes


def _of_scenario(path: Path, role: str, with_network: bool) -> tuple[dict[str, Any], Any, Any]:
    """The payload of the fabric of `role` (all of them under `fabrics`), its topology, and its network where asked
    for.
    """
    from argosy.fabric import build_network
    from argosy.fabric.fleet import fleet_topology
    from argosy.fabric.request import fabric_payload
    from argosy.fabric.storage import reads_problem, storage_account
    from argosy.planning.context import context
    from argosy.planning.storage_load import storage_load
    from argosy.spec import load

    setting = context(load(path))
    fleet, values = setting.fleet, setting.values
    drawn = [(one.role, fleet_topology(fleet, one)) for one in fleet.fabrics]
    rows = [fabric_payload(role, topology, values) for role, topology in drawn]
    for row, (_, topology) in zip(rows, drawn, strict=True):
        if topology.design.servers and row["role"] == "storage":
            bandwidth = fleet.storage_bandwidth_bytes_per_s
            row["storage"] = storage_account(topology, bandwidth, storage_load(setting))
            if (problem := reads_problem(row["storage"])) is not None:
                row["problems"].append(problem)
    found = next((i for i, (known, _) in enumerate(drawn) if known == role), None)
    if found is None:
        known = ", ".join(dict.fromkeys(name for name, _ in drawn))
        raise typer.BadParameter(f"--role {role!r}: this scenario has fabrics for {known}")
    network = build_network(fleet, values) if with_network else None
    return {**rows[found], "fabrics": rows}, drawn[found][1], network


def _of_numbers(
    given: dict[str, Any], accelerator: str, protocol: str | None, with_network: bool
) -> tuple[dict[str, Any], Any, Any]:
    """The payload of a fabric asked for by numbers, its topology, and its network where it is asked for."""
    from argosy.cli.fabric.request import design
    from argosy.fabric.request import fabric_payload, request_network, requested_topology
    from argosy.facts import Values, load_catalog

    values = Values(load_catalog().facts)
    topology = requested_topology(design(given))
    network = request_network(topology, values, accelerator, protocol) if with_network else None
    payload = fabric_payload("compute", topology, values)
    inner = getattr(network, "levels", ())
    if inner and inner[0].size > topology.design.nics_per_host:
        hosts = inner[0].size / topology.design.nics_per_host
        note = f"scale-up links join {inner[0].size:.0f} {accelerator} of {hosts:.0f} hosts, as the catalog has them"
        add(payload, {"notes": [note]})
    return payload, topology, network
