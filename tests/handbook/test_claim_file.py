"""A user's own file of claims: judged by the same rules, with every fault told at once."""

from pathlib import Path

import pytest

from argosy.facts import FactError
from argosy.handbook import check_file

GOOD = """
- id: mine-1
  statement: A week has 168 hours.
  formula: days * 24
  inputs: {days: 7}
  claimed_value: 168
  unit: h
- id: mine-2
  statement: 405B at 41 % on 16,384 GPUs takes 54 days.
  formula: training_time.training_time(parameters=N, tokens=D, devices=n, peak_flops=A, mfu=m) / day
  inputs: {N: 405.0e9, D: 15.6e12, n: 16384, A: 989.0e12, m: 0.41}
  claimed_value: 54
  unit: days
- id: mine-3
  statement: An opinion.
  judgement: {verdict: not-checkable, basis: opinion, source: the author}
- id: mine-4
  statement: Prose instead of a formula.
  formula: the usual rule of thumb
  claimed_value: 3
- id: mine-5
  statement: It grows.
  formula: servers = cards / 8
  inputs: {cards: 64}
  holds: value > 7
"""


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "claims.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_own_claims(tmp_path: Path):
    results = check_file(written(tmp_path, GOOD))
    assert [each.verdict for each in results] == [
        "reproduces",
        "wrong",
        "not-checkable",
        "not-checkable",
        "reproduces",
    ]
    assert results[1].correct_value == pytest.approx(66.04, abs=0.01)
    assert "Not computed" in results[3].problem


def test_the_reference_file_itself_is_read_and_judged_alike(shared_directory: Path):
    """Its formulas are prose, so the handbook's formulas of the same ids step in."""
    from ruamel.yaml import YAML

    path = shared_directory / "spec" / "claims.yaml"
    reference = {
        each["id"]: each["verdict"] for each in YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    }
    results = {each.claim.id: each.verdict for each in check_file(path)}
    assert results == reference


def test_a_document_may_be_a_mapping_with_claims(tmp_path: Path):
    indented = "claims:\n" + GOOD
    assert len(check_file(written(tmp_path, indented))) == 5


def test_all_faults_at_once_with_their_places(tmp_path: Path):
    bad = """- id: a
  statment: typo
- 17
- id: b
  statement: text
  inputs: {rate: 400 Gb/s}
- id: c
  statement: text
  judgement: {verdict: maybe, basis: opinion, source: me}
- id: b2
  statement: text
- id: b2
  statement: again
"""
    with pytest.raises(FactError) as caught:
        check_file(written(tmp_path, bad))
    text = str(caught.value)
    for part in (
        "did you mean statement",
        "statement is missing",
        "claims.yaml:3:",
        "mapping with id",
        "400 Gb/s",
        "judgement.verdict",
        "twice",
    ):
        assert part in text
    assert text.count("claims.yaml:") == len(caught.value.problems) == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a list"),
        ("a: 1", "expected a list"),
        ("- [", "not YAML"),
        ("- id: x\n  id: y\n  statement: z\n", "not YAML"),
        ("- &a {id: x, statement: y}\n- *a\n", "aliases"),
        (b"\xff\xfe\x00", "not a text file"),
    ],
)
def test_what_is_no_claims_file(tmp_path: Path, content, message: str):
    with pytest.raises(FactError, match=message):
        check_file(written(tmp_path, content))


def test_a_formula_is_not_code(tmp_path: Path):
    trap = tmp_path / "trap"
    content = f"- id: x\n  statement: y\n  formula: \"open('{trap}', 'w')\"\n  claimed_value: 1\n"
    (result,) = check_file(written(tmp_path, content))
    assert result.verdict == "not-checkable"
    assert not trap.exists()


def test_a_missing_file_is_the_systems_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        check_file(tmp_path / "none.yaml")
