"""The diff of two plans: it closes in GPU-seconds, days and dollars, and says what was changed."""

from __future__ import annotations

import json

import pytest

import argosy
from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.report.differences import diff_markdown, headline
from argosy.study.compare import compare, read_plan

TEXT = (
    "name: {name}\nfleet: {{accelerator: H100-SXM, count: {count}}}\n"
    "training: {{name: pretrain, model: llama-3.1-8b, tokens: 1e12, sequence_length: 8192, "
    "global_batch: 512 sequences, layout: {{tp: 2, pp: 1, micro_batch: 1, recompute: none, zero: 1}}}}\n"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("diff")
    for name, count in (("a", 128), ("b", 256)):
        (place / f"{name}.yaml").write_text(TEXT.format(name=name, count=count), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def plans(files):
    return [read_plan(files / f"{name}.yaml", draws=100) for name in "ab"]


def test_every_changed_loss_sums_to_the_headline(plans):
    answer = compare(*plans)
    leaves = [line for line in answer["ledger"] if line["leaf"]]
    head = answer["headline"]
    assert sum(line["delta_days"] for line in leaves) == pytest.approx(head["days"]["delta"], rel=1e-9)
    assert sum(line["delta_usd"] for line in leaves) == pytest.approx(head["usd"]["delta"], rel=1e-9)
    totals = [plan["ledger"]["amount"] for plan in plans]
    assert sum(line["delta"] for line in leaves) == pytest.approx(totals[1] - totals[0], rel=1e-9)
    assert head["mw"]["delta"] == pytest.approx(
        (plans[1]["facility"]["facility_peak_w"] - plans[0]["facility"]["facility_peak_w"]) / 1e6
    )


def test_it_names_what_was_changed_and_what_was_chosen_otherwise(plans):
    answer = compare(*plans)
    changed = {row["path"]: (row["a"], row["b"]) for row in answer["inputs"]}
    assert changed == {"name": ("a", "b"), "fleet.count": (128, 256)}
    assert {row["path"]: row["b"] for row in answer["chosen"]}["layout.pretrain.dp"] == 128


def test_a_plan_against_itself_differs_in_nothing(plans):
    answer = compare(plans[0], plans[0])
    assert answer["inputs"] == answer["chosen"] == answer["ledger"] == []
    assert headline(answer) == "B against A: the same days, the same dollars, the same MW at peak"


def test_the_other_way_round_is_the_negative(plans):
    there, back = compare(*plans), compare(*reversed(plans))
    for name in ("days", "usd", "mw"):
        assert there["headline"][name]["delta"] == -back["headline"][name]["delta"]


def test_saved_plans_give_the_same_answer_and_others_are_refused(files, plans, tmp_path):
    saved = tmp_path / "a.json"
    saved.write_text(json.dumps(plans[0]), encoding="utf-8")
    assert compare(read_plan(saved), plans[1]) == compare(*plans)
    (tmp_path / "x.json").write_text('{"schema": "argosy.diff/1"}', encoding="utf-8")
    with pytest.raises(FactError, match="not a plan"):
        read_plan(tmp_path / "x.json")
    (tmp_path / "y.json").write_text("{", encoding="utf-8")
    with pytest.raises(FactError, match="no JSON"):
        read_plan(tmp_path / "y.json")


def test_a_plan_that_cannot_run_is_told_and_its_inputs_still_compare(plans):
    odd = argosy.loads(TEXT.format(name="c", count=128).replace("512 seq", "500 seq"))
    answer = compare(plans[0], argosy.plan(odd, draws=100).to_dict())
    assert answer["headline"]["days"]["delta"] is None
    assert "B (c) cannot run" in headline(answer)
    assert {row["path"] for row in answer["inputs"]} >= {"training.pretrain.stages.0.global_batch"}


def test_the_command_writes_markdown_json_and_a_table(files, capsys):
    arguments = ["diff", str(files / "a.yaml"), str(files / "b.yaml"), "--draws", "100"]
    assert command([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "argosy.diff/1" and set(answer["headline"]) == {"days", "usd", "mw"}
    assert command([*arguments, "--md"]) == 0
    text = capsys.readouterr().out
    assert text == diff_markdown(answer) and "| fleet.count | 128 | 256 |" in text
    assert command(arguments) == 0
    assert "Changed losses" in capsys.readouterr().out
