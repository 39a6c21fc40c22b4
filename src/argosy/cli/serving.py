"""`argosy serving`: the smallest inference fleet that keeps its promises, with failures, bursts and cold starts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

INFEASIBLE, ASSERTION_MISSED = 2, 3


def serving(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    service: Annotated[
        str | None, typer.Option("--service", help="Which service (default: the first).")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=100, help="Runs behind the intervals.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same answer.")] = 0,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="Compare all layouts and other sizes, not the most promising alone."),
    ] = False,
    validate_step: Annotated[
        bool,
        typer.Option(
            "--validate-step", help="Show iterations with their error band and the hardware's bound."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a page with charts to this file.")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="Also write every chart to this folder, as SVG and PNG.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--md", help="Print Markdown, for a pull request.")] = False,
) -> None:
    """Size an inference fleet: replicas, spares, latencies, dollars per million tokens, under a trace."""
    from argosy import load
    from argosy.planning.serving import own_assertions, serving_payload
    from argosy.spec import check_assertions

    loaded = load(scenario)
    answer = serving_payload(loaded, service, seeds, seed, pareto, _tell, validate_step)
    own = own_assertions(loaded, answer["name"])
    missed = [result for result in check_assertions(own, {"serving": [answer]}) if not result.holds]
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    elif markdown:
        from argosy.report.serving import serving_markdown

        print(serving_markdown(answer), end="")
    else:
        from argosy.report.serving import show_serving

        show_serving(answer)
    if html is not None:
        from argosy.report.serving_html import serving_html

        html.write_text(serving_html(answer), encoding="utf-8")
        _tell(f"wrote {html}")
    if pictures is not None:
        from argosy.report.pictures import write_pictures

        for file in write_pictures(answer, pictures):
            print(f"argosy: wrote {file}", file=sys.stderr)
    others = [each.name for each in loaded.serving if each.name != answer["name"]]
    if others and service is None:
        _tell(f"the scenario also has {', '.join(others)}: --service NAME")
    for result in missed:
        _tell(f"assertion missed: {result.message}")
    if answer["verdict"]["status"] == "infeasible":
        raise typer.Exit(INFEASIBLE)
    if missed:
        raise typer.Exit(ASSERTION_MISSED)


def _tell(message: str) -> None:
    print(f"argosy: {message}", file=sys.stderr)
