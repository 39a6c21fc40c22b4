"""`argosy plan`: a scenario in, an accounted answer out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

INFEASIBLE, ASSERTION_MISSED = 2, 3


def plan(
    scenario: Path = typer.Argument(..., help="The scenario, a YAML file.", exists=False, show_default=False),
    as_json: bool = typer.Option(False, "--json", help="Print the plan as JSON and nothing else."),
    html: Path | None = typer.Option(
        None, "--html", help="Also write a self-contained HTML report to this file."
    ),
    pictures: Path | None = typer.Option(
        None, "--pictures", help="Also write every chart to this folder, as SVG and PNG."
    ),
    markdown: bool = typer.Option(False, "--md", help="Print the plan as Markdown, for a pull request."),
    draws: int = typer.Option(
        2000, "--draws", min=100, max=100_000, help="Joint draws of facts, model residuals and failures."
    ),
    seed: int = typer.Option(0, "--seed", help="Seed of the draws: the same seed gives the same answer."),
) -> None:
    """Plan a scenario: days, MFU, megawatts, dollars, and where every GPU-second goes."""
    from argosy import load
    from argosy.planning import plan as make_plan
    from argosy.spec import check_assertions

    loaded = load(scenario)
    answer = make_plan(loaded, draws, seed, lambda message: print(f"argosy: {message}", file=sys.stderr))
    payload = answer.to_dict()
    missed = [result for result in check_assertions(loaded, payload) if not result.holds]
    if as_json:
        print(json.dumps(payload, indent=1, ensure_ascii=False))
    else:
        from argosy import report

        if markdown:
            print(report.plan_markdown(payload), end="")
        else:
            report.show_plan(payload)
    if html is not None:
        from argosy import report

        html.write_text(report.plan_html(payload), encoding="utf-8")
        print(f"argosy: wrote {html}", file=sys.stderr)
    if pictures is not None:
        from argosy.report.pictures import write_pictures

        for file in write_pictures(payload, pictures):
            print(f"argosy: wrote {file}", file=sys.stderr)
    for result in missed:
        print(f"argosy: assertion missed: {result.message}", file=sys.stderr)
    if payload["verdict"]["status"] == "infeasible":
        raise typer.Exit(INFEASIBLE)
    if missed:
        raise typer.Exit(ASSERTION_MISSED)
