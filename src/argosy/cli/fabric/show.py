"""A fabric's payload for people: the answer first, then what was asked of the fabric, then what is wrong with it."""

from __future__ import annotations

from typing import Any

from argosy.cli.fabric.collective import show_collective
from argosy.cli.fabric.placement import show_placement
from argosy.cli.fabric.screen import new_console, new_table
from argosy.cli.fabric.traffic import show_traffic

SHOWN = 12  # lines of the bill


def show(payload: dict[str, Any]) -> None:
    """Tiers, rates, price and power, the bill; the collective, traffic and analysis; problems and notes."""
    from argosy import units
    from argosy.report import text

    console = new_console()
    _tiers(console, payload)
    injection = units.format(payload["injection_bps_per_direction"], "bit/s")
    bisection = units.format(payload["bisection_bps_per_direction"], "bit/s")
    over = [f"{tier} {ratio:.3g}:1" for tier, ratio in payload["oversubscription"].items()]
    console.print(f"injection {injection}, bisection {bisection} per direction")
    if over:
        console.print(f"oversubscription found from the cables: {', '.join(over)}")
    if payload["bill"]:
        usd, w = payload["usd"], payload["w"]
        price = "price unknown" if usd is None else text.dollars(usd)
        console.print(f"{price}, {'power unknown' if w is None else units.format(w, 'W')}")
        _bill(console, payload["bill"])
    if "time_s" in payload:
        show_collective(console, payload)
    if "placement" in payload:
        show_placement(console, payload["placement"])
    if "storage" in payload:
        load = payload["storage"]
        console.print(
            f"{load['servers']} servers, {units.format(load['carried_bytes_per_s'], 'byte/s')} carried of "
            f"{units.format(load['bandwidth_bytes_per_s'], 'byte/s')} asked; a checkpoint of "
            f"{units.format(load['checkpoint_bytes'], 'byte')} takes {units.format(load['checkpoint_burst_s'], 's')}; "
            f"dataset reads are at most {units.format(load['reads_bytes_per_s'], 'byte/s')} "
            f"({load['reads_fraction']:.2%})"
        )
    if "max_link_load" in payload:
        show_traffic(console, payload)
    if "single_failures" in payload:
        show_analysis(console, payload)
    for problem in payload["problems"]:
        console.print(f"problem: {problem}")
    for note in payload["notes"]:
        console.print(f"note: {note}")


def _tiers(console: Any, payload: dict[str, Any]) -> None:
    """Switches and cables of each tier; without switches (a torus of copper) the size alone."""
    copies = f"{payload['copies']:,} alike, each of " if payload.get("copies", 1) > 1 else ""
    title = (
        f"{payload['topology']}, {copies}{_many(payload['hosts'], 'host')}, {_many(payload['nics'], 'port')}"
    )
    if not payload["tiers"]:
        console.print(title)
        return
    table = new_table(title, "tier", "switches", "cables below", "switch", left=("tier", "switch"))
    for tier in payload["tiers"]:
        table.add_row(
            tier["name"], f"{tier['switches']:,}", f"{tier['links']:,}", tier["switch"] or "not named"
        )
    console.print(table)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _bill(console: Any, lines: list[dict[str, Any]]) -> None:
    """Parts with their counts, prices and power."""
    from argosy import units
    from argosy.report import text

    table = new_table("bill of materials", "part", "count", "cable", "price", "power", left=("part",))
    for line in lines[:SHOWN]:
        usd, w = line["usd"], line["w"]
        table.add_row(
            line["item"],
            f"{line['count']:,.0f}{' ends' if line['kind'] == 'module' and line['metres'] else ''}",
            "" if line["metres"] is None else f"{line['metres']:,.0f} m",
            "unknown" if usd is None else text.dollars(usd),
            "unknown" if w is None else units.format(w, "W"),
        )
    console.print(table)
    if len(lines) > SHOWN:
        console.print(f"and {len(lines) - SHOWN} more parts: --json has all")


def show_analysis(console: Any, payload: dict[str, Any]) -> None:
    """Paths, then what the loss of each kind of switch and cable costs."""
    all_pairs = sum(row["pairs"] for row in payload["hops"])
    table = new_table(
        "paths between cards of different hosts", "switches passed", "share of pairs", "equal shortest paths"
    )
    for row in payload["hops"]:
        few, most = row["paths_min"], row["paths_max"]
        table.add_row(
            "no path" if row["switches"] is None else f"{row['switches']} ({row['links']} links)",
            f"{row['pairs'] / all_pairs:.2%}",
            "" if row["switches"] is None else f"{few:,.0f}" if few == most else f"{few:,.0f} to {most:,.0f}",
        )
    console.print(table)
    table = new_table(
        "the loss of one: accelerators cut off and slowed; least left of rates",
        *("one", "count", "cut off", "slowed", "hosts", "uplinks", "bisection"),
        left=("one",),
    )
    for row in payload["single_failures"]:
        table.add_row(
            f"{row['what']} {row['kind']}",
            f"{row['count']:,}",
            f"{row['accelerators_cut']:,.0f}",
            f"{row['accelerators_slowed']:,.0f}",
            f"{row['host_rate_left']:.1%}",
            f"{row['uplink_left']:.1%}",
            f"{row['bisection_left']:.2%}",
        )
    console.print(table)
