"""`argosy ablation`: what each change gains, and where in the ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def ablation(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    changes: Annotated[
        str | None,
        typer.Option(
            "--changes",
            help="In order, with commas: parallel-block, sliding-window:W, tp-overlap (pp, dp, ep, cp), "
            "operators:KERNEL, batch:N.",
        ),
    ] = None,
    attention: Annotated[
        str | None, typer.Option("--attention", help="Attention kernel of the start (default: the stack's).")
    ] = None,
    job: Annotated[str | None, typer.Option("--job", help="The training job (default: the first).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """What each of several changes gains, one on top of the other at one layout, with all overlap off first."""
    from argosy import load
    from argosy.study.ablation import USUAL
    from argosy.study.ablation import ablation as run

    words = USUAL if changes is None else tuple(word.strip() for word in changes.split(",") if word.strip())
    answer = run(load(scenario), words, job, attention)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    last = answer["changes"][-1]
    console.print(f"all changes together: ×{last['gain_from_start']:.2f} the tokens per second", style="bold")
    table = Table(
        "change",
        "step",
        "gain",
        "from start",
        "where: GPU-s per million tokens",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for row in answer["changes"]:
        leaves = [
            line
            for line in row["diff"]
            if not any(other["path"].startswith(line["path"] + "/") for other in row["diff"])
        ]
        largest = sorted(leaves, key=lambda line: -abs(line["delta"]))[:1]
        where = ", ".join(f"{line['path'].rpartition('/')[2]} {line['delta']:+.3g}" for line in largest)
        table.add_row(
            row["change"],
            f"{row['step_time_s']:.3f} s",
            f"×{row['gain']:.3f}",
            f"×{row['gain_from_start']:.3f}",
            where,
        )
    console.print(table)
