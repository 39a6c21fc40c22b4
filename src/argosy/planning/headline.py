"""The numbers that a decision rests on, each with its quantiles, its law and its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.planning.run import DAY, FleetRun, JobRun

Array = Any


def quantiles(nominal: float, draws: Array) -> dict[str, float]:
    """`nominal` beside the 10th, 50th and 90th percentile of `draws` (n,). A draw that never ends counts as infinite."""
    low, middle, high = np.quantile(np.atleast_1d(draws), (0.1, 0.5, 0.9), method="inverted_cdf")
    return {"nominal": float(nominal), "p10": float(low), "p50": float(middle), "p90": float(high)}


def headline(nominal: FleetRun, drawn: FleetRun) -> list[dict[str, Any]]:
    """The answer in nine rows: key, label, unit, nominal, p10, p50, p90, law and inputs of each."""
    return [*_time_rows(nominal, drawn), *_power_rows(nominal, drawn), *_money_rows(nominal, drawn)]


def _row(
    key: str, label: str, unit: str, law: str, central: float, draws: Array, *inputs: dict[str, str]
) -> dict[str, Any]:
    numbers = quantiles(central, draws)
    return {"key": key, "label": label, "unit": unit, **numbers, "law": law, "inputs": list(inputs)}


def _ettr(run: FleetRun) -> Array:
    return sum(job.work_s for job in run.jobs) / run.wall_s


def _time_rows(nominal: FleetRun, drawn: FleetRun) -> list[dict[str, Any]]:
    job = longest(nominal)
    mfu, step = job.job.main.nominal.mfu, f"{job.step_s:.3f} s"
    steps = sum(stage.steps for each in nominal.jobs for stage in each.job.stages)
    failures = sum(each.failures for each in nominal.jobs)
    fleet = f"{nominal.accelerators:,} + {nominal.spares:,}"
    return [
        _row("days", "days", "days", "steps × step time ÷ goodput", nominal.wall_s / DAY, drawn.wall_s / DAY,
             _input("steps", f"{steps:,.0f}", "tokens ÷ (sequences × length)"),
             _input("step time", step, "step model at the layout"),
             _input("goodput", f"{_ettr(nominal):.4f}", "Daly's exact form")),
        _row("mfu", "MFU (6·N)", "fraction", "6·N·tokens/s ÷ (accelerators × dense peak)", job.mfu, longest(drawn).mfu,
             _input("N", f"{mfu['parameters']:.4g}", "parameters without the input embedding, active ones of a mixture"),
             _input("tokens/s", f"{job.tokens_per_s:,.0f}", "global batch ÷ step time"),
             _input("peak", f"{mfu['peak_flops'] / 1e12:,.1f} TFLOP/s", mfu["peak_dtype"])),
        _row("goodput", "goodput (ETTR)", "fraction", "productive ÷ wall-clock time", _ettr(nominal), _ettr(drawn),
             _input("failures expected", f"{failures:.0f}", job.reliability.rates.preset),
             _input("checkpoint every", f"{job.interval_s:,.0f} s", "the best interval, or the scenario's")),
        _row("gpu_hours", "GPU-hours", "gpu_hours", "(accelerators + spares) × wall-clock time",
             nominal.gpu_hours, drawn.gpu_hours, _input("accelerators + spares", fleet, "scenario")),
    ]  # fmt: skip


def _power_rows(nominal: FleetRun, drawn: FleetRun) -> list[dict[str, Any]]:
    site, draws = nominal.facility, drawn.facility
    it, pue = f"{float(site['it_mean_w']) / 1e6:.2f} MW", f"{float(site['pue']):.3f}"
    mean, peak = "facility_mean_w", "facility_peak_w"
    return [
        _row(mean, "facility power, mean", "w", "IT power of the job × PUE", site[mean], draws[mean],
             _input("IT, mean", it, "node power at the step's activity, switches, storage"),
             _input("PUE", pue, "cooling, climate")),
        _row(peak, "facility power, peak", "w", "every node at its cap × PUE of the hottest hour", site[peak], draws[peak],
             _input("IT, peak", f"{float(site['it_peak_w']) / 1e6:.2f} MW", "nameplate or cap of every node"),
             _input("PUE", f"{float(site['pue_peak']):.3f}", "cooling and losses at full load in the hottest hour")),
    ]  # fmt: skip


def _money_rows(nominal: FleetRun, drawn: FleetRun) -> list[dict[str, Any]]:
    tokens = sum(job.tokens for job in nominal.jobs)
    cost, draws = nominal.cost, drawn.cost
    total, per_token = "total_usd", "usd_per_million_tokens"
    site, energy = nominal.facility, f"{float(nominal.facility['energy_kwh']) / 1e6:,.1f} GWh"
    return [
        _row(total, "cost", "usd", cost["boundary"], cost[total], draws[total],
             _input("per GPU-hour", f"${float(cost['usd_per_gpu_hour']):.3f}", "cost ÷ GPU-hours")),
        _row(per_token, "cost per million tokens", per_token, "cost ÷ tokens",
             cost[total] / tokens * 1e6, draws[total] / tokens * 1e6, _input("tokens", f"{tokens:.4g}", "scenario")),
        _row("carbon_kg", "carbon, location-based", "kg", "energy × grid intensity", site["carbon_kg"],
             drawn.facility["carbon_kg"], _input("energy", energy, "IT mean × hours × PUE, spares included"),
             _input("basis", site["carbon_basis"], "")),
    ]  # fmt: skip


def _input(name: str, shown: str, origin: str) -> dict[str, str]:
    return {"name": name, "shown": shown, "from": origin}


def longest(run: FleetRun) -> JobRun:
    """The job with the most tokens: the one whose MFU stands in the headline."""
    return max(run.jobs, key=lambda job: job.tokens)
