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
    """Rows of label, unit key, nominal, p10, p50, p90, law and inputs: the answer in eight numbers."""
    job, drawn_job = longest(nominal), longest(drawn)
    tokens = sum(each.tokens for each in nominal.jobs)

    def row(
        key: str, label: str, unit: str, central: float, draws: Array, law: str, inputs: list[dict[str, str]]
    ) -> dict[str, Any]:
        return {
            "key": key,
            "label": label,
            "unit": unit,
            **quantiles(central, draws),
            "law": law,
            "inputs": inputs,
        }

    facility, power = nominal.facility, drawn.facility
    accelerators = nominal.accelerators + nominal.spares
    ettr = sum(each.work_s for each in nominal.jobs) / nominal.wall_s
    ettr_draws = sum(each.work_s for each in drawn.jobs) / drawn.wall_s
    per_million = 1e6 / tokens
    return [
        row("days", "days", "days", nominal.wall_s / DAY, drawn.wall_s / DAY, "steps × step time ÷ goodput", [
            _input("steps", f"{sum(s.steps for each in nominal.jobs for s in each.job.stages):,.0f}", "tokens ÷ (sequences × length)"),
            _input("step time", f"{job.step_s:.3f} s", "step model at the layout"),
            _input("goodput", f"{ettr:.4f}", "Daly's exact form"),
        ]),
        row("mfu", "MFU (6·N)", "fraction", job.mfu, drawn_job.mfu, "6·N·tokens/s ÷ (accelerators × dense peak)", [
            _input("N", f"{job.job.main.nominal.mfu['parameters']:.4g}", "parameters without the input embedding, active ones of a mixture"),
            _input("tokens/s", f"{job.tokens_per_s:,.0f}", "global batch ÷ step time"),
            _input("peak", f"{job.job.main.nominal.mfu['peak_flops'] / 1e12:,.1f} TFLOP/s", job.job.main.nominal.mfu["peak_dtype"]),
        ]),
        row("goodput", "goodput (ETTR)", "fraction", ettr, ettr_draws, "productive ÷ wall-clock time", [
            _input("failures expected", f"{sum(each.failures for each in nominal.jobs):.0f}", job.reliability.rates.preset),
            _input("checkpoint every", f"{job.interval_s:,.0f} s", "the best interval, or the scenario's"),
        ]),
        row("gpu_hours", "GPU-hours", "gpu_hours", nominal.gpu_hours, drawn.gpu_hours, "(accelerators + spares) × wall-clock time", [
            _input("accelerators + spares", f"{nominal.accelerators:,} + {nominal.spares:,}", "scenario"),
        ]),
        row("facility_mean_w", "facility power, mean", "w", facility["facility_mean_w"], power["facility_mean_w"], "IT power of the job × PUE", [
            _input("IT, mean", f"{float(facility['it_mean_w']) / 1e6:.2f} MW", "node power at the step's activity, switches, storage"),
            _input("PUE", f"{float(facility['pue']):.3f}", "cooling, climate, load"),
        ]),
        row("facility_peak_w", "facility power, peak", "w", facility["facility_peak_w"], power["facility_peak_w"], "every node at its cap × PUE", []),
        row("total_usd", "cost", "usd", nominal.cost["total_usd"], drawn.cost["total_usd"], nominal.cost["boundary"], [
            _input("per GPU-hour", f"${float(nominal.cost['usd_per_gpu_hour']):.3f}", "cost ÷ GPU-hours"),
        ]),
        row("usd_per_million_tokens", "cost per million tokens", "usd_per_million_tokens", nominal.cost["total_usd"] * per_million,
            drawn.cost["total_usd"] * per_million, "cost ÷ tokens", [_input("tokens", f"{tokens:.4g}", "scenario")]),
        row("carbon_kg", "carbon, location-based", "t", facility["carbon_kg"], power["carbon_kg"], "energy × grid intensity", [
            _input("energy", f"{float(facility['energy_kwh']) / 1e6:,.1f} GWh", "IT mean × hours × PUE"),
            _input("basis", facility["carbon_basis"], ""),
            _input("accelerators", f"{accelerators:,}", "spares included"),
        ]),
    ]  # fmt: skip


def _input(name: str, shown: str, origin: str) -> dict[str, str]:
    return {"name": name, "shown": shown, "from": origin}


def longest(run: FleetRun) -> JobRun:
    """The job with the most tokens: the one whose MFU stands in the headline."""
    return max(run.jobs, key=lambda job: job.tokens)
