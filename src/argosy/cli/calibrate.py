"""`argosy calibrate`: a few measured steps in, an overrides file out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def calibrate(
    measurements: Annotated[Path, typer.Argument(help="CSV of measured steps.", show_default=False)],
    scenario: Annotated[
        Path, typer.Option("--scenario", help="The scenario of the fleet that ran them.", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--output", help="Write the overrides to this file (YAML).")
    ] = None,
    job: Annotated[
        str | None, typer.Option("--job", help="The training job that ran (default: the first).")
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise",
            min=1e-4,
            max=1.0,
            help="Relative standard deviation of repeated runs (default: what published runs differ by).",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Turn measured steps into overrides of the few facts that they tell about."""
    from argosy import load
    from argosy.study import calibrate as run

    answer = run(measurements, load(scenario), job, noise)
    if output is not None:
        output.write_text(_yaml(answer["overrides"]), encoding="utf-8")
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        _show(answer, output)


def _yaml(overrides: dict[str, Any]) -> str:
    """The overrides as a scenario's `assumptions: {overrides: FILE}` reads them."""
    from io import StringIO

    from ruamel.yaml import YAML

    writer: Any = YAML(typ="safe")
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False
    text = StringIO()
    writer.dump(overrides, text)
    return text.getvalue()


def _show(answer: dict[str, Any], output: Path | None) -> None:
    """Errors before and after, the facts that moved, and every warning."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("step times", "runs", "mean absolute error", "bias", "90th percentile")
    for title, key in (
        ("before", "before"),
        ("after", "after"),
        ("left out", "left_out"),
    ):
        found = answer[key]
        if found is not None:
            shares = (f"{found['mape']:.1%}", f"{found['bias']:+.1%}", f"{found['p90_abs']:.1%}")
            table.add_row(title, str(found["n"]), *shares)
    console.print(table)
    for fact in answer["facts"]:
        old, new = fact["before"], fact["after"]
        console.print(f"{fact['path']}: {old['value']:.4g} → {new['value']:.4g}")
        console.print(
            f"  90 % band {old['low']:.4g} to {old['high']:.4g} → {new['low']:.4g} to {new['high']:.4g}; moved by "
            f"{fact['moved_by_bands']:+.2f} of its half-band"
        )
    if not answer["facts"]:
        console.print("No fact moves: the measurements agree with the model within their noise.")
    for warning in answer["warnings"]:
        console.print(f"warning: {warning}")
    if output is None:
        console.print("Write the overrides with --output FILE; a scenario reads them:")
        console.print("  assumptions: {overrides: FILE}")
    else:
        print(f"argosy: wrote {output}", file=sys.stderr)
