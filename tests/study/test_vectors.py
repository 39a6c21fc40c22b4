"""What may be vectorised: rows of one run equal plans one by one, at interior points too, and verdicts are the plan's."""

from __future__ import annotations

import pytest
from sweep_cases import study_file

from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.planning import plan
from argosy.spec import load
from argosy.study.axes import read_study
from argosy.study.points import Chunk, alone
from argosy.study.store import results
from argosy.study.sweep import sweep
from argosy.study.vectors import Vectors, run_chunk

DETECTION = "reliability.detection: {from: 30 s, to: 10 min, steps: 12}"


def chunk_of(path) -> Chunk:
    study = read_study(path)
    axes = tuple(axis.path for axis in study.axes)
    return Chunk(
        str(study.scenario), axes, study.outputs, study.draws, tuple(enumerate(study.combinations()))
    )


def test_spares_that_the_planner_settles_follow_every_point(tmp_path):
    """First and last point share their repair time, so that neither would show that spares differ in between."""
    # 1 d … 60 d, 1 d: the number of spare nodes that suffice is a step function of it
    days = [1, *range(2, 60, 3), 60, 2, 1]
    seconds = [30 + i for i in range(len(days))]
    axes = (
        f"reliability.repair.time: [{', '.join(f'{each} d' for each in days)}], "
        f"reliability.detection: [{', '.join(f'{each} s' for each in seconds)}]"
    )
    chunk = chunk_of(study_file(tmp_path, axes, "sampling: list\n"))
    rows = run_chunk(chunk)
    middle = len(days) // 2 + 3
    assert rows[middle] == alone(chunk, *chunk.points[middle])
    assert len({row["cost.total_usd"] for row in rows}) == len(rows)


@pytest.mark.parametrize(
    "axis",
    [
        "reliability.repair.time: [1 d, 2 d]",  # spares
        "reliability.give_up_after: [0, 1]",  # a whole number, and lives that are simulated
        "facility.power_cap: [400 W, 600 W]",  # the clock
        "prices.spot_interruptions: [0.1 1/day, 0.2 1/day]",  # failures
        "assumptions.overrides.accelerators.H100-SXM.memory_capacity: [60 GB, 80 GB]",  # what fits
        "facility.hall.racks: [2, 200]",  # verdicts in words
    ],
)
def test_structure_is_planned_one_by_one(axis, tmp_path):
    assert Vectors.of(chunk_of(study_file(tmp_path, f"{axis}, {DETECTION}"))) is None


def test_facts_of_the_step_are_numbers_at_one_layout_alone(tmp_path):
    clock = "assumptions.overrides.training.sustained_clock.hopper: [0.8, 0.9]"
    path = study_file(tmp_path, f"{clock}, {DETECTION}")
    assert Vectors.of(chunk_of(path)) is not None
    scenario = tmp_path / "small.yaml"
    scenario.write_text(scenario.read_text().replace("micro_batch: 1, ", ""), encoding="utf-8")
    assert Vectors.of(chunk_of(path)) is None  # another clock may choose another micro-batch
    assert Vectors.of(chunk_of(study_file(tmp_path / "b", DETECTION))) is not None


def test_a_rows_status_is_the_plans(tmp_path):
    path = study_file(
        tmp_path,
        "facility.hall.racks: [2, 200], fleet.storage.capacity: [1 GB, 1 PB], training.pretrain.precision.compute: [bf16, fp4]",
    )
    chunk = chunk_of(path)
    found = set()
    for row, (_, values) in zip(run_chunk(chunk), chunk.points, strict=True):
        scenario = load(chunk.scenario, changes=dict(zip(chunk.axes, values, strict=True)))
        if values[2] == "fp4":
            assert row["status"] == "infeasible" and "fp4" in row["reason"]
            continue
        verdict = plan(scenario, draws=100).verdict
        assert row["status"] == verdict.status
        found.add(verdict.status)
    assert found == {"feasible", "violates"}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("training.7.schedule.days.nominal", "no job '7'"),
        ("facility.peak", "facility.peak is no number of the plan"),
        ("facility.pue_by_month", "is no number of the plan"),
        ("training.pretrain.layout", "is not a single value"),
        ("training.pretrain.foo", "has no 'foo'"),
    ],
)
def test_an_output_that_no_plan_has_is_bad_input(path, words, tmp_path, capsys):
    study = study_file(tmp_path, "fleet.count: [64]", f"outputs: [{path}]\ndraws: 100\n")
    assert command(["sweep", str(study), "--executor", "none"]) == 1
    assert words in capsys.readouterr().err
    corrected = study_file(tmp_path, "fleet.count: [64]")
    assert command(["sweep", str(corrected), "--executor", "none"]) == 0  # nothing was kept of the first


def test_an_output_that_does_not_apply_is_empty(tmp_path):
    chunk = chunk_of(study_file(tmp_path, "fleet.count: [64]", "outputs: [facility.envelope_margin]\n"))
    (row,) = run_chunk(chunk)
    assert row["facility.envelope_margin"] is None and row["status"] == "feasible"


def test_a_damaged_chunk_is_told_and_planned_again(tmp_path):
    study = read_study(study_file(tmp_path, "fleet.count: [64, 128]"))
    sweep(study, tmp_path / "r")
    (chunk,) = (tmp_path / "r").glob("chunk-*")
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FactError, match="--resume plans its points again"):
        results(tmp_path / "r")
    assert sweep(study, tmp_path / "r", resume=True).computed == 2
    assert chunk.read_bytes() == whole


@pytest.mark.parametrize(
    ("axes", "more", "words"),
    [
        ("fleet.count: []", "", "axes.fleet.count: is an empty list"),
        ("fleet.count: {from: .nan, to: 5, steps: 3}", "", "nan is no number"),
        ("prices.discount_rate: {from: 0, to: .inf, steps: 3}", "", "inf is no number"),
    ],
)
def test_axes_without_values(axes, more, words, tmp_path, capsys):
    assert command(["sweep", str(study_file(tmp_path, axes, more)), "--executor", "none"]) == 1
    assert words in capsys.readouterr().err


def test_a_scenario_that_is_no_name(tmp_path, capsys):
    for command_name in ("sweep", "recommend"):
        (tmp_path / "q.yaml").write_text("scenario: [a.yaml]\naxes: {fleet.count: [1]}\n", encoding="utf-8")
        assert command([command_name, str(tmp_path / "q.yaml"), "--executor", "none"]) == 1
        told = capsys.readouterr().err
        assert "scenario: is no file's name" in told and "Node(" not in told
