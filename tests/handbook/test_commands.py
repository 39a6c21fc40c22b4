"""The commands: answer first in the terminal, the contract's JSON, one clear message for mistakes."""

import json
from pathlib import Path

import pytest

from argosy import __version__
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
        (["guide", "nothing"], "talk"),
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
    import io

    from argosy.handbook import quiz

    questions = quiz(3, 1)
    lines = [f"{questions[0]['answer']}\n", "no idea\n"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(lines)))
    assert run(["exercises", "--quiz", "--count", "3", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert out.rstrip().endswith("1 of 2 right")
    assert payload(capsys, "exercises", "--quiz", "--seed", "1")["quiz"]
