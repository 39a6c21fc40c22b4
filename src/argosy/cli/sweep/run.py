"""`argosy sweep STUDY`: every point of a study, kept as it comes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def run(
    study: Annotated[
        Path,
        typer.Argument(help="The study, a YAML file: scenario, axes, sampling, outputs.", show_default=False),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", help="Folder of the results (default: STUDY.results).")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue: finished chunks stay as they are.")
    ] = False,
    executor: Annotated[
        str, typer.Option("--executor", help="processes, processes:N, none, dask:ADDRESS or mpi.")
    ] = "processes",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Plan every point of a study: grids, lists, random or Latin hypercube samples over any field of a scenario."""
    from argosy.study.axes import read_study
    from argosy.study.executors import executor as opened
    from argosy.study.sweep import sweep

    asked = read_study(study)
    folder = output or study.with_suffix(".results")
    with opened(executor) as (pool, workers), _Progress() as progress:
        summary = sweep(asked, folder, pool, resume, progress, workers)
    if as_json:
        print(json.dumps(summary.to_dict(), indent=1, ensure_ascii=False))
        return
    reused = f", {summary.reused:,} from before" if summary.reused else ""
    print(f"{summary.points:,} points: {summary.computed:,} computed{reused}; in {summary.folder}")
    unable = sum(summary.statuses.get(each, 0) for each in ("infeasible", "invalid"))
    if unable:
        print(f"{unable:,} of them cannot run; most often: {summary.reason}")
    print(f"look at them: argosy sweep show {summary.folder}")


class _Progress:
    """A bar with rate and time left on a terminal's stderr; nothing where stderr is no terminal."""

    def __enter__(self) -> _Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("planning"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=None, rate="")
        self._bar.start()
        return self

    def __call__(self, done: int, total: int) -> None:
        task = self._bar.tasks[0]
        rate = f"{task.speed:,.0f} points/s" if task.speed else ""
        self._bar.update(self._task, completed=done, total=total, rate=rate)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
