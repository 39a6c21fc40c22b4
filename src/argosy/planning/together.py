"""Services in a plan: alone, or on one budget of accelerators with training, which takes what they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy.ledger import Ledger
from argosy.planning.account import three_shares
from argosy.planning.context import Context, context
from argosy.planning.job import JobPlan, plan_job
from argosy.planning.payload import assumptions, envelope, plain
from argosy.planning.run import FleetRun
from argosy.planning.serving import ServicePlan, plan_service, service_cost
from argosy.planning.shared import shared_fleet
from argosy.planning.verdict import Verdict
from argosy.training import Search

SEEDS = 3
"""Runs of a service in a plan; `argosy serving --seeds` takes more."""
_ORDER = ("feasible", "violates", "infeasible")
_ADDED = (
    "it_mean_w",
    "it_peak_w",
    "facility_mean_w",
    "facility_peak_w",
    "energy_kwh",
    "racks",
    "water_kg",
    "carbon_kg",
)


def plan_services(setting: Context, seed: int, tell: Callable[[str], None]) -> tuple[ServicePlan, ...]:
    """Every service of the scenario, sized by itself."""
    return tuple(
        plan_service(setting, each, seeds=SEEDS, seed=seed, tell=tell) for each in setting.scenario.serving
    )


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst status, its tightest binding constraint, all reasons."""
    status = max((each.status for each in verdicts), key=_ORDER.index)
    worst = [each for each in verdicts if each.status == status]
    tightest = min(worst, key=lambda each: np.inf if each.margin is None else each.margin)
    reasons = dict.fromkeys(reason for each in (tightest, *verdicts) for reason in each.reasons)
    return Verdict(status, tightest.binding, tightest.margin, tuple(reasons))


def budget(setting: Context, services: Sequence[ServicePlan]) -> Verdict | None:
    """Infeasible where the services together need more accelerators than the fleet has."""
    taken = sum(each.whole_gpus for each in services)
    if taken <= setting.fleet.count:
        return None
    names = ", ".join(f"{each.given.name} {each.whole_gpus:,}" for each in services)
    told = f"the services need {taken:,} accelerators ({names}), the fleet has {setting.fleet.count:,}"
    return Verdict("infeasible", "accelerators of the fleet", 1.0 - taken / setting.fleet.count, (told,))


# --- services alone ---------------------------------------------------------------------


def services_alone(
    setting: Context, services: Sequence[ServicePlan], fabrics: list[dict[str, Any]]
) -> tuple[Verdict, dict[str, Any]]:
    """Verdict and JSON of a plan without training: power and cost of the services' own nodes over their periods."""
    verdicts = [each.verdict for each in services]
    over = budget(setting, services)
    assumed = len(assumptions(setting))
    cautions = (
        (f"rests on {assumed} assumptions without a source, listed with the answer",) if assumed else ()
    )
    verdict = merged([*verdicts, *([over] if over else [])])
    verdict = replace(verdict, reasons=(*verdict.reasons, *cautions))
    kept = [each for each in services if each.ledger is not None]
    whole = len(kept) == len(services)
    tree = (
        _tree(setting.scenario.name, [_over_period(each, each.given.period) for each in kept])
        if whole
        else None
    )
    answer = {
        **envelope(setting, verdict),
        "headline": [row for each in kept for row in _headline(each, len(services) > 1)],
        "training": [],
        "serving": [each.payload for each in services],
        "fabrics": fabrics,
        "facility": _sum_facility([each.facility for each in kept]) if whole else None,
        "cost": _sum_cost(
            [(each.given.name, each.cost, _gpu_hours(each, each.given.period)) for each in kept]
        )
        if whole
        else None,
        "ledger": tree.to_dict() if tree else None,
        "three_shares": None,
        "assumptions": assumptions(setting),
        "facts": [{"path": path, **fact.to_dict()} for path, fact in sorted(setting.values.used.items())],
        "notes": [f"{each.given.name} is {each.payload['replica']['grade']}" for each in kept],
    }
    return verdict, dict(plain(answer))


def _over_period(each: ServicePlan, period_s: float) -> Ledger:
    """The service's ledger, of a run, as that of a period that has no warm-up and no run-out."""
    assert each.ledger is not None and each.found.best is not None
    window = float(np.mean([run.window_s for run in each.found.best.runs]))
    return each.ledger.scaled(period_s / window, each.ledger.unit)


def _tree(name: str, trees: list[Ledger]) -> Ledger:
    return trees[0] if len(trees) == 1 else Ledger.parent(name, tuple(trees))


def _gpu_hours(each: ServicePlan, period_s: float) -> float:
    return each.whole_gpus * period_s / 3600.0


