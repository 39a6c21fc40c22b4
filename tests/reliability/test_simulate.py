"""`argosy simulate` end to end on a small scenario, and the advice against what must hold."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from argosy.cli.main import run
from argosy.reliability import CategoryRate, CheckpointCost, FailureRates, Maintenance, Recovery
from argosy.reliability.account import VIEWS, views
from argosy.reliability.improve import System, fix_first, improvements, interval_curve, spares_curve
from argosy.reliability.states import STATES

HOUR, DAY = 3600.0, 86400.0
MINIMAL = Path(__file__).parents[2] / "examples" / "minimal.yaml"


def test_simulate_gives_the_contract(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chart = tmp_path / "life.html"
    arguments = [
        "simulate",
        str(MINIMAL),
        "--json",
        "--replications",
        "40",
        "--seed",
        "3",
        "--html",
        str(chart),
    ]
    assert run(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {
        "replications",
        "horizon_s",
        "total_gpu_s",
        "goodput",
        "views",
        "ledger_gpu_s",
        "failures",
    } <= answer.keys()
    assert {
        "closed_form_goodput",
        "replications_per_s",
        "fix_first",
        "spares_curve",
        "interval_curve",
    } <= answer.keys()
    assert tuple(answer["ledger_gpu_s"]) == STATES
    assert sum(answer["ledger_gpu_s"].values()) == pytest.approx(answer["total_gpu_s"], rel=1e-9)
    good = answer["goodput"]
    assert good["mean"] == pytest.approx(
        answer["ledger_gpu_s"]["productive"] / answer["total_gpu_s"], rel=1e-12
    )
    assert good["p10"] <= good["p50"] <= good["p90"] < 1
    assert answer["views"].keys() == VIEWS.keys()
    assert answer["views"]["ettr"] == pytest.approx(good["mean"], rel=1e-12)
    assert good["mean"] == pytest.approx(answer["closed_form_goodput"], abs=4 * good["stderr"] + 2e-3)
    assert sum(each["mean"] for each in answer["failures"].values()) > 0
    assert chart.read_text(encoding="utf-8").count("<figure>") == 6


def test_simulate_tells_a_wrong_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(MINIMAL), "--job", "nonesuch"]) == 1
    assert "nonesuch" in capsys.readouterr().err


def test_views_of_one_book() -> None:
    book = dict.fromkeys(STATES, 0.0) | {"productive": 80.0, "queue": 10.0, "degraded": 5.0, "rework": 5.0}
    assert views(book) == pytest.approx({"ettr": 0.8, "google_goodput": 80 / 90, "megascale_effective": 0.85})


@pytest.fixture
def system() -> System:
    rates = FailureRates("t", (CategoryRate("gpu", "gpu", "node", "node", 64.0, 1 / (64 * 6 * HOUR)),))
    cost = CheckpointCost(0.0, 20.0, 0.0, 0.0, 0.0)
    return System(
        20 * DAY, 64, rates, cost, Recovery(300.0, 900.0, spare_nodes=4, repair_s=20 * HOUR), Maintenance()
    )


def test_fix_first_agrees_with_the_closed_form_and_common_luck_sharpens_it(system: System) -> None:
    changes = improvements(system)
    found = fix_first(system, changes, draws=200)
    assert [row["gain"] for row in found] == sorted((row["gain"] for row in found), reverse=True)
    base = float(system.closed_form().ettr)
    for row in found:
        if "time to failure" in row["name"] or "spares" in row["name"] or "repair" in row["name"]:
            assert row["gain"] > 3 * row["stderr"]
        wanted = float(changes[row["name"]].closed_form().ettr) - base
        assert row["gain"] == pytest.approx(wanted, abs=4 * row["stderr"] + 3e-3)
    other = replace(system, recovery=replace(system.recovery, detection_s=150.0)).lives(200, seed=99)
    unpaired = (other.ettr - system.lives(200, seed=0).ettr).std(ddof=1) / 200**0.5
    paired = next(row["stderr"] for row in found if row["name"].startswith("detection"))
    assert paired < 0.6 * unpaired


def test_curves_rise_and_recommend(system: System) -> None:
    spares = spares_curve(system, draws=40)
    goods = [point["goodput"] for point in spares["curve"]]
    assert goods[0] < 0.5 * goods[-1]
    assert 4 < spares["recommended"] <= spares["curve"][-1]["spares"]
    interval = interval_curve(system, draws=60)
    best = max(interval["curve"], key=lambda point: point["goodput"])
    assert 0.5 <= best["interval_s"] / interval["recommended_s"] <= 2.0


def test_a_job_that_never_finishes_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = MINIMAL.read_text(encoding="utf-8")
    assert "reliability:" not in text
    path = tmp_path / "hopeless.yaml"
    path.write_text(text + "\nreliability:\n  overrides: {gpu: {mttf: 30 min}}\n", encoding="utf-8")
    assert run(["simulate", str(path), "--replications", "2", "--no-advice"]) == 2
    out = capsys.readouterr().out
    assert "will never finish" in out
    assert run(["simulate", str(path), "--replications", "2", "--no-advice", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["finishes"] is False
    assert 0.0 <= answer["goodput"]["mean"] < 0.01
    assert sum(answer["ledger_gpu_s"].values()) == pytest.approx(answer["total_gpu_s"], rel=1e-9)
