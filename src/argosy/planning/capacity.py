"""Capacity over time for a scenario: its own machines and prices, quarter by quarter, bought or rented."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facility.capacity import (
    UnitCost,
    book_value,
    demand,
    installed,
    present,
    served,
    spending,
)
from argosy.facility.capital import HARDWARE, PLANT, YEAR_S
from argosy.facility.cost import running_costs
from argosy.facility.market import WHEN_AUTO, rent_per_hour
from argosy.facts import FactError
from argosy.planning import plan
from argosy.planning.context import Context, context, need_training
from argosy.planning.headline import quantiles
from argosy.planning.payload import plain
from argosy.planning.run import FleetRun, fleet_account
from argosy.planning.site import NetworkAccount, it_load, network_account, purchase
from argosy.spec import Capacity, Scenario
from argosy.spec.capacity import quarter_label, quarter_number

Array = Any
SCHEMA = "argosy.capacity/1"
MACHINES = ("delivered", "powered", "usable")
MEETING = ("own", "rented", "unmet", "idle")
MONEY = ("capital", "running", "electricity", "rent", "rent_all")


def capacity_payload(scenario: Scenario, draws: int = 1000, seed: int = 0) -> dict[str, Any]:
    """The JSON of `argosy capacity`: every quarter at central numbers with P10/P50/P90 of what is uncertain.

    Uncertain are the growth of demand, the delay of every delivery, and prices and power of one accelerator (`draws`
    joint draws). FactError without `capacity:` in the scenario, without a purchase or a rental price, and where the
    plan, from which power and prices of one accelerator come, does not run.
    """
    wanted = scenario.capacity
    if wanted is None:
        raise FactError(
            f"{scenario.name} has no plan of capacity; write capacity: {{start: 2027-Q1, deliveries: "
            "[{quarter: 2027-Q1, accelerators: 1024}], demand: {accelerators: 800}}"
        )
    need_training(scenario)
    answer = plan(scenario, max(draws, 100), seed, services=False)
    if answer.nominal is None or answer.drawn is None:
        raise FactError(f"{scenario.name} does not run: {'; '.join(answer.verdict.reasons)}")
    home = context(answer.scenario)
    network = network_account(answer.fabrics)
    drawn_home = home.drawn(draws, seed)
    drawn_run = fleet_account(drawn_home, list(answer.drawn.jobs), network)
    unit = unit_cost(home, answer.nominal, network)
    in_service = 1.0 - share_in_repair(home, answer.nominal)
    central = _course(wanted, unit, in_service, np.zeros(len(wanted.deliveries)), wanted.demand.growth)
    generator = np.random.default_rng([seed, 7])
    slips = generator.exponential(max(wanted.slip, 1e-9), (draws, len(wanted.deliveries)))
    growth = wanted.demand.growth + wanted.demand.spread * generator.standard_normal(draws)
    drawn_unit = unit_cost(drawn_home, drawn_run, network)
    over_draws = _course(wanted, drawn_unit, in_service, slips, np.maximum(growth, -0.99))
    rate = home.scenario.prices.discount_rate
    return dict(
        plain(
            {
                "schema": SCHEMA,
                "version": __version__,
                "facts_date": home.catalog.facts_date,
                "scenario": {"name": scenario.name, "hash": scenario.hash},
                "unit": _unit_payload(home, unit, in_service),
                "quarters": _quarters(wanted, central, over_draws),
                "rent_or_buy": _decision(wanted, (unit, central), (drawn_unit, over_draws), rate),
                "basis": (
                    "accelerators are means over the quarter, of the scenario's kind; capital is paid on delivery; "
                    f"money is not discounted in the table, and at {100 * rate:.3g} % a year where it says present value"
                ),
            }
        )
    )


def unit_cost(home: Context, run: FleetRun, network: NetworkAccount) -> UnitCost:
    """What one accelerator of the plan costs: its share of the whole fleet's purchase, running costs and electricity.

    Power is that of the planned job. FactError where nothing is known of a purchase or a rental price.
    """
    values, prices = home.values, home.scenario.prices
    fleet = home.fleet.count + home.spare_accelerators
    peak = run.facility["it_peak_w"]
    bought = purchase(home, peak, network.usd(values))
    running = sum((usd for _, usd in running_costs(values, bought, peak)), start=0.0) / YEAR_S
    owned = fleet_account(_owned(home), list(run.jobs), network)
    power = sum(
        (line["usd"] for line in owned.cost["lines"] if line["name"] in ("electricity", "demand charge")),
        start=0.0,
    )
    assert home.scenario.capacity is not None
    given = home.scenario.capacity.rent.hour
    market = prices.model_copy(update={"path": WHEN_AUTO, "accelerator_hour": given})
    assets = {asset.name: asset for asset in bought.assets}
    return UnitCost(
        bought.usd(HARDWARE) / fleet,
        bought.usd(PLANT) / fleet,
        running / fleet,
        power / run.wall_s / fleet,
        rent_per_hour(values, market, home.accelerator) / 3600.0,
        assets["accelerators"].life_s,
        assets["building"].life_s,
        assets["accelerators"].residual,
        it_load(home, network).node.idle_w * (home.nodes + home.spare_nodes) / run.facility["it_mean_w"],
    )


def _owned(home: Context) -> Context:
    prices = home.scenario.prices.model_copy(update={"path": "own"})
    return replace(home, scenario=home.scenario.model_copy(update={"prices": prices}))


def share_in_repair(home: Context, run: FleetRun) -> float:
    """Share of nodes that are being repaired at a moment: failures of nodes × repair time ÷ nodes, at most all."""
    failing = float(run.jobs[0].reliability.rates.node_per_s)
    return min(failing * home.scenario.reliability.repair.time / home.nodes, 1.0)


def _course(
    wanted: Capacity, unit: UnitCost, in_service: float, slips: Array, growth: Array
) -> dict[str, np.ndarray]:
    """Everything by quarter, (..., quarters)."""
    machines = installed(wanted, slips, in_service, unit.life_s)
    asked = demand(wanted, growth)
    meeting = served(wanted, asked, machines["usable"])
    return {"demand": asked, **machines, **meeting, **spending(wanted, machines, meeting, unit)}


def _unit_payload(home: Context, unit: UnitCost, in_service: float) -> dict[str, Any]:
    """What one accelerator costs, in the units that people use."""
    hours = 3600.0
    return {
        "accelerator": home.accelerator,
        "hardware_usd": unit.hardware,
        "site_usd": unit.site,
        "running_usd_per_hour": unit.running_per_s * hours,
        "electricity_usd_per_hour": unit.power_per_s * hours,
        "rent_usd_per_hour": unit.rent_per_s * hours,
        "life_s": unit.life_s,
        "in_service": in_service,
        "basis": "shares of the planned fleet; site is power and cooling plant and building",
    }


def _quarters(
    wanted: Capacity, central: dict[str, np.ndarray], drawn: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    """One row a quarter: central numbers, bands where something is uncertain."""
    first = quarter_number(wanted.start)
    rows = []
    for number in range(wanted.quarters):
        row: dict[str, Any] = {"quarter": quarter_label(first + number)}
        for key in ("demand", *MACHINES, *MEETING):
            row[key] = quantiles(central[key][number], drawn[key][..., number])
        for key in MONEY:
            row[f"{key}_usd"] = quantiles(central[key][number], drawn[key][..., number])
        rows.append(row)
    return rows


def _decision(
    wanted: Capacity,
    central: tuple[UnitCost, dict[str, np.ndarray]],
    drawn: tuple[UnitCost, dict[str, np.ndarray]],
    rate: float,
) -> dict[str, Any]:
    """Buying as planned against renting what is met: present values, their difference, when buying has paid."""
    bands = {}
    for key, ends in {"buy_usd": _buy, "rent_usd": _rent, "buy_less_book_value_usd": _buy_less_left}.items():
        bands[key] = quantiles(ends(wanted, *central, rate)[-1], ends(wanted, *drawn, rate)[..., -1])
    advantage = _rent(wanted, *central, rate) - _buy_less_left(wanted, *central, rate)
    over_draws = _rent(wanted, *drawn, rate) - _buy_less_left(wanted, *drawn, rate)
    cash = _rent(wanted, *central, rate) - _buy(wanted, *central, rate)
    first = quarter_number(wanted.start)
    return {
        **bands,
        "advantage_of_buying_usd": quantiles(advantage[-1], over_draws[..., -1]),
        "share_of_draws_in_which_buying_wins": float(np.mean(over_draws[..., -1] > 0)),
        "break_even_quarter": _since(advantage, first),
        "break_even_quarter_in_cash": _since(cash, first),
        "basis": "present values over the quarters, of met demand alone; book value falls in a straight line to the residual",
    }


def _buy(wanted: Capacity, unit: UnitCost, course: dict[str, np.ndarray], rate: float) -> np.ndarray:
    """Cumulative present value of buying as planned, with what is rented beside it."""
    return present(course["capital"] + course["running"] + course["electricity"] + course["rent"], rate)


def _rent(wanted: Capacity, unit: UnitCost, course: dict[str, np.ndarray], rate: float) -> np.ndarray:
    """Cumulative present value of renting the whole of the met demand."""
    return present(course["rent_all"], rate)


def _buy_less_left(
    wanted: Capacity, unit: UnitCost, course: dict[str, np.ndarray], rate: float
) -> np.ndarray:
    """`_buy` less the present value of what the machines are still worth."""
    years = np.arange(1, wanted.quarters + 1) / 4.0
    return np.asarray(_buy(wanted, unit, course, rate) - book_value(wanted, unit) / (1.0 + rate) ** years)


def _since(advantage: np.ndarray, first: int) -> str | None:
    """The first quarter from which on buying stays ahead to the end; None where it ends behind."""
    ahead = advantage > 0
    if not ahead[-1]:
        return None
    behind = np.flatnonzero(~ahead)
    return quarter_label(first + (0 if behind.size == 0 else int(behind[-1]) + 1))
