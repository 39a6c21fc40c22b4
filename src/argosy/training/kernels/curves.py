"""The shipped table of kernel-efficiency parameters, and which row of it a device uses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from argosy.training.kernels.fitted import fitted


@dataclass(frozen=True)
class GemmCurve:
    """Matrix products of one device and format; see `gemm_time` for the law.

    `ceiling`: share of peak of an endless product; `k_ramp`: elements of k that filling and draining one
    tile costs;
    `wave_share`: how much of the last, partly filled wave is lost (1: all, 0: none); `overhead_s`: s per
    kernel;
    `processors`: streaming multiprocessors that share the tiles; `element_bytes`: bytes per operand element;
    `cast_bytes`: memory traffic that turns one activation element into the format (0: it already has it);
    `mape`: mean absolute error on shapes kept out of the fit (fraction).
    """

    ceiling: float
    k_ramp: float
    wave_share: float
    overhead_s: float
    processors: int
    element_bytes: float
    cast_bytes: float
    mape: float


@dataclass(frozen=True)
class AttentionCurve:
    """Fused attention forward of one device and format, by head dimension; see `attention_time` for the law.

    `head_dims` (h,) ascending; `ceiling` (h,) share of BF16 peak; `ramp` (h,) tokens of context at which
    half of the time is start-up of the rows; `mape`: mean absolute error on shapes kept out of the fit
    (fraction).
    """

    head_dims: tuple[float, ...]
    ceiling: tuple[float, ...]
    ramp: tuple[float, ...]
    mape: float


@dataclass(frozen=True)
class Curves:
    """All curves of one device. `relative_of` names the device whose curves these are where its own were
    never measured.
    """

    device: str
    generation: str
    gemm: dict[str, GemmCurve]
    grouped: dict[str, GemmCurve]
    attention: dict[str, AttentionCurve]
    memory_efficiency: float
    relative_of: str | None = None
    note: str = ""


@cache
def table() -> dict[str, Any]:
    """The shipped table as it was generated: parameters, standard errors, fit errors, ranges, sources."""
    text = (files("argosy.training.kernels") / "data" / "kernels.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def curves_for(name: str, generation: str = "") -> Curves:
    """The curves of the accelerator with catalog name `name`, or of its nearest measured relative.

    A relative is flagged (`relative_of`, `note`); its ceilings are scaled by the two devices' published
    achievable matrix-product rates over peak where both are known. A name that the table does not know is
    a device of the user's own: it gets the curves of the table's `unknown` entry, flagged alike.
    """
    data = table()
    aliases = {
        alias: device for device, entry in data["devices"].items() for alias in [device, *entry["aliases"]]
    }
    if name in aliases:
        measured = data["devices"][aliases[name]]
        return _build(name, measured["generation"], measured, None, 1.0, "")
    relatives = data["relatives"]
    entry = relatives.get(name) or relatives.get(f"any {generation}") or relatives["unknown"]
    return _build(
        name,
        generation or entry["generation"],
        data["devices"][entry["like"]],
        entry["like"],
        entry["scale"],
        entry["reason"],
    )


def _build(
    name: str, generation: str, entry: dict[str, Any], relative: str | None, scale: float, note: str
) -> Curves:
    def gemm(row: dict[str, Any]) -> GemmCurve:
        values = {
            key: row["parameters"][key]["value"] for key in ("ceiling", "k_ramp", "wave_share", "overhead_s")
        }
        values["ceiling"] = min(values["ceiling"] * scale, 1.0)
        return GemmCurve(
            **values,
            processors=row["processors"],
            element_bytes=row["element_bytes"],
            cast_bytes=row["parameters"].get("cast_bytes", {"value": 0.0})["value"],
            mape=row["fit"]["held_out_mape"],
        )

    def attention(rows: dict[str, Any]) -> AttentionCurve:
        dims = sorted(rows, key=float)
        return AttentionCurve(
            tuple(float(d) for d in dims),
            tuple(min(rows[d]["parameters"]["ceiling"]["value"] * scale, 1.0) for d in dims),
            tuple(rows[d]["parameters"]["ramp"]["value"] for d in dims),
            max(rows[d]["fit"]["held_out_mape"] for d in dims),
        )

    return Curves(
        device=name,
        generation=generation,
        gemm={dtype: gemm(row) for dtype, row in entry["gemm"].items()},
        grouped={dtype: gemm(row) for dtype, row in entry.get("grouped", {}).items()},
        attention={dtype: attention(rows) for dtype, rows in entry["attention"].items()},
        memory_efficiency=(fitted(f"training.memory_efficiency.{generation}") or entry["memory_efficiency"])[
            "value"
        ],
        relative_of=relative,
        note=note,
    )
