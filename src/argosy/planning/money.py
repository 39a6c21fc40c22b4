"""Money, carbon and water of a plan, from every side: what `argosy facility` shows beside the physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from argosy.facility import Work, carbon_payload, made, site_numbers, tco_payload, tornado, water_payload
from argosy.facts import FactError, Values
from argosy.planning.context import Context
from argosy.planning.run import FleetRun, fleet_account
from argosy.planning.site import NetworkAccount, it_load, network_account, purchase, usage

Array = Any  # float, or draws (n,)


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
    return {
        "tco": {**tco, "tornado": cost_tornado(context, run, network, drawn)},
        "carbon": carbon_payload(
            values,
            settings.carbon,
            site,
            made(it_load(context, network), power["it_peak_w"]),
            it_kwh,
            power["pue"],
            wall_s,
            tokens,
        ),
        "water": water_payload(values, power["water_kg"] / it_kwh, it_kwh, power["pue"], tokens),
    }


def work(run: FleetRun) -> Work:
    """What all jobs of a run achieve: tokens, productive share of the wall clock, MFU weighted by productive time."""
    productive = sum(job.work_s for job in run.jobs)
    mfu = sum(job.mfu * job.work_s for job in run.jobs) / productive
    return Work(sum(job.tokens for job in run.jobs), productive / run.wall_s, mfu)


def cost_tornado(
    context: Context, run: FleetRun, network: NetworkAccount, drawn: FleetRun | None
) -> list[dict[str, Any]]:
    """What moves the whole cost of the run, in USD, the largest effect first."""
    from dataclasses import replace

    def total_usd(values: Values) -> Array:
        return fleet_account(replace(context, values=values), list(run.jobs), network).cost["total_usd"]

    rows = tornado(context.values, total_usd)
    if drawn is not None:
        rows.append(_days(run, drawn))
    return sorted(rows, key=lambda row: -max(abs(row["effect_low"]), abs(row["effect_high"])))


def _days(run: FleetRun, drawn: FleetRun) -> dict[str, Any]:
    """The run's length at its 5th and 95th percentile: step model, failures and fabric together."""
    days = run.wall_s / 86400.0
    low, high = np.quantile(np.asarray(drawn.wall_s) / 86400.0, [0.05, 0.95])
    per_day = run.cost["total_usd"] / days
    return {
        "fact": "days of the run (step model, failures)",
        "low": float(low),
        "high": float(high),
        "effect_low": float((low - days) * per_day),
        "effect_high": float((high - days) * per_day),
    }
