"""Money: what a run costs, rented or owned, line by line, and nothing counted twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy import units
from argosy.facility.site import SiteNumbers
from argosy.facts import FactError, Values
from argosy.laws import economics as law
from argosy.spec import Prices

Array = Any  # float or numpy array (n,): one entry per draw
_YEAR_S = 365.25 * 86400.0


@dataclass(frozen=True, slots=True)
class Capital:
    """What an owned fleet was bought for, in USD: accelerators with their hosts, networks, storage, hall and
    plant."""

    servers_usd: Array
    network_usd: Array
    storage_usd: Array
    site_usd: Array


def capital(
    values: Values,
    node: str | None,
    accelerator: str,
    nodes: Array,
    accelerators_per_node: int,
    it_peak_w: Array,
    network_usd: Array | None = None,
    storage_usd: Array | None = None,
) -> Capital:
    """Purchase prices of `nodes` (spares included) whose IT load peaks at `it_peak_w` watts.

    A node's price is the catalog's, or that of its accelerators as sold in a server. Network and
    storage are those given (USD, whole fleet), or take their usual shares of the cluster's capital. Hall and
    plant cost so much per IT watt. Raises FactError where no price is known: then the scenario must give a
    rental price.
    """
    if f"nodes.{node}.price" in values:
        each = values[f"nodes.{node}.price"]
    elif f"prices.{accelerator}.capital" in values:
        each = values[f"prices.{accelerator}.capital"] * accelerators_per_node
    else:
        raise FactError(f"no price of {node or accelerator} is known: give prices.accelerator_hour")
    servers = nodes * each
    network_share = values["facility.money.network_share"] if network_usd is None else 0.0
    storage_share = values["facility.money.storage_share"] if storage_usd is None else 0.0
    known = (
        servers
        + (0.0 if network_usd is None else network_usd)
        + (0.0 if storage_usd is None else storage_usd)
    )
    cluster = known / (1.0 - network_share - storage_share)
    return Capital(
        servers,
        cluster * network_share if network_usd is None else network_usd,
        cluster * storage_share if storage_usd is None else storage_usd,
        it_peak_w * values["facility.money.site_capital"],
    )


def cost(
    values: Values,
    prices: Prices,
    site: SiteNumbers,
    bought: Capital | None,
    accelerator_hours: Array,
    duration_s: Array,
    energy_kwh: Array,
    it_peak_w: Array,
) -> dict[str, Any]:
    """The contract's `cost` object: rented where the scenario gives a rental price, else owned. See both for
    arguments."""
    if prices.accelerator_hour is not None:
        return rented(accelerator_hours, prices)
    if bought is None:
        raise FactError("neither a rental price nor a purchase price is known: give prices.accelerator_hour")
    return owned(values, prices, site, bought, accelerator_hours, duration_s, energy_kwh, it_peak_w)


def rented(accelerator_hours: Array, prices: Prices) -> dict[str, Any]:
    """The contract's `cost` object for rented accelerators.

    The rental price covers host, network, storage, power and cooling: there is no electricity line beside it.
    `accelerator_hours`: paid hours, spares and idle time included. `prices.accelerator_hour` is per second
    inside.
    """
    if prices.accelerator_hour is None:
        raise FactError("no rental price: give prices.accelerator_hour")
    usd = accelerator_hours * 3600.0 * prices.accelerator_hour
    boundary = "rental price, which includes host, network, storage, power and cooling"
    return _cost([("accelerator rental", usd)], accelerator_hours, boundary)


def owned(
    values: Values,
    prices: Prices,
    site: SiteNumbers,
    capital: Capital,
    accelerator_hours: Array,
    duration_s: Array,
    energy_kwh: Array,
    it_peak_w: Array,
) -> dict[str, Any]:
    """The contract's `cost` object for an owned fleet: capital recovered over its life, electricity,
    operations.

    `duration_s`: wall-clock seconds that the run holds the fleet; capital is charged for them divided by the
    availability, since hours without a job are paid by those with one. `energy_kwh` at the utility meter.
    """
    held_years = duration_s / _YEAR_S / values["facility.money.availability"]
    life = prices.lifetime / _YEAR_S
    recovery = law.capital_recovery_factor(prices.discount_rate, life)
    site_recovery = law.capital_recovery_factor(
        prices.discount_rate, values["facility.money.site_life"] / _YEAR_S
    )
    price = site.usd_per_j * units.convert(1.0, "kWh", "J")
    lines = [
        ("accelerators and hosts", capital.servers_usd * recovery * held_years),
        ("network", capital.network_usd * recovery * held_years),
        ("storage", capital.storage_usd * recovery * held_years),
        ("hall, power and cooling plant", capital.site_usd * site_recovery * held_years),
        ("electricity", law.electricity_cost(energy_kwh, price)),
        ("operations", it_peak_w * values["facility.money.operations"] * held_years),
    ]
    boundary = "owned: capital recovered over its life, electricity at the meter, operations"
    return _cost(lines, accelerator_hours, boundary)


def _cost(lines: list[tuple[str, Array]], accelerator_hours: Array, boundary: str) -> dict[str, Any]:
    total = sum((usd for _, usd in lines), start=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_hour = np.divide(total, accelerator_hours)
    return {
        "total_usd": total,
        "usd_per_gpu_hour": per_hour,
        "lines": [{"name": name, "usd": usd} for name, usd in lines],
        "boundary": boundary,
    }
