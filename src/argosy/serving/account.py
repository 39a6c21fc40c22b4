"""Where a serving fleet's GPU-seconds go, what the best autoscaler could save, and what laws say beside the simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from argosy.kernels import serving_records as records
from argosy.laws import queueing
from argosy.ledger import Ledger
from argosy.serving.fleet import FleetRun
from argosy.serving.objectives import pooled
from argosy.serving.option import Limits, Option, floors
from argosy.serving.sizing import Service, Sized

SLOT_S = 60.0
"""Length of a slot of the perfect autoscaler (s)."""
ROUNDING = 1e-9
"""Of a whole: a difference below it is the rounding of sums of floats."""


def ledger(service: Service, sized: Sized, whole_gpus: int) -> Ledger:
    """GPU-seconds held, by what they were for, as the mean of the runs; children sum to the whole.

    Of the runs' windows: without the warm-up, in which the empty fleet fills, and the run-out, in which no request arrives; a
    fleet that stays open has neither. `whole_gpus`: accelerators of the nodes that the fleet takes; the difference to its
    replicas' is fragmentation. Seconds in which the autoscaler has released a replica are not held.
    """
    trees = [_of_run(service, sized, run, whole_gpus) for run in sized.runs]
    return _mean(trees)


def _of_run(service: Service, sized: Sized, run: FleetRun, whole_gpus: int) -> Ledger:
    option, sums, books = sized.option, dict.fromkeys(_LINES, 0.0), run.spans()["window"]
    for number, pool in enumerate(run.pools):
        parts = _of_pool(option, sized.limits, number, pool.provider.gpus, books[number])
        for name, amount in parts.items():
            sums[name] += amount
    spares = sum(
        (all_ - need) * pool.provider.gpus
        for all_, need, pool in zip(sized.replicas, sized.needed, run.pools, strict=True)
    )
    if service.scaling is None:  # an autoscaler holds no replica that it does not want
        sums["spare replicas"] = min(spares * run.window_s, max(sums["idle"], 0.0))
    sums["idle"] -= sums["spare replicas"]
    sums["fragmentation"] = (whole_gpus - sized.gpus) * run.window_s
    leaves = [Ledger(name, sums[name], law=law) for name, law in _LINES.items()]
    work = Ledger.parent("iterations", tuple(leaves[:6]), "seconds in which iterations run × accelerators")
    return Ledger.parent(service.name, (work, *leaves[6:]), "seconds held in the window × accelerators")


def utilisation(sized: Sized, whole_gpus: int, span: str) -> float:
    """Share (0–1) of the GPU-seconds held in a span of the runs ("warm-up", "window", "run-out") in which iterations run."""
    busy = held = 0.0
    for run in sized.runs:
        books = run.spans()[span]
        for pool, book in zip(run.pools, books, strict=True):
            busy += pool.provider.gpus * float(book[records.PREFILL_S] + book[records.DECODE_S])
            held += pool.provider.gpus * float(book[records.WARMING : records.DOWN + 1].sum())
        seconds = {"warm-up": run.warm_up_s, "window": run.window_s, "run-out": run.run_out_s}[span]
        held += (whole_gpus - sized.gpus) * seconds
    return busy / held if held > 0.0 else 0.0


_LINES = {
    "useful prefill": "2·P_active·prompt tokens ÷ peak",
    "useful decode": "2·P_active·output tokens ÷ peak",
    "prefill below peak": "iterations' time for prompts − useful − lost",
    "decode bound by bandwidth": "tokens × t_d(B)/B at the largest batch that keeps the promise − useful",
    "batches not full": "decode time − that at the largest batch",
    "lost to failures": "tokens computed for requests that were lost × mean time of one",
    "idle": "replicas that are up without work",
    "spare replicas": "replicas beyond those needed × time, as far as they idle",
    "warming": "cold starts",
    "down": "failed or being upgraded",
    "fragmentation": "accelerators of nodes that make no whole replica",
}


def _of_pool(option: Option, limits: Limits, number: int, gpus: int, book: np.ndarray) -> dict[str, float]:
    """GPU-seconds of a pool by line."""
    pool, best = option.kinds[number], limits.by_pool[number]
    per_token = option.flops_per_token / option.peak_flops
    prompt, output = float(book[records.PROMPT_TOKENS]), float(book[records.OUTPUT_TOKENS])
    lost_prompt = min(float(book[records.LOST_PROMPT]), prompt)
    prefill, decode = gpus * float(book[records.PREFILL_S]), gpus * float(book[records.DECODE_S])
    first_tokens = 0.0 if decode else output  # of a pool that only sees prompts, they come with these
    made = output - first_tokens
    lost_output = min(float(book[records.LOST_OUTPUT]), made)
    lost = prefill * (lost_prompt / prompt if prompt else 0.0), decode * (lost_output / made if made else 0.0)
    batch = max(best.batch, 1.0)
    at_best = 0.0
    if decode:
        step = float(np.mean(pool.provider.decode_s(batch, limits.mean.context)))
        at_best = gpus * (made - lost_output) * step / (batch * pool.provider.tokens_per_step)
    useful = (prompt - lost_prompt) * per_token, (made - lost_output) * per_token
    up = gpus * float(book[records.UP] + book[records.DRAINING])
    return {
        "useful prefill": useful[0],
        "prefill below peak": prefill - lost[0] - useful[0],
        "useful decode": useful[1],
        "decode bound by bandwidth": at_best - useful[1],
        "batches not full": decode - lost[1] - at_best,
        "lost to failures": lost[0] + lost[1],
        "idle": _left(up, prefill + decode),
        "warming": gpus * float(book[records.WARMING]),
        "down": gpus * float(book[records.DOWN]),
    }


def _left(whole: float, taken: float) -> float:
    """What is left of `whole`; 0 where that is but the rounding of sums over many events, of either sign."""
    left = whole - taken
    return 0.0 if abs(left) <= ROUNDING * whole else left


def _mean(trees: Sequence[Ledger]) -> Ledger:
    """The tree whose leaves are the means of trees alike."""
    one = trees[0]
    if not one.children:
        return Ledger(one.name, float(np.mean([each.amount for each in trees])), law=one.law)
    children = tuple(_mean([each.children[at] for each in trees]) for at in range(len(one.children)))
    return Ledger.parent(one.name, children, one.law)


def autoscaler_gap(service: Service, sized: Sized, whole_gpus: int) -> dict[str, Any]:
    """GPU-seconds held against those of an autoscaler that knows the future and may hold fractions of replicas.

    By slots of a minute, while requests arrive (the run-out after the last one is nobody's lag): the bound is demand ÷ fluid
    capacity; whole replicas and nodes add `fragmentation`; the replicas that keep promises under bursts within a slot add
    `objective_slack` (the scaling target's room, or what the fixed fleet needs at its busiest slot); what is held beyond, because
    demand was seen or let go too late (never, with a fixed fleet), is `lag`; spares, or with an autoscaler those that are down,
    are `redundancy`. The parts sum to the gap; a negative lag says that too little was held.
    """
    run, option = sized.runs[0], sized.option
    horizon = run.requests.horizon_s
    slots = max(int(np.ceil(horizon / SLOT_S)), 1)
    lengths = np.full(slots, SLOT_S)
    lengths[-1] = horizon - SLOT_S * (slots - 1)
    demand = np.bincount(
        np.minimum((run.requests.arrival_s // SLOT_S).astype(int), slots - 1), minlength=slots
    )
    bound = whole = room = held = spare = 0.0
    for number, pool in enumerate(run.pools):
        gpus = pool.provider.gpus
        exact = demand / sized.limits.by_pool[number].rate_per_s / lengths
        ceiled = np.ceil(np.round(exact, 9))
        needed, spares = sized.needed[number], sized.replicas[number] - sized.needed[number]
        factor = (
            max(needed / max(ceiled.max(), 1.0), 1.0)
            if service.scaling is None
            else 1.0 / service.scaling.target
        )
        roomy = np.maximum(np.ceil(np.round(ceiled * factor, 9)), ceiled)
        bound += gpus * float((exact * lengths).sum())
        whole += gpus * float((ceiled * lengths).sum())
        room += gpus * float((roomy * lengths).sum())
        held += gpus * run.held_s(number)
        spare += gpus * (spares * horizon if service.scaling is None else run.while_open_s(number, "down"))
    nodes = (whole_gpus - option.gpus(sized.replicas)) * horizon
    parts = {
        "fragmentation": whole - bound + nodes,
        "objective_slack": room - whole,
        "lag": held - spare - room,
        "redundancy": spare,
    }
    return {
        "slot_s": SLOT_S,
        "bound_gpu_s": bound,
        "held_gpu_s": held + nodes,
        "gap_gpu_s": held + nodes - bound,
        "parts_gpu_s": parts,
    }


def laws(service: Service, sized: Sized) -> dict[str, Any]:
    """Little, M/M/c and Allen–Cunneen beside the simulation, each with where it holds.

    Servers are the slots of all replicas at the batch that keeps the time per token; service is the mean time in the system.
    Numbers are None where no request was served.
    """
    run, trace = sized.runs[0], sized.runs[0].requests
    served = run.e2e_s[run.done]
    slots = max(
        sum(n * best.batch for n, best in zip(sized.needed[-1:], sized.limits.by_pool[-1:], strict=True)), 1.0
    )
    service_s = float(served.mean()) if len(served) else float("nan")
    rate, cv = trace.rate_per_s, trace.arrival_cv
    service_scv = float(served.var() / service_s**2) if len(served) else float("nan")
    servers = float(np.floor(slots))
    alone = float(np.mean(floors(sized.option, trace).alone["ttft"]))
    simulated = max(float(run.ttft_s[run.done].mean()) - alone, 0.0) if run.done.any() else None
    bursty = cv > 2.0

    def law(of: Callable[[], Any]) -> float | None:
        return float(of()) if len(served) else None

    return {
        "arrival_cv": cv,
        "service_scv": law(lambda: service_scv),
        "peak_to_mean_minute": trace.peak_to_mean(),
        "servers": servers,
        "little": {
            "in_system": law(lambda: queueing.in_system(rate, service_s)),
            "replicas": law(lambda: queueing.replicas(rate, service_s, sized.limits.by_pool[-1].batch)),
            "validity": "a mean without head-room: the fewest replicas that hold the requests in progress",
        },
        "mmc": {
            "mean_wait_s": law(lambda: queueing.mean_wait(rate, service_s, servers)),
            "wait_p99_s": law(lambda: queueing.wait_quantile(rate, service_s, servers, 0.99)),
            "validity": "Poisson arrivals and independent servers; slots of one replica slow each other down, and arrivals "
            f"here have a cv of {cv:.2f}",
        },
        "mgc": {
            "mean_wait_s": law(lambda: queueing.mean_wait(rate, service_s, servers, cv**2, service_scv)),
            "validity": "Allen–Cunneen; useless at this burstiness: the queue is that of bursts, not of the mean"
            if bursty
            else "Allen–Cunneen, some 10–20 % at high load where servers are independent",
        },
        "simulated": {
            "mean_wait_s": simulated,
            "validity": "time to first token beyond that on an idle replica",
        },
    }


def checks(sized: Sized) -> list[dict[str, Any]]:
    """Invariants of the runs: {name, holds, detail}. A run that breaks one is wrong."""
    return [_little(sized), _compute(sized), _floors(sized), _memory(sized), _arrivals(sized)]


def _check(name: str, holds: bool, detail: str) -> dict[str, Any]:
    return {"name": name, "holds": bool(holds), "detail": detail}


def _little(sized: Sized) -> dict[str, Any]:
    """L = λ W: requests in the pools, integrated event by event, against the sum of the times in them."""
    worst = 0.0
    for run in sized.runs:
        if (run.tries > 0).any() or not run.done.all():
            continue
        policy, prompt = sized.option.policy, run.requests.input_tokens
        inside = float(run.books[:, [records.INSIDE_SECONDS, records.OUTSIDE_SECONDS]].sum())
        times = float((run.finish_s - run.requests.arrival_s).sum())
        if len(run.pools) > 1:
            times -= float((policy.transfer_s + policy.transfer_s_per_token * prompt).sum())
        worst = max(worst, abs(inside - times) / max(times, 1e-12))
    return _check("Little's law", worst < 1e-6, f"L and λ·W differ by {worst:.1e} in runs without retries")


def _compute(sized: Sized) -> dict[str, Any]:
    """No pool computes more FLOPs than its iterations could at peak."""
    option, worst = sized.option, 0.0
    for run in sized.runs:
        for pool, book in zip(run.pools, run.books, strict=True):
            flops = option.flops_per_token * float(book[records.PROMPT_TOKENS] + book[records.OUTPUT_TOKENS])
            able = (
                option.peak_flops
                * pool.provider.gpus
                * float(book[records.PREFILL_S] + book[records.DECODE_S])
            )
            worst = max(worst, flops / able if able else 0.0)
    return _check("FLOPs below peak", worst <= 1.0, f"at most {worst:.1%} of peak while iterations run")


def _floors(sized: Sized) -> dict[str, Any]:
    """No request is faster than weights, caches and FLOPs allow at nameplate rates."""
    run = sized.runs[0]
    found = floors(sized.option, run.requests, most=len(run.requests) + 1)
    least = found.physical or found.alone
    # answers that speculation ends early may leave the last tokens of an iteration unused: per iteration, not per token;
    # without a bound of the hardware the step model's own times stand in, with an answer's context by its mean
    slack = 1.0 - 1e-9 if found.physical is not None else 1.0 - 1e-3
    if sized.option.last.provider.tokens_per_step != 1.0:
        slack = 0.5
    held = all(
        bool(np.all(getattr(run, f"{metric}_s")[run.done] >= least[metric][run.done] * slack))
        for metric in ("ttft", "tpot")
    )
    ratio = (
        float(np.min(run.ttft_s[run.done] / np.maximum(least["ttft"][run.done], 1e-12)))
        if run.done.any()
        else np.nan
    )
    return _check(
        "no request beats the floor", held, f"the quickest first token takes {ratio:.2f} × its bound"
    )


def _memory(sized: Sized) -> dict[str, Any]:
    used = max(
        float(book[records.KV_PEAK]) / pool.provider.kv_capacity_tokens
        for run in sized.runs
        for pool, book in zip(run.pools, run.books, strict=True)
    )
    return _check("KV cache within memory", used <= 1.0 + 1e-9, f"at most {used:.1%} of a replica's capacity")


def _arrivals(sized: Sized) -> dict[str, Any]:
    """Percentiles and goodput are over all arrivals."""
    arrivals = sum(len(run.requests) for run in sized.runs)
    counted = len(pooled(sized.runs, "ttft"))
    return _check("all arrivals count", counted == arrivals, f"{counted:,} of {arrivals:,} arrivals")
