"""What a sweep found: rows, the front, a heat map's grid, a scaling curve with its slope per doubling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from argosy.facts import FactError
from argosy.facts.catalog import suggest
from argosy.planning.objectives import pareto
from argosy.study.store import results

SMALLER_IS_BETTER = ("days", "usd", "_s", "_w", "kg", "gpu_hours", "failures")
MOST_ROWS = 10_000


def rows(
    folder: Path, order: str | None = None, most: int = MOST_ROWS
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the results stand for, and their rows by point, or by the column `order`. FactError for unknown columns."""
    about, connection = results(folder)
    names = _columns(connection)
    first = column(order, names) if order else "point"
    found = connection.execute(f'SELECT * FROM results ORDER BY "{first}", point LIMIT {int(most)}')
    return about, [_clean(dict(zip(names, row, strict=True))) for row in found.fetchall()]


def query(folder: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows of a question in SQL over the view `results`. FactError with the database's own words."""
    import duckdb

    _, connection = results(folder)
    try:
        answer = connection.execute(sql)
        return [each[0] for each in answer.description], answer.fetchall()
    except duckdb.Error as error:
        raise FactError(f"--sql: {str(error).splitlines()[0]}") from None


def front(table: Sequence[Mapping[str, Any]], objectives: Sequence[str]) -> list[Mapping[str, Any]]:
    """Rows that no other beats in all `objectives`; times, money, power and carbon are best small, all else large."""
    if not table:
        return []
    names = [column(each, list(table[0])) for each in objectives]
    able = [row for row in table if all(row[name] is not None for name in names)]
    signs = [1.0 if small(name) else -1.0 for name in names]
    points = [[sign * float(row[name]) for sign, name in zip(signs, names, strict=True)] for row in able]
    kept = [row for row, on in zip(able, pareto(points), strict=True) if on] if points else []
    return sorted(kept, key=lambda row: signs[0] * float(row[names[0]]))


def small(path: str) -> bool:
    """Whether less of a column is better, by its name."""
    last = path.removesuffix(".nominal").rpartition(".")[2]
    return any(
        part in last if part in ("days", "usd", "gpu_hours", "failures") else last.endswith(part)
        for part in SMALLER_IS_BETTER
    )


def grid(table: Sequence[Mapping[str, Any]], across: str, down: str, shown: str) -> dict[str, Any]:
    """A heat map: sorted values of two columns, and the mean of the third where both hold (None where no row does)."""
    names = list(table[0]) if table else []
    across, down, shown = (column(each, names) for each in (across, down, shown))
    columns, lines = (
        sorted({row[name] for row in table if row[name] is not None}, key=_sortable)
        for name in (across, down)
    )
    cells: dict[tuple[Any, Any], list[float]] = {}
    for row in table:
        if row[shown] is not None:
            cells.setdefault((row[down], row[across]), []).append(float(row[shown]))
    values = [[_mean(cells.get((y, x))) for x in columns] for y in lines]
    return {
        "across": across,
        "down": down,
        "shown": shown,
        "columns": columns,
        "lines": lines,
        "values": values,
    }


def _mean(values: list[float] | None) -> float | None:
    return None if not values else float(np.mean(values))


def scaling(table: Sequence[Mapping[str, Any]], size: str, shown: str) -> dict[str, Any]:
    """A scaling curve: by fleet size, the output, its efficiency against the smallest, and its slope per doubling.

    For outputs that are a whole (days, dollars): efficiency = (value₀ · size₀) ÷ (value · size) where less is better;
    for rates per accelerator and shares (MFU): value ÷ value₀. `slope_per_doubling`: relative change of the efficiency
    for each doubling, a least-squares line in log₂ size: 0 is perfect; what it loses is the fabric's and the failures'.
    """
    names = list(table[0]) if table else []
    size, shown = column(size, names), column(shown, names)
    means: dict[float, list[float]] = {}
    for row in table:
        if row[shown] is not None and isinstance(row[size], int | float):
            means.setdefault(float(row[size]), []).append(float(row[shown]))
    if len(means) < 2:
        raise FactError(f"a scaling curve needs two sizes; {size} has {len(means)}")
    sizes = np.array(sorted(means))
    values = np.array([np.mean(means[each]) for each in sizes])
    efficiency = values[0] * sizes[0] / (values * sizes) if _is_whole(shown) else values / values[0]
    slope = float(np.polyfit(np.log2(sizes / sizes[0]), np.log(efficiency), 1)[0])
    return {
        "size": size,
        "shown": shown,
        "points": [
            {"size": a, "value": b, "efficiency": c}
            for a, b, c in zip(sizes.tolist(), values.tolist(), efficiency.tolist(), strict=True)
        ],
        "slope_per_doubling": float(np.expm1(slope)),
    }


def _is_whole(path: str) -> bool:
    """Days, that shrink as the fleet grows; all else is compared as it is."""
    return "schedule.days" in path or "step_time_s" in path


def _sortable(value: Any) -> tuple[int, Any]:
    return (0, value) if isinstance(value, int | float) else (1, str(value))


def _columns(connection: Any) -> list[str]:
    return [row[0] for row in connection.execute("DESCRIBE results").fetchall()]


def column(wanted: str, names: Sequence[str]) -> str:
    """The column of that name, or the only one that ends or contains it."""
    if wanted in names:
        return wanted
    ending = [name for name in names if name.endswith(wanted)] or [name for name in names if wanted in name]
    if len(ending) == 1:
        return ending[0]
    raise FactError(f"no column {wanted!r}; {suggest(wanted, ending or names)}")


def _clean(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in row.items()
    }
