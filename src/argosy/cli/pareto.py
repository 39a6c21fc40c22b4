"""`argosy pareto`: layouts and fleet sizes that nothing beats in time, money and energy at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def pareto(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    counts: Annotated[
        str | None, typer.Option("--counts", help="Fleet sizes to compare, with commas: 1024,2048,4096.")
    ] = None,
    batches: Annotated[
        str | None,
        typer.Option("--batches", help="Global batches in sequences to compare at equal loss: 1024,2048."),
    ] = None,
    job: Annotated[str | None, typer.Option("--job", help="The training job (default: the first).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """The layouts and fleet sizes that no other beats in time, money and energy at once."""
    from argosy import load
    from argosy.study.pareto import pareto_front

    sizes, sequences = _numbers(counts, "number of accelerators"), _numbers(batches, "number of sequences")
    answer = pareto_front(load(scenario), sizes, job, batches=sequences)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from argosy.report import text as write

    front = [point for point in answer["points"] if point["front"]]
    console = Console(highlight=False)
    verb = "is" if len(front) == 1 else "are"
    console.print(
        f"{len(front)} of {len(answer['points'])} leading choices {verb} beaten by none (while nothing fails)"
    )
    table = Table(
        "GPUs",
        *(["batch"] if sequences else []),
        "days",
        "cost",
        "MWh",
        "layout",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for point in front:
        table.add_row(
            write.count(point["gpus"]),
            *([write.count(point["global_batch_sequences"])] if sequences else []),
            f"{point['time_s'] / 86400:.3g}",
            write.dollars(point["cost_usd"]),
            f"{point['energy_j'] / 3.6e9:,.4g}",
            write.layout_arithmetic(point["layout"]) + f", recompute {point['layout']['recompute']}",
        )
    console.print(table)
    if sequences:
        batch = answer["batch"]
        console.print(
            f"each batch trains the tokens that reach the loss of {batch['tokens'] / 1e6:,.3g} Mtok; the critical batch "
            f"is {batch['critical_tokens']['nominal'] / 1e6:,.3g} Mtok, within a factor of two"
        )
    for count, reasons in answer["excluded"].items():
        worst = max(reasons.items(), key=lambda item: item[1], default=("nothing divides", 0))
        console.print(f"{int(count):,}: no layout; mostly: {worst[0]}")


def _numbers(given: str | None, what: str) -> list[int]:
    """Whole numbers between commas; a usage error names the one that is not."""
    found = []
    for word in (given or "").split(","):
        if word.strip():
            if not word.strip().isdecimal() or int(word) < 1:
                raise typer.BadParameter(f"{word.strip()!r} is no {what}")
            found.append(int(word))
    return found
