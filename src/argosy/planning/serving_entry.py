"""A planned service as the contract's JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.kernels import serving_records as records
from argosy.ledger import Ledger
from argosy.planning.serving_money import per_gpu_s, token_prices
from argosy.serving.account import autoscaler_gap, checks, laws, utilisation
from argosy.serving.objectives import attainment, good, goodput_per_s, pooled, quantile, reached, spread
from argosy.serving.option import bound
from argosy.serving.scaled import scaled_option
from argosy.serving.search import Found, Point, front
from argosy.serving.sizing import Service, Sized, availability
from argosy.serving.sizing import run as runs_of
from argosy.spec import Serving

_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_Z90 = 1.6448536269514722  # half-width of the central 90 % of a normal distribution


def entry_without_fleet(given: Serving, found: Found) -> dict[str, Any]:
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


def entry(
    asked: Service,
    found: Found,
    sized: Sized,
    whole: int,
    cost: dict[str, Any],
    tree: Ledger,
) -> dict[str, Any]:
    prices = token_prices(sized, asked, whole, per_gpu_s(cost, whole))
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


def step_times(sized: Sized) -> list[dict[str, Any]]:
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
    open_ = sum(
        pool.provider.gpus * run.held_s(at) for run in sized.runs for at, pool in enumerate(run.pools)
    )
    shares = [attainment([run], asked.wanted) for run in sized.runs]
    rates = [goodput_per_s([run], asked.wanted) for run in sized.runs]
    span = sum(run.requests.horizon_s for run in sized.runs)
    return {
        "replicas": sum(sized.needed),
        "spares": sized.spares,
        "gpus": whole,
        "utilization": utilisation(sized, whole, "window"),
        "goodput_requests_per_s": goodput_per_s(sized.runs, asked.wanted),
        "slo_attainment": attainment(sized.runs, asked.wanted),
        "goodput_by_seed": spread(rates),
        "attainment_by_seed": spread(shares),
        "pools": [
            {"replicas": need, "spares": all_ - need, "gpus_per_replica": pool.provider.gpus}
            for need, all_, pool in zip(sized.needed, sized.replicas, sized.option.kinds, strict=True)
        ],
        "mean_gpus_held": open_ / span + whole - sized.gpus,
        "run_s": float(np.mean([run.end_s for run in sized.runs])),
        "spans": [
            {
                "name": name,
                "seconds_s": float(
                    np.mean([getattr(run, f"{name.replace('-', '_')}_s") for run in sized.runs])
                ),
                "utilization": utilisation(sized, whole, name),
            }
            for name in sized.runs[0].spans()
        ],
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
            {
                "name": each.name,
                "gpus": each.gpus,
                "rate_per_s": each.rate_per_s,
                "places": each.places,
                "unavailability": 1.0 - each.standing(1, restart).availability,
            }
            for each in fails.domains
        ],
        "replica_mtbf_s": [
            1.0 / rate if (rate := fails.replica_rate_per_s(pool.provider.gpus)) else None
            for pool in sized.option.kinds
        ],
        "replica_availability": [
            fails.availability(pool.provider.gpus, restart) for pool in sized.option.kinds
        ],
        "promised_availability": asked.availability,
        "reached_availability": availability(asked, sized),
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
