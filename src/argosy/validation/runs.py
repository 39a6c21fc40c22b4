"""Predict measured training runs, row by row, and say what was assumed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.training import Layouts, Steps, evaluate
from argosy.training.memory import memory
from argosy.training.uncertainty import ceiling_seconds, grade, residual_sigma
from argosy.validation.cases import Case, case, with_recompute
from argosy.validation.models import Skipped
from argosy.validation.rows import Row

# Recipes of this stack keep activations in the host's memory, rather than recompute, on chips whose host has
# a coherent link of 900 GB/s (NVIDIA GB200 datasheet: NVLink-C2C).
OFF_LOADING_STACKS = ("megatron-bridge", "megatron-bridge-fused")
COHERENT = ("GB200", "GB300")
NORMAL_90 = (
    1.6448536269514722  # half-width of the central 90 % of a normal distribution, in standard deviations
)


def predict_row(row: Row) -> dict[str, Any]:
    """One row of `argosy validate` on training runs, with the keys of the contract.

    `status`: ok; oom for a row without a step time whose layout does not fit memory; skipped with
    `reason`. A run that has a step time is predicted although the memory model says that it would not
    fit, and says so (`fits_memory`).
    """
    answer: dict[str, Any] = {
        "row_id": row.text("row_id"),
        **{name: row.text(name) for name in ("source", "model", "accelerator", "framework", "precision")},
        "n_gpus": row.count("n_gpus"),
        "flag": row.text("flag") or None,
    }
    try:
        prepared = case(row)
    except Skipped as why:
        return answer | {"status": "skipped", "reason": str(why)}
    recompute = choose_recompute(prepared)
    answer["stack"] = prepared.stack.name
    remarks = [*prepared.remarks, recompute.remark] if recompute.remark else [*prepared.remarks]
    if not recompute.fits and prepared.measured_s is None:
        return answer | {"status": "oom", "reason": recompute.remark, "remarks": remarks}
    steps = predict(prepared, recompute)
    seconds = step_seconds(prepared, recompute, steps)
    best = int(np.argmin(seconds))
    predicted = float(seconds[best])
    measured = prepared.measured_s
    standing, reasons = grade(prepared.job, prepared.device, prepared.stack)
    spread = math.exp(NORMAL_90 * residual_sigma(standing))
    return answer | {
        "status": "ok",
        "measured_step_time_s": measured,
        "predicted_step_time_s": predicted,
        "p05": max(predicted / spread, float(ceiling_seconds(prepared.device, steps)[best])),
        "p95": predicted * spread,
        "error": predicted / measured - 1 if measured else None,
        "grade": standing,
        "grade_reasons": reasons,
        "layout": steps.layouts.to_dict(best),
        "breakdown_s": {name: float(value[best]) for name, value in steps.breakdown.items()},
        "recompute_stated": prepared.stated_recompute,
        "fits_memory": recompute.fits,
        "remarks": remarks,
    }


@dataclass(frozen=True)
class Recompute:
    """How much a case recomputes: the mode of its layouts, and where `share` < 1 the part of layers that
    do (0–1).
    """

    layouts: Layouts
    share: float
    fits: bool
    remark: str


def choose_recompute(prepared: Case) -> Recompute:
    """The recomputation of a case: as stated, else the framework's first default under which a layout
    fits memory.

    Before every layer recomputes fully, only as many do as memory needs (Megatron's block method), in tenths.
    """
    modes = prepared.modes
    if (
        not prepared.stated_recompute
        and prepared.stack.name in OFF_LOADING_STACKS
        and (prepared.device.name in COHERENT or prepared.job.model.moe)
    ):
        layouts = with_recompute(prepared.layouts, modes[0])
        fits = bool(fitting(prepared, layouts).any())
        beyond = "" if fits else "; what does not fit is off-loaded to the host (taken as free)"
        if (
            prepared.job.model.moe
        ):  # the recipes' published files: norms, activations, MLA's up-projection, dense layers
            beyond = "" if fits else "; the recipes recompute only cheap parts, taken as none"
        return Recompute(
            layouts, 1.0, True, f"recomputation not stated: {modes[0]}, the framework's default{beyond}"
        )
    for mode in modes:
        layouts = with_recompute(prepared.layouts, mode)
        if prepared.stated_recompute:
            fits = bool(fitting(prepared, layouts).any())
            return Recompute(
                layouts, 1.0, fits, "" if fits else f"{mode} recomputation as stated, though it would not fit"
            )
        shares = np.arange(1, 11) / 10 if mode == "full" and len(modes) > 1 else (1.0,)
        for share in shares:
            chosen = fitting(prepared, layouts, float(share))
            if chosen.any():
                part = f"{mode}" if share == 1 else f"{mode}, {share:.0%} of the layers"
                remark = f"recomputation not stated: {part}, the framework's first default that fits"
                return Recompute(layouts.take(chosen), float(share), True, remark)
    return Recompute(
        with_recompute(prepared.layouts, modes[0]),
        1.0,
        False,
        f"recomputation not stated, and none fits: {modes[0]} (the run must have off-loaded or cut "
        f"memory otherwise)",
    )


def fitting(prepared: Case, layouts: Layouts, share: float = 1.0) -> np.ndarray:
    """Which layouts the memory model finds to fit the device, (L,)."""
    peak = memory(prepared.job, layouts, prepared.stack.name, recomputed_share=share).peak_reserved
    return np.asarray(peak <= prepared.device.memory_bytes)


def predict(prepared: Case, recompute: Recompute) -> Steps:
    """The step model's answer for the layouts of a case under its recomputation."""
    return evaluate(prepared.job, prepared.device, prepared.network, prepared.stack, recompute.layouts)


def step_seconds(prepared: Case, recompute: Recompute, steps: Steps) -> np.ndarray:
    """Step time of every layout, s: between no and full recomputation in proportion to the layers that
    recompute.
    """
    if recompute.share == 1.0:
        return steps.step_s
    without = evaluate(
        prepared.job,
        prepared.device,
        prepared.network,
        prepared.stack,
        with_recompute(recompute.layouts, "none"),
    )
    return np.asarray(without.step_s + recompute.share * (steps.step_s - without.step_s))


def predict_rows(rows: list[Row]) -> list[dict[str, Any]]:
    """All rows, in order."""
    return [predict_row(row) for row in rows]
