"""The table in docs/handbook.md: every row of the checklist, with laws, commands and tests that exist."""

import re
from pathlib import Path

import pytest

from argosy.cli.main import COMMANDS
from argosy.handbook import card, exercise_ids, handbook_claims, tables
from argosy.handbook.formula import law

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = (REPOSITORY / "docs" / "handbook.md").read_text(encoding="utf-8")
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| ([A-H]\d+) .*$", TEXT, re.MULTILINE)}


def test_every_row_of_the_checklist_is_there():
    wanted = [
        *(f"A{n}" for n in range(1, 16)),
        *(f"B{n}" for n in range(1, 12)),
        *(f"C{n}" for n in range(1, 19)),
    ]
    wanted += [f"D{n}" for n in range(1, 11)]
    wanted += [*(f"E{n}" for n in range(1, 14)), *(f"F{n}" for n in range(1, 12))]
    wanted += [*(f"G{n}" for n in range(1, 11)), *(f"H{n}" for n in range(1, 10))]
    assert list(ROWS) == wanted


@pytest.mark.parametrize("row", sorted(ROWS))
def test_what_a_row_names_exists(row: str):
    line = ROWS[row]
    paths = re.findall(r"tests/[\w/]+\.py", line)
    assert paths
    for path in paths:
        assert (REPOSITORY / path).is_file(), path
    names = re.findall(r"laws\.(\w+\.\w+)", line)
    commands = re.findall(r"argosy ([a-z]+)\b", line)
    assert names or commands or "argosy.reliability" in line
    for name in names:
        assert law(name)
    assert set(commands) <= set(COMMANDS)
    for exercise in re.findall(r"exercises? ((?:[WF]?\d+)(?: and [WF]?\d+)?)", line):
        assert set(exercise.split(" and ")) <= set(exercise_ids())
    for claim in re.findall(r"claim ((?:s0|x-)\S+?)[,` |]", line):
        assert claim in {each.id for each in handbook_claims()}
    for table in re.findall(r"--table (\w+)", line):
        assert table in {each["id"] for each in tables()}


def test_counts_in_the_text_are_right():
    assert f"{len(handbook_claims())} claims" in TEXT
    assert len(tables()) == 11
    assert "eleven tables" in TEXT
    assert len(exercise_ids()) == 19
    assert card()
