"""A fabric's payload for people."""

from __future__ import annotations

from typing import Any


def show(payload: dict[str, Any]) -> None:
    """Tiers, rates, price, power; then what was asked of the fabric; then what is wrong with it."""
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
    if "max_link_load" in payload:
        from argosy.cli.fabric.traffic import show_traffic

        show_traffic(console, payload)
    for problem in payload["problems"]:
        console.print(f"problem: {problem}")
    for note in payload["notes"]:
        console.print(f"note: {note}")
