"""`argosy recommend`: the best few plans within limits, what binds, and what more of it would buy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

INFEASIBLE = 2


def recommend(
    question: Annotated[
        Path,
        typer.Argument(
            help="A question (YAML: scenario, goal, within, free), or a scenario.", show_default=False
        ),
    ],
    goal: Annotated[
        str | None,
        typer.Option(
            "--goal", help="soonest, cheapest, cheapest-tokens, least-carbon, least-energy or lowest-loss."
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option("--within", help="A limit: finish='90 days', budget, envelope='30 MW', carbon."),
    ] = None,
    executor: Annotated[
        str, typer.Option("--executor", help="processes, processes:N, none, dask:ADDRESS or mpi.")
    ] = "processes",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """The best few plans within limits: what to buy or rent, which limit binds, and what a unit more of it would buy."""
    from argosy import load
    from argosy.cli.left_out import tell_left_out
    from argosy.study.executors import executor as opened
    from argosy.study.question import read_question
    from argosy.study.recommend import recommend as run

    asked = read_question(question, goal, tuple(within or ()))
    tell_left_out(load(asked.scenario))
    with opened(executor) as (pool, workers):
        answer = run(asked, pool, workers, _tell)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        from argosy.report.advice import show_recommendation

        show_recommendation(answer)
    if not answer["options"]:
        raise typer.Exit(INFEASIBLE)


def _tell(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else "\r"
        print(f"argosy: {done} of {total} plans", end=end, file=sys.stderr, flush=True)
