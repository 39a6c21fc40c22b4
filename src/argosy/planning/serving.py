"""`argosy serving`: the smallest fleet that keeps a service's promises, what it costs, and where its GPU-seconds go."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facts import FactError
from argosy.ledger import Ledger
from argosy.planning import serving_entry
from argosy.planning.context import Context, context
from argosy.planning.payload import assumptions, plain
from argosy.planning.service import options, service, unfit
from argosy.planning.serving_curves import curves
from argosy.planning.serving_entry import entry, entry_without_fleet
from argosy.planning.serving_money import per_gpu_s, power_and_cost, token_prices
from argosy.planning.verdict import Constraint, Verdict, judge
from argosy.serving.account import checks, ledger
from argosy.serving.objectives import reached
from argosy.serving.search import Found, search
from argosy.serving.sizing import Service, Sized, availability
from argosy.spec import Scenario, Serving
from argosy.spec.canonical import canonical

SCHEMA = "argosy.serving/1"
THREADS = 2
"""Runs at once: the compiled simulation holds no lock."""


@dataclass(frozen=True)
class ServicePlan:
    """A service planned: what was asked, the fleet that was found (None: none), its verdict, power and money."""

    given: Serving
    asked: Service
    found: Found
    verdict: Verdict
    whole_gpus: int
    facility: dict[str, Any] | None
    cost: dict[str, Any] | None
    ledger: Ledger | None
    payload: dict[str, Any]


def serving_payload(
    scenario: Scenario, name: str | None = None, seeds: int = 5, seed: int = 0, pareto: bool = False,
    tell: Callable[[str], None] = lambda message: None, step_times: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The JSON of `argosy serving` for the service of that name, or the first.

    `seeds`: runs behind intervals; `pareto`: all options are compared; `step_times`: iterations are listed.
    FactError where the scenario has no such service, ScenarioError with the faults of a trace.
    """
    given = serving_job(scenario, name)
    setting = context(scenario)
    planned = plan_service(setting, given, seeds=seeds, seed=seed, pareto=pareto, tell=tell)
    answer = {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": setting.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash, "inputs": canonical(scenario)},
        **planned.payload,
        "assumptions": assumptions(setting),
    }
    if step_times and planned.found.best is not None:
        answer["step_times"] = serving_entry.step_times(planned.found.best)
    return dict(plain(answer))


def own_assertions(scenario: Scenario, name: str) -> Scenario:
    """The scenario with those assertions alone that are about the service of that name."""
    index = [each.name for each in scenario.serving].index(name)
    starts = (f"serving.{name}.", f"serving.{index}.")
    kept = tuple(each for each in scenario.assertions if each.path.startswith(starts))
    return scenario.model_copy(update={"assertions": kept})


def serving_job(scenario: Scenario, name: str | None = None) -> Serving:
    """The service of that name, or the first; FactError where the scenario has none, or none of that name."""
    known = {each.name: each for each in scenario.serving}
    if not known:
        raise FactError(f"{scenario.name} has no service; add serving:")
    if name is not None and name not in known:
        raise FactError(f"no service {name!r}; the scenario has {', '.join(known)}")
    return known[name] if name is not None else next(iter(known.values()))


def plan_service(
    setting: Context, given: Serving, seeds: int = 3, seed: int = 0, pareto: bool = False,
    tell: Callable[[str], None] = lambda message: None,
) -> ServicePlan:  # fmt: skip
    """Searches, sizes and accounts for one service; energy and cost are of the service's own period."""
    asked = service(setting, given, seeds, seed)
    tell(f"{given.name}: {len(asked.traces[0]):,} requests, {seeds} seeds")
    ways = options(setting, given)
    with ThreadPoolExecutor(THREADS) if seeds > 1 else nullcontext() as executor:
        found = search(asked, ways, executor, pareto)
    lost = unfit(setting, asked, ways)
    if found.best is None:
        verdict = _nothing(given, found)
        empty = {**entry_without_fleet(given, found), "verdict": verdict.to_dict()}
        return ServicePlan(given, asked, found, verdict, 0, None, None, None, dict(plain(empty)))
    sized = found.best
    whole = sized.whole_gpus(setting.node_size)
    verdict = _verdict(setting, given, asked, sized, whole, lost)
    power, cost = power_and_cost(setting, sized, whole, given.period)
    tree = ledger(asked, sized, whole)
    body = entry(asked, found, sized, whole, cost, tree)
    body["facility"], body["cost"] = power, {**body["cost"], **cost}
    body["verdict"] = verdict.to_dict()
    body["curves"] = curves(sized)
    return ServicePlan(given, asked, found, verdict, whole, power, cost, tree, dict(plain(body)))


