"""Predict measured training runs, row by row, and say what was assumed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from argosy.training import Layouts, Steps, evaluate
from argosy.training.uncertainty import grade, residual_sigma
from argosy.validation.cases import Case, case, with_recompute
from argosy.validation.models import Skipped
from argosy.validation.rows import Row

NORMAL_90 = (
    1.6448536269514722  # half-width of the central 90 % of a normal distribution, in standard deviations
)


def predict_row(row: Row) -> dict[str, Any]:
    """One row of `argosy validate` on training runs, with the keys of the contract.

    `status`: ok; oom where no recomputation that the row allows fits the memory; skipped with `reason`.
    """
    answer: dict[str, Any] = {
        "row_id": row.text("row_id"),
        **{name: row.text(name) for name in ("source", "model", "accelerator", "framework")},
        "n_gpus": row.count("n_gpus"),
        "flag": row.text("flag") or None,
    }
    try:
        prepared = case(row)
    except Skipped as why:
        return answer | {"status": "skipped", "reason": str(why)}
    layouts, mode, remarks = choose_recompute(prepared)
    answer["stack"] = prepared.stack.name
    if layouts is None:
        return answer | {"status": "oom", "reason": remarks[-1], "remarks": [*prepared.remarks, *remarks]}
    steps = predict(prepared, layouts)
    best = int(np.argmin(steps.step_s))
    predicted = float(steps.step_s[best])
    measured = prepared.measured_s
    standing, reasons = grade(prepared.job, prepared.device, prepared.stack)
    spread = math.exp(NORMAL_90 * residual_sigma(standing))
    return answer | {
        "status": "ok",
        "measured_step_time_s": measured,
        "predicted_step_time_s": predicted,
        "p05": predicted / spread,
        "p95": predicted * spread,
        "error": predicted / measured - 1 if measured else None,
        "grade": standing,
        "grade_reasons": reasons,
        "layout": steps.layouts.to_dict(best),
        "breakdown_s": {name: float(value[best]) for name, value in steps.breakdown.items()},
        "recompute_stated": prepared.stated_recompute,
        "remarks": [*prepared.remarks, *remarks],
    }


def predict(prepared: Case, layouts: Layouts, **stack: Any) -> Steps:
    """The step model's answer for some layouts of a case; `stack` replaces numbers of its stack, by name."""
    chosen = replace(prepared.stack, **stack) if stack else prepared.stack
    return evaluate(prepared.job, prepared.device, prepared.network, chosen, layouts)


def choose_recompute(prepared: Case) -> tuple[Layouts | None, str, list[str]]:
    """The layouts of a case that fit memory, with the first recomputation in its list under which any does."""
    mode = prepared.modes[0]
    remarks = (
        []
        if prepared.stated_recompute
        else [f"recomputation not stated: {mode}, the framework's default that fits"]
    )
    return with_recompute(prepared.layouts, mode), mode, remarks


def predict_rows(rows: list[Row]) -> list[dict[str, Any]]:
    """All rows, in order."""
    return [predict_row(row) for row in rows]
