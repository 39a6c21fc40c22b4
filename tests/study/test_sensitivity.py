"""Sensitivity: its parts against plans made by hand, and the variance shares against a case that is known."""

from __future__ import annotations

import json

import numpy as np
import pytest

import argosy
from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.study import sensitivity as module
from argosy.study.sensitivity import RESIDUAL, measurement, sensitivity, study

TEXT = (
    "name: s\nfleet: {accelerator: H100-SXM, count: 128}\n"
    "training: {name: pretrain, model: llama-3.1-8b, tokens: 1e12, sequence_length: 8192, "
    "global_batch: 512 sequences, layout: {tp: 2, pp: 1, micro_batch: 1, recompute: none, zero: 1}}\n"
)


@pytest.fixture(scope="module")
def answer():
    return sensitivity(argosy.loads(TEXT), "days", draws=200, samples=32)


def test_the_central_point_is_the_plans_nominal(answer):
    planned = argosy.plan(argosy.loads(TEXT), draws=100).payload
    assert answer["nominal"] == pytest.approx(planned["training"][0]["schedule"]["days"]["nominal"], rel=1e-9)


def test_an_end_of_a_band_is_the_plan_with_that_fact(answer):
    row = next(row for row in answer["tornado"] if row["fact"] == "training.sustained_clock.hopper")
    for end in ("low", "high"):
        text = TEXT + f"assumptions: {{overrides: {{{row['fact']}: {row[end]}}}}}\n"
        days = argosy.plan(argosy.loads(text), draws=100).payload["training"][0]["schedule"]["days"][
            "nominal"
        ]
        assert days - answer["nominal"] == pytest.approx(row[f"effect_{end}"], rel=1e-6)
    assert row["effect_low"] > 0 > row["effect_high"]  # a slower clock takes longer


def test_the_tornado_is_sorted_and_leaves_out_what_moves_nothing(answer):
    widths = [abs(row["effect_high"] - row["effect_low"]) for row in answer["tornado"]]
    assert widths == sorted(widths, reverse=True) and min(widths) > 0
    assert answer["tornado"][0]["fact"] == RESIDUAL
    assert not any(row["fact"].endswith(".price") for row in answer["tornado"])  # prices move no days
    assert all(row["measurement"] for row in answer["tornado"])


def test_shares_of_the_variance_are_shares(answer):
    assert answer["p10"] < answer["nominal"] < answer["p90"]
    assert 0 <= answer["luck"] < 0.5
    first = sum(row["first_order"] for row in answer["sobol"])
    assert 0.6 < first < 1.2
    for row in answer["sobol"]:
        assert row["range_left_if_known"] <= answer["p90"] - answer["p10"]


def test_variance_shares_of_a_known_function(monkeypatch):
    """For y = 3 a + b of independent standard normals, a carries 0.9 of the variance and b 0.1."""

    class Known:
        def at(self, coordinates):
            return 3.0 * coordinates["a"] + coordinates["b"]

    spread = {"p10": 0.0, "p50": 1.0, "p90": 2.0}
    rows = {row["fact"]: row for row in module.shares_of(Known(), ["a", "b"], 4096, 0, spread, 0.0)}
    assert rows["a"]["first_order"] == pytest.approx(0.9, abs=0.04)
    assert rows["b"]["total"] == pytest.approx(0.1, abs=0.04)
    assert rows["a"]["range_left_if_known"] == pytest.approx(2.0 * np.sqrt(0.1), rel=0.2)


def test_many_draws_in_pieces_are_the_same(monkeypatch):
    subject = study(argosy.loads(TEXT), "usd")
    z = np.linspace(-1, 1, 7)
    whole = subject.at({RESIDUAL: z})
    monkeypatch.setattr(module, "_CHUNK", 3)
    np.testing.assert_array_equal(subject.at({RESIDUAL: z}), whole)
    assert np.all(np.diff(whole) > 0)


def test_faults_are_told():
    with pytest.raises(FactError, match="write one of days, usd"):
        study(argosy.loads(TEXT), "weeks")
    with pytest.raises(FactError, match="power of two"):
        sensitivity(argosy.loads(TEXT), samples=100)
    assert "fit-failures" in measurement("reliability.llama3-table5.nic")


def test_the_command(tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(TEXT, encoding="utf-8")
    arguments = ["sensitivity", str(tmp_path / "s.yaml"), "--samples", "8", "--draws", "100"]
    assert command([*arguments, "--of", "usd", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "argosy.sensitivity/1"
    assert {"fact", "low", "high", "effect_low", "effect_high"} <= set(found["tornado"][0])
    assert command([*arguments, "--picture", str(tmp_path / "t.svg")]) == 0
    assert "what would help most" in capsys.readouterr().out
    assert (tmp_path / "t.svg").read_text(encoding="utf-8").startswith("<svg")
    assert command([*arguments, "--picture", str(tmp_path / "t.gif")]) == 1
