"""`argosy testbed all`, and the pages from answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from argosy.cli.testbed.common import Report, Short, say

MISSED = 3


def every(
    only: Annotated[
        str | None, typer.Option("--only", help="Names with commas; else all.", show_default=False)
    ] = None,
    short: Short = False,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", help="A folder for the answers: NAME.json each.", show_default=False),
    ] = None,
    report: Report = None,
) -> None:
    """All experiments one after the other, and the pages of the documentation. Exit 3 where a comparison is outside its bar.
    The full forms take the better part of an hour; the short ones some minutes.
    """
    from argosy.testbed.every import missed, run_all

    found, failed = run_all(_names(only), short, answers, say)
    if report is not None:
        _write(found, report)
    outside = {name: rows for name, answer in found.items() if (rows := missed(answer))}
    for name, rows in outside.items():
        for row in rows:
            print(f"{name}: {row['what']}: predicted {row['predicted']}, measured {row['measured']}")
    for name, why in failed.items():
        print(f"{name}: {why}")
    print(
        f"{len(found)} experiments ran, {len(failed)} failed, {len(outside)} have comparisons outside their bar"
    )
    raise typer.Exit(1 if failed else MISSED if outside else 0)


def pages(
    answers: Annotated[Path, typer.Argument(help="The folder of `argosy testbed all --answers`.")],
    page: Annotated[
        Path, typer.Argument(help="The index; the experiments' pages go into a folder beside it.")
    ],
) -> None:
    """Write the pages of the documentation from saved answers."""
    from argosy.testbed.every import saved
    from argosy.testbed.experiments import ORDER

    _write(saved(answers, ORDER), page)


def _names(only: str | None) -> list[str]:
    """The experiments asked for."""
    from argosy.testbed.experiments import ORDER

    names = ORDER if only is None else [word.strip() for word in only.split(",")]
    for name in names:
        if name not in ORDER:
            raise typer.BadParameter(f"--only {name}: write one of {', '.join(ORDER)}")
    return names


def _write(answers: dict[str, dict[str, object]], page: Path) -> None:
    from argosy.report.testbed.index import write_pages

    for path in write_pages(answers, page):
        say(f"wrote {path}")
