"""Regenerate the shipped table of kernel efficiencies from measured kernel times.

    python -m argosy.validation.fit_kernels MEASUREMENTS_DIRECTORY [TABLE.json]

The directory holds gemm_measured.csv.gz, attention_fwd_measured.csv.gz and
moe_grouped_gemm_measured.csv.gz. Each fit keeps a quarter of its shape families (all rows of one (n, k),
one head count, one expert shape) aside and reports the error on them; the shipped parameters come from
the other three quarters.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from argosy.training.kernels.curves import GemmCurve
from argosy.training.kernels.gemm import grouped_product_time, product_time
from argosy.validation.measured_devices import (
    DEVICES,
    ELEMENT_BYTES,
    FAMILY,
    FORMATS,
    MEMORY_EFFICIENCY,
    Measured,
    relatives,
)

_SOURCE = (
    "ai-dynamo/aiconfigurator@095f58a (GitHub), "
    "aic-core/src/aiconfigurator_core/systems/data/{key}/{kind}/trtllm"
)
_TABLE = Path(__file__).parents[1] / "training" / "kernels" / "data" / "kernels.json"


def read_rows(path: Path) -> list[dict[str, str]]:
    """All rows of a gzipped CSV with a header."""
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def columns(rows: list[dict[str, str]], *names: str) -> list[np.ndarray]:
    """Numeric columns of rows, each (rows,)."""
    return [np.array([float(row[name]) for row in rows]) for name in names]


def held_out(*keys: np.ndarray) -> np.ndarray:
    """A quarter of the families of rows with equal keys, in an order that is arbitrary but always the
    same.
    """
    families = ["|".join(f"{value:g}" for value in row) for row in zip(*keys, strict=True)]
    order = sorted(set(families), key=lambda family: hashlib.sha256(family.encode()).digest())
    aside = set(order[: max(1, round(len(order) / 4))])
    return np.array([family in aside for family in families])


def fit(
    predict: Callable[[np.ndarray], np.ndarray],
    measured: np.ndarray,
    aside: np.ndarray,
    names: tuple[str, ...],
    start: list[float],
    bounds: tuple[list[float], list[float]],
) -> dict[str, Any]:
    """Least squares of log(predicted/measured) with a soft loss, by rows not kept aside.

    Returns the parameters with standard errors, and the relative errors on fitted and on set-aside rows.
    """
    from scipy.optimize import least_squares

    def residual(p: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(predict(p) / measured)[~aside])

    scale = np.maximum(np.abs(start), 1e-6)
    found = least_squares(residual, start, bounds=bounds, x_scale=scale, loss="soft_l1", f_scale=0.05)
    spread = np.var(residual(found.x))
    jacobian = np.asarray(found.jac)
    errors = np.sqrt(np.clip(np.diag(np.linalg.pinv(jacobian.T @ jacobian)) * spread, 0, None))
    relative = predict(found.x) / measured - 1.0
    return {
        "parameters": {
            name: {"value": float(f"{v:.4g}"), "standard_error": float(f"{e:.2g}")}
            for name, v, e in zip(names, found.x, errors, strict=True)
        },
        "fit": {**_errors("fitted", relative[~aside]), **_errors("held_out", relative[aside])},
    }


def _errors(prefix: str, relative: np.ndarray) -> dict[str, Any]:
    size = np.abs(relative)
    return {
        f"{prefix}_rows": len(relative),
        f"{prefix}_mape": round(float(size.mean()), 4),
        f"{prefix}_bias": round(float(relative.mean()), 4),
        f"{prefix}_p90": round(float(np.quantile(size, 0.9)), 4),
    }


_GEMM_NAMES = ("ceiling", "k_ramp", "wave_share", "overhead_s")


def _curve(parameters: np.ndarray, device: Measured, dtype: str) -> GemmCurve:
    ceiling, ramp, share, overhead = parameters
    return GemmCurve(ceiling, ramp, share, overhead, device.processors, ELEMENT_BYTES[dtype], 0.0, 0.0)


def fit_gemm(rows: list[dict[str, str]], device: Measured, dtype: str) -> dict[str, Any]:
    """Matrix products of one device and format.

    The narrow formats were timed with the conversion of the left operand, whose traffic is fitted beside
    the product.
    """
    m, n, k, milliseconds = columns(rows, "m", "n", "k", "latency_ms")
    peak, memory_rate = device.peak[FAMILY[dtype]], device.bandwidth * MEMORY_EFFICIENCY["value"]
    names: tuple[str, ...] = _GEMM_NAMES
    start, low, high = [0.7, 100.0, 0.3, 5e-6], [0.05, 0.0, 0.0, 0.0], [1.0, 4000.0, 1.0, 3e-5]
    if dtype != "bf16":
        names, start, low, high = (*names, "cast_bytes"), [*start, 5.0], [*low, 0.0], [*high, 30.0]

    def predict(p: np.ndarray) -> np.ndarray:
        cast = p[4] * m * k / memory_rate if dtype != "bf16" else 0.0
        seconds = product_time(_curve(p[:4], device, dtype), peak, memory_rate, m, n, k) + cast
        return np.asarray(seconds)

    result = fit(predict, milliseconds / 1e3, held_out(n, k), names, start, (low, high))
    return result | {
        "processors": device.processors,
        "element_bytes": ELEMENT_BYTES[dtype],
        "reference_peak": peak,
        "range": {name: [float(x.min()), float(x.max())] for name, x in (("m", m), ("n", n), ("k", k))},
    }


def fit_attention(rows: list[dict[str, str]], device: Measured, head_dim: float) -> dict[str, Any]:
    """Causal attention forward of one device and head dimension.

    What the serving kernel adds per call and per byte (start-up, cache writes, positions) is fitted
    beside ceiling and ramp, and not carried over into training times.
    """
    b, s, h, kv, milliseconds = columns(
        rows, "batch_size", "seq_len", "num_heads", "num_key_value_heads", "latency_ms"
    )
    work = 2.0 * b * h * s * s * head_dim
    io = b * s * (2 * h + 2 * kv) * head_dim * 2.0 / device.bandwidth
    rate = device.peak["bf16"]
    result = fit(
        lambda p: work * (1.0 + p[1] / s) / (rate * p[0]) + p[2] + p[3] * io,
        milliseconds / 1e3,
        held_out(h, kv),
        ("ceiling", "ramp", "call_s", "streams"),
        [0.5, 300.0, 2e-5, 1.5],
        ([0.05, 0.0, 0.0, 0.0], [1.2, 5000.0, 3e-4, 20.0]),
    )
    return result | {"reference_peak": rate, "range": {"tokens": [float(s.min()), float(s.max())]}}


def fit_grouped(
    rows: list[dict[str, str]], device: Measured, dtype: str, dense_ceiling: float
) -> dict[str, Any]:
    """Gated expert feed-forward (two grouped products, permutation and activation) under balanced routing.

    The ceiling is bounded by the same device's dense BF16 products: a few of these short measurements run
    above it, at clocks that no long run holds.
    """
    tokens, hidden, ffn, top_k, experts, tp, ep, milliseconds = columns(
        rows,
        "num_tokens",
        "hidden_size",
        "inter_size",
        "topk",
        "num_experts",
        "moe_tp_size",
        "moe_ep_size",
        "latency",
    )
    ffn, per_expert, local = ffn / tp, tokens * top_k / experts, experts / ep
    peak, memory_rate = device.peak[FAMILY[dtype]], device.bandwidth * MEMORY_EFFICIENCY["value"]
    moved = per_expert * local * (hidden + ffn) * 2.0 * 2.0 / memory_rate

    def predict(p: np.ndarray) -> np.ndarray:
        curve = _curve(np.array([p[0], p[1], 0.0, 0.0]), device, dtype)
        up = grouped_product_time(curve, peak, memory_rate, per_expert, 2 * ffn, hidden, local)
        down = grouped_product_time(curve, peak, memory_rate, per_expert, hidden, ffn, local)
        return np.asarray(up + down + 2 * p[2] + p[3] * moved)

    found = fit(
        predict,
        milliseconds / 1e3,
        held_out(hidden, ffn, experts),
        ("ceiling", "k_ramp", "overhead_s", "streams"),
        [0.9 * dense_ceiling, 100.0, 2e-5, 2.0],
        ([0.05, 0.0, 0.0, 0.0], [dense_ceiling, 4000.0, 2e-4, 6.0]),
    )
    found["parameters"]["wave_share"] = {"value": 0.0, "standard_error": 0.0}
    return found | {
        "processors": device.processors,
        "element_bytes": ELEMENT_BYTES[dtype],
        "reference_peak": peak,
        "range": {"tokens_per_expert": [float(per_expert.min()), float(per_expert.max())]},
    }


def fit_device(device: Measured, tables: dict[str, list[dict[str, str]]]) -> dict[str, Any]:
    """All curves of one device from the rows of the three measurement files."""
    mine = {kind: [row for row in rows if row["gpu"] == device.key] for kind, rows in tables.items()}
    entry: dict[str, Any] = {
        "aliases": list(device.aliases),
        "generation": device.generation,
        "memory_efficiency": MEMORY_EFFICIENCY,
        "source": {kind: _SOURCE.format(key=device.key, kind=kind) for kind in ("gemm", "attention", "moe")},
        "gemm": {},
        "grouped": {},
        "attention": {"bf16": {}},
    }
    for theirs, dtype in FORMATS.items():
        if rows := [r for r in mine["gemm"] if r["gemm_dtype"] == theirs]:
            entry["gemm"][dtype] = fit_gemm(rows, device, dtype)
        # training-sized groups, balanced routing, up to eight-way expert parallelism
        rows = [
            r
            for r in mine["moe"]
            if r["moe_dtype"] == theirs
            and r["kernel_source"] == "moe_torch_flow_cutlass"
            and r["distribution"] == "balanced"
            and float(r["moe_ep_size"]) <= 8
            and float(r["num_tokens"]) * float(r["topk"]) / float(r["num_experts"]) >= 128
        ]
        if rows:
            entry["grouped"][dtype] = fit_grouped(
                rows, device, dtype, entry["gemm"]["bf16"]["parameters"]["ceiling"]["value"]
            )
    rows = [
        r
        for r in mine["attention"]
        if r["attn_dtype"] == "bfloat16"
        and r["kernel_source"] == "torch_flow"
        and float(r["seq_len"]) >= 1024
        and 2
        * float(r["batch_size"])
        * float(r["num_heads"])
        * float(r["seq_len"]) ** 2
        * float(r["head_dim"])
        > 2e10
    ]
    for head_dim in sorted({float(r["head_dim"]) for r in rows}):
        entry["attention"]["bf16"][f"{head_dim:g}"] = fit_attention(
            [r for r in rows if float(r["head_dim"]) == head_dim], device, head_dim
        )
    return entry


def build(directory: Path) -> dict[str, Any]:
    """The whole table from a directory of measurements."""
    tables = {
        "gemm": read_rows(directory / "gemm_measured.csv.gz"),
        "attention": read_rows(directory / "attention_fwd_measured.csv.gz"),
        "moe": read_rows(directory / "moe_grouped_gemm_measured.csv.gz"),
    }
    return {
        "generated_by": "python -m argosy.validation.fit_kernels",
        "devices": {name: fit_device(device, tables) for name, device in DEVICES.items()},
        "relatives": relatives(),
    }


def main(arguments: list[str] | None = None) -> None:
    """Command line: read the measurements, write the table, print the errors on the rows kept aside."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        sys.exit(__doc__)
    table = build(Path(given[0]))
    target = Path(given[1]) if len(given) > 1 else _TABLE
    target.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for device, entry in table["devices"].items():
        fits = [
            (f"{kind} {dtype}", row) for kind in ("gemm", "grouped") for dtype, row in entry[kind].items()
        ]
        fits += [(f"attention {d}", row) for d, row in entry["attention"]["bf16"].items()]
        for name, row in fits:
            e, values = row["fit"], {k: v["value"] for k, v in row["parameters"].items()}
            print(
                f"{device:10s} {name:16s} aside {e['held_out_rows']:4d} MAPE "
                f"{e['held_out_mape']:.3f} bias {e['held_out_bias']:+.3f}  {values}"
            )


if __name__ == "__main__":
    main()
