"""`argosy validate` on the project's own table of published runs, and on what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import argosy.validation
from argosy.validation import validate
from argosy.validation.rows import Row
from argosy.validation.runs import predict_row
from argosy.validation.summary import statistics

OWN = Path(argosy.validation.__file__).parent / "data" / "runs.csv"
KORTHIKANTI = {
    "row_id": "k", "source": "Korthikanti et al. 2022, table 5", "model": "megatron-22B", "seq_len": "2048",
    "accelerator": "A100 80GB SXM (Selene)", "n_gpus": "8", "tp": "8", "pp": "1", "mbs": "4", "gbs_seqs": "4",
    "recompute": "selective + sequence parallel", "precision": "float16", "framework": "Megatron-LM",
    "step_time_s": "1.1",
}  # fmt: skip


@pytest.fixture(scope="module")
def own():
    return validate(OWN)


def test_a_published_step_is_predicted_with_its_reasons():
    row = predict_row(Row(KORTHIKANTI))
    assert row["status"] == "ok"
    assert abs(row["error"]) < 0.12
    assert row["p05"] < row["predicted_step_time_s"] < row["p95"]
    assert sum(row["breakdown_s"].values()) == pytest.approx(row["predicted_step_time_s"])
    assert any("stack megatron-2021" in remark for remark in row["remarks"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "Nemotron_3_Nano"}, "Mamba"),
        ({"seq_len": ""}, "incomplete"),
        ({"gbs_seqs": "", "mbs": ""}, "incomplete"),
        ({"n_gpus": "12"}, "divide"),
        ({"accelerator": "abacus"}, "catalog"),
        ({"kind": "lora"}, "LoRA"),
        ({"model": "GPT ?B"}, "not known by name"),
    ],
)
def test_rows_that_cannot_be_predicted_say_why(change, reason):
    row = predict_row(Row({**KORTHIKANTI, **change}))
    assert row["status"] == "skipped"
    assert reason in row["reason"]


def test_an_impossible_layout_without_a_time_is_out_of_memory():
    row = predict_row(Row({**KORTHIKANTI, "model": "megatron-1T", "step_time_s": ""}))
    assert row["status"] == "oom"


def test_the_project_s_own_table_is_predicted(own):
    """The shipped table holds a row per model, format and device of each source; most rows must be
    predicted.
    """
    assert own["schema"] == "argosy.validate/1"
    status = own["summary"]["status"]
    assert status["skipped"] <= 0.1 * len(own["rows"])
    for row in own["rows"]:
        assert row["status"] in ("ok", "oom", "skipped")
        assert row["status"] != "skipped" or row["reason"]
    dense = own["summary"]["source"]["Korthikanti et al. 2022 (arXiv:2205.05198), table 5"]
    assert dense["mape"] < 0.10
    assert own["summary"]["all"]["mape"] < 0.15  # mixtures of experts and Blackwell within it


def test_statistics_are_what_they_say():
    rows = [
        {"error": e, "measured_step_time_s": 1.0, "p05": 0.9, "p95": 1.1}
        | ({"measured_step_time_s": 2.0} if e > 0.2 else {})
        for e in (-0.1, 0.1, 0.3)
    ]
    found = statistics(rows)
    assert found["n"] == 3
    assert found["mape"] == pytest.approx(0.5 / 3)
    assert found["bias"] == pytest.approx(0.1)
    assert found["coverage_90"] == pytest.approx(2 / 3)
    assert statistics([])["mape"] is None


def test_the_command_prints_the_payload_and_refuses_other_files(tmp_path):
    small = tmp_path / "runs.csv"
    lines = OWN.read_text(encoding="utf-8").splitlines()
    small.write_text("\n".join(lines[:3]) + "\n", encoding="utf-8")
    run = [sys.executable, "-c", "from argosy.cli.main import main; main()", "validate"]
    done = subprocess.run([*run, str(small), "--json"], capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)["rows"]) == 2
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    refused = subprocess.run([*run, str(other)], capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "lacks the columns" in refused.stderr


def test_published_runs_beside_the_checkout(shared_directory):
    """Dense runs on A100 and H100: what the accuracy report promises, with some air."""
    table = shared_directory / "data" / "published_runs.csv"
    if not table.is_file():
        pytest.skip("no published_runs.csv in ../shared/data")
    payload = validate(table)
    rows = [row for row in payload["rows"] if not row["flag"]]
    assert sum(row["status"] == "skipped" for row in rows) <= 0.1 * len(rows)
    dense = statistics(
        row for row in rows if row["status"] == "ok" and row["grade"] in ("measured-like", "interpolated")
        and ("100" in row["accelerator"])
    )  # fmt: skip
    assert dense["mape"] < 0.065
    assert abs(dense["bias"]) < 0.03
    assert 0.84 < dense["coverage_90"] < 0.96


def test_memory_rows_beside_the_checkout(shared_directory):
    table = shared_directory / "data" / "memory_measurements.csv"
    if not table.is_file():
        pytest.skip("no memory_measurements.csv in ../shared/data")
    payload = validate(table)
    seen = [row for row in payload["rows"] if row["status"] != "skipped"]
    assert statistics(seen)["mape"] < 0.05
    assert sum(row["measured_oom"] and row["status"] == "oom" for row in seen) >= 3
