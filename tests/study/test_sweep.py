"""Sweeps: points, the vectorised run against plans one by one, interruption, and what `show` makes of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sweep_cases import STRUCTURE, content, study_file

from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.planning import plan
from argosy.report.sweeps import show_grid
from argosy.spec import ScenarioError, load
from argosy.study import show
from argosy.study import vectors as vectors_module
from argosy.study.axes import read_study
from argosy.study.points import Chunk, alone
from argosy.study.sweep import sweep
from argosy.study.vectors import Vectors, is_number, run_chunk

NUMBERS = (
    "reliability.detection: {from: 30 s, to: 10 min, steps: 8, log: true}, "
    "assumptions.overrides.training.sustained_clock.hopper: [0.8, 0.9], "
    "fleet.storage.bandwidth: [10 GB/s, 20 GB/s]"
)


def chunk_of(path, outputs=None) -> Chunk:
    study = read_study(path)
    study = replace(study, outputs=outputs or study.outputs)
    points = tuple(enumerate(study.combinations()))
    axes = tuple(axis.path for axis in study.axes)
    return Chunk(str(study.scenario), axes, study.outputs, study.draws, points)


def test_numbers_are_one_run_that_equals_plans_one_by_one(tmp_path, monkeypatch):
    chunk = chunk_of(study_file(tmp_path, NUMBERS))
    assert len(chunk.points) == 32
    vectors = Vectors.of(chunk)
    assert vectors is not None
    together = vectors.rows()
    assert together is not None
    single = [alone(chunk, number, values) for number, values in chunk.points]
    for one, other in zip(together, single, strict=True):
        for key in chunk.outputs:
            assert one[key] == pytest.approx(other[key], rel=1e-9)
    days = {row["training.0.schedule.days.nominal"] for row in together}
    assert len(days) == 32  # every axis moves the answer


def test_a_point_is_the_plan_of_its_scenario(tmp_path):
    path = study_file(tmp_path, "fleet.count: [64, 128]")
    rows = run_chunk(chunk_of(path, ("training.pretrain.schedule.days.p90", "cost.total_usd")))
    for row, count in zip(rows, (64, 128), strict=True):
        payload = plan(load(tmp_path / "small.yaml", changes={"fleet.count": count})).payload
        assert row["training.pretrain.schedule.days.p90"] == payload["training"][0]["schedule"]["days"]["p90"]
        assert row["cost.total_usd"] == payload["cost"]["total_usd"]


def test_a_run_that_does_not_agree_is_not_trusted(tmp_path, monkeypatch):
    chunk = chunk_of(study_file(tmp_path, NUMBERS))
    truth = run_chunk(chunk)
    honest = vectors_module.closed_run

    def wrong(*arguments):
        run = honest(*arguments)
        return replace(run, cost={**run.cost, "total_usd": 1.001 * np.asarray(run.cost["total_usd"])})

    monkeypatch.setattr(vectors_module, "closed_run", wrong)
    found = [row["cost.total_usd"] for row in run_chunk(chunk)]
    assert found == pytest.approx([row["cost.total_usd"] for row in truth], rel=1e-9)


def test_what_cannot_run_and_what_cannot_be_are_rows_with_reasons(tmp_path):
    path = study_file(
        tmp_path, "fleet.count: [0, 64], training.pretrain.model: [llama-3.1-8b, llama-3.1-405b]"
    )
    rows = run_chunk(chunk_of(path))
    assert {row["status"] for row in rows} == {"feasible", "infeasible", "invalid"}
    for row in rows:
        assert (row["cost.total_usd"] is None) == (row["status"] in ("infeasible", "invalid"))
        assert bool(row["reason"]) == (row["status"] != "feasible")


def test_a_sweep_says_how_many_points_cannot_run_and_why(tmp_path, capsys):
    path = study_file(tmp_path, "training.pretrain.model: [llama-3.1-8b, llama-3.1-405b]")
    assert command(["sweep", str(path), "--executor", "none"]) == 0
    assert "1 of them cannot run; most often: pretrain: no layout fits" in capsys.readouterr().out
    assert command(["sweep", str(path), "--executor", "none", "--resume", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["reused"] == 2 and summary["statuses"] == {"feasible": 1, "infeasible": 1}


def test_a_wide_heat_map_is_shades_alone_on_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("COLUMNS", "60")
    found = {
        "across": "x",
        "down": "y",
        "shown": "days",
        "columns": list(range(40)),
        "lines": [1, 2],
        "values": [[float(x) for x in range(40)], [None, *[39.0] * 39]],
    }
    show_grid(found)
    first, second = [line for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert first.split("│")[1][0] == "▁" and first.split("│")[1][-1] == "█" and len(first.split("│")[1]) == 40
    assert second.split("│")[1] == "·" + "█" * 39


def test_samples(tmp_path):
    grid = read_study(
        study_file(tmp_path, "fleet.count: [64, 64, 128], reliability.detection: [1 min, 2 min]")
    )
    assert grid.combinations() == [(64, "1 min"), (64, "2 min"), (128, "1 min"), (128, "2 min")]
    two = "fleet.count: [64, 128], reliability.detection: [1 min, 2 min]"
    pairs = read_study(study_file(tmp_path, two, "sampling: list\n"))
    assert pairs.combinations() == [(64, "1 min"), (128, "2 min")]
    axes = "reliability.detection: {from: 1 min, to: 600 s}, prices.discount_rate: {from: 1 %, to: 9 %}"
    latin = read_study(study_file(tmp_path, axes, "sampling: latin-hypercube\npoints: 50\nseed: 3\n"))
    found = latin.combinations()
    minutes = np.sort([float(value.split()[0]) for value, _ in found])
    np.testing.assert_array_equal(
        np.floor((minutes - 1) / 9 * 50 + 1e-9), np.arange(50)
    )  # one in each of 50 slices
    assert latin.combinations() == found
    random = read_study(study_file(tmp_path, axes, "sampling: random\npoints: 20\n"))
    assert len(random.combinations()) == 20


def test_axes_of_both_kinds():
    assert is_number("prices.electricity") and is_number("reliability.detection")
    assert not is_number("fleet.count") and not is_number("training.pretrain.layout.tp")


@pytest.mark.parametrize(
    ("axes", "more", "words"),
    [
        ("fleet.count: 3", "", "study.yaml:2:21: axes.fleet.count: is neither a list nor a range; write [1, 2]"),
        ("fleet.count: {from: 1, to: 2}", "", "axes.fleet.count.steps: is missing; write steps: 5"),
        ("reliability.detection: {from: 1 s, to: 2 GB, steps: 3}", "", "are not one unit"),
        ("reliability.detection: {from: 0 s, to: 2 s, steps: 3, log: true}", "", "needs ends above zero"),
        ("fleet.count: [1]", "sampling: sobol\n", "write one of grid, list, random, latin-hypercube"),
        ("fleet.count: [1, 2], prices.discount_rate: [1 %]", "sampling: list\n", "unequal length: fleet.count 2"),
        ("fleet.count: {from: 1, to: 2}", "sampling: list\n", "a range has no place in a list"),
        ("fleet.count: [1]", "point: 3\n", "point: unknown key; write points"),
        ("fleet.count: [1]", "points: -3\n", "no whole number from 1"),
        ("", "", "axes: is no mapping of fields"),
    ],
)  # fmt: skip
def test_faults_of_a_study_name_their_place(axes, more, words, tmp_path):
    with pytest.raises(ScenarioError) as error:
        read_study(study_file(tmp_path, axes, more))
    assert words in str(error.value)


def test_an_axis_that_is_no_field_ends_the_sweep_before_it_starts(tmp_path):
    study = read_study(study_file(tmp_path, "fleet.cuont: [64]"))
    with pytest.raises(ScenarioError, match="write count"):
        sweep(study, tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    study = read_study(study_file(folder, STRUCTURE))
    summary = sweep(study, folder / "whole")
    return study, folder / "whole", summary


def test_an_interrupted_sweep_continues_to_the_same_bytes(finished, tmp_path):
    study, whole, summary = finished
    assert summary.points == summary.computed == 48 and summary.chunks == 3

    def stop(done, total):
        if done >= 16:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(study, tmp_path / "r", progress=stop)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "r").glob("chunk-*")}
    assert len(kept) == 1
    with pytest.raises(FactError, match="--resume"):
        sweep(study, tmp_path / "r")
    again = sweep(study, tmp_path / "r", resume=True)
    assert again.computed == 32 and again.reused == 16
    assert content(tmp_path / "r") == content(whole)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())  # nothing was done twice


def test_a_half_written_chunk_does_not_count(finished, tmp_path):
    study, whole, _ = finished
    sweep(study, tmp_path / "r")
    victim = sorted((tmp_path / "r").glob("chunk-*"))[1]
    victim.rename(victim.with_suffix(".partial"))
    assert sweep(study, tmp_path / "r", resume=True).computed == 16
    assert content(tmp_path / "r") == content(whole)
    assert not list((tmp_path / "r").glob("*.partial"))


def test_another_studys_folder_is_refused(finished, tmp_path):
    study, whole, _ = finished
    with pytest.raises(FactError, match="holds another study"):
        sweep(replace(study, seed=5), whole, resume=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("do not touch", encoding="utf-8")
    with pytest.raises(FactError, match="is not empty"):
        sweep(study, tmp_path / "mine")


def test_show_finds_fronts_grids_and_slopes(finished):
    _, whole, _ = finished
    _, table = show.rows(whole)
    able = [row for row in table if row["status"] == "feasible"]
    assert len(table) == 48 and len(able) > 10
    kept = show.front(table, ["days", "total_usd"])
    for row in kept:
        assert not any(
            other["training.0.schedule.days.nominal"] < row["training.0.schedule.days.nominal"]
            and other["cost.total_usd"] < row["cost.total_usd"]
            for other in able
        )
    grid = show.grid(table, "fleet.count", "global_batch", "days")
    assert len(grid["columns"]) == 16 and len(grid["lines"]) == 3
    _, ordered = show.rows(whole, "days", 5)
    days = [row["training.0.schedule.days.nominal"] for row in ordered]
    assert days == sorted(days) and len(days) == 5
    columns, answer = show.query(whole, "SELECT count(*) AS n FROM results")
    assert columns == ["n"] and answer == [(48,)]
    with pytest.raises(FactError, match="--sql"):
        show.query(whole, "SELEC 1")
    with pytest.raises(FactError, match="no column 'dayz'"):
        show.front(table, ["dayz", "usd"])


def test_the_slope_of_known_curves():
    rows = [{"n": float(n), "training.0.schedule.days.nominal": 100.0 / n**0.9} for n in (1, 2, 4, 8)]
    found = show.scaling(rows, "n", "days")
    assert found["slope_per_doubling"] == pytest.approx(2**-0.1 - 1)
    assert [point["efficiency"] for point in found["points"]] == pytest.approx(
        [n**-0.1 for n in (1, 2, 4, 8)]
    )
    perfect = [{"n": n, "mfu": 0.4} for n in (8, 16)]
    assert show.scaling(perfect, "n", "mfu")["slope_per_doubling"] == pytest.approx(0.0)


def test_the_command_sweeps_and_shows(tmp_path, capsys):
    path = study_file(tmp_path, "fleet.count: [64, 128, 256], reliability.detection: [1 min, 5 min]")
    assert command(["sweep", str(path), "--executor", "none", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["points"] == 6 and summary["schema"] == "argosy.sweep/1"
    folder = summary["results"]
    for options, words in (
        ([], "USD"),
        (["--heat", "count,detection,days"], "detection down"),
        (["--scaling", "count,days"], "with every doubling"),
        (["--pareto", "days,usd"], "USD"),
        (["--sql", "SELECT max(point) AS last FROM results"], "last"),
    ):
        assert command(["sweep", "show", folder, *options]) == 0
        assert words in capsys.readouterr().out
    assert (
        command(["sweep", "show", folder, "--scaling", "count,days", "--picture", str(tmp_path / "s.svg")])
        == 0
    )
    assert "with every doubling" in (tmp_path / "s.svg").read_text(encoding="utf-8")
    capsys.readouterr()
    assert command(["sweep", "show", folder, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 6
    assert command(["sweep", "show", str(tmp_path)]) == 1
    assert command(["sweep", str(path), "--executor", "warp"]) == 1
    assert "processes:N" in capsys.readouterr().err
