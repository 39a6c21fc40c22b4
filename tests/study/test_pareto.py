"""The front over layouts and fleets: nothing dominates it, and its points are the planner's own."""

from __future__ import annotations

import json

import pytest

import argosy
from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.planning.context import context
from argosy.planning.job import plan_job
from argosy.study.pareto import pareto_front

SCENARIO = """
name: small
fleet: {accelerator: H100-SXM, count: 128}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 512 sequences}
"""


@pytest.fixture(scope="module")
def answer() -> dict:
    return pareto_front(argosy.loads(SCENARIO), [64, 128], kept=40)


def test_no_point_beats_one_on_the_front_and_every_other_is_beaten(answer):
    keys = ("time_s", "cost_usd", "energy_j")

    def beaten(point):
        mine = [point[key] for key in keys]
        others = ([other[key] for key in keys] for other in answer["points"])
        return any(
            all(a <= b for a, b in zip(other, mine, strict=True)) and other != mine for other in others
        )

    assert {point["gpus"] for point in answer["points"]} == {64, 128}
    for point in answer["points"]:
        assert point["front"] == (not beaten(point))


def test_the_fastest_of_each_fleet_is_the_planners_choice(answer):
    for count in (64, 128):
        scenario = argosy.loads(SCENARIO.replace("128", str(count)))
        planned = plan_job(context(scenario), scenario.training[0])
        fastest = min(point["time_s"] for point in answer["points"] if point["gpus"] == count)
        assert fastest == pytest.approx(planned.work_s, rel=1e-9)


def test_a_larger_batch_pays_with_tokens_and_never_beats_the_bound(answer):
    ranked = pareto_front(argosy.loads(SCENARIO), kept=10, batches=[256, 512, 4096])
    by_batch = {}
    for point in ranked["points"]:
        by_batch.setdefault(point["global_batch_sequences"], []).append(point)
    tokens = {batch: points[0]["tokens"] for batch, points in by_batch.items()}
    assert tokens[512] == pytest.approx(1e11) and tokens[256] < tokens[512] < tokens[4096]
    # E = S_min (B + B_crit): steps fall by less than the batch grows, and never below S_min.
    critical = ranked["batch"]["critical_tokens"]["nominal"]
    steps = {batch: tokens[batch] / (batch * 8192) for batch in tokens}
    fewest = 1e11 / (512 * 8192 + critical)
    assert all(each > fewest for each in steps.values())
    assert steps[256] / steps[4096] == pytest.approx(
        (1 + critical / 256 / 8192) / (1 + critical / 4096 / 8192)
    )


def test_layouts_are_listed_once(answer):
    seen = [tuple(point["layout"].values()) for point in answer["points"]]
    assert len(seen) == len(set(seen))


def test_what_does_not_fit_is_told(tmp_path, capsys):
    large = SCENARIO.replace("llama-3.1-8b", "llama-3.1-405b")
    with pytest.raises(FactError, match="no layout fits"):
        pareto_front(argosy.loads(large), [8])
    with pytest.raises(FactError, match="whole nodes"):
        pareto_front(argosy.loads(SCENARIO), [100])
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    assert command(["pareto", str(tmp_path / "s.yaml"), "--counts", "some"]) == 1
    assert "no number of accelerators" in capsys.readouterr().err
    assert command(["pareto", str(tmp_path / "s.yaml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "argosy.pareto/1"
    (tmp_path / "l.yaml").write_text(large.replace("count: 128", "count: 8"), encoding="utf-8")
    for words in (["pareto"], ["sensitivity"], ["export", "launch"]):
        assert command([*words, str(tmp_path / "l.yaml")]) == 2


def test_batches_that_cannot_run_or_are_beaten_are_told(tmp_path, capsys):
    fixed = SCENARIO.replace("512 sequences}", "512 sequences, layout: {tp: 2, pp: 1}}")
    (tmp_path / "s.yaml").write_text(fixed, encoding="utf-8")
    assert command(["pareto", str(tmp_path / "s.yaml"), "--batches", "7,512,4096"]) == 0
    told = capsys.readouterr().out
    assert "128 GPUs with 7 sequences: no layout" in told and "4,096 sequences: beaten" in told
