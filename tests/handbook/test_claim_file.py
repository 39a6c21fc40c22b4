"""A user's own file of claims: judged by the same rules, with every fault told at once."""

from pathlib import Path

import pytest

from argosy.facts import FactError
from argosy.handbook import check_file
from argosy.handbook.claims import Claim, check

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


@pytest.mark.parametrize(
    "line",
    [
        "claimed_value: []",
        "claimed_value: [a, b]",
        "claimed_value: [4]",
        "claimed_value: [5, 4]",
        "claimed_value: [1, .nan]",
        "claimed_value: .nan",
        "claimed_value: .inf",
        "claimed_value: many",
        "claimed_value: true",
        "claimed_value: {a: 1}",
        "printed: abc",
        "printed: 'NaN'",
        "printed: '1e999999999'",
        "claimed_value: 1" + 400 * "0",
    ],
)
def test_a_number_that_cannot_be_compared_is_told_with_its_place(tmp_path: Path, line: str):
    content = f"- id: x\n  statement: y\n  formula: 2 + 2\n  {line}\n"
    with pytest.raises(FactError) as caught:
        check_file(written(tmp_path, content))
    (problem,) = caught.value.problems
    assert "claims.yaml:4:3: " + line.split(":")[0] in problem


@pytest.mark.parametrize(
    ("comparison", "verdict"),
    [
        ("n >= 5", "wrong"),
        ("n <= 5", "reproduces"),
        ("n > 4", "wrong"),
        ("n < 5", "reproduces"),
        ("n == 4", "reproduces"),
        ("n != 4", "wrong"),
        ("m = n == 5", "wrong"),
    ],
)
def test_comparisons_keep_their_equals_sign(tmp_path: Path, comparison: str, verdict: str):
    content = f"- id: x\n  statement: y\n  inputs: {{n: 4}}\n  formula: {comparison}\n  holds: value\n"
    (result,) = check_file(written(tmp_path, content))
    assert (result.claim.formula, result.verdict) == (comparison.removeprefix("m = "), verdict)


def test_an_unknown_fact_makes_one_claim_not_checkable_and_the_rest_count(tmp_path: Path):
    content = """- {id: a, statement: s, formula: 'fact("accelerators.NONE.peak_bf16")', claimed_value: 1}
- {id: b, statement: s, formula: 6 * 7, claimed_value: 42, holds: 'value > fact("accelerators.NONE.x")'}
- {id: c, statement: s, formula: 6 * 7, claimed_value: 42}
"""
    first, second, third = check_file(written(tmp_path, content))
    assert [each.verdict for each in (first, second, third)] == [
        "not-checkable",
        "not-checkable",
        "reproduces",
    ]
    assert "NONE" in first.problem
    assert "NONE" in second.problem


def test_a_right_value_that_cannot_be_computed_makes_the_claim_not_checkable():
    result = check(
        Claim("a", "s", formula="6 * 7", claimed_value=41, correct_value='fact("accelerators.NONE.x")')
    )
    assert result.verdict == "not-checkable"
    assert "NONE" in result.problem


@pytest.mark.parametrize("number", [".nan", ".inf", "1" + 400 * "0"])
def test_inputs_are_finite(tmp_path: Path, number: str):
    content = f"- id: x\n  statement: y\n  inputs: {{n: {number}}}\n  formula: n\n"
    with pytest.raises(FactError, match="inputs n"):
        check_file(written(tmp_path, content))
