"""`--traffic`: what a traffic pattern makes of a fabric."""

from __future__ import annotations

from typing import Any

from argosy.cli.fabric import words
from argosy.cli.fabric.screen import new_table


def load(
    topology: Any, pattern: str, given: dict[str, Any], network: Any = None
) -> tuple[dict[str, Any], Any]:
    """The contract's keys of `--traffic` and more, and the run itself, by argosy.fabric.flows; `given`: the options
    by name. `layout` is the traffic of the scenario's training layout.
    """
    from argosy.cli.fabric.routing import asked_routing
    from argosy.fabric import flows

    options = {
        "seed": given["seed"],
        "queue_pairs": given["queue_pairs"],
        "failed": words.faults(given["failed"], "--failed"),
        "degraded": words.faults(given["degraded"], "--degraded"),
    }
    if pattern == "layout":
        from argosy.cli.fabric.placement import layout_messages

        options["messages"] = layout_messages(topology, network, given["scenario"])
    run = flows.run_traffic(topology, pattern, routing=asked_routing(given) or "ecmp", **options)
    return flows.run_payload(topology, pattern, given["seed"], run), run


def show_traffic(console: Any, payload: dict[str, Any]) -> None:
    """The traffic's answer for people: the answer, the tiers, the hottest links."""
    low, middle = payload["throughput_fraction"]["p01"], payload["throughput_fraction"]["p50"]
    console.print(
        f"{payload['traffic']} under {payload['routing']} routing: {payload['flows']:,} flows get "
        f"{payload['mean_throughput_fraction']:.1%} of what they offer in the mean (p01 {low:.1%}, p50 {middle:.1%}, "
        f"least {payload['min_throughput_fraction']:.1%}); busiest link {payload['max_link_load']:.2f} × its rate"
    )
    if lost := payload["unreachable_flows"]:
        console.print(f"{lost:,} flows have no way")
    over = payload["collisions"]
    if over["seeds"] > 1:
        busiest = over["max_link_load"]
        console.print(
            f"over {over['seeds']} seeds: busiest link {busiest['p10']:.2f} to {busiest['max']:.2f}, mean throughput "
            f"{over['mean_throughput_fraction']['p10']:.1%} to {over['mean_throughput_fraction']['p90']:.1%}"
        )
    table = new_table("hottest links", "from", "to", "load", "flows", left=("from", "to"))
    for link in payload["hot_links"][:5]:
        table.add_row(link["from"], link["to"], f"{link['load']:.2f}", f"{link['flows']:g}")
    console.print(table)
