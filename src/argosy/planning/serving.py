"""`argosy serving`: the smallest fleet that keeps a service's promises, what it costs, and where its GPU-seconds go."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy import __version__
from argosy.fabric import plan_fabric
from argosy.facility import PowerPhases
from argosy.facts import FactError
from argosy.kernels import serving_records as records
from argosy.ledger import Ledger
from argosy.planning.context import Context, context
from argosy.planning.payload import assumptions, plain
from argosy.planning.service import options, service, unfit
from argosy.planning.site import NetworkAccount, network_account, power_and_money
from argosy.planning.verdict import Constraint, Verdict, judge
from argosy.serving.account import autoscaler_gap, checks, laws, ledger
from argosy.serving.objectives import attainment, good, goodput_per_s, pooled, quantile, reached, spread
from argosy.serving.option import bound
from argosy.serving.scaled import scaled_option
from argosy.serving.search import Found, Point, front, search
from argosy.serving.sizing import Service, Sized
from argosy.serving.sizing import run as runs_of
from argosy.spec import Scenario, Serving
from argosy.spec.canonical import canonical

SCHEMA = "argosy.serving/1"
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_Z90 = 1.6448536269514722  # half-width of the central 90 % of a normal distribution
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
        "verdict": planned.verdict.to_dict(),
        **planned.payload,
        "assumptions": assumptions(setting),
    }
    if step_times and planned.found.best is not None:
        answer["step_times"] = _step_times(planned.found.best)
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
        empty = _without(given, found)
        return ServicePlan(given, asked, found, verdict, 0, None, None, None, dict(plain(empty)))
    sized = found.best
    whole = _whole(setting, sized)
    verdict = _verdict(setting, given, asked, sized, whole, lost)
    power, cost = _money(setting, sized, whole, given.period)
    tree = ledger(asked, sized, whole)
    body = _body(asked, found, sized, whole, cost, tree)
    body["facility"], body["cost"] = power, {**body["cost"], **cost}
    return ServicePlan(given, asked, found, verdict, whole, power, cost, tree, dict(plain(body)))


def service_cost(
    setting: Context, planned: ServicePlan, period_s: float
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, dict[str, Any]]:
    """Power, cost and the payload of a planned service over another period; nothing changes where no fleet was found."""
    sized = planned.found.best
    if sized is None:
        return None, None, planned.payload
    power, cost = _money(setting, sized, planned.whole_gpus, period_s)
    prices = _token_prices(sized, planned.asked, planned.whole_gpus, _per_gpu_s(cost, planned.whole_gpus))
    return power, cost, dict(plain({**planned.payload, "facility": power, "cost": {**prices, **cost}}))


def _whole(setting: Context, sized: Sized) -> int:
    """Accelerators of the nodes that the replicas take: small ones share a node, larger ones take whole nodes."""
    total = 0
    for count, pool in zip(sized.replicas, sized.option.kinds, strict=True):
        gpus, size = pool.provider.gpus, setting.node_size
        nodes = -(-count // max(size // gpus, 1)) if gpus <= size else count * -(-gpus // size)
        total += nodes * size
    return total


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
        limits.append(Constraint("accelerators of the fleet", 1.0 - whole / budget, "violates", room))
    served = float(np.mean(np.concatenate([run.done for run in sized.runs])))
    cautions = []
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
    reasons = reasons or [f"{given.name}: ways out: {many}: {reason}" for reason, many in ranked]
    binding = "physical floor" if found.faults else "accelerators"
    return Verdict("infeasible", binding, None, tuple(reasons))


def _without(given: Serving, found: Found) -> dict[str, Any]:
    """The contract's keys where no fleet was found."""
    empty: dict[str, Any] = dict.fromkeys(("replica", "fleet", "cost", "ledger", "facility"))
    return {
        "name": given.name,
        **empty,
        "search": _search(found),
        "pareto": [],
        "checks": [],
        "simulated_requests_per_s": None,
    }


