"""`--placement` and `--traffic layout`: where a scenario's training layout sends its bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from argosy.cli.fabric.screen import new_table

SHOWN = 6  # orders


def placed(topology: Any, network: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The key `placement`, by argosy.fabric.placement; `given`: the options by name."""
    from argosy.cli.fabric.routing import usual_routing
    from argosy.fabric.placement import placement_payload

    sizes, sent = _layout(given["scenario"])
    routing = usual_routing(topology, given)
    return placement_payload(topology, network, sizes, sent, routing=routing, seed=given["seed"])


def layout_messages(topology: Any, network: Any, scenario: Path) -> Any:
    """The messages between cards of the scenario's layout in the usual rank order."""
    from argosy.fabric.placement import USUAL, layout_pattern, place
    from argosy.fabric.schedule import wires_of

    sizes, sent = _layout(scenario)
    wires = wires_of(topology, network, "static")
    return layout_pattern(place(wires, sizes, sent, USUAL), wires)


def _layout(scenario: Path) -> tuple[dict[str, int], dict[str, float]]:
    """Degrees and bytes per rank of the first training job's main stage: its layout, or the best one found."""
    from argosy.facts import FactError
    from argosy.planning.context import context
    from argosy.planning.job import laid_out, machine
    from argosy.spec import load
    from argosy.training.traffic import bytes_per_step

    setting = context(load(scenario))
    if not setting.scenario.training:
        raise FactError(f"{scenario}: no training, so no layout to place; add training:")
    job = laid_out(setting, setting.scenario.training[0])
    on, stage = machine(setting, job.stack), job.main
    sizes = {name: int(getattr(stage.layouts, name)[0]) for name in ("tp", "cp", "dp", "pp", "ep", "etp")}
    return sizes, bytes_per_step(stage.job, on.device, on.stack, stage.layouts)


def show_placement(console: Any, placement: dict[str, Any]) -> None:
    """The placement for people: the usual order, its dimensions, then the other orders."""
    from argosy import units

    sizes = ", ".join(f"{name} {size}" for name, size in placement["sizes"].items() if size > 1)
    best = placement["best"]
    console.print(
        f"placement of {placement['ranks']:,} ranks ({sizes}) under {placement['routing']} routing: order "
        f"{_order(placement)} takes {units.format(placement['wire_s'], 's')} of wire time per step, "
        f"{_rails(placement)}; best is {_order(best)} with {units.format(best['wire_s'], 's')}"
    )
    tiers = list(dict.fromkeys(tier for row in placement["orders"] for tier in row["share_by_tier"]))
    tiers.sort(key=lambda tier: 0 if tier == "scale-up" else int(tier.split()[0]))
    how_far = [tier.split()[0] for tier in tiers]  # "3 switches" as 3
    table = new_table(
        "bytes of a step by how far they go: over scale-up links, or over so many switches; "
        "seconds of the busiest link",
        *("group", "stride", "bytes", *how_far, "busiest"),
        left=("group",),
    )
    for row in placement["dimensions"]:
        table.add_row(
            f"{row['dimension']} {row['size']:,}", f"{row['stride']:,}", units.format(row["bytes"], "byte"),
            *(f"{row['share_by_tier'].get(tier, 0.0):.1%}" for tier in tiers), units.format(row["wire_s"], "s"),
        )  # fmt: skip
    console.print(table)
    table = new_table(
        "orders, fastest dimension first; seconds as if nothing overlapped",
        *("order", "wire time", "same rail", *how_far),
        left=("order",),
    )
    for row in placement["orders"][:SHOWN]:
        table.add_row(
            _order(row), units.format(row["wire_s"], "s"), _share(row["rail_locality"]),
            *(f"{row['share_by_tier'].get(tier, 0.0):.1%}" for tier in tiers),
        )  # fmt: skip
    console.print(table)


def _order(row: dict[str, Any]) -> str:
    return "-".join(row["order"]) or "of one rank"


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.0%}"


def _rails(row: dict[str, Any]) -> str:
    """What stays on one rail, in words."""
    if row["rail_locality"] is None:
        return "no data- or pipeline-parallel rings"
    return f"{row['rail_locality']:.0%} of data- and pipeline-parallel ring edges on one rail"
