"""Operations bound by memory: normalisations, activations, residuals, optimizer updates."""

from __future__ import annotations

from typing import Any

from argosy.training.kernels.device import Device

Array = Any  # float or numpy array


def memory_time(device: Device, bytes: Array, kernels: Array = 1.0) -> Array:
    """Seconds to stream `bytes` (read plus written) through `kernels` kernels, all arguments broadcasting.

    bytes ÷ (bandwidth · memory_efficiency) + kernels · overhead, with the overhead (start and drain, on
    the device) of the device's BF16 matrix products. Valid for streams larger than the last-level cache.
    """
    curves = device.curves
    return (
        bytes / (device.memory_bandwidth * curves.memory_efficiency)
        + kernels * curves.gemm["bf16"].overhead_s
    )