# --- money and power --------------------------------------------------------------------


def _money(
    setting: Context, sized: Sized, whole: int, period_s: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Power and money of the fleet's nodes over a period: prompts at compute's power, answers at memory's, the rest idle."""
    fleet = setting.fleet.model_copy(
        update={"count": whole, "spares": setting.fleet.spares.model_copy(update={"nodes": 0})}
    )
    alone = replace(setting, scenario=setting.scenario.model_copy(update={"fleet": fleet}))
    share = min(whole / setting.fleet.count, 1.0)
    network = network_account(plan_fabric(setting.fleet, setting.values))
    bill = None if network.bill is None else tuple((entry, many * share) for entry, many in network.bill)
    part = NetworkAccount(network.w * share, network.switches * share, bill)
    first_run, seconds = sized.runs[0], {"prefill": 0.0, "decode": 0.0}
    for pool, book in zip(first_run.pools, first_run.books, strict=True):
        seconds["prefill"] += float(book[records.PREFILL_S]) * pool.provider.gpus
        seconds["decode"] += float(book[records.DECODE_S]) * pool.provider.gpus
    busy = seconds["prefill"] + seconds["decode"]
    phases = PowerPhases(compute_s=seconds["prefill"], memory_s=seconds["decode"])
    power, cost = power_and_money(alone, part, phases, period_s, min(busy / (whole * first_run.end_s), 1.0))
    return power, {**cost, "period_s": period_s}


def _per_gpu_s(cost: dict[str, Any], whole: int) -> float:
    """Dollars of one accelerator-second, from what all of them cost over the period."""
    return float(cost["total_usd"]) / (whole * float(cost["period_s"]))


def _token_prices(sized: Sized, asked: Service, whole: int, usd_per_gpu_s: float) -> dict[str, Any]:
    """Dollars per million tokens of arrivals that were served in time; all held accelerators are paid.

    Prompts bear the iterations' time that they add, answers the rest; idle, spare, warming and lost time in proportion.
    """
    prompt_s = answer_s = held = inputs = outputs = computed = cached = 0.0
    for run in sized.runs:
        kept = good(run, asked.wanted)
        inputs += float(run.requests.input_tokens[kept].sum())
        outputs += float(run.requests.output_tokens[kept].sum())
        for pool, book in zip(run.pools, run.books, strict=True):
            gpus = pool.provider.gpus
            prompt_s += gpus * float(book[records.PREFILL_S])
            answer_s += gpus * float(book[records.DECODE_S])
            held += gpus * float(book[records.WARMING : records.DOWN + 1].sum())
            computed += float(book[records.PROMPT_TOKENS])
            cached += float(book[records.CACHED_TOKENS])
        held += (whole - sized.gpus) * run.end_s
    usd = held * usd_per_gpu_s
    share = prompt_s / max(prompt_s + answer_s, 1e-12)
    saved_s = cached * prompt_s / computed if computed else 0.0
    without = (prompt_s + saved_s) / max(prompt_s, 1e-12)
    million = 1e6 * usd
    return {
        "usd_per_million_input_tokens": million * share / inputs if inputs else None,
        "usd_per_million_output_tokens": million * (1.0 - share) / outputs if outputs else None,
        "usd_per_million_output_tokens_bearing_all": million / outputs if outputs else None,
        "input_share": share,
        "usd_per_gpu_hour": usd_per_gpu_s * 3600.0,
        "cache": {
            "hit_share": cached / (cached + computed) if computed else 0.0,
            "saved_gpu_s": saved_s / len(sized.runs),
            "usd_per_million_input_tokens_without": million * share * without / inputs if inputs else None,
        },
    }


# --- the payload -----------------------------------------------------------------------


def _body(
    asked: Service,
    found: Found,
    sized: Sized,
    whole: int,
    cost: dict[str, Any],
    tree: Ledger,
) -> dict[str, Any]:
    prices = _token_prices(sized, asked, whole, _per_gpu_s(cost, whole))
    return {
        "name": asked.name,
        "replica": _replica(sized),
        "fleet": _fleet(asked, sized, whole),
        "cost": prices,
        "simulated_requests_per_s": float(np.mean([run.requests_per_s for run in sized.runs])),
        "traffic": _traffic(asked),
        "objectives": _objectives(asked, sized),
        "classes": _classes(asked, sized),
        "failures": _failures(asked, sized),
        "band": _band(asked, sized),
        "laws": laws(asked, sized),
        "autoscaling": autoscaler_gap(asked, sized, whole),
        "ledger": tree.to_dict(),
        "pareto": [_point(point, prices, sized) for point in front(found.points)],
        "search": _search(found),
        "series": _series(sized),
        "checks": checks(sized),
        "seeds": list(asked.seeds),
    }


def _quantiles(sized: Sized, metric: str) -> dict[str, Any]:
    """Percentiles over all arrivals of all runs, and the spread of the 99th over seeds."""
    whole = pooled(sized.runs, metric)
    own = [quantile(getattr(run, f"{metric}_s"), 0.99) for run in sized.runs]
    return {**{name: quantile(whole, share) for name, share in _SHARES.items()}, "p99_by_seed": spread(own)}


def _replica(sized: Sized) -> dict[str, Any]:
    option, limits = sized.option, sized.limits
    first, last = option.replica.provider, option.last.provider
    part = max(min(limits.mean.computed, float(option.replica.chunk)), 1.0)
    seconds = float(np.mean(first.mixed_s(option.replica.chunk, limits.mean.prompt / 2.0, 0, 1.0)))
    step = float(np.mean(last.decode_s(max(limits.by_pool[-1].batch, 1.0), limits.mean.context)))
    return {
        "layout": _layout(option.replica.provider, option.precision),
        "decode_layout": None if option.decode is None else _layout(last, option.precision),
        "label": option.label,
        "prefill_tokens_per_s": option.replica.chunk / seconds,
        "prompt_alone_s": float(np.mean(first.mixed_s(part, limits.mean.prompt / 2.0, 0, 1.0))),
        "ttft_s": _quantiles(sized, "ttft"),
        "tpot_s": _quantiles(sized, "tpot"),
        "e2e_s": _quantiles(sized, "e2e"),
        "max_batch": option.last.batch,
        "batch_within_promise": limits.by_pool[-1].batch,
        "capacity_requests_per_s": [best.rate_per_s for best in limits.by_pool],
        "kv_bytes_per_token": last.kv_bytes_per_token,
        "kv_capacity_tokens": last.kv_capacity_tokens,
        "weight_bytes": last.weight_bytes,
        "step_time_s": {
            "nominal": step, "p05": step * float(np.exp(-_Z90 * last.residual_sigma)),
            "p95": step * float(np.exp(_Z90 * last.residual_sigma)),
        },
        "provider": last.name,
        "grade": last.grade,
    }  # fmt: skip


def _layout(provider: Any, precision: str) -> dict[str, Any]:
    shape = provider.layout
    return {
        "gpus": provider.gpus,
        "tp": shape.tp,
        "pp": shape.pp,
        "dp": shape.dp,
        "ep": shape.ep,
        "precision": precision,
    }


def _step_times(sized: Sized) -> list[dict[str, Any]]:
    """Iterations of the replica that generates (and of the one that sees prompts): predicted, with band and bound."""
    rows = []
    first, last = sized.option.replica.provider, sized.option.last.provider
    cases = [(first, tokens, 0, 0) for tokens in (512, 2048, 8192)]
    cases += [(last, 0, batch, context) for batch in (1, 16, 64, 256) for context in (1024, 8192)]
    for provider, tokens, batch, keys in cases:
        seconds = float(np.mean(provider.mixed_s(tokens, tokens / 2.0, batch, max(keys, 1))))
        if not tokens:
            seconds = float(np.mean(provider.decode_s(batch, keys)))
        band = float(np.exp(_Z90 * provider.residual_sigma))
        least = bound(provider)
        rows.append(
            {"prompt_tokens": tokens, "batch": batch, "context": keys, "nominal_s": seconds, "p05_s": seconds / band,
             "p95_s": seconds * band, "floor_s": None if least is None else float(np.mean(least(tokens + batch, batch, keys)))}
        )  # fmt: skip
    return rows


def _fleet(asked: Service, sized: Sized, whole: int) -> dict[str, Any]:
    busy = held = 0.0
    for run in sized.runs:
        for pool, book in zip(run.pools, run.books, strict=True):
            busy += pool.provider.gpus * float(book[records.PREFILL_S] + book[records.DECODE_S])
            held += pool.provider.gpus * float(book[records.WARMING : records.DOWN + 1].sum())
        held += (whole - sized.gpus) * run.end_s
    shares = [attainment([run], asked.wanted) for run in sized.runs]
    rates = [goodput_per_s([run], asked.wanted) for run in sized.runs]
    span = sum(run.end_s for run in sized.runs)
    return {
        "replicas": sum(sized.needed),
        "spares": sized.spares,
        "gpus": whole,
        "utilization": busy / held if held else 0.0,
        "goodput_requests_per_s": goodput_per_s(sized.runs, asked.wanted),
        "slo_attainment": attainment(sized.runs, asked.wanted),
        "goodput_by_seed": spread(rates),
        "attainment_by_seed": spread(shares),
        "pools": [
            {"replicas": need, "spares": all_ - need, "gpus_per_replica": pool.provider.gpus}
            for need, all_, pool in zip(sized.needed, sized.replicas, sized.option.kinds, strict=True)
        ],
        "mean_gpus_held": held / span,
        "sizes_tried": len(sized.tried),
        "keeps_promises": sized.met,
    }


def _traffic(asked: Service) -> dict[str, Any]:
    trace = asked.traces[0]
    return {
        "requests": len(trace),
        "horizon_s": trace.horizon_s,
        "rate_per_s": trace.rate_per_s,
        "arrival_cv": trace.arrival_cv,
        "peak_to_mean_minute": trace.peak_to_mean(),
        "input_tokens_mean": float(trace.input_tokens.mean()),
        "output_tokens_mean": float(trace.output_tokens.mean()),
        "prefix_share": float(trace.prefix_tokens.sum() / trace.input_tokens.sum()),
    }


def _objectives(asked: Service, sized: Sized) -> list[dict[str, Any]]:
    values = reached(sized.runs, asked.wanted)
    return [
        {
            "name": each.name,
            "limit_s": each.limit_s,
            "reached_s": values[each.name],
            "met": values[each.name] <= each.limit_s,
        }
        for each in asked.wanted
    ]


def _band(asked: Service, sized: Sized) -> dict[str, Any]:
    """The promises on the busiest stretch with iterations as short and as long as the step model's 80 % interval has them.

    P10, P50, P90 of the model's error alone, without failures: what is not known until a load test.
    """
    sigma, stretch = sized.option.last.provider.residual_sigma, asked.trial()[:1]
    rows: dict[str, dict[str, Any]] = {each.name: {} for each in asked.wanted}
    shares = {}
    for name, z in (("p10", -1.2815515655446004), ("p50", 0.0), ("p90", 1.2815515655446004)):
        runs = runs_of(asked, scaled_option(sized.option, float(np.exp(z * sigma))), sized.replicas, stretch)
        for objective, value in reached(runs, asked.wanted).items():
            rows[objective][name] = value
        shares[name] = attainment(runs, asked.wanted)
    kept = {"p10": shares["p90"], "p50": shares["p50"], "p90": shares["p10"]}
    return {"residual_sigma": sigma, "reached_s": rows, "slo_attainment": kept}


def _classes(asked: Service, sized: Sized) -> list[dict[str, Any]]:
    """Attainment and percentiles by priority class, where there are several."""
    run = sized.runs[0]
    rows = []
    for number in range(int(run.requests.priority.max(initial=0)) + 1):
        own = run.requests.priority == number
        if number == 0 and own.all():
            return []
        kept = good(run, asked.wanted)[own]
        rows.append(
            {
                "priority": number,
                "requests": int(own.sum()),
                "slo_attainment": float(kept.mean()) if len(kept) else None,
                "ttft_p99_s": quantile(run.ttft_s[own], 0.99),
            }
        )
    return rows


def _failures(asked: Service, sized: Sized) -> dict[str, Any]:
    """What fails, how available one replica is, and what the runs saw."""
    fails, restart = asked.failures, sized.option.policy.cold_start_s
    runs = sized.runs
    return {
        "mtbf_accelerator_s": 1.0 / fails.gpu_rate_per_s if fails.gpu_rate_per_s else None,
        "repair_s": fails.repair_s,
        "domains": [
            {"name": each.name, "gpus": each.gpus, "rate_per_s": each.rate_per_s} for each in fails.domains
        ],
        "replica_mtbf_s": [
            1.0 / rate if (rate := fails.replica_rate_per_s(pool.provider.gpus)) else None
            for pool in sized.option.kinds
        ],
        "replica_availability": [
            fails.availability(pool.provider.gpus, restart) for pool in sized.option.kinds
        ],
        "promised_availability": asked.availability,
        "simulated": {
            "failures": float(np.mean([run.books[:, records.FAILURES].sum() for run in runs])),
            "retried": float(np.mean([(run.tries > 0).sum() for run in runs])),
            "not_served": float(np.mean([(~run.done).sum() for run in runs])),
            "preemptions": float(np.mean([run.books[:, records.PREEMPTIONS].sum() for run in runs])),
        },
    }


def _point(point: Point, prices: dict[str, Any], sized: Sized) -> dict[str, Any]:
    """A point of the front; its dollars per million output tokens bear all, at the chosen fleet's price of a GPU-hour."""
    run = sized.runs[0]
    rate = run.requests.rate_per_s * float(run.requests.output_tokens.mean()) * point.attainment
    usd = prices["usd_per_gpu_hour"] / 3600.0 * point.gpus / rate * 1e6 if rate else None
    return {
        "label": point.option.label,
        "replicas": list(point.replicas),
        "gpus": point.gpus,
        "ttft_p99_s": point.ttft_s,
        "tpot_p95_s": point.tpot_s,
        "slo_attainment": point.attainment,
        "usd_per_million_output_tokens_bearing_all": usd,
        "met": point.met,
    }


def _search(found: Found) -> dict[str, Any]:
    return {
        "evaluated": found.evaluated,
        "compared": len(found.points),
        "excluded": found.excluded,
        "points": [
            {"label": each.option.label, "replicas": list(each.replicas), "gpus": each.gpus, "met": each.met,
             "ttft_p99_s": each.ttft_s, "tpot_p95_s": each.tpot_s, "slo_attainment": each.attainment}
            for each in found.points
        ],
    }  # fmt: skip


def _series(sized: Sized, most: int = 400) -> list[dict[str, Any]]:
    """The first run over time, thinned to `most` rows: arrivals since the row before, requests inside, replicas by state."""
    run = sized.runs[0]
    whole = run.series[0]
    step = max(len(whole) // most, 1)
    rows, before = [], 0
    for at in range(0, len(whole), step):
        parts = [series[at] for series in run.series]
        arrived = int(parts[0]["arrived"])
        rows.append(
            {"at_s": float(parts[0]["at"]), "arrivals": arrived - before}
            | {
                name: int(sum(int(p[name]) for p in parts))
                for name in ("inside", "up", "warming", "draining", "down")
            }
        )
        before = arrived
    return rows
