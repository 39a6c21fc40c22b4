"""Money, carbon and water of services without training: `argosy cost` and `argosy facility` of an inference fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facility import carbon_payload, made, site_numbers, tco_payload, tornado, water_payload
from argosy.facility.capital import price_basis
from argosy.facility.market import PATHS
from argosy.facts import FactError, Values
from argosy.planning.context import Context, context
from argosy.planning.money import SCHEMA
from argosy.planning.payload import plain
from argosy.planning.serving import ServicePlan
from argosy.planning.serving_money import Shared, share_of, shared_power_and_cost
from argosy.planning.site import it_load, purchase, usage
from argosy.planning.together import merged, plan_services
from argosy.planning.verdict import Verdict
from argosy.serving.objectives import good
from argosy.spec import Scenario


@dataclass(frozen=True)
class ServicesRun:
    """All services over one period: their part of the fleet, what it draws and costs, tokens served in time."""

    services: tuple[ServicePlan, ...]
    verdict: Verdict
    shared: Shared
    period_s: float
    facility: dict[str, Any]
    cost: dict[str, Any]
    tokens: float

    @property
    def part(self) -> Context:
        """The services' nodes as a fleet of their own."""
        return self.shared.part


def services_run(scenario: Scenario, seed: int = 0) -> ServicesRun:
    """The services sized, together over the longest of their periods. FactError where one finds no fleet, with the reasons."""
    setting = context(scenario)
    services = plan_services(setting, seed, lambda message: None)
    verdict = merged([each.verdict for each in services])
    if any(each.found.best is None for each in services):
        raise FactError(f"{scenario.name} finds no fleet: {'; '.join(verdict.reasons)}")
    period = max(each.given.period for each in services)
    shared = share_of(setting, [(each.found.best, each.whole_gpus) for each in services if each.found.best])
    power, cost = shared_power_and_cost(shared, period)
    return ServicesRun(services, verdict, shared, period, power, cost, _tokens(services, period))


def _tokens(services: Sequence[ServicePlan], period_s: float) -> float:
    """Tokens generated for requests that were served in time, over a period at the traces' mean rates."""
    total = 0.0
    for each in services:
        assert each.found.best is not None
        runs = each.found.best.runs
        made_ = sum(float(run.requests.output_tokens[good(run, each.asked.wanted)].sum()) for run in runs)
        total += made_ / sum(run.requests.horizon_s for run in runs) * period_s
    return total


def services_cost(scenario: Scenario, seed: int = 0) -> dict[str, Any]:
    """The JSON of `argosy cost` for services alone."""
    run = services_run(scenario, seed)
    payload = {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": run.part.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "verdict": run.verdict.to_dict(),
        "left_out": [],
        **services_money(run),
    }
    return dict(plain(payload))


def services_money(run: ServicesRun) -> dict[str, Any]:
    """The `tco`, `carbon` and `water` objects of the contract for services, at central facts.

    As for training, with tokens generated in time in place of tokens trained; `mfu` and `goodput` do not apply.
    """
    part, power, network = run.part, run.facility, run.shared.network
    values, settings, prices = part.values, part.scenario.facility, part.scenario.prices
    site = site_numbers(values, settings, prices)
    try:
        bought = purchase(part, power["it_peak_w"], network.usd(values))
    except FactError:
        bought = None
    tco = tco_payload(values, prices, site, bought, run.cost, usage(part, power, run.period_s))
    it_kwh = power["energy_kwh"] / power["pue"]
    things = made(it_load(part, network), power["it_peak_w"])
    million = 1e6 / run.tokens if run.tokens else None
    return {
        "tco": {
            **tco,
            "price_basis": None if bought is None else price_basis(values, part.node, part.accelerator),
            "paths": _paths(run, million),
            "quantiles": None,
            "tornado": tornado(values, lambda other: _total(run, other)),
            "period_s": run.period_s,
            "services": [
                {"name": each.given.name, "gpus": each.whole_gpus}
                | {
                    key: each.payload["cost"][key]
                    for key in each.payload["cost"]
                    if key.startswith("usd_per_million")
                }
                for each in run.services
            ],
        },
        "carbon": {
            **carbon_payload(
                values, settings.carbon, site, things, it_kwh, power["pue"], run.period_s, run.tokens
            ),
            "quantiles": None,
        },
        "water": water_payload(values, power["water_kg"] / it_kwh, it_kwh, power["pue"], run.tokens),
    }


def _total(run: ServicesRun, values: Values) -> Any:
    """Dollars of the period at other facts of power and money: floats, or draws (n,)."""
    return shared_power_and_cost(run.shared.at(replace(run.part, values=values)), run.period_s)[1][
        "total_usd"
    ]


def _paths(run: ServicesRun, million: float | None) -> list[dict[str, Any]]:
    """The same nodes on every path that has a price; interruptions of a spot market are not in it."""
    rows = []
    for path in ("own", *(each for each in PATHS if each != "spot")):
        prices = run.part.scenario.prices.model_copy(update={"path": path, "accelerator_hour": None})
        scenario = run.part.scenario.model_copy(update={"prices": prices})
        try:
            paid = shared_power_and_cost(run.shared.at(replace(run.part, scenario=scenario)), run.period_s)[1]
        except FactError:
            continue  # no price of that kind is known
        total = float(np.mean(paid["total_usd"]))
        rows.append(
            {
                "path": path,
                "total_usd": total,
                "usd_per_gpu_hour": paid["usd_per_gpu_hour"],
                "usd_per_million_tokens": None if million is None else total * million,
                "days": run.period_s / 86400.0,
                "goodput": None,
            }
        )
    return rows
