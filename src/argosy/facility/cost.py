"""Money: what a run costs, rented or owned, line by line, and nothing counted twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy import units
from argosy.facility.capital import HARDWARE, PLANT, YEAR_S, Capital
from argosy.facility.market import rent_per_hour
from argosy.facility.site import SiteNumbers
from argosy.facility.tariff import demand_charge_usd, energy_price
from argosy.facts import FactError, Values
from argosy.laws import economics as law
from argosy.spec import Prices

Array = Any  # float or numpy array (n,): one entry per draw


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run holds and draws: paid accelerator-hours (spares and idle time included), wall-clock seconds,
    kWh at the utility meter, and the highest watts of the IT and at the meter.
    """

    accelerator: str
    accelerator_hours: Array
    duration_s: Array
    energy_kwh: Array
    it_peak_w: Array
    meter_peak_w: Array


def cost(
    values: Values, prices: Prices, site: SiteNumbers, bought: Capital | None, usage: Usage
) -> dict[str, Any]:
    """The contract's `cost` object, on the scenario's path: see `rented` and `owned`.

    `auto` rents where the scenario gives a rental price, else owns. FactError where the path has no price.
    """
    if is_rented(prices):
        return rented(values, prices, usage)
    if bought is None:
        raise FactError("neither a rental price nor a purchase price is known: give prices.accelerator_hour")
    return owned(values, prices, site, bought, usage)


def is_rented(prices: Prices) -> bool:
    """True where the fleet is paid by the hour."""
    if prices.path == "auto":
        return prices.accelerator_hour is not None
    return prices.path != "own"


def rented(values: Values, prices: Prices, usage: Usage) -> dict[str, Any]:
    """The contract's `cost` object for rented accelerators, at `accelerator_hour` or the catalog's price of the path.

    The rental price covers host, network, storage, power and cooling: there is no electricity line beside it.
    """
    usd = usage.accelerator_hours * rent_per_hour(values, prices, usage.accelerator)
    kind = "" if prices.path == "auto" else f" ({prices.path})"
    boundary = f"rental price{kind}, which includes host, network, storage, power and cooling"
    return _cost([("accelerator rental", usd)], usage.accelerator_hours, boundary)


def owned(values: Values, prices: Prices, site: SiteNumbers, bought: Capital, usage: Usage) -> dict[str, Any]:
    """The contract's `cost` object for an owned fleet: capital recovered over its life, electricity, running costs.

    Capital and running costs are charged for the wall-clock seconds of the run divided by the availability,
    since hours without a job are paid by those with one. Electricity is energy at the meter times the
    tariff's mean price, and the charge for the highest load.
    """
    held_s = usage.duration_s / values["facility.money.availability"]
    years = held_s / YEAR_S
    lines = [(asset.name, asset.yearly_usd(prices.discount_rate) * years) for asset in bought.assets]
    price = energy_price(site.usd_per_j, prices.tariff, usage.duration_s, site.start_month)
    lines.append(
        ("electricity", law.electricity_cost(usage.energy_kwh, price * units.convert(1.0, "kWh", "J")))
    )
    if prices.tariff.demand_charge:
        lines.append(("demand charge", demand_charge_usd(usage.meter_peak_w, prices.tariff, held_s)))
    lines += [(name, yearly * years) for name, yearly in running_costs(values, bought, usage.it_peak_w)]
    boundary = (
        "owned: capital recovered over its life, electricity at the meter, staff, maintenance, spare parts"
    )
    return _cost(lines, usage.accelerator_hours, boundary)


def running_costs(values: Values, bought: Capital, it_peak_w: Array) -> list[tuple[str, Array]]:
    """USD a year of staff (per IT watt), maintenance and spare parts (shares of what they look after)."""
    money = "facility.money"
    hardware, plant = bought.usd(HARDWARE), bought.usd(PLANT)
    kept = hardware * values[f"{money}.hardware_maintenance"] + plant * values[f"{money}.plant_maintenance"]
    return [
        ("staff", it_peak_w * values[f"{money}.staff"]),
        ("maintenance", kept),
        ("spare parts", hardware * values[f"{money}.spare_parts"]),
    ]


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