def service_cost(
    setting: Context, planned: ServicePlan, period_s: float
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, dict[str, Any]]:
    """Power, cost and the payload of a planned service over another period; nothing changes where no fleet was found."""
    sized = planned.found.best
    if sized is None:
        return None, None, planned.payload
    power, cost = power_and_cost(setting, sized, planned.whole_gpus, period_s)
    prices = token_prices(sized, planned.asked, planned.whole_gpus, per_gpu_s(cost, planned.whole_gpus))
    return power, cost, dict(plain({**planned.payload, "facility": power, "cost": {**prices, **cost}}))


# --- verdict ---------------------------------------------------------------------------


def _verdict(
    setting: Context, given: Serving, asked: Service, sized: Sized, whole: int, lost: int
) -> Verdict:
    values = reached(sized.runs, asked.wanted)
    limits = []
    for each in asked.wanted:
        value = values[each.name]
        shown = f"{value:.3g} s" if np.isfinite(value) else "never, too many are not served"
        detail = f"{given.name}: {each.name} {shown} of {each.limit_s:.3g} s promised"
        margin = 1.0 - value / each.limit_s if np.isfinite(value) else -1.0
        limits.append(Constraint(f"{each.name} of {given.name}", margin, "violates", detail))
    budget = (
        setting.fleet.count if asked.accelerators is None else min(asked.accelerators, setting.fleet.count)
    )
    room = f"{given.name}: {whole:,} of {budget:,} accelerators"
    if asked.accelerators is None:
        limits.append(Constraint("accelerators of the fleet", 1.0 - whole / budget, "infeasible", room))
    up, promised = availability(asked, sized), given.objectives.availability
    short = f"{given.name}: those needed are up {up:.4%} of the time, {asked.availability:.4%} promised"
    if up < asked.availability - 1e-9:
        short += f"; {_shortest(asked, sized)}"
    if promised is not None:
        # the share of the allowed time without service that is left
        margin = 1.0 - (1.0 - up) / max(1.0 - promised, 1e-12)
        limits.append(Constraint(f"availability of {given.name}", max(margin, -1.0), "violates", short))
    served = float(np.mean(np.concatenate([run.done for run in sized.runs])))
    cautions = []
    if promised is None and given.redundancy.spares is None and up < asked.availability - 1e-9:
        cautions.append(short)
    cut = len(asked.traces[0]) - len(sized.runs[0].requests)
    if cut:
        kept = sized.runs[0].requests
        cautions.append(
            f"{given.name}: of {len(kept) + cut:,} requests the busiest stretch of {len(kept):,} is simulated, "
            f"{kept.horizon_s / 3600.0:.3g} h long"
        )
    if lost:
        cautions.append(
            f"{given.name}: {lost:,} requests are longer than a replica's memory and are turned away"
        )
    if served < 1.0:
        cautions.append(f"{given.name}: {1.0 - served:.3%} of arrivals are not served")
    if asked.scaling is not None and not sized.met:
        cautions.append(f"{given.name}: {_lagging(sized)}")
    cautions += [
        f"{given.name}: {check['name']} does not hold: {check['detail']}"
        for check in checks(sized)
        if not check["holds"]
    ]
    return judge(limits, [], cautions)


def _shortest(asked: Service, sized: Sized) -> str:
    """What keeps the availability from being reached, and what would raise it."""
    gpus = max(pool.provider.gpus for pool in sized.option.kinds)
    alone = [each for each in asked.failures.domains if each.gpus >= gpus and each.places == 1]
    if alone and asked.spares is None and asked.accelerators is None:
        names = " and one ".join(each.name for each in alone)
        return f"all replicas share one {names}: when it fails, no spare is left; a fleet that spans several would raise it"
    return "more spares, a shorter repair or smaller replicas would raise it"


def _lagging(sized: Sized) -> str:
    """Why an autoscaled fleet misses its promises, and what would keep them."""
    if sized.least_kept is None:
        return "the autoscaler follows too late, and failures take too much even with all replicas always on"
    return (
        f"the autoscaler follows too late; autoscaler: {{least: {sized.least_kept}}} keeps the promises, and so may a "
        "shorter delay or cold start"
    )


def _nothing(given: Serving, found: Found) -> Verdict:
    reasons = [f"{given.name}: {fault}" for fault in found.faults]
    ranked = sorted(found.excluded.items(), key=lambda item: -item[1])
    told = [f"{given.name}: {many} of {found.evaluated} layouts: {reason}" for reason, many in ranked]
    memory = bool(ranked) and all("memory" in reason for reason in found.excluded)
    if memory:
        told.append(f"{given.name}: more or larger accelerators, or narrower formats, would hold it")
    reasons = reasons or told
    binding = "physical floor" if found.faults else "memory" if memory else "accelerators"
    return Verdict("infeasible", binding, None, tuple(reasons))
