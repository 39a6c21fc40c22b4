"""The same plan at many sites: power price, carbon, climate, PUE, water, and how far they are from each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facility import is_rented, site_numbers
from argosy.facility.site import INTENSITIES
from argosy.facts import FactError, Values
from argosy.laws import wide_area
from argosy.planning import Plan, plan
from argosy.planning.context import Context, context, need_training
from argosy.planning.headline import quantiles
from argosy.planning.payload import plain
from argosy.planning.run import FleetRun, fleet_account
from argosy.planning.site import network_account
from argosy.spec import Scenario, Site

Array = Any  # float, or draws (n,)
SCHEMA = "argosy.sites/1"
KWH_J = 3.6e6
OWNED_NOTE = "a rental price is the same at every site: the fleet is compared as if it were bought, which a site does change"

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
    need_training(scenario)
    answer = plan(scenario, draws, seed, services=False)
    if answer.nominal is None or answer.drawn is None:
        reasons = "; ".join(answer.verdict.reasons)
        raise FactError(f"{scenario.name} does not run anywhere: {reasons}")
    home = context(answer.scenario)
    compared = Comparison(home, answer, _own_name(home), draws, seed)
    names = [compared.named(name) for name in sites] or compared.every_site()
    base = np.asarray(compared.over_draws(compared.own).cost["total_usd"])
    rows = [compared.row(name, base) for name in dict.fromkeys(names)]
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
                "own_site": compared.own,
                "sites": rows,
                "spread": _spread(rows),
                "latency_s": latencies(home.values, [row["site"] for row in rows]),
                "latency_basis": "one way over fibre: great circle × route factor, without equipment",
                "notes": compared.notes(),
            }
        )
    )


@dataclass(frozen=True)
class Comparison:
    """One planned run, to be accounted for at any site. The scenario's own site is as the scenario says; elsewhere the
    catalog's climate, price and carbon hold, without what the scenario says of its own place.
    """

    home: Context
    answer: Plan
    own: str
    draws: int
    seed: int

    @property
    def basis(self) -> str:
        """Whether the scenario counts carbon over the life cycle or at the chimney."""
        return self.home.scenario.facility.carbon.basis

    def every_site(self) -> list[str]:
        """The catalog's sites, and the scenario's own where that is not one of them."""
        return list(dict.fromkeys([*known_sites(self.home.values, self.basis), self.own]))

    def named(self, name: str) -> str:
        """The catalog's name of a site; FactError with suggestions, and where it lacks a number that is needed."""
        if name == self.own:
            return name
        entry = self.home.catalog.entry("regions", name)
        missing = [fact for fact in needed(self.basis) if fact not in entry.facts]
        if missing and entry.name != self.own:
            known = ", ".join(known_sites(self.home.values, self.basis))
            raise FactError(f"the catalog has no {', '.join(missing)} of {entry.name}; write one of {known}")
        return entry.name

    def _elsewhere(self) -> dict[str, tuple[str, Any]]:
        """What the scenario says of its own place alone: field of facility or prices, (its name, what holds elsewhere)."""
        facility, prices = self.home.scenario.facility, self.home.scenario.prices
        told: dict[str, tuple[str, Any]] = {}
        if prices.electricity is not None:
            told["electricity"] = ("its price of electricity", None)
        if prices.tariff.periods:
            told["tariff"] = ("its times of use", prices.tariff.model_copy(update={"periods": ()}))
        if facility.pue is not None:
            told["pue"] = ("its fixed PUE", None)
        if facility.carbon.profile is not None or facility.carbon.residual is not None:
            plain_account = facility.carbon.model_copy(update={"profile": None, "residual": None})
            told["carbon"] = ("its hourly or residual carbon", plain_account)
        return told

    def notes(self) -> list[str]:
        """What is compared otherwise than the scenario says."""
        notes = [OWNED_NOTE] if is_rented(self.home.scenario.prices) else []
        only = [name for name, _ in self._elsewhere().values()]
        return [*notes, f"of the scenario's own site alone: {', '.join(only)}"] if only else notes

    def at(self, name: str) -> Context:
        """The scenario at a site, as a bought fleet."""
        scenario = self.home.scenario
        prices: dict[str, Any] = {"path": "own"} if is_rented(scenario.prices) else {}
        facility: dict[str, Any] = {}
        if name != self.own:
            facility["site"] = Site(name=name)
            for field, (_, value) in self._elsewhere().items():
                (prices if field in ("electricity", "tariff") else facility)[field] = value
        update = {
            "prices": scenario.prices.model_copy(update=prices),
            "facility": scenario.facility.model_copy(update=facility),
        }
        return replace(self.home, scenario=scenario.model_copy(update=update))

    def over_draws(self, name: str) -> FleetRun:
        """The drawn run at a site: the same draws of the work for every site, so that sites compare draw by draw."""
        assert self.answer.drawn is not None  # `compare_sites` has seen to it
        here = self.at(name).drawn(self.draws, self.seed)
        return fleet_account(here, list(self.answer.drawn.jobs), network_account(self.answer.fabrics))

    def row(self, name: str, own_usd: np.ndarray) -> dict[str, Any]:
        """One site: what the fleet draws, costs and emits there; `own_usd`: drawn cost at the scenario's own site (n,)."""
        here, run = self.at(name), self.answer.nominal
        assert run is not None  # `compare_sites` has seen to it
        nominal = fleet_account(here, list(run.jobs), network_account(self.answer.fabrics))
        drawn_usd = np.asarray(self.over_draws(name).cost["total_usd"])
        numbers = site_numbers(here.values, here.scenario.facility, here.scenario.prices)
        power, money = nominal.facility, nominal.cost
        return {
            "rank": 0,
            "site": name,
            "total_usd": quantiles(money["total_usd"], drawn_usd),
            "share_of_draws_cheaper_than_own": None
            if name == self.own
            else float(np.mean(drawn_usd < own_usd)),
            "usd_per_gpu_hour": money["usd_per_gpu_hour"],
            "usd_per_million_tokens": money["total_usd"] / sum(job.tokens for job in run.jobs) * 1e6,
            "electricity_usd": _line(nominal, "electricity"),
            "electricity_usd_per_kwh": numbers.usd_per_j * KWH_J,
            **{key: power[key] for key in _POWER},
            "carbon_kg_per_kwh": power["carbon_kg"] / power["energy_kwh"],
            "assumed": self._assumed(here, name),
        }

    def _assumed(self, here: Context, name: str) -> list[str]:
        """Which of the site's numbers are the catalog's assumptions."""
        facts = here.values.facts
        paths = {fact: f"regions.{name}.{fact}" for fact in (*needed(self.basis), "humidity")}
        return [fact for fact, path in paths.items() if path in facts and facts[path].is_assumption]


_POWER = (
    "pue",
    "energy_kwh",
    "facility_peak_w",
    "free_cooling_share",
    "carbon_kg",
    "carbon_basis",
    "water_kg",
    "problems",
)


def _own_name(home: Context) -> str:
    """The scenario's own site, by the catalog's name where it has one."""
    name = home.scenario.facility.site.name
    try:
        return home.catalog.entry("regions", name).name
    except FactError:
        return name


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
