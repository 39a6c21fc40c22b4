"""Hostile questions and saved plans: one message, exit code 1; limits of the scenario bind a recommendation too."""

from __future__ import annotations

import json

import pytest
from sweep_cases import study_file

from argosy.cli.main import run as command
from argosy.study.axes import read_study
from argosy.study.question import read_question
from argosy.study.recommend import recommend
from argosy.study.sweep import sweep


def question(folder, text):
    study_file(folder, "fleet.count: [64]")
    path = folder / "q.yaml"
    path.write_text(f"scenario: small.yaml\n{text}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("free: {fleet.count: [8, x]}", "fleet sizes are whole numbers"),
        ("free: {fleet.count: {from: 128, to: 8}}", "from a whole number up"),
        ("free: {fleet.count: {from: 0, to: 8}}", "from a whole number up"),
        ("free: {fleet.count: {from: 8.5, to: 64}}", "from a whole number up"),
        ("goal: [cheapest]", "is not one of the choices"),
    ],
)
def test_odd_questions(text, words, tmp_path, capsys):
    assert command(["recommend", str(question(tmp_path, text)), "--executor", "none"]) == 1
    assert words in capsys.readouterr().err


def test_the_scenarios_own_envelope_is_kept(tmp_path):
    asked = question(tmp_path, "goal: soonest\nfree: {fleet.count: [64, 128], facility.envelope: [0.16 MW]}")
    answer = recommend(read_question(asked))
    assert [option["free"]["fleet.count"] for option in answer["options"]] == [64]
    assert any("own limit: power envelope" in row["why"] for row in answer["rejected"])


def test_a_plan_that_was_cut_short_is_bad_input(tmp_path, capsys):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"schema": "argosy.plan/1", "scenario": {"inputs": {}}}), encoding="utf-8")
    assert command(["diff", str(path), str(path)]) == 1
    assert "without verdict, training" in capsys.readouterr().err


def test_fronts_of_no_job_and_of_too_many_accelerators(tmp_path, capsys):
    study_file(tmp_path, "fleet.count: [64]")
    assert command(["pareto", str(tmp_path / "small.yaml"), "--counts", "999999999999"]) == 1
    assert "999,999,999,999 accelerators are more than" in capsys.readouterr().err


def test_a_sweep_killed_before_its_first_word_starts_again(tmp_path):
    """kill −9 while study.json is written leaves its partial file alone in the folder."""
    study = read_study(study_file(tmp_path, "fleet.count: [64]"))
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "study.json.partial").write_bytes(b"{")
    assert sweep(study, tmp_path / "r", resume=True).computed == 1
