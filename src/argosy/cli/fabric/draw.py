"""`argosy fabric`: a fabric from its cables: switches, links, bisection, price, power; a collective or traffic on
it; its export.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from argosy.cli.fabric import words

_SCENARIO = typer.Argument(None, help="A scenario: its fabrics.", show_default=False)
_OVERSUBSCRIPTION = typer.Option(
    [], "--oversubscription", help="TIER:X, such as leaf-uplink:3 or pod-uplink:7.", show_default=False
)
_NO_FLOWS = find_spec("argosy.fabric.flows") is None
_NO_EXPORTS = find_spec("argosy.fabric.exports") is None


def draw(
    scenario: Path | None = _SCENARIO,
    topology: str | None = typer.Option(
        None, "--topology", help="Or by numbers: fat-tree, rail-optimized, torus..."
    ),
    hosts: int | None = typer.Option(
        None, "--hosts", max=1_000_000, help="Hosts (of a torus or supernode: accelerators)."
    ),
    nics_per_host: int = typer.Option(1, "--nics-per-host", min=1, max=64, help="Network cards of one host."),
    radix: int | None = typer.Option(None, "--radix", help="Ports of one switch."),
    rate: str = typer.Option("400 Gb/s", "--rate", help="Rate of one link, one way."),
    tiers: int | None = typer.Option(
        None, "--tiers", help="Tiers; without: the fewest that reach all hosts."
    ),
    pods: int | None = typer.Option(None, "--pods", help="Pods of a multi-pod fabric."),
    oversubscription: list[str] = _OVERSUBSCRIPTION,
    shape: str | None = typer.Option(None, "--shape", help="Sides of a torus, such as 16x16x24."),
    planes: int | None = typer.Option(None, "--planes", help="Planes of a multi-plane fabric."),
    switch: str | None = typer.Option(None, "--switch", help="The catalog's name of the switch."),
    export: tuple[str, Path] | None = typer.Option(
        None,
        "--export",
        metavar="KIND FILE",
        hidden=_NO_EXPORTS,
        help="Write it for other tools: slurm-tree, slurm-block, ibsim, dot, astra-sim, cables-csv.",
    ),
    collective: str | None = typer.Option(None, "--collective", help="Time one: all-reduce, all-gather..."),
    message: str = typer.Option("1 GiB", "--bytes", help="Its message, as nccl-tests counts it."),
    ranks: int | None = typer.Option(None, "--ranks", help="Its ranks; without: all accelerators."),
    accelerator: str = typer.Option(
        "H100-SXM", "--accelerator", help="What sits in the hosts, for --collective."
    ),
    protocol: str | None = typer.Option(None, "--protocol", help="Transport, for --collective."),
    traffic: str | None = typer.Option(
        None,
        "--traffic",
        hidden=_NO_FLOWS,
        help="Load it: permutation, shift:K, all-to-all, random, incast:K.",
    ),
    seed: int = typer.Option(0, "--seed", hidden=_NO_FLOWS, help="Of random traffic and of hashing."),
    routing: str = typer.Option("ecmp", "--routing", hidden=_NO_FLOWS, help="How flows choose their paths."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Build a fabric from its cables: switches, links, bisection, price, power; time a collective on it."""
    from argosy.cli.fabric.head import head

    if (scenario is None) == (topology is None):
        raise typer.BadParameter("give either a scenario or --topology with --hosts")
    if scenario is not None:
        payload, drawn, network = _of_scenario(scenario, collective is not None)
    else:
        sides = words.sides(shape)
        options = {
            "topology": topology,
            "hosts": hosts if hosts is not None else words.places(sides),
            "nics_per_host": nics_per_host,
            "radix": radix or 0,
            "rate": words.parse(rate, "bit/s", "--rate"),
            "tiers": tiers,
            "pods": pods,
            "planes": planes,
            "shape": sides,
            "switch": switch or "",
            "oversubscription": words.oversubscriptions(oversubscription),
        }
        payload, drawn, network = _of_numbers(options, accelerator, protocol, collective is not None)
    if collective is not None:
        from argosy.fabric.request import collective_payload

        size = words.parse(message, "byte", "--bytes")
        payload |= collective_payload(network, collective, size, ranks or network.accelerators)
    if traffic is not None:
        from argosy.cli.fabric.traffic import traffic as load

        payload |= load(drawn, traffic, seed, routing)
    if export is not None:
        from argosy.cli.fabric.export import export as write

        write(drawn, *export)
    if as_json:
        print(json.dumps({**head("fabric"), **payload}, indent=1, ensure_ascii=False))
    else:
        from argosy.cli.fabric.show import show

        show(payload)


def _of_scenario(path: Path, with_network: bool) -> tuple[dict[str, Any], Any, Any]:
    """The compute fabric's payload (all of them under `fabrics`), its topology, and its network where asked for."""
    from argosy.fabric import build_network
    from argosy.fabric.fleet import fleet_topology
    from argosy.fabric.request import fabric_payload
    from argosy.planning.context import context
    from argosy.spec import load

    setting = context(load(path))
    fleet, values = setting.fleet, setting.values
    drawn = [(one.role, fleet_topology(fleet, one)) for one in fleet.fabrics]
    rows = [fabric_payload(role, topology, values) for role, topology in drawn]
    first = next((i for i, (role, _) in enumerate(drawn) if role == "compute"), 0)
    network = build_network(fleet, values) if with_network else None
    return {**rows[first], "fabrics": rows}, drawn[first][1], network


def _of_numbers(
    options: dict[str, Any], accelerator: str, protocol: str | None, with_network: bool
) -> tuple[dict[str, Any], Any, Any]:
    """The payload of a fabric asked for by numbers, its topology, and its network where it is asked for."""
    from argosy.fabric import Design
    from argosy.fabric.request import fabric_payload, request_network, requested_topology
    from argosy.facts import Values, load_catalog

    if options["hosts"] is None:
        raise typer.BadParameter("--topology needs --hosts")
    values = Values(load_catalog().facts)
    topology = requested_topology(Design(**options))
    network = request_network(topology, values, accelerator, protocol) if with_network else None
    return fabric_payload("compute", topology, values), topology, network
