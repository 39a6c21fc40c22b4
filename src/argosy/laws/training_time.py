"""The training-time formula T = 6 N D / (n A MFU), and its solution for every variable.

Range: dense decoder transformers whose context is short against 6 × hidden size, so that attention FLOPs
are a small part of 6 N D (`utilization` counts them); MFU as reported in the parameters-only convention; no
restarts, no idle time (`reliability` adds those). For mixture-of-experts models N is the active count.
ValueError for impossible arguments: negative counts or times, a divisor of 0, an MFU outside (0, 1].
Sources: J. Kaplan et al., arXiv 2001.08361 (6 N D); A. Chowdhery et al., arXiv 2204.02311 (MFU).
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, require
from argosy.laws.power import SECONDS_PER_HOUR


def _require_positive(**quantities: Array) -> None:
    for name, value in quantities.items():
        require(np.asarray(value) > 0, f"{name} must be positive")


def _require_not_negative(**quantities: Array) -> None:
    for name, value in quantities.items():
        require(np.asarray(value) >= 0, f"{name} must not be negative")


def _require_share(**shares: Array) -> None:
    for name, value in shares.items():
        require((np.asarray(value) > 0) & (np.asarray(value) <= 1), f"{name} must lie in (0, 1]")


def training_flops(parameters: Array, tokens: Array) -> Array:
    """C = 6 N D, in FLOP; `parameters` (active count) and `tokens` (count)."""
    _require_not_negative(parameters=parameters, tokens=tokens)
    return 6.0 * parameters * tokens


def device_seconds(parameters: Array, tokens: Array, peak_flops: Array, mfu: Array) -> Array:
    """Accelerator-seconds of the run, 6 N D / (A MFU); `peak_flops` in FLOP/s per device (dense), `mfu`
    0–1.
    """
    _require_positive(peak_flops=peak_flops)
    _require_share(mfu=mfu)
    return training_flops(parameters, tokens) / (peak_flops * mfu)


def training_time(parameters: Array, tokens: Array, devices: Array, peak_flops: Array, mfu: Array) -> Array:
    """T = 6 N D / (n A MFU), in s; `devices` is the count n, others as in `device_seconds`."""
    _require_positive(devices=devices)
    return device_seconds(parameters, tokens, peak_flops, mfu) / devices


def tokens_in_time(parameters: Array, seconds: Array, devices: Array, peak_flops: Array, mfu: Array) -> Array:
    """D = T n A MFU / (6 N): tokens that fit into `seconds`."""
    _require_not_negative(seconds=seconds, devices=devices, peak_flops=peak_flops)
    _require_positive(parameters=parameters)
    _require_share(mfu=mfu)
    return seconds * devices * peak_flops * mfu / (6.0 * parameters)


def parameters_in_time(tokens: Array, seconds: Array, devices: Array, peak_flops: Array, mfu: Array) -> Array:
    """N = T n A MFU / (6 D): the largest model (active parameters) that sees `tokens` within `seconds`."""
    _require_not_negative(seconds=seconds, devices=devices, peak_flops=peak_flops)
    _require_positive(tokens=tokens)
    _require_share(mfu=mfu)
    return seconds * devices * peak_flops * mfu / (6.0 * tokens)


def devices_for_time(
    parameters: Array, tokens: Array, seconds: Array, peak_flops: Array, mfu: Array
) -> Array:
    """n = 6 N D / (T A MFU): devices for a deadline, not rounded; MFU is the one at that count, which the
    formula cannot know.
    """
    _require_positive(seconds=seconds, peak_flops=peak_flops)
    _require_share(mfu=mfu)
    return training_flops(parameters, tokens) / (seconds * peak_flops * mfu)


def mfu_from_time(
    parameters: Array, tokens: Array, seconds: Array, devices: Array, peak_flops: Array
) -> Array:
    """MFU = 6 N D / (T n A), 0–1: what a run of `seconds` on `devices` achieved on average (restarts count
    as loss).
    """
    _require_positive(seconds=seconds, devices=devices, peak_flops=peak_flops)
    return training_flops(parameters, tokens) / (seconds * devices * peak_flops)


def peak_from_time(parameters: Array, tokens: Array, seconds: Array, devices: Array, mfu: Array) -> Array:
    """A = 6 N D / (T n MFU), in FLOP/s: the per-device peak that a deadline asks for."""
    _require_positive(seconds=seconds, devices=devices)
    _require_share(mfu=mfu)
    return training_flops(parameters, tokens) / (seconds * devices * mfu)


def time_saved(mfu_before: Array, mfu_after: Array) -> Array:
    """Share of time (and of device-hours, energy, money) saved by a better MFU, 1 - before/after."""
    _require_share(mfu_before=mfu_before, mfu_after=mfu_after)
    return 1.0 - mfu_before / mfu_after


def gap(bill: Array, ideal: Array) -> Array:
    """Share of a bill that the ideal does not explain, 1 - ideal/bill; both in the same unit. A gap names
    no cause by itself.
    """
    _require_positive(bill=bill)
    return 1.0 - ideal / bill


def energy(run_device_seconds: Array, power_per_device: Array, pue: Array = 1.0) -> Array:
    """Energy in J of `run_device_seconds` (s) at `power_per_device` (W, say at which boundary) times the
    facility's `pue`.
    """
    _require_not_negative(run_device_seconds=run_device_seconds, power_per_device=power_per_device)
    require(np.asarray(pue) >= 1, "pue must be at least 1")
    return run_device_seconds * power_per_device * pue


def cost(run_device_seconds: Array, price_per_device_hour: Array) -> Array:
    """Money for `run_device_seconds` (s) at a price per device and hour; in the price's currency."""
    _require_not_negative(run_device_seconds=run_device_seconds)
    return run_device_seconds / SECONDS_PER_HOUR * price_per_device_hour


def bill_breakdown(
    bill: Array,
    parameters: Array,
    tokens: Array,
    peak_flops: Array,
    mfu: Array,
    attention_flops_per_token: Array = 0.0,
    productive_time: Array = 1.0,
) -> dict[str, Array]:
    """A bill in device-seconds, split into named parts that add up to it.

    `bill` in device-seconds; `mfu` (0–1) the reported one, which counts attention when
    `attention_flops_per_token` (FLOP) is given; `productive_time` (0–1) the reported share of time that
    made progress. Parts: "at peak" (6 N D at 100 %), "below peak" (the rest of the reported MFU),
    "attention" (its FLOPs at that MFU), "lost time" (1 - productive_time of the bill), "unexplained" (what
    is left: other stages, warm-up at small batch, other jobs on the same bill; negative when the reported
    figures exceed the bill).
    """
    _require_positive(bill=bill)
    _require_share(productive_time=productive_time)
    at_peak = device_seconds(parameters, tokens, peak_flops, 1.0)
    below_peak = device_seconds(parameters, tokens, peak_flops, mfu) - at_peak
    attention = tokens * attention_flops_per_token / (peak_flops * mfu)
    lost = bill * (1.0 - productive_time)
    return {
        "at peak": at_peak,
        "below peak": below_peak,
        "attention": attention,
        "lost time": lost,
        "unexplained": bill - at_peak - below_peak - attention - lost,
    }
