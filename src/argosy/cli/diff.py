"""`argosy diff A B`: changed inputs, changed losses, changed days and dollars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

_PLAN = "a scenario (YAML), or a saved plan (argosy plan --json)."


def diff(
    a: Annotated[Path, typer.Argument(help=f"What was: {_PLAN}", show_default=False)],
    b: Annotated[Path, typer.Argument(help=f"What is proposed: {_PLAN}", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    markdown: Annotated[bool, typer.Option("--md", help="Print Markdown, for a pull request.")] = False,
    draws: Annotated[
        int, typer.Option("--draws", min=100, max=100_000, help="Joint draws behind P10, P50 and P90.")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draws, the same for both.")] = 0,
) -> None:
    """Compare two scenarios or saved plans: changed inputs, changed losses, changed days and dollars."""
    from argosy.study.compare import compare, read_plan

    answer = compare(read_plan(a, draws, seed), read_plan(b, draws, seed))
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
        return
    from argosy.report.differences import diff_markdown, show_diff

    if markdown:
        print(diff_markdown(answer), end="")
    else:
        show_diff(answer)
