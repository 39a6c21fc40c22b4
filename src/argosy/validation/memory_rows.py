"""Predict measured peak memory, row by row."""

from __future__ import annotations

from typing import Any

from argosy.training.memory import memory
from argosy.validation.cases import case, with_recompute
from argosy.validation.models import Skipped
from argosy.validation.rows import Row

GIB = 2.0**30


def measured_bytes(row: Row) -> float | None:
    """The peak that a row states, in bytes; None for an out-of-memory row. The files give GiB, as the
    tools print.
    """
    value = row.number("peak_mem_gb")
    return None if value is None else value * GIB


def counted_as(row: Row) -> str:
    """Which of the model's peaks a row's definition means: allocated tensors, the allocator's pool, or
    all of a device.
    """
    words = row.text("metric_definition").lower()
    if "max_memory_allocated" in words:
        return "peak_allocated"
    if "max_memory_reserved" in words or "across gpus" in words:
        return "allocator_reserved"
    return "peak_reserved"


def predict_memory_row(row: Row) -> dict[str, Any]:
    """One row of `argosy validate` on memory, with the keys of the contract.

    `status`: oom where the model finds that the layout does not fit the device; `measured_oom` says what
    the run did.
    """
    answer: dict[str, Any] = {
        "row_id": row.text("row_id").removesuffix(".0"),
        **{name: row.text(name) for name in ("source", "model", "accelerator", "framework")},
        "n_gpus": row.count("n_gpus"),
        "flag": row.text("flag") or None,
        "measured_oom": row.text("peak_mem_gb").upper() == "OOM",
    }
    try:
        prepared = case(row)
    except Skipped as why:
        return answer | {"status": "skipped", "reason": str(why)}
    found = memory(
        prepared.job, with_recompute(prepared.layouts.take([0]), prepared.modes[0]), prepared.stack.name
    )
    kind = counted_as(row)
    predicted, measured = float(getattr(found, kind)[0]), measured_bytes(row)
    full = float(found.peak_reserved[0])
    return answer | {
        "status": "oom" if full > prepared.device.memory_bytes else "ok",
        "measured_peak_bytes": measured,
        "predicted_peak_bytes": predicted,
        "error": predicted / measured - 1 if measured else None,
        "counted": kind,
        "capacity_bytes": float(prepared.device.memory_bytes),
        "breakdown_bytes": found.to_dict(0),
        "recompute_stated": prepared.stated_recompute,
        "remarks": list(prepared.remarks),
    }


def predict_memory_rows(rows: list[Row]) -> list[dict[str, Any]]:
    """All rows, in order."""
    return [predict_memory_row(row) for row in rows]
