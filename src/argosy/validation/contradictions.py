"""Rows that the model cannot tell apart, and whose measured times contradict each other: a section of the report."""

from __future__ import annotations

from typing import Any

from argosy.validation.report_tables import markdown, percent

# How many times longer than a twin a row may take before it counts as contradicted: beyond what repeats scatter.
CONTRADICTED = 1.3


def _per_micro_batch(row: dict[str, Any], what: str) -> float:
    return float(row[f"{what}_step_time_s"] / row["layout"]["grad_accumulation"])


def _twins(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two rows of one source and accelerator have equal visible settings: the model cannot tell them apart."""
    same = all(row[key] == other[key] for key in ("source", "accelerator", "n_gpus", "stack"))
    pair = (_per_micro_batch(row, "predicted"), _per_micro_batch(other, "predicted"))
    layouts = ({k: v for k, v in each["layout"].items() if k != "grad_accumulation"} for each in (row, other))
    return same and row is not other and abs(pair[0] / pair[1] - 1) < 0.01 and next(layouts) == next(layouts)


def contradiction(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """That a twin took far less time per micro-batch, or nothing."""
    twins = [other for other in rows if other.get("error") is not None and _twins(row, other)]
    if not twins:
        return ""
    fastest = min(twins, key=lambda other: _per_micro_batch(other, "measured"))
    ratio = _per_micro_batch(row, "measured") / _per_micro_batch(fastest, "measured")
    if ratio < CONTRADICTED:
        return ""
    return f"contradicted: row {fastest['row_id']}, of equal visible settings, took 1/{ratio:.1f} of the time"


def contradicted_rows(rows: list[dict[str, Any]]) -> list[str]:
    """The rows that a twin contradicts, as a section. They are scored like any other."""
    found = [(row, contradiction(row, rows)) for row in rows if row.get("error") is not None]
    table = [
        (
            row["row_id"],
            row["source"],
            row["model"],
            row["accelerator"],
            row["framework"],
            text,
            percent(row["error"], True),
        )
        for row, text in found
        if text
    ]
    return [
        "### Rows contradicted by equal settings",
        "",
        f"Rows that took more than {CONTRADICTED:g} times as long as another release of the same framework with equal "
        "visible settings.",
        "They are scored like any other; no model of the visible settings can follow both.",
        "",
        *markdown(("row", "source", "model", "accelerator", "framework", "against", "error %"), table),
    ]
