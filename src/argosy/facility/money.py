"""What the fleet costs, seen from every side: its bill, owning beside the market, the token, the point of MFU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facility.capital import HARDWARE, Capital
from argosy.facility.cost import Usage, owned
from argosy.facility.market import market
from argosy.facility.site import SiteNumbers
from argosy.facts import Fact, Values
from argosy.laws import economics as law
from argosy.spec import Prices

Array = Any  # float or numpy array (n,): one entry per draw


@dataclass(frozen=True, slots=True)
class Work:
    """What the money buys: useful tokens, productive share of the wall clock, MFU while productive (6·N, dense)."""

    tokens: float
    goodput: Array
    mfu: Array


def tco_payload(
    values: Values,
    prices: Prices,
    site: SiteNumbers,
    bought: Capital | None,
    paid: dict[str, Any],
    usage: Usage,
    work: Work | None = None,
) -> dict[str, Any]:
    """The contract's `tco` object of `argosy facility`.

    `paid`: the plan's own `cost` object (`cost.cost`): its lines are these lines. `bought`: what the fleet costs to
    buy, None where no price is known: then there is nothing to compare with the market. Money is USD; `in_currency`
    has it in the scenario's own currency, at the rate and date that the scenario gives.
    """
    own = None if bought is None else owned(values, prices, site, bought, usage)
    return {
        **paid,
        "path": prices.path,
        "capital": None if bought is None else capital_payload(bought, prices),
        "owned": own,
        "market": market(values, usage.accelerator),
        "rent_or_buy": None if own is None else rent_or_buy(values, own, usage),
        "per_token": None if work is None else per_token(paid, usage, work),
        "in_currency": in_currency(paid, prices),
    }


def capital_payload(bought: Capital, prices: Prices) -> dict[str, Any]:
    """The purchase by class: USD, share, years of life, what is left, USD a year; and the network's share."""
    shares = bought.shares()
    return {
        "total_usd": bought.usd(),
        "hardware_usd": bought.usd(HARDWARE),
        "network_share_of_hardware": bought.network_share(),
        "network_share_of_all": shares.get("network", 0.0),
        "assets": [
            {
                "name": asset.name,
                "usd": asset.usd,
                "share": shares[asset.name],
                "life_s": asset.life_s,
                "residual": asset.residual,
                "usd_per_year": asset.yearly_usd(prices.discount_rate),
            }
            for asset in bought.assets
        ],
    }


def rent_or_buy(values: Values, own: dict[str, Any], usage: Usage) -> list[dict[str, Any]]:
    """Owning against each market price: the ratio, and the share of hours in use from which owning is cheaper.

    `own`: the bill of `cost.owned`. Of its price e per hour is electricity, paid while a job runs; the rest is paid
    whether one runs or not, so that at use u an hour in use costs (price − e)·availability/u + e, which equals the
    rent at u = (price − e)·availability/(rent − e). Above 1 owning never pays; None where electricity alone costs more.
    """
    price = own["usd_per_gpu_hour"]
    used = (
        sum(line["usd"] for line in own["lines"] if line["name"] == "electricity") / usage.accelerator_hours
    )
    fixed = (price - used) * values["facility.money.availability"]
    return [
        {
            "path": row["path"],
            "rent_usd_per_gpu_hour": row["usd_per_gpu_hour"],
            "owned_over_rent": price / row["usd_per_gpu_hour"],
            "break_even_use": fixed / (row["usd_per_gpu_hour"] - used)
            if row["usd_per_gpu_hour"] > used
            else None,
        }
        for row in market(values, usage.accelerator)
    ]


def per_token(paid: dict[str, Any], usage: Usage, work: Work) -> dict[str, Any]:
    """USD per million useful tokens, with every lost hour in it; what it would be without losses; one point of MFU."""
    total = paid["total_usd"]
    million = total / work.tokens * 1e6
    flops = work.mfu * usage.accelerator_hours * 3600.0  # in units of the accelerator's peak × seconds
    points = np.minimum(0.01, np.maximum(1.0 - np.asarray(work.mfu, dtype=float), 0.0))
    saved = law.price_of_mfu_point(flops, 1.0, work.mfu, paid["usd_per_gpu_hour"], points)
    return {
        "usd_per_million_tokens": million,
        "usd_per_million_tokens_if_nothing_failed": million * work.goodput,
        "goodput": work.goodput,
        "mfu": work.mfu,
        "usd_saved_by_one_point_of_mfu": saved,
    }


def in_currency(paid: dict[str, Any], prices: Prices) -> dict[str, Any] | None:
    """Total and price of an hour in the currency of `show_in`, with the rate, its date and source; None in USD."""
    if prices.show_in in (None, "USD"):
        return None
    rate = prices.currencies[prices.show_in]
    return {
        "currency": prices.show_in,
        "usd": rate.usd,
        "date": rate.date,
        "source": rate.source,
        "total": paid["total_usd"] / rate.usd,
        "per_gpu_hour": paid["usd_per_gpu_hour"] / rate.usd,
    }


def tornado(values: Values, evaluate: Callable[[Values], Array]) -> list[dict[str, Any]]:
    """What each uncertain fact does to `evaluate`, the largest effect first: {fact, low, high, effect_low, effect_high}.

    Every fact that `evaluate` uses and that has a band is put at its low and its high end, all others staying
    central; effects are differences to the central answer, facts without any are left out. `evaluate` must
    broadcast: it is called once for the centre and once for all ends together.
    """
    fresh = Values(values.facts)
    central = float(np.median(evaluate(fresh)))
    ends = {path: band for path, fact in fresh.used.items() if (band := ends_of(fact)) is not None}
    if not ends:
        return []
    count = 2 * len(ends)
    draws = {path: np.full(count, values.facts[path].value) for path in ends}
    for row, (path, band) in enumerate(ends.items()):
        draws[path][2 * row : 2 * row + 2] = band
    effects = np.broadcast_to(evaluate(Values(values.facts, draws, count)), (count,)) - central
    rows = [
        tornado_row(path, *band, *map(float, effects[2 * row : 2 * row + 2]))
        for row, (path, band) in enumerate(ends.items())
    ]
    return by_effect([row for row in rows if row["effect_low"] or row["effect_high"]])


def ends_of(fact: Fact) -> tuple[float, float] | None:
    """Low and high end of a fact's band, in its unit; None without one."""
    if fact.low is None and fact.high is None:
        return None
    return (fact.value if fact.low is None else fact.low, fact.value if fact.high is None else fact.high)


def tornado_row(fact: str, low: float, high: float, effect_low: float, effect_high: float) -> dict[str, Any]:
    """One bar: the ends of what is uncertain, in its own unit, and what each does to the answer."""
    return {"fact": fact, "low": low, "high": high, "effect_low": effect_low, "effect_high": effect_high}


def by_effect(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bars in order of their larger effect."""
    return sorted(rows, key=lambda row: -max(abs(row["effect_low"]), abs(row["effect_high"])))
