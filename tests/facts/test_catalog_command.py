"""`argosy catalog`: the contract's JSON, the tables, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from argosy.cli.catalog import app
from argosy.facts import FactError, load_catalog


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def payload(*arguments: str) -> dict[str, Any]:
    code, text = run(*arguments, "--json")
    data = json.loads(text)
    assert code == 0 and data["schema"] == "argosy.catalog/1"
    assert data["version"] and data["facts_date"] == load_catalog().facts_date
    return data


def test_list_gives_every_entry_and_fact() -> None:
    listed = payload("list")["sections"]
    assert list(listed) == list(load_catalog().sections)
    assert sum(len(entry["facts"]) for entries in listed.values() for entry in entries) == len(
        load_catalog().facts
    )
    assert list(payload("list", "switches")["sections"]) == ["switches"]


def test_show_gives_sources_and_bands() -> None:
    entries = payload("show", "B300-SXM")["entries"]
    fact = entries[0]["facts"]["peak_fp4"]
    assert (fact["value"], fact["low"], fact["high"], fact["unit"]) == (13.5e15, 12.6e15, 15e15, "FLOP/s")
    assert fact["path"] == "accelerators.B300-SXM.peak_fp4" and not fact["assumption"] and fact["source"]
    one = payload("show", "accelerators.H100.peak_fp8")["entries"]
    assert [list(entry["facts"]) for entry in one] == [["peak_fp8"]]


def test_show_displays_sources_disagreements_and_assumptions() -> None:
    code, text = run("show", "B300-SXM")
    assert code == 0
    for shown in (
        "13.5 PFLOP/s",
        "12.6–15 PFLOP/s",
        "Sources disagree",
        "ml-engineering gives 1000 W",
        "* assumed",
        "stas00/ml-engineering",
    ):
        assert shown in text


def test_tables_fit_a_narrow_terminal() -> None:
    result = CliRunner().invoke(app, ["list", "accelerators"], env={"COLUMNS": "80"})
    assert all(len(line) <= 80 for line in result.stdout.splitlines()) and "H100-SXM" in result.stdout
    assert "accelerators" in run("list")[1]


def test_lint_is_clean_and_says_so_by_its_exit_code(tmp_path: Path) -> None:
    assert payload("lint")["problems"] == [] and "No problems" in run("lint")[1]
    file = tmp_path / "mine.yaml"
    file.write_text(
        "accelerators.H100-SXM.scale_up_bandwidth: {value: 900 GB/s, source: the sheet, verified: 2026-11}\n",
        encoding="utf-8",
    )
    code, text = run("lint", "--overrides", str(file), "--json")
    assert code == 1 and any(problem["rule"] == "two-way" for problem in json.loads(text)["problems"])
    code, text = run("lint", "--overrides", str(file))
    assert code == 1 and "both ways" in text


def test_unknown_names_raise_the_users_error() -> None:
    for arguments in (("show", "H1000"), ("list", "accelerator"), ("show", "accelerators.H1000")):
        with pytest.raises(FactError, match="did you mean"):
            run(*arguments)
