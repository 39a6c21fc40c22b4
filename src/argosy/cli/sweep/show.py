"""`argosy sweep show RESULTS`: a table, a heat map, the front, a scaling curve, or a question in SQL."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def show(
    results: Annotated[Path, typer.Argument(help="The folder that argosy sweep wrote.", show_default=False)],
    order: Annotated[str | None, typer.Option("--by", help="Order the table by this column.")] = None,
    heat: Annotated[
        str | None, typer.Option("--heat", help="ACROSS,DOWN,SHOWN: a heat map of one column over two axes.")
    ] = None,
    front: Annotated[
        str | None, typer.Option("--pareto", help="X,Y[,Z]: the rows that no other beats in these columns.")
    ] = None,
    scaling: Annotated[
        str | None,
        typer.Option("--scaling", help="SIZE,SHOWN: efficiency by fleet size, with its slope per doubling."),
    ] = None,
    sql: Annotated[str | None, typer.Option("--sql", help="A question over the table `results`.")] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the heat map, front or curve: .svg or .png.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Look at the results of a sweep. Columns go by their name, or by its end where that is enough."""
    from argosy.study import show as found

    if sum(each is not None for each in (heat, front, scaling, sql)) > 1:
        raise typer.BadParameter("give one of --heat, --pareto, --scaling and --sql")
    if picture is not None and (picture.suffix not in (".svg", ".png") or not (heat or front or scaling)):
        raise typer.BadParameter(
            "--picture goes with --heat, --pareto or --scaling, and ends in .svg or .png"
        )
    if sql is not None:
        columns, rows = found.query(results, sql)
        _print(as_json, {"columns": columns, "rows": rows}, lambda: _plain(columns, rows))
        return
    about, table = found.rows(results, order, 1_000_000)
    from argosy.report import sweeps

    chart: Any = None
    if heat is not None:
        answer = found.grid(table, *_parts(heat, 3, "--heat"))
        _print(as_json, answer, lambda: sweeps.show_grid(answer))
        chart = sweeps.grid_chart(answer) if picture else None
    elif scaling is not None:
        answer = found.scaling(table, *_parts(scaling, 2, "--scaling"))
        _print(as_json, answer, lambda: sweeps.show_scaling(answer))
        chart = sweeps.scaling_chart(answer) if picture else None
    elif front is not None:
        objectives = [each.strip() for each in front.split(",")]
        if len(objectives) < 2:
            raise typer.BadParameter("--pareto needs two columns or more, with commas")
        kept = found.front(table, objectives)
        _print(as_json, {"rows": kept}, lambda: sweeps.show_rows(about, kept))
        if picture and table:
            x, y = (found.column(each, list(table[0])) for each in objectives[:2])
            chart = sweeps.front_chart(table, kept, x, y)
    else:
        _print(as_json, {"about": about, "rows": table}, lambda: sweeps.show_rows(about, table))
    if picture is not None and chart is not None:
        from argosy.report.charts import save

        save(chart, picture)
        print(f"argosy: wrote {picture}", file=sys.stderr)


def _print(as_json: bool, answer: dict[str, Any], shown: Any) -> None:
    if as_json:
        from argosy import __version__

        print(
            json.dumps(
                {"schema": "argosy.sweep.show/1", "version": __version__, **answer},
                indent=1,
                ensure_ascii=False,
                default=str,
            )
        )
    else:
        shown()


def _plain(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from argosy.report.sweeps import cell

    grid = Table(*columns, box=box.SIMPLE)
    for row in rows:
        grid.add_row(*(cell(value) for value in row))
    Console(highlight=False).print(grid)


def _parts(given: str, count: int, option: str) -> list[str]:
    parts = [each.strip() for each in given.split(",") if each.strip()]
    if len(parts) != count:
        raise typer.BadParameter(f"{option} {given!r}: write {count} columns with commas")
    return parts
