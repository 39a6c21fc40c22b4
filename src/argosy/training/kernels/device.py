"""What a kernel law asks of an accelerator: its name, by which its curves are found, and its rates."""

from __future__ import annotations

from typing import Any, Protocol

Array = Any  # float or numpy array


class Device(Protocol):
    """One accelerator; `training.Device` is one. Numbers may be arrays of draws (n,) and broadcast through every time."""

    @property
    def name(self) -> str:
        """Catalog name (`H100-SXM`)."""

    @property
    def memory_bandwidth(self) -> Array:
        """Nameplate, byte/s."""

    @property
    def clock_fraction(self) -> Array:
        """Compute rate held over a whole step over the rate of a short measurement, 0–1.

        A training step draws the board's power limit for seconds, a kernel benchmark for milliseconds.
        """

    def peak_flops(self, dtype: str) -> Array:
        """Dense FLOP/s of a format at the nameplate clock."""


def sustained_peak(device: Device, dtype: str) -> Array:
    """Dense FLOP/s of a format at the clock that a whole step sustains.

    Scaled variants (`fp8_block`, `mxfp8`, `nvfp4`, `mxfp4`) share the peak of their width.
    """
    return device.peak_flops(FAMILY.get(dtype, dtype)) * device.clock_fraction


FAMILY = {"fp16": "bf16", "fp8_block": "fp8", "mxfp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4"}
