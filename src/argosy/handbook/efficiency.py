"""Dated tables of scaling efficiency, interpolated over the logarithm of the fleet's size."""

from __future__ import annotations

from typing import Any

from argosy.facts import FactError
from argosy.handbook import data
from argosy.laws.scaling import interpolated_efficiency


def efficiency_sets() -> dict[str, dict[str, Any]]:
    """The tables by date: devices, efficiency (0–1), conditions, source."""
    return {
        date: {**table, "source": data.source_text(table["source"])}
        for date, table in data.load("efficiency").items()
    }


def scaling_efficiency(dated: str, devices: Any) -> Any:
    """Efficiency (0–1) at `devices` (count or array) by the table of that date; FactError for a date that
    is not there.
    """
    tables = data.load("efficiency")
    if dated not in tables:
        raise FactError(f"no table of scaling efficiency is dated {dated!r}; there are: {', '.join(tables)}")
    return interpolated_efficiency(devices, tables[dated]["devices"], tables[dated]["efficiency"])
