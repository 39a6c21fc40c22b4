"""Tables of the accuracy report in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def percent(value: float | None, signed: bool = False) -> str:
    """A fraction as a percentage with one decimal; empty for None."""
    if value is None:
        return ""
    return f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"


def markdown(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def errors_row(name: str, found: dict[str, Any] | None) -> tuple[str, ...]:
    """Name, n, MAPE, bias, 90th percentile, coverage."""
    if not found or not found["n"]:
        return (name, "0", "", "", "", "")
    return (
        name,
        str(found["n"]),
        percent(found["mape"]),
        percent(found["bias"], True),
        percent(found["p90_abs"]),
        percent(found.get("coverage_90")),
    )


HEADER = ("", "rows", "MAPE %", "bias %", "90th percentile %", "inside 90 % interval")
