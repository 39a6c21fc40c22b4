"""What a stretch of fleet time draws and costs: one account of watts and dollars for plans and for searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from argosy.planning.context import Context

Array = Any  # float, or an array over draws or layouts
HOUR = 3600.0


def network_account(fabrics: Sequence[Mapping[str, Any]]) -> tuple[float, float | None]:
    """Watts and dollars of all fabrics' rows; dollars are None where one price is unknown."""
    prices = [fabric["usd"] for fabric in fabrics]
    watts = sum(float(fabric["w"] or 0.0) for fabric in fabrics)
    return watts, None if None in prices else sum(map(float, prices))


def power_and_money(
    context: Context, network: tuple[float, float | None], activity: PowerPhases, wall_s: Array, busy: Array
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The contract's `facility` and `cost` objects for `wall_s` seconds of the whole fleet.

    `network`: watts and dollars of the fabrics; `activity`: seconds of a step by what the accelerators do; `busy`:
    share of the time in which they step. The scenario decides between rented and owned.
    """
    scenario, values = context.scenario, context.values
    watts, dollars = network
    site = site_numbers(values, scenario.facility, scenario.prices)
    node = node_power(
        values, context.node, context.accelerator, context.node_size, scenario.facility.power_cap
    )
    load = ItLoad(node, context.nodes, context.spare_nodes, watts)
    power = facility(values, scenario.facility, site, load, activity, wall_s, busy)
    prices = scenario.prices
    bought = None
    if not is_rented(prices):
        bought = purchase(context, power["it_peak_w"], dollars)
    return power, cost(values, prices, site, bought, usage(context, power, wall_s))


def purchase(context: Context, it_peak_w: Array, network_usd: Array | None) -> Capital:
    """What the whole fleet with its spares costs to buy; `network_usd` None takes the network's usual share."""
    nodes, storage = context.nodes + context.spare_nodes, context.fleet.storage.capacity
    return capital(
        context.values,
        context.scenario.prices,
        context.node,
        context.accelerator,
        nodes,
        context.node_size,
        it_peak_w,
        network_usd,
        storage,
    )


def usage(context: Context, power: Mapping[str, Any], wall_s: Array) -> Usage:
    """What `wall_s` seconds of the whole fleet hold and draw; `power` is the contract's `facility` object."""
    hours = wall_s * (context.fleet.count + context.spare_accelerators) / HOUR
    peaks = power["it_peak_w"], power["facility_peak_w"]
    return Usage(context.accelerator, hours, wall_s, power["energy_kwh"], *peaks)
