"""The fit of the step model: recovers numbers that made the times, keeps sources whole, ships what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import argosy.validation
from argosy.training import stack_facts
from argosy.training.kernels.fitted import steps_table
from argosy.validation import fit_mixtures, fit_steps, step_parameters
from argosy.validation.rows import Row, read_table

OWN = Path(argosy.validation.__file__).parent / "data" / "runs.csv"
TWO = tuple(
    p
    for p in fit_steps.PARAMETERS
    if p.where in ("device.sustained_clock.ampere", "attention.score_traffic.unfused.ampere")
)


@pytest.fixture(scope="module")
def found():
    rows = [
        row
        for row in read_table(OWN)[1]
        if "Korthikanti" in row.text("source") or "Narayanan" in row.text("source")
    ]
    return fit_steps.samples(rows, fit_steps.dense_on_measured_devices)


def test_the_fit_recovers_numbers_that_made_the_times(found):
    truth = np.array([0.88, 1.2])
    made = np.exp(fit_steps.log_errors(found, TWO, truth[:, None])[:, 0])
    samples = [
        replace(s, case=replace(s.case, measured_s=s.case.measured_s * ratio))
        for s, ratio in zip(found, made, strict=True)
    ]
    loose = tuple(replace(p, width=10 * p.width) for p in TWO)
    values, errors = fit_steps.fit(samples, loose, spread=0.005)
    assert values == pytest.approx(truth, rel=0.02)
    assert (errors > 0).all()


def test_without_data_the_prior_stands(found):
    values, errors = fit_steps.fit(found, TWO, spread=1e6)
    assert values == pytest.approx([p.start for p in TWO], rel=1e-3)
    assert errors == pytest.approx([p.width for p in TWO], rel=1e-3)


def test_sources_weigh_as_the_root_of_their_rows(found):
    weights = fit_steps.weights(found)
    for source in {s.source for s in found}:
        own = np.array([s.source == source for s in found])
        assert np.sum(weights[own] ** 2) == pytest.approx(np.sqrt(own.sum()))


def test_the_shipped_table_is_complete_and_used():
    table = steps_table()
    numbers = table["numbers"]
    for parameter in (*fit_steps.PARAMETERS, *step_parameters.MIXTURES):
        for path in parameter.paths:
            entry = numbers[path]
            assert parameter.low <= entry["low"] <= entry["value"] <= entry["high"] <= parameter.high
            if path.startswith("stacks."):
                assert stack_facts()[path].value == entry["value"]
    aside = table["errors"]["dense, A100 and H100"]["aside"]
    fitted = table["errors"]["dense, A100 and H100"]["fitted"]
    assert aside["mape"] < 0.06 and abs(aside["bias"]) < 0.025
    everything = table["errors"]["all dense"]
    assert everything["aside"]["n"] >= 0.24 * (everything["aside"]["n"] + everything["fitted"]["n"])
    assert fitted["n"] > 400
    mixtures = table["errors"]["mixtures of experts"]
    assert mixtures["aside"]["n"] >= 0.25 * (mixtures["aside"]["n"] + mixtures["fitted"]["n"])
    assert mixtures["aside"]["mape"] < 0.13


def test_containers_that_the_second_stage_never_sees():
    def sample(framework, source):
        row = Row({"framework": framework, "source": source})
        return SimpleNamespace(source=source, case=SimpleNamespace(row=row))

    bridge = "Megatron-Bridge performance summary"
    assert not fit_mixtures.aside(sample("Megatron-Bridge 26.02 NeMo Container", bridge))
    assert fit_mixtures.aside(sample("Megatron-Bridge 26.02.01 NeMo Container", bridge))
    assert fit_mixtures.aside(sample("torchtitan", "torchtitan benchmarks"))
    assert not fit_mixtures.aside(sample("Megatron-Core", "Megatron-MoE-ModelZoo Qwen3"))
