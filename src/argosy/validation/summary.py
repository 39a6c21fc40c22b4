"""Errors by group: how many, mean absolute, mean, 90th percentile, and how often the interval held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

SCALES = ((8, "one node"), (128, "9-128"), (1023, "129-1023"), (float("inf"), "1024 and more"))


def statistics(rows: Iterable[dict[str, Any]], key: str = "step_time_s") -> dict[str, Any]:
    """n, mape, bias, p90_abs (fractions) of `error`, and coverage_90 of the predicted 90 % interval; null
    where empty. `key`: what was measured, unless a row names its own `metric`.
    """
    scored = [row for row in rows if row.get("error") is not None]
    if not scored:
        return {"n": 0, "mape": None, "bias": None, "p90_abs": None, "coverage_90": None}
    errors = [row["error"] for row in scored]
    sizes = sorted(abs(error) for error in errors)
    inside = [
        row["p05"] <= row[f"measured_{row.get('metric') or key}"] <= row["p95"]
        for row in scored
        if row.get("p05") is not None
    ]
    return {
        "n": len(errors),
        "mape": sum(sizes) / len(sizes),
        "bias": sum(errors) / len(errors),
        "p90_abs": sizes[min(int(0.9 * len(sizes)), len(sizes) - 1)],
        "coverage_90": sum(inside) / len(inside) if inside else None,
    }


def scale(row: dict[str, Any]) -> str:
    """The band of accelerator counts that a row is in."""
    return next(name for limit, name in SCALES if (row.get("n_gpus") or 0) <= limit)


def summarise(rows: list[dict[str, Any]], key: str = "step_time_s") -> dict[str, Any]:
    """Statistics over all unflagged rows, and by source, accelerator, framework, scale, grade and stated
    recomputation.

    Rows flagged as inconsistent in their file are summed apart (`flagged`).
    """
    clean = [row for row in rows if not row.get("flag")]
    groupings: dict[str, Callable[[dict[str, Any]], str]] = {
        "source": lambda row: row.get("source", ""),
        "accelerator": lambda row: row.get("accelerator", ""),
        "framework": lambda row: row.get("framework", ""),
        "scale": scale,
        "grade": lambda row: row.get("grade", ""),
        "recompute": lambda row: "stated" if row.get("recompute_stated") else "assumed",
    }
    summary: dict[str, Any] = {
        "all": statistics(clean, key),
        "flagged": statistics((r for r in rows if r.get("flag")), key),
    }
    for name, group_of in groupings.items():
        groups = defaultdict(list)
        for row in clean:
            if row["status"] == "ok":
                groups[group_of(row)].append(row)
        summary[name] = {group: statistics(members, key) for group, members in sorted(groups.items())}
    reasons: dict[str, int] = defaultdict(int)
    for row in rows:
        if row["status"] == "skipped":
            reasons[row["reason"]] += 1
    return summary | {
        "status": _count(row["status"] for row in rows),
        "skipped": dict(sorted(reasons.items())),
    }


def _count(values: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for value in values:
        counts[value] += 1
    return dict(counts)
