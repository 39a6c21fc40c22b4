"""Money, carbon and water of a plan, from every side: what `argosy facility` shows beside the physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facility import (
    WHEN_AUTO,
    Work,
    carbon_payload,
    is_rented,
    made,
    market,
    site_numbers,
    tco_payload,
    tornado,
    water_payload,
)
from argosy.facility.capital import price_basis
from argosy.facility.market import PATHS
from argosy.facility.money import by_effect, ends_of, tornado_row
from argosy.facts import FactError, Values
from argosy.planning.context import Context, need_training, without_services
from argosy.planning.context import context as context_of
from argosy.planning.headline import quantiles
from argosy.planning.payload import plain
from argosy.planning.run import FleetRun, fleet_account, nominal_run
from argosy.planning.site import NetworkAccount, it_load, network_account, purchase, usage
from argosy.spec import Prices, Scenario

Array = Any  # float, or draws (n,)
SCHEMA = "argosy.cost/1"
DAYS = "days of the run"  # the step model and the failures together: what the tornado calls them


def cost_payload(scenario: Scenario, draws: int = 500, seed: int = 0) -> dict[str, Any]:
    """The JSON of `argosy cost`: `tco`, `carbon` and `water` as in `argosy facility`, without its physics.

    FactError where the plan does not run (no layout divides), with the reasons.
    """
    from argosy.planning import plan

    if scenario.serving and not scenario.training:
        from argosy.planning.service_money import services_cost  # compiled: only for those who serve

        return services_cost(scenario, seed)
    need_training(scenario)
    answer = plan(scenario, draws, seed, services=False)
    if answer.nominal is None:
        raise FactError(f"{scenario.name} does not run: {'; '.join(answer.verdict.reasons)}")
    home = context_of(scenario)
    payload = {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": home.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "verdict": answer.verdict.to_dict(),
        "left_out": without_services(scenario),
        **money_payload(home, answer.nominal, answer.fabrics, answer.drawn),
    }
    return dict(plain(payload))


def money_payload(
    context: Context, run: FleetRun, fabrics: Sequence[Mapping[str, Any]], drawn: FleetRun | None = None
) -> dict[str, Any]:
    """The `tco`, `carbon` and `water` objects of the contract for a run at central facts.

    `tco.lines` are the plan's own cost lines; `tco.tornado` says what moves `usd_per_gpu_hour` most: facts of power
    and money at the ends of their bands, and, with the `drawn` run, the days that the work takes.
    """
    values, settings = context.values, context.scenario.facility
    site = site_numbers(values, settings, context.scenario.prices)
    network = network_account(fabrics)
    try:
        bought = purchase(context, run.facility["it_peak_w"], network.usd(values))
    except FactError:
        bought = None
    tokens = sum(job.tokens for job in run.jobs)
    power, wall_s = run.facility, run.wall_s
    tco = tco_payload(
        values, context.scenario.prices, site, bought, run.cost, usage(context, power, wall_s), work(run)
    )
    it_kwh = power["energy_kwh"] / power["pue"]
    things = made(it_load(context, network), power["it_peak_w"])
    carbon = carbon_payload(values, settings.carbon, site, things, it_kwh, power["pue"], wall_s, tokens)
    return {
        "tco": {
            **tco,
            "price_basis": None if bought is None else price_basis(values, context.node, context.accelerator),
            "paths": paths(context, run, network),
            "quantiles": None if drawn is None else _quantiles(run, drawn),
            "tornado": cost_tornado(context, run, network, drawn),
        },
        "carbon": {**carbon, "quantiles": None if drawn is None else _carbon_quantiles(run, drawn)},
        "water": water_payload(values, power["water_kg"] / it_kwh, it_kwh, power["pue"], tokens),
    }


def paths(context: Context, run: FleetRun, network: NetworkAccount) -> list[dict[str, Any]]:
    """The same work on every path that has a price: bought, and rented at each of the catalog's, at central facts.

    On the spot market nodes are taken back, so the run is longer, and has the spares that this asks for.
    """
    rows = []
    for path in ("own", *PATHS):
        prices = context.given.prices.model_copy(update={"path": path, "accelerator_hour": None})
        try:
            other = _on_path(context, run, network, prices)
        except FactError:
            continue  # no price of that kind is known
        rows.append(
            {
                "path": path,
                "total_usd": other.cost["total_usd"],
                "usd_per_gpu_hour": other.cost["usd_per_gpu_hour"],
                "usd_per_million_tokens": other.cost["total_usd"] / sum(job.tokens for job in run.jobs) * 1e6,
                "days": other.wall_s / 86400.0,
                "goodput": work(other).goodput,
            }
        )
    return rows


def _on_path(context: Context, run: FleetRun, network: NetworkAccount, prices: Prices) -> FleetRun:
    """The run paid in another way; lived anew where one of the two ways has interruptions."""
    if "spot" in (prices.path, context.scenario.prices.path):
        elsewhere = context_of(context.given.model_copy(update={"prices": prices}))
        return nominal_run(elsewhere, [job.job for job in run.jobs], network)
    scenario = context.scenario.model_copy(update={"prices": prices})
    return fleet_account(replace(context, scenario=scenario), list(run.jobs), network)


def _quantiles(run: FleetRun, drawn: FleetRun) -> dict[str, dict[str, float]]:
    """P10, P50 and P90 of the bill over the joint draws, beside its nominal."""
    million = 1e6 / sum(job.tokens for job in run.jobs)
    total, over_draws = run.cost["total_usd"], drawn.cost["total_usd"]
    hour, hours = run.cost["usd_per_gpu_hour"], drawn.cost["usd_per_gpu_hour"]
    return {
        "total_usd": quantiles(total, over_draws),
        "usd_per_gpu_hour": quantiles(hour, hours),
        "usd_per_million_tokens": quantiles(total * million, over_draws * million),
    }


def _carbon_quantiles(run: FleetRun, drawn: FleetRun) -> dict[str, dict[str, float]]:
    """P10, P50 and P90 of the location-based carbon of electricity: energy and the grid drawn together."""
    return {"location_based_kg": quantiles(run.facility["carbon_kg"], drawn.facility["carbon_kg"])}


def work(run: FleetRun) -> Work:
    """What all jobs of a run achieve: tokens, productive share of the wall clock, MFU weighted by productive time."""
    productive = sum(job.work_s for job in run.jobs)
    mfu = sum(job.mfu * job.work_s for job in run.jobs) / productive
    return Work(sum(job.tokens for job in run.jobs), productive / run.wall_s, mfu)


def cost_tornado(
    context: Context, run: FleetRun, network: NetworkAccount, drawn: FleetRun | None
) -> list[dict[str, Any]]:
    """What moves the whole cost of the run, in USD, the largest effect first.

    Facts of power and money at the ends of their bands; the scenario's lifetime and discount rate at the ends of the
    catalog's (where the fleet is owned) or its rent at the ends of the market's (where it is rented); the days that
    the work takes.
    """

    def total_usd(values: Values, prices: Prices | None = None) -> Array:
        scenario = context.scenario
        if prices is not None:
            scenario = scenario.model_copy(update={"prices": prices})
        changed = replace(context, values=values, scenario=scenario)
        return fleet_account(changed, list(run.jobs), network).cost["total_usd"]

    rows = tornado(context.values, total_usd)
    for field, ends in _price_bands(context).items():
        effects = [
            float(total_usd(context.values, context.scenario.prices.model_copy(update={field: end})))
            - float(run.cost["total_usd"])
            for end in ends
        ]
        rows.append(tornado_row(f"prices.{field}", *ends, *effects))
    if drawn is not None:
        rows.append(_days(run, drawn))
    return by_effect(rows)


def _price_bands(context: Context) -> dict[str, tuple[float, float]]:
    """The scenario's own prices that decide most, with the ends between which the catalog says they lie (SI units)."""
    prices, facts = context.scenario.prices, context.values.facts
    if is_rented(prices):
        rents = [row for row in market(context.values, context.accelerator) if row["path"] == WHEN_AUTO]
        if prices.accelerator_hour is None or not rents:
            return {}
        per_s = [
            (end or rents[0]["usd_per_gpu_hour"]) / 3600.0 for end in (rents[0]["low"], rents[0]["high"])
        ]
        return {"accelerator_hour": (per_s[0], per_s[1])}
    bands = {}
    for field, path in (("lifetime", "lifetime_it"), ("discount_rate", "discount_rate")):
        band = ends_of(facts[f"prices.capital.{path}"])
        if band is not None:
            bands[field] = band
    return bands


def _days(run: FleetRun, drawn: FleetRun) -> dict[str, Any]:
    """The run's length at its 5th and 95th percentile: step model, failures and fabric together."""
    days = run.wall_s / 86400.0
    low, high = (float(end) for end in np.quantile(np.asarray(drawn.wall_s) / 86400.0, [0.05, 0.95]))
    per_day = float(run.cost["total_usd"]) / days
    name = DAYS
    return tornado_row(name, low, high, (low - days) * per_day, (high - days) * per_day)
