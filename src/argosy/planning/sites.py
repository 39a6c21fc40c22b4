"""The same plan at many sites: power price, carbon, climate, PUE, water, and how far they are from each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facility import is_rented, site_numbers
from argosy.facility.site import INTENSITIES
from argosy.facts import FactError, Values
from argosy.laws import wide_area
from argosy.planning import Plan, plan
from argosy.planning.context import Context, context
from argosy.planning.headline import quantiles
from argosy.planning.payload import plain
from argosy.planning.run import FleetRun, fleet_account
from argosy.planning.site import network_account
from argosy.spec import Scenario, Site

Array = Any  # float, or draws (n,)
SCHEMA = "argosy.sites/1"
KWH_J = 3.6e6
OWNED_NOTE = "a rental price is the same at every site: the fleet is compared as if it were bought, which a site does change"
PRICE_NOTE = "the scenario's price of electricity is left out: each site has its own"

# what sites can be ranked by → the figure of a row, less being better
RANKS: dict[str, Callable[[dict[str, Any]], float]] = {
    "usd": lambda row: row["total_usd"]["nominal"],
    "carbon": lambda row: row["carbon_kg"],
    "electricity": lambda row: row["electricity_usd_per_kwh"],
    "energy": lambda row: row["energy_kwh"],
    "pue": lambda row: row["pue"],
    "water": lambda row: row["water_kg"],
    "peak": lambda row: row["facility_peak_w"],
}


def needed(basis: str = "lifecycle") -> tuple[str, ...]:
    """The facts that a site must have to be compared, with the carbon intensity of that basis."""
    return ("temperature", "electricity", INTENSITIES[basis])


def known_sites(values: Values, basis: str = "lifecycle") -> list[str]:
    """Names of the catalog's sites that have a climate, a price of electricity and a carbon intensity of that basis."""
    names = dict.fromkeys(path.split(".")[1] for path in values.facts if path.startswith("regions."))
    return [name for name in names if all(f"regions.{name}.{fact}" in values.facts for fact in needed(basis))]


def compare_sites(
    scenario: Scenario, sites: Sequence[str] = (), rank: str = "usd", draws: int = 500, seed: int = 0
) -> dict[str, Any]:
    """The scenario's plan at each of `sites` (all that the catalog knows, without), ranked by one of RANKS.

    The work, its steps and its failures are planned once: they do not depend on the place. Each site has its own
    climate, PUE, price and carbon; `draws` joint draws give P10/P50/P90 of the money. FactError for unknown names, and
    where the plan does not run.
    """
    if rank not in RANKS:
        raise FactError(f"no ranking {rank!r}; write one of {', '.join(RANKS)}")
    answer = plan(scenario, draws, seed)
    if answer.nominal is None or answer.drawn is None:
        reasons = "; ".join(answer.verdict.reasons)
        raise FactError(f"{scenario.name} does not run anywhere: {reasons}")
    home = context(answer.scenario)
    places = [_site(home, name) for name in (sites or known_sites(home.values, basis(home)))]
    moved, notes = _comparable(home)
    own = _site_or_none(home, home.scenario.facility.site.name)
    rows = [_row(moved, answer, name, draws, seed) for name in dict.fromkeys(places)]
    base = None if own is None else _over_draws(moved, answer, own, draws, seed).cost["total_usd"]
    for row in rows:
        usd = row.pop("drawn_usd")
        row["share_of_draws_cheaper_than_own"] = (
            None if base is None or row["site"] == own else float(np.mean(np.asarray(usd) < np.asarray(base)))
        )
    rows.sort(key=RANKS[rank])
    for number, row in enumerate(rows, start=1):
        row["rank"] = number
    return dict(
        plain(
            {
                "schema": SCHEMA,
                "version": __version__,
                "facts_date": home.catalog.facts_date,
                "scenario": {"name": scenario.name, "hash": scenario.hash},
                "verdict": answer.verdict.to_dict(),
                "ranked_by": rank,
                "own_site": own or home.scenario.facility.site.name,
                "sites": rows,
                "spread": _spread(rows),
                "latency_s": latencies(home.values, [row["site"] for row in rows]),
                "latency_basis": "one way over fibre: great circle × route factor, without equipment",
                "notes": notes,
            }
        )
    )


def basis(home: Context) -> str:
    """Whether the scenario counts carbon over the life cycle or at the chimney."""
    return home.scenario.facility.carbon.basis


