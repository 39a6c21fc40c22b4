"""The accelerator as the kernel laws see it: a handful of numbers, each a float or an array of draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from argosy.training.kernels.curves import Curves, curves_for

Array = Any  # float or numpy array

FAMILY = {"fp16": "bf16", "fp8_block": "fp8", "mxfp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4"}


@dataclass(frozen=True)
class Device:
    """One accelerator. Numbers may be arrays of draws (n,), which then broadcast through every kernel time.

    `name`: catalog name (`H100-SXM`), by which the efficiency curves are found; `generation`: ampere, hopper,
    blackwell, cdna3, tpu, ascend, ...; `peak_flops`: dense FLOP/s by format (`bf16`, `fp8`, `fp4`);
    `memory_bandwidth`: byte/s, nameplate; `memory_bytes`: capacity; `launch_s`: s that the host needs to
    launch one kernel (the host's cost, not part of the kernel times); `sustained_clock`: compute rate
    held over a whole step over the rate of the short measurement, 0–1: a step draws the board's power
    limit for seconds, a kernel benchmark for milliseconds. `power_exponent`: dynamic power goes with the clock
    to this power (3 where the voltage follows the clock, 1 where it has reached its floor).
    """

    name: str
    generation: str
    peak_flops: Mapping[str, Array]
    memory_bandwidth: Array
    memory_bytes: Array = 0.0
    launch_s: Array = 0.0
    sustained_clock: Array = 1.0
    power_exponent: Array = 3.0

    @cached_property
    def curves(self) -> Curves:
        """The measured efficiency curves of this device, or its nearest relative's, flagged."""
        return curves_for(self.name, self.generation)

    def peak(self, dtype: str) -> Array:
        """Dense FLOP/s of a format at the clock that a whole step sustains.

        Scaled variants (`fp8_block`, `mxfp8`, `nvfp4`) share the peak of their width. ValueError where
        the device has no such format.
        """
        family = dtype if dtype in self.peak_flops else FAMILY.get(dtype, dtype)
        if family not in self.peak_flops:
            raise ValueError(f"{self.name} has no {dtype} matrix unit; it has {', '.join(self.peak_flops)}")
        return self.peak_flops[family] * self.sustained_clock

    def clock(self, busy: Array) -> Array:
        """Clock over the boost clock that the power limit leaves to work which keeps the matrix units `busy`
        times as occupied as a large product does (0–1]: sustained_clock · busy^(−1/power_exponent), at most 1.
        """
        return np.minimum(self.sustained_clock * np.asarray(busy, float) ** (-1.0 / self.power_exponent), 1.0)

    def nameplate(self, dtype: str) -> Array:
        """Dense FLOP/s of a format at the boost clock, without the power limit's discount."""
        return self.peak(dtype) / self.sustained_clock
