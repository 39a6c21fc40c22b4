"""`argosy diagnose`: give it the cluster's own files, get where the time went and who is to blame."""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

BAD_INPUT, BUG = 1, 70
_MANY, _MUCH = 2, 64 << 20  # files, and bytes of them together, from which processes read them


def diagnose(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Files and folders: traces, logs, dumps, metrics; or the http address of a Prometheus server.",
            show_default=False,
        ),
    ],
    against: Annotated[
        Path | None, typer.Option("--against", help="The scenario that was planned: compare line by line.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    as_markdown: Annotated[bool, typer.Option("--md", help="Print Markdown, for a ticket.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a page with pictures to this file.")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="Also write every chart to this folder, as SVG and PNG.")
    ] = None,
    perfetto: Annotated[
        Path | None,
        typer.Option("--perfetto", help="Also write the aligned ranks as a trace for ui.perfetto.dev."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            help="Also write failures, step times, overrides and a scenario's part to this folder: "
            "for fit-failures, calibrate and plan.",
        ),
    ] = None,
) -> None:
    """Where the time and the MFU of a running job went, who is to blame, and what a repair would save."""
    from argosy.observe.diagnosis import NothingReadableError
    from argosy.observe.diagnosis import diagnose as run

    scenario = None
    if against is not None:
        from argosy import load

        scenario = load(against)
    if missing := [path for path in paths if "://" not in path and not Path(path).exists()]:
        for path in missing:
            print(f"{path}: no such file or folder", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)
    try:
        with _workers(paths) as workers:
            found = run(paths, scenario, workers, _tell)
    except NothingReadableError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(BAD_INPUT) from None
    answer = found.to_dict()
    _print(answer, as_json, as_markdown)
    _draw(answer, html, pictures)
    _export(found, perfetto, export)
    if bugs := [
        problem.traceback for each in found.observed.inputs for problem in each.problems if problem.traceback
    ]:
        print(bugs[0], file=sys.stderr)
        raise typer.Exit(BUG)


def _print(answer: dict[str, Any], as_json: bool, as_markdown: bool) -> None:
    """The diagnosis on standard output: JSON, Markdown, or tables."""
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    elif as_markdown:
        from argosy.report.diagnosis import markdown

        print(markdown(answer), end="")
    else:
        from argosy.cli.diagnose_text import show

        show(answer)


def _draw(answer: dict[str, Any], html: Path | None, pictures: Path | None) -> None:
    """The page and the folder of pictures, where they are asked for."""
    if html is not None:
        from argosy.report.diagnosis_html import diagnosis_html

        html.write_text(diagnosis_html(answer), encoding="utf-8")
        print(f"argosy: wrote {html}", file=sys.stderr)
    if pictures is not None:
        from argosy.report.pictures import write_pictures

        for file in write_pictures(answer, pictures):
            print(f"argosy: wrote {file}", file=sys.stderr)


def _export(found: Any, perfetto: Path | None, folder: Path | None) -> None:
    """The aligned ranks for Perfetto, and files for other commands, where they are asked for."""
    if perfetto is not None:
        from argosy.report.perfetto import observed, write

        alignment = found.observed.alignment
        perfetto.write_bytes(write(()) if alignment is None else observed(alignment))
        print(f"argosy: wrote {perfetto}; open it at https://ui.perfetto.dev", file=sys.stderr)
    if folder is not None:
        from argosy.observe.exports import write as write_exports

        files, told = write_exports(found.observed, folder)
        for line in [*(f"wrote {file}" for file in files), *told]:
            print(f"argosy: {line}", file=sys.stderr)


def _workers(paths: list[str]) -> Any:
    """Processes where several files have so much in them that starting processes pays, else this one."""
    files = [
        file for path in paths for file in (Path(path).rglob("*") if Path(path).is_dir() else [Path(path)])
    ]
    sizes = [
        os.path.getsize(file) for file in files if os.path.isfile(file)
    ]  # no error where access is denied
    if len(sizes) < _MANY or sum(sizes) < _MUCH:
        return nullcontext()
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Not forked: this process may have threads by now (a caller's, or a library's), whose locks a fork would copy held.
    return ProcessPoolExecutor(mp_context=get_context("spawn"))


def _tell(done: int, of: int) -> None:
    """Progress of many files, on one line of stderr."""
    if of > 8 and (done % max(of // 20, 64) == 0 or done == of):
        end = "\n" if done == of else "\r"
        print(
            f"argosy: {done:,} of {of:,} files read",
            end=end if sys.stderr.isatty() else "\n",
            file=sys.stderr,
        )
