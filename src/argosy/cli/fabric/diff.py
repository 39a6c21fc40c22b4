"""`argosy fabric diff PLAN IBNETDISCOVER`: what was cabled otherwise than planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

KINDS = {
    "miswired": "plugged elsewhere than planned",
    "missing": "planned, but not there",
    "extra": "there, but not planned",
    "degraded": "slower than planned",
}
SHOWN = 20  # cables of a kind that people are shown; --json has all
DIFFERENT = 3  # the exit code of an assertion that is missed


def diff(
    plan: Path = typer.Argument(
        help="A scenario, the JSON of argosy plan or argosy fabric, or a cable list (--export cables-csv).",
        show_default=False,
    ),
    built: Path = typer.Argument(
        help="The output of ibnetdiscover.", metavar="IBNETDISCOVER", show_default=False
    ),
    role: str = typer.Option("compute", "--role", help="Which fabric of the plan."),
    lenient: bool = typer.Option(False, "--lenient", help="Read on where the file breaks off or is unknown."),
    exact: bool = typer.Option(False, "--exact", help="Exit with code 3 if any cable differs."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Hold a built fabric against its plan: miswired, missing, extra and slow cables."""
    from argosy.cli.fabric.head import head
    from argosy.fabric import imports

    payload = imports.diff(planned_wires(plan, role), imports.read_ibnetdiscover(built, lenient=lenient))
    if as_json:
        print(json.dumps({**head("fabric-diff"), **payload}, indent=1, ensure_ascii=False))
    else:
        _show(payload)
    if exact and any(payload[kind] for kind in KINDS):
        raise typer.Exit(DIFFERENT)


def planned_wires(path: Path, role: str) -> Any:
    """The planned cables of a CSV file, a saved plan, or a scenario, told apart by how the file begins."""
    from argosy.fabric import imports

    with path.open(encoding="utf-8-sig", errors="replace") as file:
        beginning = file.read(4096).lstrip()
    if beginning.startswith("{"):
        return imports.read_record(path, role)
    if path.suffix.lower() == ".csv" or "a_device" in beginning.partition("\n")[0]:
        return imports.read_cables(path)
    from argosy.fabric.fleet import fleet_topology
    from argosy.facts import FactError
    from argosy.planning.context import context
    from argosy.spec import load

    fleet = context(load(path)).fleet
    fabric = next((one for one in fleet.fabrics if one.role == role), None)
    if fabric is None:
        known = ", ".join(one.role for one in fleet.fabrics)
        raise FactError(f"{path}: no fabric of role {role}; write --role with one of {known}")
    return imports.planned_wires(fleet_topology(fleet, fabric))


def _show(payload: dict[str, Any]) -> None:
    """The answer for people: first whether it is as planned."""
    found = sum(len(payload[kind]) for kind in KINDS)
    print(
        f"{found} of {payload['compared'] + found - len(payload['degraded'])} cables differ from the plan"
        if found
        else f"as planned: {payload['compared']} cables, {payload['devices']['built']} devices"
    )
    for kind, meaning in KINDS.items():
        if not payload[kind]:
            continue
        print(f"\n{kind}: {len(payload[kind])} ({meaning})")
        for one in payload[kind][:SHOWN]:
            print(f"  {_sentence(kind, one)}")
        if len(payload[kind]) > SHOWN:
            print(f"  and {len(payload[kind]) - SHOWN} more: --json has all")
    for note in payload["notes"]:
        print(f"note: {note}")


def _sentence(kind: str, one: dict[str, Any]) -> str:
    """One cable's difference."""
    line = f" (line {one['line']})" if one.get("line") else ""
    if kind == "miswired":
        only = ", the right device" if one["wrong"] == "port" else ""
        return f"{one['built']}{line}; planned: {one['planned']}{only}"
    if kind == "degraded":
        return f"{one['cable']}: {one['built_bps'] / 1e9:g} of {one['planned_bps'] / 1e9:g} Gb/s{line}"
    return f"{one['cable']}{line}"
