"""`argosy fabric`: a fabric from its cables: switches, links, bisection, price, power; the time of a
collective.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

_SCENARIO = typer.Argument(None, help="A scenario: its fabrics.", show_default=False)
_OVERSUBSCRIPTION = typer.Option(
    [], "--oversubscription", help="TIER:X, such as leaf-uplink:3 or pod-uplink:7.", show_default=False
)


def fabric(
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
    collective: str | None = typer.Option(None, "--collective", help="Time one: all-reduce, all-gather..."),
    message: str = typer.Option("1 GiB", "--bytes", help="Its message, as nccl-tests counts it."),
    ranks: int | None = typer.Option(None, "--ranks", help="Its ranks; without: all accelerators."),
    accelerator: str = typer.Option(
        "H100-SXM", "--accelerator", help="What sits in the hosts, for --collective."
    ),
    protocol: str | None = typer.Option(None, "--protocol", help="Transport, for --collective."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Build a fabric from its cables: switches, links, bisection, price, power; time a collective on it."""
    from argosy.facts import load_catalog

    catalog = load_catalog()
    if (scenario is None) == (topology is None):
        raise typer.BadParameter("give either a scenario or --topology with --hosts")
    if scenario is not None:
        payload, network = _of_scenario(scenario, collective is not None)
    else:
        sides = _sides(shape)
        options = {
            "topology": topology,
            "hosts": hosts if hosts is not None else _product(sides),
            "nics_per_host": nics_per_host,
            "radix": radix or 0,
            "rate": _parse(rate, "bit/s", "--rate"),
            "tiers": tiers,
            "pods": pods,
            "planes": planes,
            "shape": sides,
            "switch": switch or "",
            "oversubscription": _oversubscription(oversubscription),
        }
        payload, network = _of_numbers(options, accelerator, protocol, collective is not None)
    if collective is not None:
        from argosy.fabric.request import collective_payload

        size = _parse(message, "byte", "--bytes")
        payload |= collective_payload(network, collective, size, ranks or network.accelerators)
    if as_json:
        from argosy import __version__

        head = {"schema": "argosy.fabric/1", "version": __version__, "facts_date": catalog.facts_date}
        print(json.dumps({**head, **payload}, indent=1, ensure_ascii=False))
    else:
        _show(payload)


def _of_scenario(path: Path, with_network: bool) -> tuple[dict[str, Any], Any]:
    """The compute fabric's payload (all of them under `fabrics`), and its network where it is asked for."""
    from argosy.fabric import build_network
    from argosy.fabric.fleet import fleet_topology
    from argosy.fabric.request import fabric_payload
    from argosy.planning.context import context
    from argosy.spec import load

    setting = context(load(path))
    fleet, values = setting.fleet, setting.values
    rows = [fabric_payload(one.role, fleet_topology(fleet, one), values) for one in fleet.fabrics]
    first = next((row for row in rows if row["role"] == "compute"), rows[0])
    return {**first, "fabrics": rows}, build_network(fleet, values) if with_network else None


def _of_numbers(
    options: dict[str, Any], accelerator: str, protocol: str | None, with_network: bool
) -> tuple[dict[str, Any], Any]:
    """The payload of a fabric asked for by numbers, and its network where it is asked for."""
    from argosy.fabric import Design
    from argosy.fabric.request import fabric_payload, request_network, requested_topology
    from argosy.facts import Values, load_catalog

    if options["hosts"] is None:
        raise typer.BadParameter("--topology needs --hosts")
    values = Values(load_catalog().facts)
    topology = requested_topology(Design(**options))
    network = request_network(topology, values, accelerator, protocol) if with_network else None
    return fabric_payload("compute", topology, values), network


def _parse(text: str, unit: str, where: str) -> float:
    from argosy import units

    return units.parse(text, unit, where=where)


def _sides(shape: str | None) -> tuple[int, ...] | None:
    """`16x16x24` as (16, 16, 24)."""
    if shape is None:
        return None
    parts = shape.lower().replace("×", "x").split("x")
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"--shape {shape!r} is not read; write sides such as 16x16x24")
    return tuple(int(part) for part in parts)


def _product(sides: tuple[int, ...] | None) -> int | None:
    import math

    return None if sides is None else math.prod(sides)


def _oversubscription(given: list[str]) -> tuple[tuple[str, float], ...]:
    """`pod-uplink:7` as ("pod-uplink", 7.0)."""
    from argosy.fabric.request import TIER_KEYS

    found = []
    for text in given:
        tier, _, ratio = text.partition(":")
        if tier not in TIER_KEYS:
            raise typer.BadParameter(
                f"--oversubscription {text!r}: write TIER:X with one of {', '.join(TIER_KEYS)}"
            )
        found.append((tier, _parse(ratio.partition(":")[0], "ratio", f"--oversubscription {text}")))
        if found[-1][1] < 1:
            raise typer.BadParameter(
                f"--oversubscription {text!r}: capacity below over capacity above is at least 1"
            )
    return tuple(sorted(found))


def _show(payload: dict[str, Any]) -> None:
    """The payload for people."""
    from rich.console import Console
    from rich.table import Table

    from argosy import units
    from argosy.report import text

    console = Console(highlight=False)
    table = Table(
        title=f"{payload['topology']}, {payload['hosts']:,} hosts, {payload['nics']:,} ports",
        title_justify="left",
    )
    for column in ("tier", "switches", "cables below", "switch"):
        table.add_column(column, justify="left" if column in ("tier", "switch") else "right")
    for tier in payload["tiers"]:
        table.add_row(
            tier["name"], f"{tier['switches']:,}", f"{tier['links']:,}", tier["switch"] or "not named"
        )
    console.print(table)
    injection = units.format(payload["injection_bps_per_direction"], "bit/s")
    bisection = units.format(payload["bisection_bps_per_direction"], "bit/s")
    console.print(f"injection {injection}, bisection {bisection} per direction")
    usd, w = payload["usd"], payload["w"]
    price = "price unknown" if usd is None else text.dollars(usd)
    console.print(f"{price}, {'power unknown' if w is None else units.format(w, 'W')}")
    if "time_s" in payload:
        bus = units.format(payload["bus_bandwidth_bytes_per_s"], "byte/s")
        console.print(
            f"{payload['algorithm']}: {units.format(payload['time_s'], 's')}, bus bandwidth {bus}, "
            f"bound {units.format(payload['bound_s'], 's')}"
        )
    for problem in payload["problems"]:
        console.print(f"problem: {problem}")
    for note in payload["notes"]:
        console.print(f"note: {note}")
