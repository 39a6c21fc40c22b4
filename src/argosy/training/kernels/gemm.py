"""Matrix products: tile and wave quantisation under a ceiling, and never faster than the memory allows."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.training.kernels.curves import Curves, GemmCurve
from argosy.training.kernels.device import FAMILY, Device

Array = Any  # float or numpy array

# One thread block (or pair) computes one tile of the product. 128 × 256 is the largest that the libraries
# use on all generations measured, and fits them all as well as any other choice; smaller tiles show as a
# smaller `wave_share`.
TILE_M, TILE_N = 128, 256
OUTPUT_BYTES = 2.0  # products are written in BF16 whatever the operands' format


def gemm_time(device: Device, m: Array, n: Array, k: Array, count: Array = 1.0, dtype: str = "bf16") -> Array:
    """Seconds for `count` products of (m × k) by (k × n), all arguments broadcasting.

    max(waves · tile time, bytes ÷ memory rate) + overhead, each product a kernel of its own, where
        tiles     = ⌈m/128⌉·⌈n/256⌉
        waves     = tiles/SM, rounded up by the share `wave_share` of the last wave
        tile time = 2·128·256·(k + k_ramp) ÷ (peak/SM · ceiling)
    `dtype`: bf16, fp16, fp8, fp8_block, mxfp8, nvfp4. Fitted for m 1,024–8,192, n and k 1,024–65,536;
    smaller shapes are extrapolated. The time is 0 where any dimension is 0.
    """
    curves = device.curves
    memory_rate = device.memory_bandwidth * curves.memory_efficiency
    return count * product_time(_curve(curves.gemm, dtype), device.peak(dtype), memory_rate, m, n, k)


def cast_time(device: Device, elements: Array, dtype: str) -> Array:
    """Seconds to bring `elements` activation elements from BF16 into a narrower format with its scales; 0
    for BF16.

    elements · cast_bytes ÷ memory rate. The measurements time a product with the conversion of its left
    operand, and the traffic per element is fitted beside the product; a training step converts an
    activation once per forward and the gradient of the output once per backward, so that `gemm_time`
    leaves it out.
    """
    curve = _curve(device.curves.gemm, dtype)
    return elements * curve.cast_bytes / (device.memory_bandwidth * device.curves.memory_efficiency)


def product_time(curve: GemmCurve, peak: Array, memory_rate: Array, m: Array, n: Array, k: Array) -> Array:
    """Seconds of one product by a given curve (`gemm_time` states the law); `peak` in FLOP/s,
    `memory_rate` in byte/s.
    """
    tiles = np.ceil(np.asarray(m) / TILE_M) * np.ceil(np.asarray(n) / TILE_N)
    compute = _tiles_time(curve, tiles, k, peak)
    moved = (m * k + np.multiply(k, n)) * curve.element_bytes + np.multiply(m, n) * OUTPUT_BYTES
    return np.where(
        (tiles > 0) & (np.asarray(k) > 0), np.maximum(compute, moved / memory_rate) + curve.overhead_s, 0.0
    )[()]


def grouped_gemm_time(
    device: Device, tokens_per_expert: Array, n: Array, k: Array, experts: Array, dtype: str = "bf16"
) -> Array:
    """Seconds for one grouped product: `experts` products of (tokens_per_expert × k) by (k × n) in one
    kernel.

    The law of `gemm_time`, except that the tiles of all experts share one set of waves and one overhead,
    and every expert's weights are read. `tokens_per_expert` is the mean; ragged groups lose half a tile
    per expert on average, which ⌈x/128⌉ of the mean stands for: tiles per expert = x/128 + ½ (at least
    one, where there is any token).
    """
    curves = device.curves
    curve = product_curve(curves, dtype, grouped=True)
    memory_rate = device.memory_bandwidth * curves.memory_efficiency
    return grouped_product_time(curve, device.peak(dtype), memory_rate, tokens_per_expert, n, k, experts)


def grouped_product_time(
    curve: GemmCurve,
    peak: Array,
    memory_rate: Array,
    tokens_per_expert: Array,
    n: Array,
    k: Array,
    experts: Array,
) -> Array:
    """Seconds of one grouped product by a given curve (`grouped_gemm_time` states the law); rates as in
    `product_time`.
    """
    rows = np.asarray(tokens_per_expert)
    tiles = (
        np.where(rows > 0, np.maximum(rows / TILE_M + 0.5, 1.0), 0.0)
        * np.ceil(np.asarray(n) / TILE_N)
        * experts
    )
    compute = _tiles_time(curve, tiles, k, peak)
    moved = experts * ((rows * k + np.multiply(k, n)) * curve.element_bytes + rows * n * OUTPUT_BYTES)
    return np.where(
        (tiles > 0) & (np.asarray(k) > 0), np.maximum(compute, moved / memory_rate) + curve.overhead_s, 0.0
    )[()]


def _tiles_time(curve: GemmCurve, tiles: Array, k: Array, peak: Array) -> Array:
    """Seconds that `tiles` tiles take when all processors share them in waves."""
    waves = tiles / curve.processors
    waves = waves + curve.wave_share * (np.ceil(waves) - waves)
    return waves * (2.0 * TILE_M * TILE_N * curve.processors / curve.ceiling) * (k + curve.k_ramp) / peak


def product_curve(curves: Curves, dtype: str, grouped: bool = False) -> GemmCurve:
    """The curve by which a device computes (grouped) products of a format; ValueError where it has none."""
    return _curve({**curves.gemm, **curves.grouped} if grouped else curves.gemm, dtype)


def _curve(curves: dict[str, GemmCurve], dtype: str) -> GemmCurve:
    """The curve of a format: its own, else its family's (mxfp8 → fp8), else ValueError."""
    for name in (dtype, *_STAND_INS.get(dtype, ()), FAMILY.get(dtype, dtype)):
        if name in curves:
            return curves[name]
    raise ValueError(f"no {dtype} matrix-product curve; there are {', '.join(curves)}")


# Which measured format stands in for one that was not measured, nearest scaling granularity first.
_STAND_INS = {"mxfp8": ("fp8_block",), "fp4": ("nvfp4",), "mxfp4": ("nvfp4",), "fp16": ("bf16",)}


def has_curve(curves: Curves, dtype: str) -> bool:
    """Whether this device has a measured matrix-product curve for the format (its own or a stand-in)."""
    return any(name in curves.gemm for name in (dtype, *_STAND_INS.get(dtype, ()), FAMILY.get(dtype, dtype)))
