"""`argosy validate`: measured runs beside predictions, and the errors by group."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def validate(
    measurements: Annotated[
        Path, typer.Argument(help="CSV of measured runs, peak memory or serving.", show_default=False)
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print rows and summary as JSON and nothing else.")
    ] = False,
) -> None:
    """Predict every row of a table of measurements and show the errors by source, accelerator, framework
    and scale.
    """
    from argosy.validation import TableError
    from argosy.validation import validate as run

    try:
        payload = run(measurements)
    except TableError as mistake:
        print(f"argosy: {mistake}", file=sys.stderr)
        raise typer.Exit(1) from None
    if as_json:
        print(json.dumps(payload, ensure_ascii=False))
    else:
        _show(payload)


def _show(payload: dict[str, Any]) -> None:
    """The summary as tables, then the worst rows."""
    from rich.console import Console
    from rich.table import Table

    console, summary = Console(), payload["summary"]
    counts = ", ".join(f"{count} {status}" for status, count in summary["status"].items())
    console.print(f"{payload['kind']}: {len(payload['rows'])} rows ({counts}); flagged rows apart")
    names = ("source", "accelerator", "framework", "model", "scale", "grade", "recompute")
    for name in (
        name for name in names if name in summary and (name, payload["kind"]) != ("recompute", "serving")
    ):
        table = Table(
            "by " + name, "rows", "mean absolute error", "bias", "90th percentile", "inside 90 % interval"
        )
        groups = summary[name] | ({"all": summary["all"]} if name == "source" else {})
        for group, found in groups.items():
            if found["n"]:
                percent = [
                    f"{found[key]:+.1%}" if key == "bias" else _percent(found[key])
                    for key in ("mape", "bias", "p90_abs", "coverage_90")
                ]
                table.add_row(group, str(found["n"]), *percent)
        if table.row_count:
            console.print(table)
    _show_metrics(console, summary)
    for reason, count in summary["skipped"].items():
        console.print(f"skipped {count}: {reason}")


def _show_metrics(console: Any, summary: dict[str, Any]) -> None:
    """Serving: every metric, over the rows that the fit saw and those set aside."""
    from rich.table import Table

    if "metric" not in summary:
        return
    table = Table("by metric", "", "rows", "mean absolute error", "bias", "inside 90 % interval")
    for metric, groups in summary["metric"].items():
        for name, found in groups.items():
            if found["n"]:
                bias, inside = f"{found['bias']:+.1%}", _percent(found["coverage_90"])
                row = (metric, name.replace("_", " "), str(found["n"]), _percent(found["mape"]), bias, inside)
                table.add_row(*row)
    if table.row_count:
        console.print(table)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
