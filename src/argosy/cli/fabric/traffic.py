"""`--traffic`: what a traffic pattern makes of a fabric."""

from __future__ import annotations

from typing import Any


def traffic(topology: Any, pattern: str, seed: int, routing: str) -> dict[str, Any]:
    """The contract's keys of `--traffic`, by argosy.fabric.flows."""
    from argosy.fabric import flows

    payload: dict[str, Any] = flows.traffic_payload(topology, pattern, seed=seed, routing=routing)
    return payload


def show_traffic(console: Any, payload: dict[str, Any]) -> None:
    """The traffic's answer for people."""
    console.print(
        f"traffic: busiest link {payload['max_link_load']:g} times its rate, throughput "
        f"{payload['mean_throughput_fraction']:.1%} in the mean, {payload['min_throughput_fraction']:.1%} at the least"
    )
