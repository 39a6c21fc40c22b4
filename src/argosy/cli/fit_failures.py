"""`argosy fit-failures`: a log of failures in, an overrides file and part of a scenario out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def fit_failures(
    log: Annotated[
        Path,
        typer.Argument(
            help="CSV: time (ISO 8601), category, node; or start_s, end_s, component, category, node.",
            show_default=False,
        ),
    ],
    nodes: Annotated[
        int, typer.Option("--nodes", min=1, help="Nodes that were watched.", show_default=False)
    ],
    accelerators: Annotated[
        int | None, typer.Option("--accelerators", min=1, help="Accelerators in them (default: 8 a node).")
    ] = None,
    parts: Annotated[
        list[str] | None,
        typer.Option(
            "--parts", help="Other parts watched, such as leaf-switch=128; repeat.", show_default=False
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", help="When watching began: ISO 8601, or in seconds.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--end", help="When watching ended: ISO 8601, or such as '54 days'.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="The fleet was new at the start.")] = False,
    preset: Annotated[
        str, typer.Option("--preset", help="The set of rates that the overrides change.")
    ] = "llama3-table5",
    output: Annotated[Path | None, typer.Option("--output", help="Write the overrides here (YAML).")] = None,
    scenario: Annotated[
        Path | None, typer.Option("--scenario", help="Write what a scenario can extend here (YAML).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Failure rates, Weibull shapes, bursts and repair from a log, as overrides and as part of a scenario."""
    from argosy.reliability.failure_log import read_log
    from argosy.reliability.fitted import fit_log

    watched = {"node": float(nodes), "gpu": float(accelerators or 8 * nodes), **_counts(parts or [])}
    answer = fit_log(read_log(log, start, end), log.name, watched, new, preset)
    if accelerators is None:
        answer["warnings"].append(f"assumed 8 accelerators a node, {8 * nodes:,} in all; say --accelerators")
    for path, content in ((output, answer["overrides"]), (scenario, answer["scenario"])):
        if path is not None:
            _write(path, content)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        _show(answer)


def _counts(written: list[str]) -> dict[str, float]:
    """`leaf-switch=128` as a number by part; FactError for anything else."""
    from argosy.facts import FactError
    from argosy.reliability.failure_log import known_kind

    found = {}
    for each in written:
        name, _, number = each.partition("=")
        if not (known_kind(name) and number.isdecimal() and int(number)):
            raise FactError(f"--parts {each}: write a part and how many, such as leaf-switch=128")
        found[name] = float(number)
    return found


def _write(path: Path, content: dict[str, Any]) -> None:
    from io import StringIO

    from ruamel.yaml import YAML

    text = StringIO()
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.dump(content, text)
    path.write_text(text.getvalue(), encoding="utf-8")
    print(f"argosy: wrote {path}", file=sys.stderr)


def _show(answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("category", "count", "per", "rate /h (90 %)", "before", "Weibull shape (90 %)", box=None)
    for name, found in answer["after"].items():
        known, weibull = answer["before"].get(name), found["weibull"]
        table.add_row(
            name,
            str(found["count"]),
            found["per"],
            f"{found['rate_per_h']:.3g} ({found['low']:.2g} to {found['high']:.2g})",
            f"{known['rate_per_h']:.3g}" if known else "–",
            f"{weibull['shape']:.2f} ({weibull['low']:.2f} to {weibull['high']:.2f})"
            if weibull
            else "not told",
        )
    console.print(table)
    if answer["repair"]:
        repair = answer["repair"]
        console.print(f"repair: {repair['mean_s'] / 3600:.3g} h in the mean of {repair['count']}")
    for warning in answer["warnings"]:
        console.print(f"warning: {warning}")
    console.print(
        "A scenario reads the overrides as assumptions: {overrides: FILE} (--output FILE), or extends all of it: "
        "extends: [FILE] (--scenario FILE)"
    )
