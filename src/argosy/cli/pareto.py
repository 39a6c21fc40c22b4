"""`argosy pareto`: layouts and fleet sizes that nothing beats in time, money and energy at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

_CHOICE = "global_batch_sequences"
_DETAILS = {
    "vp": "vp",
    "ep": "ep",
    "micro_batch": "micro-batch",
    "zero": "ZeRO",
    "schedule": "schedule",
    "recompute": "recompute",
}


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
    from argosy.cli.left_out import tell_left_out
    from argosy.study.pareto import pareto_front

    sizes, sequences = _numbers(counts, "number of accelerators"), _numbers(batches, "number of sequences")
    loaded = load(scenario)
    tell_left_out(loaded)
    answer = pareto_front(loaded, sizes, job, batches=sequences)
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
            ", ".join([write.layout_arithmetic(point["layout"]), *_apart(front, point)]),
        )
    console.print(table)
    on_front = {point[_CHOICE] for point in front}
    best = {point[_CHOICE]: point for point in reversed(answer["points"])}  # the quickest comes last
    for beaten in sorted(best.values(), key=lambda point: point[_CHOICE]):
        if sequences and beaten[_CHOICE] not in on_front:
            console.print(
                f"{beaten[_CHOICE]:,} sequences: beaten; at best {beaten['time_s'] / 86400:.3g} days, "
                f"{write.dollars(beaten['cost_usd'])}"
            )
    if sequences:
        batch = answer["batch"]
        console.print(
            f"each batch trains the tokens that reach the loss of {batch['tokens'] / 1e6:,.3g} Mtok; the critical batch "
            f"is {batch['critical_tokens']['nominal'] / 1e6:,.3g} Mtok, within a factor of two"
        )
    for left_out in answer["excluded"]:
        mostly, _ = max(left_out["reasons"].items(), key=lambda item: item[1], default=("nothing divides", 0))
        batch = f" with {left_out['global_batch_sequences']:,} sequences" if sequences else ""
        console.print(f"{left_out['gpus']:,} GPUs{batch}: no layout; mostly: {mostly}")


def _apart(front: list[dict[str, Any]], point: dict[str, Any]) -> list[str]:
    """What else a layout needs to be told from the others of the front; recomputation always."""
    return [
        f"{name} {point['layout'][key]}"
        for key, name in _DETAILS.items()
        if key == "recompute" or len({each["layout"][key] for each in front}) > 1
    ]


def _numbers(given: str | None, what: str) -> list[int]:
    """Whole numbers between commas; a usage error names the one that is not."""
    found = []
    for word in (given or "").split(","):
        if word.strip():
            if not word.strip().isdecimal() or int(word) < 1:
                raise typer.BadParameter(f"{word.strip()!r} is no {what}")
            found.append(int(word))
    return found
