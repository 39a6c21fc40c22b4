"""`argosy fabric check-bandwidth NCCLTESTS`: is this bus bandwidth normal?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer


def check_bandwidth(
    log: Path = typer.Argument(help="What nccl-tests printed, or its JSON (-J).", show_default=False),
    scenario: Path | None = typer.Argument(
        None, help="The fleet it ran on; else say it by options.", show_default=False
    ),
    accelerator: str | None = typer.Option(
        None, "--accelerator", help="Without: the device that the log names."
    ),
    nics_per_host: int | None = typer.Option(
        None,
        "--nics-per-host",
        min=1,
        max=64,
        help="Network cards of one host. Without: as the catalog's node has.",
    ),
    rate: str | None = typer.Option(None, "--rate", help="Rate of one card, one way. Without: the node's."),
    protocol: str = typer.Option("infiniband", "--protocol", help="infiniband, roce or efa."),
    collective: str | None = typer.Option(
        None, "--collective", help="Where the log does not tell: all-reduce..."
    ),
    topology: Path | None = typer.Option(
        None, "--topology", help="nvidia-smi topo -m, or NCCL's topology XML, of one node."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Is this bus bandwidth normal? The expected range by message size, and the likely causes where it is not met."""
    from argosy.cli.fabric.head import head
    from argosy.cli.fabric.machine import read_machine
    from argosy.fabric.imports.bus_bandwidth import assess
    from argosy.fabric.imports.nccl_tests import read_nccl_tests
    from argosy.facts import Values, load_catalog

    run = read_nccl_tests(log)
    kind = _kind(run, collective)
    machine = read_machine(topology) if topology else None
    if scenario is not None:
        setting = _of_scenario(scenario, run)
    else:
        setting = _of_options(run, accelerator, nics_per_host, rate, protocol)
    values = setting.pop("values", None) or Values(load_catalog().facts)
    assumed = setting.pop("assumed")
    payload = {**assess(run, kind, values=values, machine=machine, **setting), "assumed": assumed}
    if as_json:
        print(json.dumps({**head("fabric-bandwidth"), **payload}, indent=1, ensure_ascii=False))
    else:
        _show(payload)


def _kind(run: Any, asked: str | None) -> str:
    """The collective, as asked or as the log tells."""
    from argosy.fabric.network import KINDS

    name = (asked or run.collective or "").replace("-", "_").lower().replace("alltoall", "all_to_all")
    if name not in KINDS:
        told = f"{asked!r} is not known" if asked else "the log does not tell its collective"
        raise typer.BadParameter(f"{told}; write --collective with one of {', '.join(KINDS)}")
    return name


def _of_options(
    run: Any, accelerator: str | None, cards: int | None, rate: str | None, protocol: str
) -> dict[str, Any]:
    """The nodes of the log: its device and the catalog's node that carries it, where options do not say otherwise."""
    from argosy.cli.fabric import words
    from argosy.fabric.imports.expected import link_generation, node_network, node_of
    from argosy.facts import FactError, load_catalog

    catalog = load_catalog()
    device = accelerator or (run.devices[0] if run.devices else "")
    try:
        entry, node, joined = node_of(device)
    except FactError as error:
        where = "--accelerator" if accelerator else f"the log's device {device!r}; write --accelerator"
        raise FactError(f"{where}: {error}") from None
    if node is None and run.nodes > 1 and (cards is None or rate is None):
        raise FactError(f"no node of the catalog carries {entry.name}; write --nics-per-host and --rate")
    if run.ranks % run.nodes:
        raise FactError(f"{run.ranks} ranks on {run.nodes} hosts: unequal hosts cannot be judged")
    known = f"transports.{protocol}.delivered"
    if known not in catalog.facts:
        names = ", ".join(one.name for one in catalog.section("transports"))
        raise FactError(f"protocol {protocol!r} is not known; write one of {names}")
    cards = cards or (int(node.facts["nics"].value) if node else 1)
    bps = words.parse(rate, "bit/s", "--rate") if rate else (node.facts["nic_rate"].value if node else 1e9)
    per_node = run.ranks // run.nodes
    assumed = [f"{run.nodes} hosts of {per_node} {entry.name}, a fabric without oversubscription"]
    if joined > 1 and run.nodes > 1:
        assumed.append(f"hosts fill scale-up domains of {joined} in order")
    if run.nodes > 1:
        assumed.append(f"{cards} cards of {bps / 1e9:g} Gb/s per host, {protocol}, all in use")
    return {
        "network": node_network(entry.name, per_node, run.nodes, cards, bps, protocol, joined),
        "generation": link_generation(entry),
        "cards": cards,
        "assumed": assumed,
    }