def _sum_facility(parts: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Facilities side by side: watts, energy, racks, water and carbon add; what else there is, is the largest one's."""
    known = [each for each in parts if each is not None]
    if not known:
        return None
    largest = max(known, key=lambda each: float(np.mean(each["it_peak_w"])))
    total = {key: sum(each[key] for each in known) for key in _ADDED}
    total["pue"] = total["facility_mean_w"] / total["it_mean_w"]
    total["pue_peak"] = total["facility_peak_w"] / total["it_peak_w"]
    problems = [word for each in known for word in each["problems"]]
    cautions = [word for each in known for word in each["cautions"]]
    return {
        **largest,
        **total,
        "problems": list(dict.fromkeys(problems)),
        "cautions": list(dict.fromkeys(cautions)),
    }


def _sum_cost(parts: Sequence[tuple[str, dict[str, Any] | None, float]]) -> dict[str, Any] | None:
    known = [(name, cost, hours) for name, cost, hours in parts if cost is not None]
    if not known:
        return None
    lines = [
        {"name": f"{name}: {line['name']}" if len(known) > 1 else line["name"], "usd": line["usd"]}
        for name, cost, _ in known
        for line in cost["lines"]
    ]
    total, hours = sum(cost["total_usd"] for _, cost, _ in known), sum(hours for *_, hours in known)
    return {
        "total_usd": total,
        "usd_per_gpu_hour": total / hours,
        "lines": lines,
        "boundary": known[0][1]["boundary"],
    }


def _headline(each: ServicePlan, named: bool) -> list[dict[str, Any]]:
    """A service's numbers in the rows of a plan: quantiles over seeds, the pooled value as nominal."""
    fleet, replica, cost = each.payload["fleet"], each.payload["replica"], each.payload["cost"]
    before = f"{each.given.name}: " if named else ""

    def row(key: str, label: str, unit: str, law: str, nominal: Any, spread: Any = None) -> dict[str, Any]:
        spread = spread or dict.fromkeys(("p10", "p50", "p90"), nominal)
        return {
            "key": key,
            "label": before + label,
            "unit": unit,
            "nominal": nominal,
            **spread,
            "law": law,
            "inputs": [],
        }

    return [
        row("gpus", "accelerators", "", "replicas with spares, in whole nodes", fleet["gpus"]),
        row("goodput", "goodput (requests/s)", "", "arrivals within all promises ÷ time", fleet["goodput_requests_per_s"],
            fleet["goodput_by_seed"]),
        row("attainment", "within all promises", "fraction", "arrivals served in time ÷ all arrivals", fleet["slo_attainment"],
            fleet["attainment_by_seed"]),
        row("ttft_p99", "time to first token, p99", "s", "over all arrivals", replica["ttft_s"]["p99"],
            replica["ttft_s"]["p99_by_seed"]),
        row("tpot_p99", "time per token, p99", "s", "over all arrivals", replica["tpot_s"]["p99"],
            replica["tpot_s"]["p99_by_seed"]),
        row("usd_per_million_output_tokens", "$ per million tokens out", "usd_per_million_tokens",
            "GPU-hours held × price × share of answers ÷ tokens in time", cost["usd_per_million_output_tokens"]),
    ]  # fmt: skip


# --- beside training --------------------------------------------------------------------


@dataclass(frozen=True)
class Remainder:
    """What services leave to training: its own context, and accelerators that its layouts do not take."""

    setting: Context
    unused: int


def remainder(setting: Context, services: Sequence[ServicePlan]) -> Remainder | Verdict:
    """The training's fleet: of the numbers of nodes left that divide well, the one that trains the most tokens a second."""
    left = setting.fleet.count - sum(each.whole_gpus for each in services)
    best: tuple[float, Context] | None = None
    for nodes in well_divided(left // setting.node_size):
        fleet = setting.given.fleet.model_copy(update={"count": nodes * setting.node_size})
        smaller = replace(context(setting.given.model_copy(update={"fleet": fleet})), given=setting.given)
        jobs = [plan_job(smaller, job) for job in smaller.scenario.training]
        if any(isinstance(job, Search) or not job.fits for job in jobs):
            continue
        speed = float(jobs[0].main.nominal.tokens_per_s[0])  # type: ignore[union-attr]
        if best is None or speed > best[0]:
            best = (speed, smaller)
    if best is None:
        told = f"the services leave {max(left, 0):,} of {setting.fleet.count:,} accelerators, on which no layout trains"
        return Verdict("infeasible", "accelerators of the fleet", None, (told,))
    return Remainder(best[1], left - best[1].fleet.count)


def well_divided(nodes: int) -> list[int]:
    """The whole number, the largest four below it without prime factors above 3, and the largest power of two."""
    smooth = sorted(
        (2**a * 3**b for a in range(21) for b in range(13) if 2**a * 3**b <= max(nodes, 0)), reverse=True
    )
    power = 1 << (nodes.bit_length() - 1) if nodes > 0 else 0
    return list(dict.fromkeys(each for each in (nodes, *smooth[:4], power) if each > 0))


def beside_training(
    setting: Context, rest: Remainder, services: Sequence[ServicePlan], answer: dict[str, Any], nominal: FleetRun,
    jobs: Sequence[JobPlan], verdict: Verdict,
) -> tuple[Verdict, dict[str, Any]]:  # fmt: skip
    """A plan's JSON with its services: power, cost and ledger over the training's wall clock, and what sharing is worth."""
    wall = float(nominal.wall_s)
    verdict = merged([verdict, *(each.verdict for each in services)])
    powers, costs, trees, entries = [answer["facility"]], [], [Ledger.from_dict(answer["ledger"])], []
    costs.append(("training", answer["cost"], (nominal.accelerators + nominal.spares) * wall / 3600.0))
    for each in services:
        power, cost, entry = service_cost(setting, each, wall)
        powers.append(power)
        costs.append((each.given.name, cost, _gpu_hours(each, wall)))
        trees.append(_over_period(each, wall))
        entries.append(entry)
    if rest.unused:
        trees.append(
            Ledger(
                "accelerators that no layout takes", rest.unused * wall, law="left by services − trained on"
            )
        )
    tree = Ledger.parent(setting.scenario.name, tuple(trees), "one budget of accelerators")
    notes = [
        f"training has {rest.setting.fleet.count:,} of {setting.fleet.count:,} accelerators, services "
        f"{sum(each.whole_gpus for each in services):,}"
    ]
    answer = {
        **answer,
        "verdict": verdict.to_dict(),
        "serving": entries,
        "facility": _sum_facility(powers),
        "cost": _sum_cost(costs),
        "ledger": tree.to_dict(),
        "three_shares": three_shares(trees[0]),
        "shared_fleet": shared_fleet(setting, services, nominal, jobs),
        "notes": [*answer["notes"], *notes],
    }
    return verdict, dict(plain(answer))
