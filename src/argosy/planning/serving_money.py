"""Power and money of a service: its nodes over a period, and dollars per million tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from argosy.fabric import plan_fabric
from argosy.facility import PowerPhases
from argosy.kernels import serving_records as records
from argosy.planning.context import Context
from argosy.planning.site import NetworkAccount, network_account, power_and_money
from argosy.serving.objectives import good
from argosy.serving.sizing import Service, Sized


@dataclass(frozen=True)
class Shared:
    """Services' nodes as a fleet of their own: its part of the fabrics, GPU-seconds of prompts and answers in a second.

    `busy`: share of the GPUs' time in which iterations run.
    """

    part: Context
    network: NetworkAccount
    phases: PowerPhases
    busy: float

    def at(self, part: Context) -> Shared:
        """The same with other numbers or prices."""
        return replace(self, part=part)


def share_of(setting: Context, services: Sequence[tuple[Sized, int]]) -> Shared:
    """Services, each with the accelerators of its nodes, as one fleet; fabrics in proportion to these."""
    whole = sum(gpus for _, gpus in services)
    fleet = setting.fleet.model_copy(
        update={"count": whole, "spares": setting.fleet.spares.model_copy(update={"nodes": 0})}
    )
    alone = replace(setting, scenario=setting.scenario.model_copy(update={"fleet": fleet}))
    share = min(whole / setting.fleet.count, 1.0)
    network = network_account(plan_fabric(setting.fleet, setting.values))
    bill = None if network.bill is None else tuple((entry, many * share) for entry, many in network.bill)
    part = NetworkAccount(network.w * share, network.switches * share, bill)
    prompts = answers = 0.0
    for sized, _ in services:
        open_s = sum(run.window_s for run in sized.runs)
        for run in sized.runs:
            for pool, book in zip(run.pools, run.spans()["window"], strict=True):
                prompts += float(book[records.PREFILL_S]) * pool.provider.gpus / open_s
                answers += float(book[records.DECODE_S]) * pool.provider.gpus / open_s
    busy = prompts + answers > 0.0  # of a fleet that never works, any phase: it idles
    phases = PowerPhases(compute_s=prompts if busy else 1.0, memory_s=answers)
    return Shared(alone, part, phases, min((prompts + answers) / whole, 1.0))


def shared_power_and_cost(shared: Shared, period_s: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Power and money over a period: prompts at compute's power, answers at memory's, the rest idle."""
    power, cost = power_and_money(shared.part, shared.network, shared.phases, period_s, shared.busy)
    return power, {**cost, "period_s": period_s}


def power_and_cost(
    setting: Context, sized: Sized, whole: int, period_s: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Power and money of one service's nodes over a period."""
    return shared_power_and_cost(share_of(setting, [(sized, whole)]), period_s)


def per_gpu_s(cost: dict[str, Any], whole: int) -> float:
    """Dollars of one accelerator-second, from what all of them cost over the period."""
    return float(cost["total_usd"]) / (whole * float(cost["period_s"]))


def token_prices(sized: Sized, asked: Service, whole: int, usd_per_gpu_s: float) -> dict[str, Any]:
    """Dollars per million tokens of arrivals that were served in time; all accelerators held while requests arrive are paid.

    Prompts bear the iterations' time that they add, answers the rest; idle, spare, warming and lost time in proportion.
    """
    prompt_s = answer_s = held = inputs = outputs = computed = cached = evicted = 0.0
    for run in sized.runs:
        kept = good(run, asked.wanted)
        inputs += float(run.requests.input_tokens[kept].sum())
        outputs += float(run.requests.output_tokens[kept].sum())
        for number, (pool, book) in enumerate(zip(run.pools, run.books, strict=True)):
            gpus = pool.provider.gpus
            prompt_s += gpus * float(book[records.PREFILL_S])
            answer_s += gpus * float(book[records.DECODE_S])
            held += gpus * run.held_s(number)
            computed += float(book[records.PROMPT_TOKENS])
            cached += float(book[records.CACHED_TOKENS])
            evicted += float(book[records.EVICTED_TOKENS])
        held += (whole - sized.gpus) * run.requests.horizon_s
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
            "evicted_share": evicted / (cached + computed) if computed else 0.0,
            "saved_gpu_s": saved_s / len(sized.runs),
            "usd_per_million_input_tokens_without": million * share * without / inputs if inputs else None,
        },
    }
