"""`argosy testbed`: faults are told, and an answer is shown; nothing runs here."""

from __future__ import annotations

import json

import pytest

from argosy.cli.main import run
from argosy.report.testbed.collectives import COLUMNS, cells
from argosy.report.testbed.pages import page, verdict, write_page
from argosy.testbed.comparison import answer as answer_of
from argosy.testbed.experiment import comparisons

ROW = {
    "fabric": "degraded",
    "algorithm": "ring",
    "bytes": 8 << 20,
    "ranks": 8,
    "groups": [list(range(8))],
    "predicted_time_s": 2.0,
    "measured_time_s": 2.5,
    "measured_times_s": [2.4, 2.5, 2.6],
    "error": -0.2,
    "bar": 0.1,
    "within_bar": False,
    "sums_right": True,
    "bytes_over_predicted": {"min": 1.01, "max": 1.02},
    "ring_bytes": {"said": 1.0, "min": 1.01, "max": 1.02},
    "dropped_packets": 0,
    "retransmitted_segments": 0,
    "predicted_lost_segments": 0.0,
    "library": "MPI",
    "hot_link": {
        "measured": "leaf-1>spine-1 (cable 8)",
        "predicted": ["leaf-1>spine-1 (cable 8)"],
        "busy_fraction": 1.0,
        "right": True,
    },
}
ANSWER = {
    **answer_of(
        comparisons([ROW], 10.0),
        ["a note"],
        scale={"degraded": 4000.0},
        repeats=3,
        baseline={"bytes": 1, "rate_bps": 1e8, "time_s": 1.0, "share_of_wire": 0.99, "message_s": 0.0003},
        headroom={"bytes_per_s": 1e9, "asked_bytes_per_s": 1e8, "ratio": 10.0},
        rows=[ROW],
    ),
    "version": "0",
}
NOTHING = {**ROW, "predicted_time_s": None, "within_bar": None}
LOOPBACK = {**answer_of(comparisons([NOTHING], None), [], "not permitted", rows=[NOTHING]), "version": "0"}


@pytest.fixture
def answered(monkeypatch):
    """The command's experiment, replaced by an answer."""
    from argosy.testbed import experiment

    def replace(answer):
        monkeypatch.setattr(experiment, "collectives", lambda *given, **words: answer)

    return replace


def test_unknown_fabrics_and_sizes_are_told(capsys):
    assert run(["testbed", "collectives", "--fabric", "flat,nope"]) == 1
    assert "'nope'; write one of flat" in capsys.readouterr().err
    assert run(["testbed", "collectives", "--bytes", "1GiB"]) == 1
    assert "64 KiB to 64 MiB" in capsys.readouterr().err


def test_a_large_fleet_is_told(capsys, tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text(
        "name: x\nfleet: {accelerator: H100-SXM, count: 512}\n"
        "training: {model: llama-3.1-8b, tokens: 1e12, sequence_length: 8192, global_batch: 4 Mtok}\n"
    )
    assert run(["testbed", "collectives", str(path)]) == 1
    assert "at most 16" in capsys.readouterr().err


def test_json_is_the_payload_alone(answered, capsys):
    answered(ANSWER)
    assert run(["testbed", "collectives", "--fabric", "degraded", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "argosy.testbed-collectives/1"
    assert found["rows"] == [ROW]


def test_the_screen_says_what_missed(answered, capsys):
    answered(ANSWER)
    assert run(["testbed", "collectives", "--fabric", "degraded"]) == 0
    shown = capsys.readouterr().out
    assert "6 of 7 comparisons within their bar" in shown
    assert "a note" in shown


def test_a_miss_is_marked_in_table_and_page():
    texts = dict(zip(COLUMNS, cells(ROW), strict=True))
    assert texts["error"] == "-20.0 % (outside)"
    assert "leaf-1>spine-1" in cells(ROW)[-1]
    wrong = {**ROW, "hot_link": {**ROW["hot_link"], "right": False}}
    assert cells(wrong)[-1].endswith("no")
    assert "Outside the bar of 10 %: degraded ring (-20.0 %)" in page("collectives", ANSWER, [])


def test_on_the_loopback_nothing_is_predicted():
    assert "not permitted" in verdict(LOOPBACK)
    assert cells(LOOPBACK["rows"][0])[3] == ""


def test_the_page_comes_with_its_picture(tmp_path):
    page_file, picture = write_page("collectives", ANSWER, tmp_path / "docs" / "collectives.md")
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert picture.name in page_file.read_text(encoding="utf-8")
