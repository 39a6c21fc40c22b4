"""The accelerator as the step model sees it: a few SI numbers, each a scalar or one draw per row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from argosy.facts.values import Values

Array = Any

# Formats in the order in which a device without the asked one falls back: the wider format always exists.
_FALLBACK = {"fp4": "fp8", "nvfp4": "fp4", "mxfp8": "fp8", "fp8": "bf16", "fp16": "bf16", "int8": "bf16", "bf16": "fp16", "tf32": "fp32"}


@dataclass(frozen=True)
class Device:
    """One accelerator. Every number is a float or an array of draws (n,).

    `peak` maps a numeric format to dense FLOP/s; `clock_fraction` is the sustained over the boost clock under the
    power limit, by which the arithmetic, not the memory, slows down.
    """

    name: str
    peak: dict[str, Array]
    memory_bandwidth: Array  # byte/s
    memory_capacity: Array  # byte
    kernel_launch: Array = 4e-6  # s between dependent kernels that the host has already queued
    clock_fraction: Array = 1.0
    node_size: int = 8  # accelerators in one scale-up domain
    facts: dict[str, str] = field(default_factory=dict)

    def peak_flops(self, dtype: str) -> Array:
        """Dense FLOP/s in `dtype`, or in the next wider format where the device lacks it."""
        while dtype not in self.peak:
            if dtype not in _FALLBACK or _FALLBACK[dtype] == dtype:
                raise KeyError(f"{self.name} has no dense peak for {dtype}; it has {sorted(self.peak)}")
            dtype = _FALLBACK[dtype]
        return self.peak[dtype]

    @classmethod
    def from_values(cls, values: Values, accelerator: str, node_size: int = 8, **changes: Any) -> Device:
        """The device `accelerator` (a catalog name) read from facts; scalars, or arrays where `values` holds draws."""
        prefix = f"accelerators.{accelerator}."
        peak = {
            dtype: values[f"{prefix}peak_{dtype}"]
            for dtype in ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8")
            if f"{prefix}peak_{dtype}" in values
        }
        numbers: dict[str, Any] = {
            "memory_bandwidth": values[f"{prefix}memory_bandwidth"],
            "memory_capacity": values[f"{prefix}memory_capacity"],
            "clock_fraction": values.get(f"{prefix}clock_fraction", 1.0),
        }
        return cls(accelerator, peak, node_size=node_size, **{**numbers, **changes})
