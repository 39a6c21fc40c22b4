"""`argosy catalog`: the facts with their sources: list, show, lint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from argosy.facts import Catalog

app = typer.Typer(no_args_is_help=True, add_completion=False)

_JSON = typer.Option(False, "--json", help="Print JSON and nothing else.")
_OVERRIDES = typer.Option(None, "--overrides", help="A file of facts of your own, put over the catalog's.")
_PROBLEMS = 1


@app.command("list")
def list_entries(
    section: str | None = typer.Argument(
        None, help="A section, such as accelerators; all of them without.", show_default=False
    ),
    as_json: bool = _JSON,
    overrides: Path | None = _OVERRIDES,
) -> None:
    """List the sections, or the entries of one section with their main facts."""
    catalog = _catalog(overrides)
    sections = [section] if section else list(catalog.sections)
    if as_json:
        entries = {name: [entry.to_dict() for entry in catalog.section(name)] for name in sections}
        _print(catalog, {"sections": entries})
    elif section:
        _render("section", catalog.section(section))
    else:
        _render("sections", catalog)


@app.command()
def show(
    name: str = typer.Argument(
        ..., help="An entry or alias (H100), or a path (accelerators.H100-SXM.peak_fp8).", show_default=False
    ),
    as_json: bool = _JSON,
    overrides: Path | None = _OVERRIDES,
) -> None:
    """Show an entry: every fact with its band, what it counts, its sources, and where they disagree."""
    catalog = _catalog(overrides)
    entries = catalog.named(name)
    if as_json:
        _print(catalog, {"entries": [entry.to_dict() for entry in entries]})
    else:
        for entry in entries:
            _render("entry", entry)


@app.command()
def lint(as_json: bool = _JSON, overrides: Path | None = _OVERRIDES) -> None:
    """Check the catalog for sparse, two-way, times-eight and per-package mistakes; exit code 1 on any."""
    from argosy.facts.lint import lint as find_problems

    catalog = _catalog(overrides)
    problems = find_problems(catalog)
    assumptions = sum(fact.is_assumption for fact in catalog.facts.values())
    if as_json:
        rows = [
            {"path": problem.path, "rule": problem.rule, "message": problem.message} for problem in problems
        ]
        _print(catalog, {"problems": rows, "facts": len(catalog.facts), "assumptions": assumptions})
    else:
        _render("problems", problems, len(catalog.facts), assumptions)
    if problems:
        raise typer.Exit(_PROBLEMS)


def _catalog(overrides: Path | None) -> Catalog:
    from argosy.facts import load_catalog

    catalog = load_catalog()
    return catalog.with_overrides(overrides) if overrides else catalog


def _print(catalog: Catalog, payload: dict[str, Any]) -> None:
    from argosy import __version__

    head = {"schema": "argosy.catalog/1", "version": __version__, "facts_date": catalog.facts_date}
    print(json.dumps({**head, **payload}, indent=1, ensure_ascii=False))


def _render(what: str, *arguments: Any) -> None:
    """Print one of the tables of `argosy.cli.catalog_tables`."""
    from rich.console import Console

    from argosy.cli import catalog_tables as tables

    Console().print(getattr(tables, what)(*arguments))
