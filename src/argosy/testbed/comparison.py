"""Predicted beside measured: one form for every experiment of the testbed, so that one table and one check serve all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def compared(what: str, predicted: float, measured: float, unit: str, bar: float | None) -> dict[str, Any]:
    """A figure against its prediction: `error` is predicted ÷ measured − 1, within ± `bar`; `bar` None: shown, not judged."""
    error = predicted / measured - 1 if measured else None
    within = None if bar is None else error is not None and abs(error) <= bar
    return _row(what, predicted, measured, unit, error, bar, within)


def counted(what: str, expected: Any, found: Any, unit: str = "") -> dict[str, Any]:
    """What must be exactly so: sums, samples, losses bit for bit, whether an event was seen (True or False)."""
    return _row(what, expected, found, unit, None, 0.0, bool(expected == found))


def bounded(
    what: str,
    low: float | None,
    high: float | None,
    measured: float,
    unit: str,
    predicted: float | None = None,
) -> dict[str, Any]:
    """A figure that must lie from `low` to `high` (None: no limit that way), such as a simulation's interval or a limit in
    time; `predicted`: its central value, where there is one.
    """
    within = (low is None or measured >= low) and (high is None or measured <= high)
    row = _row(what, predicted, measured, unit, None, None, within)
    return {**row, "interval": [low, high]}


def _row(
    what: str,
    predicted: Any,
    measured: Any,
    unit: str,
    error: float | None,
    bar: float | None,
    within: bool | None,
) -> dict[str, Any]:
    return {
        "what": what,
        "predicted": predicted,
        "measured": measured,
        "unit": unit,
        "error": error,
        "bar": bar,
        "interval": None,
        "within": within,
    }


def answer(
    comparisons: Sequence[dict[str, Any]],
    notes: Sequence[str],
    reason: str | None = None,
    short: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """The payload of an experiment, without its head. `reason`: why it ran on the loopback; None: on namespaces."""
    from argosy.testbed.hosts import machine

    judged = [row for row in comparisons if row["within"] is not None]
    return {
        "hosts": "namespaces" if reason is None else "loopback",
        "reason": reason,
        "short": short,
        "machine": machine(),
        **more,
        "comparisons": list(comparisons),
        "summary": {
            "comparisons": len(comparisons),
            "judged": len(judged),
            "within_bar": sum(row["within"] for row in judged),
        },
        "notes": list(notes),
    }
