"""`argosy timeline`: one step of the chosen layout, operation by operation."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def timeline(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    perfetto: Annotated[
        Path | None, typer.Option("--perfetto", help="Write a trace for ui.perfetto.dev to this file.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the chart to this file.")] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            "--schedule",
            help="Another schedule than the layout's: gpipe, 1f1b, interleaved, zero-bubble, zero-bubble-h2, "
            "zero-bubble-v, dualpipe.",
        ),
    ] = None,
    job: Annotated[str | None, typer.Option("--job", help="The training job (default: the first).")] = None,
    stage: Annotated[
        str | None, typer.Option("--stage", help="The stage (default: the one with most tokens).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """One step of the chosen layout as a timeline: Perfetto trace, chart, or numbers."""
    from argosy import load
    from argosy.study.timeline import timeline as simulated

    payload, intervals = simulated(load(scenario), job, stage, schedule)
    if perfetto is not None:
        from argosy.report.perfetto import trace

        perfetto.write_bytes(trace(intervals, f"{payload['scenario']['name']}, {payload['job']}"))
        print(f"argosy: wrote {perfetto}; open it at https://ui.perfetto.dev", file=sys.stderr)
    if html is not None:
        from argosy.report.timeline import page

        html.write_text(page(payload), encoding="utf-8")
        print(f"argosy: wrote {html}", file=sys.stderr)
    if as_json:
        print(json.dumps(payload, ensure_ascii=False))
        return
    from argosy.report import text as write

    print(f"{payload['job']}, {payload['stage']}: {write.layout_arithmetic(payload['layout'])}")
    print(
        f"{payload['schedule']}: {write.duration(payload['seconds'])} through the pipeline, of which stages wait "
        f"{write.percent(payload['bubble_fraction'])}"
    )
    print(f"a whole step takes {write.duration(payload['step_time_s'])}")
    for rank, busy in enumerate(payload["busy_s"]):
        print(f"  stage {rank:<3} works {write.percent(busy / payload['seconds'])}")
