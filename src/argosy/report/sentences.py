"""Sentences about a plan that terminal, page and Markdown share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import text as write

STEP_NAMES = {
    "compute": "compute",
    "tp_exposed": "tensor parallel, exposed",
    "pp_exposed": "pipeline transfers, exposed",
    "bubble": "pipeline bubble",
    "dp_exposed": "data parallel, exposed",
    "ep_exposed": "expert parallel, exposed",
    "cp_exposed": "context parallel, exposed",
    "optimizer": "optimizer",
    "straggler": "stragglers and jitter",
    "other": "other",
}


def utilisation(job: Mapping[str, Any]) -> str:
    """MFU in its conventions, HFU, and against what."""
    mfu = job["mfu"]
    conventions = (
        f"MFU {write.percent(mfu['parameters_only'])} by 6N",
        f"{write.percent(mfu['attention_causal'])} with causal attention",
        f"{write.percent(mfu['attention_full'])} with full attention",
    )
    peak = f"{write.scaled(mfu['peak_flops'], 'FLOP/s')} dense {mfu['peak_dtype']}"
    return f"{', '.join(conventions)}; HFU {write.percent(job['hfu'])}; of {peak}"


def searched(search: Mapping[str, Any]) -> str:
    """How many layouts were looked at, and how many are as good."""
    ties = len(search["ties"])
    told = (
        f"best of {write.count(search['feasible'])} that fit, {write.count(search['evaluated'])} evaluated "
        f"in {write.duration(search['seconds'])}"
    )
    told += f"; {ties} others within the model's uncertainty" if ties else ""
    simulated = search.get("simulated_step_time_s")
    return told + (
        f", ordered by their event schedules ({write.duration(simulated)} for the first)" if simulated else ""
    )


def left_out(search: Mapping[str, Any], most: int | None = None) -> str:
    """Why layouts are out, most frequent reason first; at most `most` reasons."""
    ranked = sorted(search["excluded"].items(), key=lambda item: -item[1])[:most]
    return ", ".join(f"{reason}: {write.count(number)}" for reason, number in ranked)


def memory_peak(figures: Mapping[str, Any]) -> str:
    """The fullest accelerator's memory against its capacity."""
    reserved, allocated, capacity = (
        write.binary_bytes(figures[key]) for key in ("peak_reserved", "peak_allocated", "capacity")
    )
    full = write.percent(figures["peak_reserved"] / figures["capacity"])
    return f"peak {reserved} reserved, {allocated} allocated, of {capacity}: {full} full"


def bandwidth(fabric: Mapping[str, Any]) -> str:
    """What a fabric carries, and its price and power where they are known."""
    injection, bisection = (
        write.scaled(fabric[f"{key}_bps_per_direction"], "b/s") for key in ("injection", "bisection")
    )
    told = f"{write.count(fabric['endpoints'])} endpoints, injection {injection}, bisection {bisection} per direction"
    money = f"; {write.dollars(fabric['usd'])}" if fabric.get("usd") else ""
    power = f", {write.scaled(fabric['w'], 'W')}" if fabric.get("w") else ""
    return told + money + power


def shared(found: Mapping[str, Any]) -> list[str]:
    """Elastic training beside services, and the worth of a GPU on each side."""
    lines = []
    if found["training_days_static"] is not None and found["training_days_elastic"] is not None:
        days = [write.significant(found[f"training_days_{each}"]) for each in ("static", "elastic")]
        at_peak = f"training on the {write.count(found['static_gpus'])} GPUs that serving leaves at its peak: {days[0]} days"
        if found["resizes_per_day"]:
            lines.append(
                f"{at_peak}; growing and shrinking with what it leaves hour by hour: {days[1]}, as fast as "
                f"{write.count(found['elastic_mean_gpus'])} GPUs, with {found['resizes_per_day']} changes of size a day"
            )
        else:
            lines.append(f"{at_peak}; what it leaves at night makes no step shorter")
    worth = found["marginal_gpu"]
    for service in worth["serving"]:
        lost, ratio = (
            service["output_tokens_per_s_lost_by_one_less"],
            service["training_tokens_per_output_token"],
        )
        served = "nothing measurable" if not lost else f"{write.significant(lost)} tokens/s served in time"
        lines.append(
            f"one GPU is worth {write.significant(worth['training_tokens_per_s'])} tokens/s in training; the last one of "
            f"{service['name']} is worth {served}"
            + (f": a token served against {write.significant(ratio)} trained" if ratio else "")
        )
    return lines
