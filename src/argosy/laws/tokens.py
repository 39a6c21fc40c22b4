"""Token economics: what a device-hour yields, and what a token costs.

All from T = 6 N D / (n A MFU). The yield per device-second is MFU A / (6 N); per device-hour it is 3,600
times that: the factor that is easiest to lose. Range: as `training_time`.
"""

from __future__ import annotations

from argosy.laws.arrays import Array
from argosy.laws.power import SECONDS_PER_HOUR


def tokens_per_device_second(parameters: Array, peak_flops: Array, mfu: Array) -> Array:
    """MFU A / (6 N), in tokens/s per device; `parameters` active count, `peak_flops` in FLOP/s (dense),
    `mfu` 0–1.
    """
    return mfu * peak_flops / (6.0 * parameters)


def tokens_per_device_hour(parameters: Array, peak_flops: Array, mfu: Array) -> Array:
    """3,600 MFU A / (6 N), in tokens per device-hour; arguments as in `tokens_per_device_second`."""
    return SECONDS_PER_HOUR * tokens_per_device_second(parameters, peak_flops, mfu)


def cost_per_million_tokens_from_bill(
    price_per_device_hour: Array, device_hours: Array, tokens: Array
) -> Array:
    """Money per million tokens from a whole run's bill: price × device-hours / (tokens / 10⁶), every loss in
    it. From a yield: `economics.cost_per_million_tokens`.
    """
    return 1e6 * price_per_device_hour * device_hours / tokens


def energy_per_token(power_per_device: Array, tokens_per_second_per_device: Array, pue: Array = 1.0) -> Array:
    """J per token: power (W) × PUE / (tokens/s per device)."""
    return power_per_device * pue / tokens_per_second_per_device


def useful_tokens_per_dollar_and_watt(
    tokens_per_second_per_device: Array,
    price_per_device_hour: Array,
    power_per_device: Array,
    pue: Array = 1.0,
) -> dict[str, Array]:
    """Two scores by which plans are compared: "tokens_per_usd" and "tokens_per_kwh" (facility energy).
    Higher is better.
    """
    per_hour = tokens_per_second_per_device * SECONDS_PER_HOUR
    return {
        "tokens_per_usd": per_hour / price_per_device_hour,
        "tokens_per_kwh": per_hour / (power_per_device * pue / 1e3),
    }
