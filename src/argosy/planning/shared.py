"""One fleet for serving by day and training by night: what elastic training gains, what a GPU is worth on each side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy.planning.context import Context
from argosy.planning.job import JobPlan
from argosy.planning.run import FleetRun
from argosy.planning.serving import ServicePlan
from argosy.serving.objectives import goodput_per_s
from argosy.serving.sizing import run

RESIZE_S = 300.0
"""Pause of an elastic job whose size changes, in s: an assumption, as the scheduling room's default for elastic jobs."""
HOURS = 24


def hourly_load(each: ServicePlan) -> np.ndarray:
    """The service's load by hour of the day, 1 at its peak: the scenario's factors, or the trace's hours (flat if shorter)."""
    factors = each.given.traffic.diurnal
    if factors:
        return np.asarray(np.asarray(factors, float) / max(factors))
    trace = each.asked.traces[0]
    if trace.horizon_s < HOURS * 3600.0:
        return np.ones(HOURS)
    hours = (trace.arrival_s // 3600.0).astype(int) % HOURS
    counts = np.bincount(hours, minlength=HOURS).astype(float)
    return np.asarray(counts / counts.max())


def gpus_by_hour(each: ServicePlan, node_size: int) -> np.ndarray:
    """Accelerators that the service needs in each hour, in whole nodes: replicas in proportion to the load, and spares."""
    best = each.found.best
    assert best is not None
    load, total = hourly_load(each), np.zeros(HOURS)
    for needed, all_, pool in zip(best.needed, best.replicas, best.option.kinds, strict=True):
        total += (np.maximum(np.ceil(np.round(needed * load, 9)), 1.0) + all_ - needed) * pool.provider.gpus
    return np.asarray(np.minimum(np.ceil(total / node_size) * node_size, each.whole_gpus))


def shared_fleet(
    setting: Context, services: Sequence[ServicePlan], nominal: FleetRun, jobs: Sequence[JobPlan]
) -> dict[str, Any]:
    """Training on what services leave hour by hour against training on what they leave at their peak.

    An elastic job takes whole data-parallel replicas (tp · pp · cp accelerators each) and pauses `RESIZE_S` at each change. The
    global batch stays: the step takes as long as the replica with the most micro-batches, so that only replicas which make
    these fewer help, by day as by night. The worth of one accelerator: tokens trained per second on one side, requests per
    second within promises on the other (from runs with a replica less and one more).
    """
    job = max(jobs, key=lambda each: each.training.tokens)
    layout = job.main.layouts.to_dict()
    unit = int(layout["tp"] * layout["pp"] * layout["cp"])
    taken = sum(gpus_by_hour(each, setting.node_size) for each in services)
    left = np.maximum(setting.fleet.count - taken, 0.0)
    micro_batches = int(layout["global_batch_sequences"]) // int(layout["micro_batch"])
    used, speed = elastic_hours(left // unit, micro_batches, int(layout["dp"]))
    changes = int((used != np.roll(used, 1)).sum())
    mean = float(speed.mean()) * (1.0 - changes * RESIZE_S / (HOURS * 3600.0))
    static, by_day = int(np.argmin(left)), float(speed.min())
    if mean <= by_day:  # the pauses cost more than the nights bring: it keeps its size
        used, changes, mean = np.full(HOURS, used[static]), 0, by_day
    at_peak = float(used[static]) * unit
    rate = nominal.jobs[0].tokens_per_s / nominal.accelerators * nominal.jobs[0].ettr
    days = float(nominal.wall_s) / 86400.0
    return {
        "serving_gpus_by_hour": taken,
        "training_gpus_by_hour": used * unit,
        "elastic_unit_gpus": unit,
        "resizes_per_day": changes,
        "resize_s": RESIZE_S,
        "static_gpus": at_peak,
        "elastic_mean_gpus": at_peak * mean / by_day if by_day > 0.0 else None,
        "training_days_static": days / by_day if by_day > 0.0 else None,
        "training_days_elastic": days / mean if mean > 0.0 else None,
        "gained_gpu_hours_per_day": at_peak * (mean / by_day - 1.0) * HOURS if by_day > 0.0 else None,
        "micro_batches": micro_batches,
        "marginal_gpu": {
            "training_tokens_per_s": float(rate),
            "serving": [_marginal(each, float(rate)) for each in services],
        },
    }


def elastic_hours(replicas: np.ndarray, micro_batches: int, planned: int) -> tuple[np.ndarray, np.ndarray]:
    """Data-parallel replicas that are used of those there are in each hour, and the speed over that of the `planned` number.

    Of n replicas the busiest sees ⌈m ÷ n⌉ of the m micro-batches; the fewest replicas with as few are used.
    """
    there = np.asarray(replicas, float)
    most = np.where(there >= 1.0, np.ceil(micro_batches / np.maximum(there, 1.0)), np.inf)
    used = np.where(np.isfinite(most), np.ceil(micro_batches / most), 0.0)
    return used, np.ceil(micro_batches / planned) / most


def _marginal(each: ServicePlan, training_tokens_per_s: float) -> dict[str, Any]:
    """What one accelerator more, and one less, changes at a service, on the busiest stretch of its first trace."""
    best, asked = each.found.best, each.asked
    assert best is not None
    stretch, gpus = asked.trial()[:1], best.option.last.provider.gpus
    fewer = (*best.needed[:-1], max(best.needed[-1] - 1, 1))
    more = (*best.needed[:-1], best.needed[-1] + 1)
    rates = [
        goodput_per_s(run(asked, best.option, counts, stretch), asked.wanted)
        for counts in (fewer, best.needed, more)
    ]
    answer = float(stretch[0].output_tokens.mean())
    lost = (rates[1] - rates[0]) / gpus * answer if fewer != best.needed else None
    return {
        "name": asked.name,
        "goodput_per_s_lost_by_one_less": None if lost is None else (rates[1] - rates[0]) / gpus,
        "goodput_per_s_gained_by_one_more": (rates[2] - rates[1]) / gpus,
        "output_tokens_per_s_lost_by_one_less": lost,
        # a token served is worth so many trained where the fleet is just right: the ratio at which the last GPU may change sides
        "training_tokens_per_output_token": training_tokens_per_s / lost if lost else None,
    }
