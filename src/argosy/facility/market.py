"""Market prices of an accelerator-hour by path, with their bands and dates, and how often spot nodes are taken back."""

from __future__ import annotations

from typing import Any

from argosy.facts import FactError, Values
from argosy.spec import Prices

Array = Any  # float or numpy array (n,): one entry per draw
# the scenario's path → the fact of the catalog's `prices` section
PATHS = {
    "on-demand": "on_demand",
    "contract": "contract",
    "reserved-1y": "reserved_1y",
    "reserved-3y": "reserved_3y",
    "spot": "spot",
}
WHEN_AUTO = "on-demand"  # the path whose price stands for the market where the scenario names none


def rent_per_hour(values: Values, prices: Prices, accelerator: str) -> Array:
    """USD for one hour of one accelerator: the scenario's price, or the catalog's on the scenario's path.

    FactError where the catalog has no such price; it names the paths that it has.
    """
    if prices.accelerator_hour is not None:
        return prices.accelerator_hour * 3600.0
    path = f"prices.{accelerator}.{PATHS.get(prices.path, PATHS[WHEN_AUTO])}"
    if path not in values:
        known = [row["path"] for row in market(values, accelerator)]
        instead = f"one of the paths {', '.join(known)}, or " if known else ""
        raise FactError(
            f"no {prices.path} price of {accelerator} is known; write {instead}prices.accelerator_hour"
        )
    return values[path]


def market(values: Values, accelerator: str) -> list[dict[str, Any]]:
    """Published prices of an hour of `accelerator` by path, USD: central value, band, date, what it is, source."""
    rows = []
    for path, name in PATHS.items():
        fact = values.facts.get(f"prices.{accelerator}.{name}")
        if fact is not None:
            rows.append(
                {
                    "path": path,
                    "usd_per_gpu_hour": fact.value,
                    "low": fact.low,
                    "high": fact.high,
                    "verified": fact.verified,
                    "kind": fact.kind,
                    "source": fact.source,
                    "note": fact.note,
                    "history": history(values, accelerator, name),
                }
            )
    return rows


def history(values: Values, accelerator: str, name: str) -> list[dict[str, Any]]:
    """Published prices of earlier years, oldest first: year, median, lowest, highest, of how many listings."""
    start = f"price_history.{accelerator}.{name}_"
    rows = []
    for path in sorted(path for path in values.facts if path.startswith(start)):
        fact = values.facts[path]
        low, high = (fact.value if end is None else end for end in (fact.low, fact.high))
        year = int(path.removeprefix(start))
        rows.append({"year": year, "usd": fact.value, "low": low, "high": high, "kind": fact.kind})
    return rows


def spot_interruptions_per_s(values: Values, prices: Prices) -> Array:
    """How often the provider takes one node back, 1/s; 0 on every path but spot."""
    if prices.path != "spot":
        return 0.0
    given = prices.spot_interruptions
    return values["facility.cloud.spot_interruptions"] if given is None else given
