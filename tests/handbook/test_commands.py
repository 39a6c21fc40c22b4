"""The commands: answer first in the terminal, the contract's JSON, one clear message for mistakes."""

import io
import json
from pathlib import Path

import pytest

from argosy import __version__
from argosy.cli.handbook import _is_correct
from argosy.cli.main import run


def payload(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert run([*arguments, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == f"argosy.{arguments[0]}/1"
    assert content["version"] == __version__
    assert content["facts_date"]
    return content


def test_claims_json(capsys):
    content = payload(capsys, "claims")
    assert len(content["claims"]) == 227
    assert content["counts"]["wrong"] == 17


def test_claims_of_a_file(capsys, tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text("- {id: a, statement: six times seven, formula: 6 * 7, claimed_value: 42, unit: ''}\n")
    (claim,) = payload(capsys, "claims", str(file))["claims"]
    assert (claim["verdict"], claim["computed_value"]) == ("reproduces", 42)


def test_claims_table_tells_the_sum_first(capsys):
    assert run(["claims"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("227 claims: 147 stand, 54 do not, 26 cannot be checked")


@pytest.mark.parametrize(
    "arguments",
    [
        ["claims", "--only", "s004-ridge"],
        ["exercises"],
        ["exercises", "W5"],
        ["exercises", "1", "--set", "n=1024"],
        ["exercises", "2", "--variant", "3"],
        ["numbers"],
        ["numbers", "--table", "failures"],
        ["explain"],
        ["explain", "胖树"],
        ["explain", "M"],
        ["guide"],
        ["guide", "fail", "--set", "devices=8192"],
        ["guide", "talk"],
        ["guide", "errors"],
        ["guide", "paradigms"],
        ["guide", "classify", "--set", "coupling=lockstep"],
        ["guide", "takeaways"],
        ["guide", "rails", "--set", "servers=4"],
    ],
)
def test_every_view_prints_and_has_json(capsys, arguments):
    assert run(arguments) == 0
    out = capsys.readouterr()
    assert len(out.out) > 100
    assert not out.err
    payload(capsys, *arguments)


def test_exercises_put_the_answer_before_the_steps(capsys):
    run(["exercises", "1"])
    out = capsys.readouterr().out
    assert out.index("Answer: 21.333 days") < out.index("Compute, C = 6ND")


def test_numbers_keep_ratios_apart(capsys):
    content = payload(capsys, "numbers")
    assert {row["kind"] for row in content["ratios"]} == {"ratio"}
    assert {row["kind"] for row in content["values"]} == {"value"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "mfuu"], "mfu"),
        (["exercises", "99"], "no exercise"),
        (["exercises", "1", "--set", "n"], "NAME=VALUE"),
        (["exercises", "1", "--set", "A=5 GB"], "A:"),
        (["exercises", "--set", "n=4"], "number of an exercise"),
        (["numbers", "--table", "nothing"], "bandwidth"),
        (
            ["guide", "zzz"],
            "talk, many, fail, power, overhead, errors, paradigms, classify, takeaways, rails",
        ),
        (["guide", "errors", "--set", "a=1"], "--set needs"),
        (["exercises", "1", "--quiz"], "--quiz asks"),
        (["exercises", "--quiz", "--variant", "3"], "--quiz asks"),
        (["exercises", "1", "--seed", "3"], "--variant SEED"),
        (["guide", "classify"], "at least one"),
        (["guide", "rails", "--set", "servers=many"], "whole numbers"),
        (["guide", "rails", "--set", "servers=999"], "between 1 and 64"),
        (["claims", "/nonexistent.yaml"], "nonexistent"),
    ],
)
def test_mistakes_get_one_message_and_exit_code_one(capsys, arguments, message):
    assert run(arguments) == 1
    out = capsys.readouterr()
    assert message in out.err
    assert "Traceback" not in out.err
    assert not out.out


def test_quiz_reads_answers_and_stops_at_the_end_of_input(capsys, monkeypatch):
    from argosy.handbook import quiz

    questions = quiz(3, 1)
    lines = [f"{questions[0]['answer']}\n", "no idea\n"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(lines)))
    assert run(["exercises", "--quiz", "--count", "3", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert out.rstrip().endswith("1 of 2 right")
    assert payload(capsys, "exercises", "--quiz", "--seed", "1")["quiz"]


def test_a_variant_may_keep_some_numbers_of_ones_own(capsys):
    (mine,) = payload(capsys, "exercises", "1", "--variant", "7", "--set", "n=5")["exercises"]
    (drawn,) = payload(capsys, "exercises", "1", "--variant", "7")["exercises"]
    assert mine["givens"]["n"]["value"] == 5
    assert {**mine["givens"], "n": 0} == {**drawn["givens"], "n": 0}


@pytest.mark.parametrize(
    ("unit", "right", "text", "correct"),
    [
        ("min", 30.0, "30 min", True),
        ("min", 30.0, "0.5 h", True),
        ("min", 30.0, "30 h", False),
        ("x", 9.0, "9 x", True),
        ("x", 9.0, "9x", True),
        ("", 0.45, "45 %", True),
        ("", 0.45, "0.45", True),
        ("", 0.45, "45", False),
        ("token/s", 1600.0, "1,600", True),
        ("W", 700.0, "0.7 kW", True),
        ("W", 700.0, "no idea", False),
    ],
)
def test_quiz_reads_units(unit, right, text, correct):
    question = {"answer": right, "unit": unit, "tolerance": 0.1}
    assert _is_correct(question, f"{text}\n") is correct


def test_quiz_asks_again_after_a_blank_line(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n  \nno idea\n"))
    assert run(["exercises", "--quiz", "--count", "1", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count("1. ") == 3
    assert out.rstrip().endswith("0 of 1 right")


def test_a_wrong_claim_of_ones_own_is_explained_and_a_judged_one_says_by_what(capsys, tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "- {id: a, statement: six times seven, formula: 6 * 7, claimed_value: 34.4}\n"
        "- {id: b, statement: fine, judgement: {verdict: wrong-attribution, basis: attribution, source: p. 7}}\n"
    )
    assert run(["claims", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "18.1 % below the computed value; more than one unit of the last printed digit (0.1)." in out
    assert "Judged: attribution. Source: p. 7." in out


def test_no_title_ends_in_two_marks(capsys):
    for each in payload(capsys, "exercises")["exercises"]:
        assert each["title"][-1].isalnum() or each["title"][-1] in ")'", each["id"]
