"""What a stretch of fleet time draws and costs: one account of watts and dollars for plans and for searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argosy.facility import (
    Capital,
    ItLoad,
    PowerPhases,
    Usage,
    capital,
    cost,
    facility,
    is_rented,
    node_power,
    site_numbers,
)
from argosy.facts import Values
from argosy.planning.context import Context

Array = Any  # float, or an array over draws or layouts
HOUR = 3600.0


@dataclass(frozen=True)
class NetworkAccount:
    """All fabrics of a fleet: watts, switches, and the bill as (catalog entry, how many); bill None where a line of
    it has no entry to price.
    """

    w: float
    switches: float
    bill: tuple[tuple[str, float], ...] | None

    def usd(self, values: Values) -> Array | None:
        """Price of switches, modules and cables at the prices of `values` (floats or draws); None where one is
        unknown.
        """
        if self.bill is None or any(f"{entry}.price" not in values for entry, _ in self.bill):
            return None
        return sum((count * values[f"{entry}.price"] for entry, count in self.bill), start=0.0)


def network_account(fabrics: Sequence[Mapping[str, Any]]) -> NetworkAccount:
    """The account of all fabrics' rows; a supernode's row is one of several copies."""
    watts = sum(fabric["copies"] * float(fabric["w"] or 0.0) for fabric in fabrics)
    lines = [
        (line["fact"], fabric["copies"] * line["count"]) for fabric in fabrics for line in fabric["bill"]
    ]
    switches = sum(count for entry, count in lines if entry.startswith("switches."))
    priced = all(entry for entry, _ in lines)
    return NetworkAccount(watts, switches, tuple(lines) if priced and lines else None)


def it_load(context: Context, network: NetworkAccount) -> ItLoad:
    """What draws power: the nodes with their spares, the fabrics, and what stands beside them."""
    cap = context.scenario.facility.power_cap
    node = node_power(context.values, context.node, context.accelerator, context.node_size, cap)
    stored = context.fleet.storage.capacity or 0.0
    return ItLoad(
        node,
        context.nodes,
        context.spare_nodes,
        network.w,
        switches=network.switches,
        storage_bytes=stored,
    )


def power_and_money(
    context: Context, network: NetworkAccount, activity: PowerPhases, wall_s: Array, busy: Array
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The contract's `facility` and `cost` objects for `wall_s` seconds of the whole fleet.

    `network`: the account of the fabrics; `activity`: seconds of a step by what the accelerators do; `busy`:
    share of the time in which they step. The scenario decides between rented and owned.
    """
    scenario, values = context.scenario, context.values
    site = site_numbers(values, scenario.facility, scenario.prices)
    load = it_load(context, network)
    power = facility(values, scenario.facility, site, load, activity, wall_s, busy)
    prices = scenario.prices
    bought = None
    if not is_rented(prices):
        bought = purchase(context, power["it_peak_w"], network.usd(values))
    return power, cost(values, prices, site, bought, usage(context, power, wall_s))


def purchase(context: Context, it_peak_w: Array, network_usd: Array | None) -> Capital:
    """What the whole fleet with its spares costs to buy; `network_usd` None takes the network's usual share."""
    storage = context.fleet.storage.capacity
    return capital(
        context.values,
        context.scenario.prices,
        context.node,
        context.accelerator,
        context.nodes,
        context.node_size,
        it_peak_w,
        network_usd,
        storage,
        context.spare_nodes,
    )


def usage(context: Context, power: Mapping[str, Any], wall_s: Array) -> Usage:
    """What `wall_s` seconds of the whole fleet hold and draw; `power` is the contract's `facility` object."""
    hours = wall_s * (context.fleet.count + context.spare_accelerators) / HOUR
    peaks = power["it_peak_w"], power["facility_peak_w"]
    return Usage(context.accelerator, hours, wall_s, power["energy_kwh"], *peaks)
