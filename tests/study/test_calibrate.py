"""Calibration: facts that synthetic measurements were made with are found again, and a plan gets nearer to them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import argosy
from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.planning.context import context
from argosy.planning.job import plan_job
from argosy.study import calibrate
from argosy.study.fit import fit, log_evidence
from argosy.study.measurements import read

FLEET = "fleet: {accelerator: H100-SXM, count: 1024}\n"
JOB = "training: {model: llama-3.1-70b, tokens: 1e12, sequence_length: 8192, global_batch: 4 Mtok, stack: megatron-core"
CLOCK = "training.sustained_clock.hopper"
WIRE = "transports.infiniband.delivered"
# What the user knows beforehand: little about the clock and the fabric, the shipped bands of all the rest.
UNSURE = {
    CLOCK: "{value: 0.87, low: 0.75, high: 0.99, source: a guess}",
    WIRE: "{value: 0.8, low: 0.4, high: 0.95, source: a guess}",
}
TRUE = {CLOCK: 0.8, WIRE: 0.5}


def facts(changes: dict) -> str:
    return "{" + ", ".join(f"{path}: {value}" for path, value in changes.items()) + "}"


SCENARIO = f"name: measured\n{FLEET}{JOB}}}\nassumptions: {{overrides: {facts(UNSURE)}}}\n"
LAYOUTS = [
    {"tp": 4, "pp": 4, "micro_batch": 1, "recompute": "none"},
    {"tp": 8, "pp": 1, "micro_batch": 1, "recompute": "none"},
    {"tp": 8, "pp": 2, "micro_batch": 1, "recompute": "selective"},
    {"tp": 8, "pp": 4, "vp": 2, "micro_batch": 1, "recompute": "none"},
    {"tp": 2, "pp": 8, "micro_batch": 1, "recompute": "full"},
]


def table(path: Path, rows: list[dict]) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    return path


def planned_step(layout: dict, overrides: str = facts(UNSURE)) -> float:
    """The planner's step time of one layout: the way from a scenario's facts to seconds that a user takes."""
    fields = ", ".join(f"{name}: {value}" for name, value in {"vp": 1, "cp": 1, "zero": 1, **layout}.items())
    text = f"name: one\n{FLEET}{JOB}, layout: {{{fields}}}}}\nassumptions: {{overrides: {overrides}}}\n"
    scenario = argosy.loads(text)
    planned = plan_job(context(scenario), scenario.training[0])
    return float(planned.main.nominal.step_s[0])


def measured(overrides: str, noise: float = 0.0, seed: int = 0) -> list[dict]:
    """What a fleet with changed facts would have measured."""
    factors = np.exp(np.random.default_rng(seed).normal(0, noise, len(LAYOUTS)))
    return [
        {**layout, "step_time_s": planned_step(layout, overrides) * factor}
        for layout, factor in zip(LAYOUTS, factors, strict=True)
    ]


@pytest.fixture(scope="module")
def slow_clock_and_wire() -> list[dict]:
    return measured(facts(TRUE), noise=0.005)


@pytest.fixture(scope="module")
def loop(slow_clock_and_wire, tmp_path_factory) -> tuple[dict, Path]:
    """The command on synthetic measurements: its JSON, and the overrides file that it wrote."""
    place = tmp_path_factory.mktemp("loop")
    (place / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    measurements, overrides = table(place / "m.csv", slow_clock_and_wire), place / "calibration.yaml"
    arguments = [str(measurements), "--scenario", str(place / "s.yaml"), "--noise", "0.01", "--json"]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert command(["calibrate", *arguments, "--output", str(overrides)]) == 0
    return json.loads(shown.getvalue()), overrides


def test_the_changed_facts_are_found_and_no_others(loop):
    answer, _ = loop
    assert answer["schema"] == "argosy.calibrate/1" and {"before", "after", "warnings"} <= set(answer)
    assert {fact["path"] for fact in answer["facts"]} == {CLOCK, WIRE}
    for path, true in TRUE.items():
        found = answer["overrides"][path]
        assert found["low"] <= true <= found["high"]
        assert found["value"] == pytest.approx(true, rel=0.05)
    assert answer["after"]["mape"] < 0.02 < 0.05 < answer["before"]["mape"]
    assert answer["left_out"]["mape"] < 0.5 * answer["before"]["mape"]


def test_the_loop_closes_through_files(loop):
    """measurements → command → overrides file → scenario → plan: a layout that was not measured gets nearer."""
    answer, overrides = loop
    other = {"tp": 8, "pp": 8, "micro_batch": 2, "recompute": "selective"}
    true = planned_step(other, facts(TRUE))
    calibrated = planned_step(other, str(overrides))
    assert abs(calibrated / true - 1) < 0.25 * abs(planned_step(other) / true - 1)
    loaded = argosy.loads(f"name: again\n{FLEET}{JOB}}}\nassumptions: {{overrides: {overrides}}}\n")
    assert context(loaded).values[CLOCK] == pytest.approx(answer["overrides"][CLOCK]["value"], rel=1e-12)


def test_measurements_that_agree_move_nothing(tmp_path):
    answer = calibrate(table(tmp_path / "m.csv", measured(facts(UNSURE), noise=0.02)), argosy.loads(SCENARIO))
    assert answer["facts"] == [] and set(answer["overrides"]) == set(UNSURE) and answer["warnings"] == []
    assert answer["after"] == answer["before"]


def test_contradictions_and_broken_bands_are_warned_of(tmp_path):
    rows = measured(facts({**UNSURE, CLOCK: 0.5}))
    rows.append({**rows[0], "step_time_s": 1.5 * rows[0]["step_time_s"]})
    warnings = calibrate(table(tmp_path / "m.csv", rows), argosy.loads(SCENARIO))["warnings"]
    assert any("lines 2 and 7 contradict each other" in each and "50% apart" in each for each in warnings)
    assert any(each.startswith(f"{CLOCK} leaves its band") for each in warnings)


def test_memory_is_calibrated_beside_time(tmp_path):
    rows = measured(facts(UNSURE))
    scenario = argosy.loads(SCENARIO)
    fragmentation = "memory.megatron-core.fragmentation"
    changed = argosy.loads(SCENARIO.replace(facts(UNSURE), facts({**UNSURE, fragmentation: 0.08})))
    from argosy.study.predict import Predictor

    runs, _ = read(
        table(tmp_path / "m.csv", [{**row, "peak_bytes": 1} for row in rows]), scenario.training[0], 1024
    )
    peaks = np.exp(Predictor(context(changed), changed.training[0], runs)({})[len(rows) :])
    filled = [{**row, "peak_bytes": peak} for row, peak in zip(rows, peaks, strict=True)]
    answer = calibrate(table(tmp_path / "m2.csv", filled), scenario)
    assert answer["overrides"][fragmentation]["value"] == pytest.approx(0.08, rel=0.1)
    assert answer["after"]["memory"]["mape"] < 0.3 * answer["before"]["memory"]["mape"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tp,pp\n8,1\n", "no column step_time_s"),
        ("step_time_s\n5\n", "no layout columns"),
        ("tp,step_time_s\n8,five\n", "m.csv:2: step_time_s is 'five'; write a number"),
        ("tp,step_time_s\n8,-1\n", "above zero"),
        ("tp,step_time_s\n8,\n", "neither step_time_s nor tokens_per_s"),
        ("tp,step_time_s\n3,5\n", "not the run's 1,024 accelerators"),
        ("tp,gpus,step_time_s\n3,768,5\n", "attention heads do not divide"),
        ("tp,recompute,step_time_s\n8,some,5\n", "write one of none, selective, full"),
        ("tp,step_time_s,tokens_per_s\n8,5,5\n", "correct one"),
        ("tp,step_time_s\n", "has no rows"),
    ],
)
def test_faulty_tables_are_refused_in_words(text, words, tmp_path):
    (tmp_path / "m.csv").write_text(text, encoding="utf-8")
    with pytest.raises(FactError, match=words):
        calibrate(tmp_path / "m.csv", argosy.loads(SCENARIO))


def test_tokens_per_second_is_a_step_time(tmp_path):
    scenario = argosy.loads(SCENARIO)
    rows, _ = read(table(tmp_path / "m.csv", [{"tp": 8, "tokens_per_s": 2**20}]), scenario.training[0], 1024)
    assert rows[0].step_s == pytest.approx(4.0) and rows[0].layout.dp[0] == 128


def test_evidence_is_the_density_of_a_joint_normal():
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(0)
    matrix, residual, sigma = rng.normal(size=(6, 2)), rng.normal(size=6), rng.uniform(0.5, 2, 6)
    oracle = multivariate_normal(np.zeros(6), np.diag(sigma**2) + matrix @ matrix.T).logpdf(residual)
    assert log_evidence(residual, matrix, sigma) == pytest.approx(oracle, rel=1e-12)


def test_two_facts_that_do_the_same_are_told_apart_by_nobody():
    def predict(moved):
        return np.full(4, 0.2 * (moved.get("a", 0) + moved.get("b", 0))) + 0.01 * moved.get("c", 0)

    found = fit(predict, np.full(4, 0.4), np.full(4, 0.05), ["a", "b", "c"], 4)
    (only,) = found.z
    assert set(found.instead[only]) == {"a", "b"} - {only}
    # One fact alone: the mode of a normal prior and n normal measurements, in closed form.
    assert found.z[only] == pytest.approx(4 * 0.2 * 0.4 / 0.05**2 / (1 + 4 * 0.2**2 / 0.05**2), rel=1e-3)


def test_a_fact_at_the_end_of_its_range_is_not_chosen():
    """What is never hidden cannot be hidden less: the other fact takes the blame although it explains less."""

    def predict(moved):
        pull = 0.3 * np.maximum(moved.get("never", 0.0), 0.0) * np.ones(6)
        return pull + 0.1 * moved.get("other", 0.0) * np.array([1, 1, 1, 1, 1, 0.5])

    found = fit(predict, np.full(6, -0.2), np.full(6, 0.03), ["never", "other"], 6)
    assert set(found.z) == {"other"} and found.z["other"] < 0
    assert found.instead == {}
