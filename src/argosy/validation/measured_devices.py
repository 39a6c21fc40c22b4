"""The devices whose kernels were measured, and those that borrow their curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The share of nameplate memory bandwidth that streaming kernels reach. No memory-bound shape is among the
# measurements, so this is not fitted here; the step model's validation bears on it.
MEMORY_EFFICIENCY: dict[str, Any] = {
    "value": 0.85,
    "low": 0.78,
    "high": 0.93,
    "source": "assumption: STREAM-like kernels reach 80–93 % of nameplate HBM bandwidth",
}


@dataclass(frozen=True)
class Measured:
    """A device of the measurements: the rates to which its efficiencies refer (datasheet, dense), FLOP/s
    and byte/s.
    """

    key: str
    generation: str
    processors: int
    bandwidth: float
    peak: dict[str, float]
    aliases: tuple[str, ...]


_HOPPER_PEAK = {"bf16": 989e12, "fp8": 1979e12}
DEVICES = {
    "A100-SXM": Measured(
        "a100_sxm",
        "ampere",
        108,
        2.039e12,
        {"bf16": 312e12},
        ("A100-80GB-SXM", "A100-40GB-SXM", "A100-SXM-80GB", "A100-SXM-40GB", "A100"),
    ),
    "H100-SXM": Measured("h100_sxm", "hopper", 132, 3.35e12, _HOPPER_PEAK, ("H100", "H100-80GB-SXM")),
    "H200-SXM": Measured("h200_sxm", "hopper", 132, 4.8e12, _HOPPER_PEAK, ("H200",)),
    "B200-SXM": Measured(
        "b200_sxm", "blackwell", 148, 8e12, {"bf16": 2250e12, "fp8": 4500e12, "fp4": 9000e12}, ("B200",)
    ),
    "B300-SXM": Measured(
        "b300_sxm", "blackwell", 148, 8e12, {"bf16": 2250e12, "fp8": 4500e12, "fp4": 13500e12}, ("B300",)
    ),
    "GB200": Measured(
        "gb200",
        "blackwell",
        152,
        8e12,
        {"bf16": 2500e12, "fp8": 5000e12, "fp4": 10000e12},
        ("GB200 (per GPU)",),
    ),
}
FORMATS = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}
FAMILY = {"bf16": "bf16", "fp8": "fp8", "fp8_block": "fp8", "nvfp4": "fp4"}
ELEMENT_BYTES = {
    "bf16": 2.0,
    "fp8": 1.0,
    "fp8_block": 1.0,
    "nvfp4": 0.5625,
}  # NVFP4: 4 bits and an 8-bit scale per 16

# Published achievable matrix-product rates, BF16 FLOP/s (stas00/ml-engineering,
# compute/accelerator/README.md: maximum achievable matmul FLOPS), by which a relative's curves are scaled.
_ACHIEVABLE = {
    "A100-SXM": 271.2e12,
    "H100-SXM": 794.5e12,
    "B200-SXM": 1745e12,
    "B300-SXM": 1769e12,
    "GB200": 1822e12,
}


def relatives() -> dict[str, Any]:
    """Devices without kernel measurements: whose curves they borrow, scaled by published achievable rates
    over peak.
    """

    def like(
        device: str, generation: str, reason: str, achievable: float | None = None, peak: float | None = None
    ) -> dict[str, Any]:
        scale = 1.0
        if achievable and peak:
            scale = (achievable / peak) / (_ACHIEVABLE[device] / DEVICES[device].peak["bf16"])
        return {"like": device, "generation": generation, "scale": round(scale, 4), "reason": reason}

    hopper = "same chip with a slower NVLink"
    return {
        "H800-SXM": like("H100-SXM", "hopper", f"no kernel measurements; H100-SXM's, {hopper}"),
        "H100-PCIe": like("H100-SXM", "hopper", "no kernel measurements; H100-SXM's shares of peak"),
        "H20-96GB": like(
            "H200-SXM",
            "hopper",
            "no kernel measurements; H200-SXM's shares of peak: fewer processors, the same memory class",
        ),
        "GB300": like(
            "B300-SXM",
            "blackwell",
            "no kernel measurements; B300-SXM's shares of peak: the same chip at a higher power limit",
        ),
        "MI300X": like(
            "H100-SXM",
            "cdna3",
            "no kernel measurements; H100-SXM's shapes scaled by published achievable matmul",
            668.4e12,
            1307.4e12,
        ),
        "MI325X": like(
            "H100-SXM",
            "cdna3",
            "no kernel measurements; H100-SXM's shapes scaled by published achievable matmul",
            784.9e12,
            1307.4e12,
        ),
        "MI355X": like(
            "B200-SXM",
            "cdna4",
            "no kernel measurements; B200-SXM's shapes scaled by published achievable matmul",
            1565e12,
            2500e12,
        ),
        "Gaudi3": like(
            "H100-SXM",
            "gaudi",
            "no kernel measurements; H100-SXM's shapes scaled by published achievable matmul",
            1243e12,
            1677e12,
        ),
        "TPU v4": like("A100-SXM", "tpu", "no kernel measurements; A100-SXM's shares of peak"),
        "TPU v5p": like("A100-SXM", "tpu", "no kernel measurements; A100-SXM's shares of peak"),
        "Ascend 910B": like("A100-SXM", "ascend", "no kernel measurements; A100-SXM's shares of peak"),
        "Ascend 910C": like("A100-SXM", "ascend", "no kernel measurements; A100-SXM's shares of peak"),
        "any ampere": like("A100-SXM", "ampere", "no kernel measurements; A100-SXM's shares of peak"),
        "any hopper": like("H100-SXM", "hopper", "no kernel measurements; H100-SXM's shares of peak"),
        "any blackwell": like("B200-SXM", "blackwell", "no kernel measurements; B200-SXM's shares of peak"),
        "unknown": like(
            "H100-SXM", "unknown", "a device without kernel measurements; H100-SXM's shares of peak"
        ),
    }