def _site(home: Context, name: str) -> str:
    """The catalog's name of a site; FactError with suggestions, and where it lacks a number that is needed."""
    entry = home.catalog.entry("regions", name)
    missing = [fact for fact in needed(basis(home)) if fact not in entry.facts]
    if missing:
        wanted = ", ".join(missing)
        raise FactError(
            f"the catalog has no {wanted} of {entry.name}; write one of {', '.join(known_sites(home.values, basis(home)))}"
        )
    return entry.name


def _site_or_none(home: Context, name: str) -> str | None:
    """The scenario's own site as the catalog knows it; None for a place that is the scenario's alone."""
    try:
        return _site(home, name)
    except FactError:
        return None


def _comparable(home: Context) -> tuple[Context, list[str]]:
    """The scenario without what hides a site's differences: a rental price, a price of electricity of its own."""
    prices, notes = home.scenario.prices, []
    if is_rented(prices):
        prices, notes = prices.model_copy(update={"path": "own"}), [OWNED_NOTE]
    if prices.electricity is not None:
        prices, notes = prices.model_copy(update={"electricity": None}), [*notes, PRICE_NOTE]
    return _with(home, prices=prices), notes


def _with(home: Context, **update: Any) -> Context:
    return replace(home, scenario=home.scenario.model_copy(update=update))


def _at(home: Context, name: str) -> Context:
    return _with(home, facility=home.scenario.facility.model_copy(update={"site": Site(name=name)}))


def _over_draws(home: Context, answer: Plan, name: str, draws: int, seed: int) -> FleetRun:
    """The drawn run at a site: the same draws of the work for every site, so that sites compare draw by draw."""
    assert answer.drawn is not None  # the caller has seen to it
    here = _at(home, name).drawn(draws, seed)
    return fleet_account(here, list(answer.drawn.jobs), network_account(answer.fabrics))


def _row(home: Context, answer: Plan, name: str, draws: int, seed: int) -> dict[str, Any]:
    """One site: what the fleet draws, costs and emits there."""
    here, run = _at(home, name), answer.nominal
    assert run is not None  # the caller has seen to it
    nominal = fleet_account(here, list(run.jobs), network_account(answer.fabrics))
    over_draws = _over_draws(home, answer, name, draws, seed)
    numbers = site_numbers(here.values, here.scenario.facility, here.scenario.prices)
    power, money = nominal.facility, nominal.cost
    return {
        "rank": 0,
        "site": name,
        "total_usd": quantiles(money["total_usd"], over_draws.cost["total_usd"]),
        "drawn_usd": over_draws.cost["total_usd"],
        "usd_per_gpu_hour": money["usd_per_gpu_hour"],
        "usd_per_million_tokens": money["total_usd"] / sum(job.tokens for job in run.jobs) * 1e6,
        "electricity_usd": _line(nominal, "electricity"),
        "electricity_usd_per_kwh": numbers.usd_per_j * KWH_J,
        "pue": power["pue"],
        "energy_kwh": power["energy_kwh"],
        "facility_peak_w": power["facility_peak_w"],
        "free_cooling_share": power["free_cooling_share"],
        "carbon_kg": power["carbon_kg"],
        "carbon_kg_per_kwh": power["carbon_kg"] / power["energy_kwh"],
        "carbon_basis": power["carbon_basis"],
        "water_kg": power["water_kg"],
        "problems": power["problems"],
        "assumed": [
            fact
            for fact in (*needed(basis(home)), "humidity")
            if (known := here.values.facts.get(f"regions.{name}.{fact}")) is not None and known.is_assumption
        ],
    }


def _line(run: FleetRun, name: str) -> Array:
    return sum((line["usd"] for line in run.cost["lines"] if line["name"] == name), start=0.0)


def _spread(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How far the best and the worst site lie apart: what the choice is worth."""
    usd = [float(row["total_usd"]["nominal"]) for row in rows]
    carbon = [float(row["carbon_kg"]) for row in rows]
    return {"usd": max(usd) - min(usd), "carbon_kg": max(carbon) - min(carbon)}


def latencies(values: Values, sites: Sequence[str]) -> list[list[float | None]]:
    """One-way seconds over fibre between sites, a square table; None where the catalog has no coordinates."""
    factor = values["facility.distance.route_factor"]
    places = [
        tuple(values.get(f"regions.{name}.{axis}") for axis in ("latitude", "longitude")) for name in sites
    ]

    def between(a: tuple[Array, ...], b: tuple[Array, ...]) -> float | None:
        if None in (*a, *b):
            return None
        return float(wide_area.fibre_latency(factor * wide_area.great_circle(*a, *b)))

    return [[between(a, b) for b in places] for a in places]
