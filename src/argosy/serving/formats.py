"""Number formats of weights and KV cache: bytes per element with their scales, and where they compute."""

from __future__ import annotations

from argosy.training.kernels import Device

# Bytes per weight with its block scales: FP8 in blocks of 128 × 128 with an FP32 scale (DeepSeek-V3,
# arXiv:2412.19437, section 3.3.2); MXFP4 blocks of 32 with one byte, NVFP4 blocks of 16 with one byte (OCP
# Microscaling Formats 1.0; NVIDIA cuDNN block scaling); INT4 groups of 32 with a BF16 scale (compressed-tensors).
WEIGHT_BYTES = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "fp8_block": 1.0 + 4.0 / 128**2,
    "mxfp8": 1.0 + 1.0 / 32,
    "int8": 1.0,
    "nvfp4": 0.5 + 1.0 / 16,
    "fp4": 0.5 + 1.0 / 16,
    "mxfp4": 0.5 + 1.0 / 32,
    "int4": 0.5 + 2.0 / 32,
}
KV_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "nvfp4": 0.5 + 1.0 / 16, "fp4": 0.5 + 1.0 / 16}


def weight_bytes(precision: str) -> float:
    """Bytes of one weight with its share of the scales. ValueError for a format that is not known."""
    if precision not in WEIGHT_BYTES:
        raise ValueError(f"no weight format {precision!r}; write one of {', '.join(WEIGHT_BYTES)}")
    return WEIGHT_BYTES[precision]


def kv_bytes(precision: str) -> float:
    """Bytes of one element of the KV cache. ValueError for a format that is not known."""
    if precision not in KV_BYTES:
        raise ValueError(f"no KV-cache format {precision!r}; write one of {', '.join(KV_BYTES)}")
    return KV_BYTES[precision]


def compute_format(device: Device, precision: str) -> str:
    """The format in which products of such weights are computed on a device.

    The format itself where the device has its matrix unit and its curves; MXFP4 weights meet MXFP8 activations
    (FP8 rate); weights narrower than the device can multiply are widened to BF16 as they are read (W4A16).
    """
    wanted = {"mxfp4": ("mxfp8", "fp8"), "fp4": ("nvfp4",), "int4": (), "int8": (), "fp32": ()}.get(
        precision, (precision,)
    )
    width = {"nvfp4": "fp4", "mxfp8": "fp8", "fp8_block": "fp8"}
    has_fp4 = "fp4" in device.peak_flops
    for name in wanted:
        narrow = width.get(name, name)
        if precision == "mxfp4" and not has_fp4:
            break  # Hopper has no path for 4-bit weights but to widen them
        if narrow in device.peak_flops:
            return name
    return "bf16"
