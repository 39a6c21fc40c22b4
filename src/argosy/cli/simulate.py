"""`argosy simulate`: a job's life, many times over, node by node."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

INFEASIBLE = 2


def simulate(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    replications: Annotated[int, typer.Option("--replications", min=2, help="Lives to simulate.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same lives.")] = 0,
    job: Annotated[str | None, typer.Option("--job", help="The training job (default: the first).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Also write charts to this file.")] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="Also write every chart to this folder, as SVG and PNG.")
    ] = None,
    advice: Annotated[
        bool, typer.Option("--advice/--no-advice", help="What to fix first; spares and interval curves.")
    ] = True,
    others: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", help="Another scenario, whose job shares the spares and the storage (repeatable)."
        ),
    ] = None,
) -> None:
    """Simulate a job's life: when it finishes, where the time goes, what to fix first."""
    from argosy import load
    from argosy.cli.left_out import tell_left_out
    from argosy.planning.simulation import simulate as live

    if others:
        _together([scenario, *others], replications, seed, as_json)
        return
    loaded = load(scenario)
    tell_left_out(loaded)
    answer = live(loaded, replications, seed, job, advice, _tell)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from argosy.cli.simulate_text import show

        show(answer)
    if html is not None:
        from argosy.report.lives_html import lives_html

        html.write_text(lives_html(answer), encoding="utf-8")
        print(f"argosy: wrote {html}", file=sys.stderr)
    if pictures is not None:
        from argosy.report.pictures import write_pictures

        for file in write_pictures(answer, pictures):
            print(f"argosy: wrote {file}", file=sys.stderr)
    if not answer["finishes"]:
        raise typer.Exit(INFEASIBLE)


def _together(paths: list[Path], replications: int, seed: int, as_json: bool) -> None:
    """Several jobs at once, each with its own book."""
    from argosy import load
    from argosy.cli.simulate_text import show_together
    from argosy.planning.gangs import simulate_together

    answer = simulate_together([load(path) for path in paths], replications, seed)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        show_together(answer)
    if not all(job["finishes"] for job in answer["jobs"]):
        raise typer.Exit(INFEASIBLE)


def _tell(message: str) -> None:
    print(f"argosy: {message}", file=sys.stderr)