def _of_scenario(path: Path, run: Any) -> dict[str, Any]:
    """The first ranks of a scenario's fleet."""
    from argosy.fabric import build_network
    from argosy.fabric.fleet import fleet_node
    from argosy.fabric.imports.expected import link_generation
    from argosy.facts import FactError, load_catalog
    from argosy.planning.context import context
    from argosy.spec import load

    setting = context(load(path))
    fleet, catalog = setting.fleet, load_catalog()
    if run.ranks > fleet.count:
        raise FactError(f"{run.ranks} ranks are more than the {fleet.count} accelerators of {path}")
    node = catalog.entry("nodes", fleet_node(fleet))
    return {
        "network": lambda values: build_network(fleet, values),
        "generation": link_generation(catalog.entry("accelerators", fleet.accelerator.name)),
        "cards": fleet.compute_fabric.nics_per_node or int(node.facts["nics"].value),
        "values": setting.values,
        "assumed": [f"the first {run.ranks} accelerators of {path}"],
    }


def _show(payload: dict[str, Any]) -> None:
    """The answer for people: the verdict, then sizes, then causes."""
    from rich.table import Table

    from argosy.cli.fabric.screen import new_console

    console = new_console()
    largest = max(payload["rows"], key=lambda row: row["bytes"])
    own = largest["expected_bytes_per_s"]
    off = [row["range"] for row in payload["ranges"] if row["verdict"] != "normal"]
    where = f" for {' and '.join(off)} messages" if 0 < len(off) < len(payload["ranges"]) else ""
    console.print(
        f"{payload['verdict']}{where}: {payload['collective']} over {payload['ranks']} ranks on {payload['nodes']} hosts reaches "
        f"{largest['bus_bytes_per_s'] / 1e9:.3g} GB/s at {_size(largest['bytes'])}, "
        f"expected {own['low'] / 1e9:.3g} to {own['high'] / 1e9:.3g}",
        soft_wrap=True,
    )
    for cause in payload["causes"]:
        console.print(f"{cause['likelihood']}: {cause['cause']} ({cause['because']})", soft_wrap=True)
        console.print(f"  check: {cause['check']}", soft_wrap=True)
    table = Table("message", "bus GB/s", "expected", "90 % range", "measured ÷ expected", box=None)
    for row in payload["rows"]:
        own = row["expected_bytes_per_s"]
        table.add_row(
            _size(row["bytes"]),
            _gigabytes(row["bus_bytes_per_s"]),
            _gigabytes(own["nominal"]),
            f"{_gigabytes(own['low'])} to {_gigabytes(own['high'])}",
            f"{row['bus_bytes_per_s'] / own['nominal']:.0%}",
        )
    for column in table.columns:
        column.justify = "right"
    console.print(table)
    for assumption in payload["assumed"]:
        console.print(f"assumed: {assumption}")


def _gigabytes(rate: float) -> str:
    """GB/s as nccl-tests prints them, with more decimals where two would say nothing."""
    return f"{rate / 1e9:.2f}" if rate >= 1e9 else f"{rate / 1e9:.3g}"


def _size(count: float) -> str:
    """Whole powers of 1024 as nccl-tests' -b and -e are written: 128 MiB; else as bytes are said."""
    from argosy import units

    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power and count % 1024**power == 0:
            return f"{count / 1024**power:g} {unit}"
    return units.format(count, "byte")
