"""The answers of `argosy sweep show` for people: tables, and charts of heat maps, fronts and scaling curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from argosy.report import text as write


def show_rows(about: Mapping[str, Any], table: Sequence[Mapping[str, Any]], most: int = 40) -> None:
    """The first rows: axes with their units, outputs, and what cannot run with its reason."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not table:
        console.print("no row")
        return
    columns = [name for name in table[0] if name not in ("point", "reason")]
    if all(row["status"] == "feasible" for row in table):
        columns.remove("status")
    grid = Table(box=box.SIMPLE)
    for name in columns:
        unit, head = about["axes"].get(name), short(name, columns)
        grid.add_column(
            f"{head}, {unit}" if unit else head,
            justify="left" if name == "status" else "right",
            overflow="fold",
        )
    for row in table[:most]:
        cells = [cell(row[name]) for name in columns]
        grid.add_row(*cells)
    if not console.is_terminal:  # a file or a pipe has no width: nothing is folded for it
        console.width = max(console.width, Console(width=1000).measure(grid).maximum)
    console.print(grid)
    reasons = [f"{row['status']}: {row['reason']}" for row in table if row["reason"]]
    for reason in dict.fromkeys(reasons):
        console.print(f"{reasons.count(reason):,} {reason}")
    if len(table) > most:
        console.print(f"{len(table) - most:,} more rows: --json, --sql, or the Parquet files themselves")


# Columns that every study has, as a table's narrow heads.
_HEADS = {
    "total_usd": "USD",
    "parameters_only": "MFU",
    "ettr": "ETTR",
    "step_time_s": "step, s",
    "facility_peak_w": "peak, W",
    "facility_mean_w": "mean, W",
    "days": "days",
}


def short(name: str, names: Sequence[str]) -> str:
    """A head for a column: the end of its path that still tells it apart from the others."""
    steps = name.removesuffix(".nominal").split(".")
    others = [other.removesuffix(".nominal").split(".") for other in names if other != name]
    for count in range(1, len(steps)):
        if not any(other[-count:] == steps[-count:] for other in others):
            end = ".".join(steps[-count:])
            return _HEADS.get(end, end)
    return name


def show_grid(found: Mapping[str, Any]) -> None:
    """A heat map as a table, every value with its shade; shades alone where the values would not stand side by side."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    values = [value for line in found["values"] for value in line if value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    grid = Table(box=box.SIMPLE)
    grid.add_column("")
    for column in found["columns"]:
        grid.add_column(cell(column), justify="right", no_wrap=True)
    for name, line in zip(found["lines"], found["values"], strict=True):
        grid.add_row(cell(name), *(_shaded(value, low, high) for value in line))
    console.print(
        f"{found['shown'].removesuffix('.nominal')}: {found['down']} down, {found['across']} across"
    )
    if not console.is_terminal or Console(width=10_000).measure(grid).maximum <= console.width:
        console.width = max(console.width, Console(width=10_000).measure(grid).maximum)
        console.print(grid)
        return
    head = max(len(cell(name)) for name in found["lines"])
    for name, line in zip(found["lines"], found["values"], strict=True):
        shades = "".join("·" if value is None else _shade(value, low, high) for value in line)
        console.print(f"{cell(name):>{head}} │{shades}│", no_wrap=True)
    first, last = cell(found["columns"][0]), cell(found["columns"][-1])
    console.print(f"{'':{head}}  {first}{last:>{max(len(line) - len(first), len(last) + 1)}}", no_wrap=True)
    console.print(f"▁ {cell(low)} to █ {cell(high)}; --picture FILE draws it, --json has every value")


def _shade(value: float, low: float, high: float) -> str:
    return "▁▂▃▄▅▆▇█"[round(7 * (value - low) / (high - low))] if high > low else "▄"


def _shaded(value: float | None, low: float, high: float) -> str:
    return "–" if value is None else f"{cell(value)} {_shade(value, low, high)}"


def show_scaling(found: Mapping[str, Any]) -> None:
    """A scaling curve as a table, with its slope per doubling as the last line."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    grid = Table(box=box.SIMPLE)
    for name in (found["size"], found["shown"], "efficiency"):
        grid.add_column(name, justify="right")
    for point in found["points"]:
        grid.add_row(cell(point["size"]), cell(point["value"]), write.percent(point["efficiency"]))
    console.print(grid)
    console.print(
        f"efficiency changes by {found['slope_per_doubling']:+.2%} with every doubling of the fleet",
        style="bold",
    )


def cell(value: Any) -> str:
    """A value in a table: whole numbers with separators, four significant digits of all others."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return write.large(value, 4) if abs(value) >= 1e5 else f"{value:.4g}"


def grid_chart(found: Mapping[str, Any]) -> Any:
    """The heat map as an Altair chart."""
    import altair as alt

    rows = [
        {"across": cell(x), "down": cell(y), "value": value}
        for y, line in zip(found["lines"], found["values"], strict=True)
        for x, value in zip(found["columns"], line, strict=True)
        if value is not None
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[no-untyped-call]
        x=alt.X(
            "across:N",
            sort=[cell(x) for x in found["columns"]],
            title=found["across"],
            axis=alt.Axis(labelAngle=0),
        ),
        y=alt.Y("down:N", sort=[cell(y) for y in found["lines"]], title=found["down"]),
    )
    colour = alt.Color("value:Q", title=None, scale=alt.Scale(scheme="viridis"))
    texts = base.mark_text(fontSize=10, color="white").encode(text=alt.Text("value:Q", format=".3~s"))
    shown = base.mark_rect().encode(color=colour)
    small = len(found["columns"]) <= 12
    layers = alt.layer(shown, texts) if small else shown
    return layers.properties(title=found["shown"], width=620, height=max(120, 26 * len(found["lines"])))


def front_chart(table: Sequence[Mapping[str, Any]], kept: Sequence[Mapping[str, Any]], x: str, y: str) -> Any:
    """All points, and the front over them."""
    import altair as alt

    def data(rows: Sequence[Mapping[str, Any]]) -> Any:
        return alt.Data(
            values=[{"x": row[x], "y": row[y]} for row in rows if row[x] is not None and row[y] is not None]
        )  # type: ignore[no-untyped-call]

    scale = alt.Scale(zero=False, nice=True)
    axes = {"x": alt.X("x:Q", title=x, scale=scale), "y": alt.Y("y:Q", title=y, scale=scale)}
    points = alt.Chart(data(table)).mark_circle(size=18, color="#c9ccd1").encode(**axes)
    line = alt.Chart(data(kept)).mark_line(point=True, color="#c8553d").encode(**axes)
    return alt.layer(points, line).properties(title="What no other point beats", width=620, height=360)


def scaling_chart(found: Mapping[str, Any]) -> Any:
    """Efficiency over the fleet's size, on a logarithmic axis."""
    import altair as alt

    data = alt.Data(values=list(found["points"]))  # type: ignore[no-untyped-call]
    title = f"{found['shown']}: {found['slope_per_doubling']:+.2%} with every doubling"
    return (
        alt.Chart(data)
        .mark_line(point=True, color="#33658a")
        .encode(
            x=alt.X(
                "size:Q",
                title=found["size"],
                scale=alt.Scale(type="log", base=2, nice=False),
                axis=alt.Axis(format=",d"),
            ),
            y=alt.Y(
                "efficiency:Q",
                title="efficiency against the smallest",
                axis=alt.Axis(format=".0%"),
                scale=alt.Scale(zero=False),
            ),
        )
        .properties(title=title, width=620, height=320)
    )
