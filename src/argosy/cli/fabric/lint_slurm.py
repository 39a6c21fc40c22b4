"""`argosy fabric lint-slurm topology.conf`: what Slurm would not tell, or die of."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from argosy.cli.fabric.head import head


def lint_slurm(
    file: Path = typer.Argument(
        help="A topology.conf of topology/tree or topology/block.", show_default=False
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Check a topology.conf: pieces, cycles, nodes on two leaves, short blocks. Exit code 1 where there are any."""
    from argosy.fabric.exports import lint
    from argosy.fabric.imports.text import numbered_lines

    problems = lint([line for _, line in numbered_lines(file)])
    if as_json:
        found = [{"line": line, "problem": problem} for line, problem in problems]
        print(json.dumps({**head("fabric-lint-slurm"), "problems": found}, indent=1, ensure_ascii=False))
    else:
        for line, problem in problems:
            print(f"{file}:{line}: {problem}")
        print(f"{len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
    if problems:
        raise typer.Exit(1)
