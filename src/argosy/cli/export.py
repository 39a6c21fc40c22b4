"""`argosy export launch`: the chosen layout as files that start the job."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Write a plan's answer in other tools' formats.")


@app.callback()
def _root() -> None:
    """Write a plan's answer in other tools' formats."""


@app.command("launch")
def launch(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    format: Annotated[
        str | None,
        typer.Option("--format", help="megatron, torchtitan, sbatch, jobset or nccl (default: all)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write files into this directory (default: print).")
    ] = None,
    job: Annotated[str | None, typer.Option("--job", help="The training job (default: the first).")] = None,
    stage: Annotated[
        str | None, typer.Option("--stage", help="The stage (default: the one with most tokens).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """The chosen layout as Megatron-LM and torchtitan settings, sbatch, JobSet, and NCCL environment."""
    from argosy import __version__, load
    from argosy.facts import load_catalog
    from argosy.launch import FORMATS, launch_job, write

    if format is not None and format not in FORMATS:
        raise typer.BadParameter(f"{format!r}; write one of {', '.join(FORMATS)}")
    loaded = load(scenario)
    chosen = launch_job(loaded, job, stage)
    files, refused = write(chosen, list(FORMATS) if format is None else [format])
    if output is not None and files:
        output.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (output / name).write_text(text, encoding="utf-8")
    if as_json:
        payload = {
            "schema": "argosy.export-launch/1",
            "version": __version__,
            "facts_date": load_catalog().facts_date,
            "scenario": {"name": loaded.name, "hash": loaded.hash},
            "job": chosen.name,
            "stage": chosen.stage,
            "layout": chosen.layout,
            "files": files,
            "refused": refused,
        }
        print(json.dumps(payload, indent=1, ensure_ascii=False))
    elif output is None:
        for name, text in files.items():
            print(f"### {name}\n{text}" if len(files) > 1 else text, end="\n" if len(files) > 1 else "")
    else:
        print("argosy: wrote " + ", ".join(str(output / name) for name in files), file=sys.stderr)
    for name, reason in refused.items():
        print(f"argosy: no {name}: {reason}", file=sys.stderr)
    if not files:
        raise typer.Exit(1)
