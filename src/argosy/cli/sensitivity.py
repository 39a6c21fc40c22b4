"""`argosy sensitivity`: which uncertain fact moves the answer most, and what measuring it is worth."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

_OUTPUT = (
    "days, usd, usd_per_million_tokens, mfu, facility_mean_w, facility_peak_w or carbon_kg (default: days); of a service "
    "usd_per_million_output_tokens, usd_per_million_input_tokens or gpus."
)


def sensitivity(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    output: Annotated[str | None, typer.Option("--of", help=f"What is looked at: {_OUTPUT}")] = None,
    service: Annotated[
        str | None, typer.Option("--service", help="Which service, for its figures (default: the first).")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            min=2,
            max=65536,
            help="Base samples of the variance shares: a power of two (default: 256, of services 32).",
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=100, max=100_000, help="Joint draws behind P10 and P90.")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Seed: the same seed gives the same answer.")] = 0,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Also draw the tornado: a .svg or .png file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Which uncertain fact moves the answer most (tornado, variance shares), and which measurement would shrink it."""
    from argosy import load
    from argosy.cli.left_out import tell_left_out
    from argosy.study.sensitivity import sensitivity_of

    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"--picture {picture}: write a name that ends in .svg or .png")
    loaded = load(scenario)
    answer = sensitivity_of(loaded, output, service, draws, samples, seed)
    if "service" not in answer:
        tell_left_out(loaded)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        from argosy.report.tornado import show_sensitivity

        show_sensitivity(answer)
    if picture is not None:
        from argosy.report.charts import save
        from argosy.report.tornado import tornado_chart

        save(tornado_chart(answer), picture)
        print(f"argosy: wrote {picture}", file=sys.stderr)
