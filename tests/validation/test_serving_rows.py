"""Serving rows: what they mean, what they are told apart by, and that the validation answers as the contract says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from argosy.serving import ReplicaLayout
from argosy.serving.engine import FITTED, engines_table
from argosy.validation import validate
from argosy.validation.fit_serving import batches, described, log_errors, running, sigma, with_numbers
from argosy.validation.models import Skipped
from argosy.validation.rows import Row, read_table
from argosy.validation.serving_accuracy import document
from argosy.validation.serving_cases import _layout, serving_case
from argosy.validation.serving_contradictions import SAME, mark_contradicted
from argosy.validation.serving_flags import flag
from argosy.validation.serving_groups import held_out
from argosy.validation.serving_parameters import PARAMETERS

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "published_serving.csv"
COLUMNS = (
    "kind,engine,model,gpu,precision,parallel,n_gpus,isl,osl,concurrency,metric,value,output_tok_s_per_gpu,"
    "ttft_ms,tpot_ms,source"
)
LAYOUT = "tp{0}.0 pp1.0 adp1.0 moe_tp{0}.0 moe_ep1.0"
# Made up: no measurement of anybody's.
ROWS = (
    f"closed_loop_concurrency,vllm 1 agg,Llama-3.1-8B,h100_sxm,bf16,{LAYOUT.format(1)},,1000,500,8,,,,90,8,made up",
    f"closed_loop_concurrency,,Llama-3.1-70B,h200_sxm,fp8,{LAYOUT.format(2)},,1000,500,16,,,,200,20,m id=x_sglang_y",
    f"closed_loop_concurrency,vllm 1 agg,Llama-3.1-8B,h100_sxm,bf16,{LAYOUT.format(1)},,1000,500,64,,,,90000,8,made up id=b",
    f"closed_loop_concurrency,vllm 1 agg,Llama-3.1-8B,h100_sxm,bf16,{LAYOUT.format(1)},,15000,100,400,,,,50,1,made up id=c",
    "closed_loop_concurrency,vllm 1 agg,Llama-3.1-8B,h100_sxm,bf16,,,1000,500,64,,,,90,8,made up",
    "closed_loop_concurrency,vllm 1 disagg,Llama-3.1-8B,h100_sxm,bf16,,,1000,500,64,,,,90,8,made up",
    f"closed_loop_concurrency,vllm 1 agg,Qwen/Qwen3.5-397B-A17B,h100_sxm,fp8,{LAYOUT.format(8)},,1000,500,64,,,,90,8,made up",
    "max_throughput_offline,TensorRT-LLM,Llama 3.1 8B,H100,FP8,TP1,1.0,1000,1000,,,15000,15000,,,made up",
    f"closed_loop_concurrency,vllm 1 agg,Llama-3.1-405B,h100_sxm,bf16,{LAYOUT.format(1)},,1000,500,64,,,,90,8,made up",
    "production_fleet,DeepSeek,DeepSeek-V3/R1,H800,,,,,,,avg_nodes,226,,,,made up",
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "serving.csv"
    path.write_text("\n".join((COLUMNS, *ROWS)) + "\n", encoding="utf-8")
    return path


def test_validate_answers_with_the_contracts_keys(table: Path) -> None:
    payload = validate(table)
    json.dumps(payload)
    rows = payload["rows"]
    assert payload["kind"] == "serving"
    assert [row["status"] for row in rows] == [
        "ok", "ok", "ok", "ok", "skipped", "skipped", "skipped", "ok", "oom", "skipped",
    ]  # fmt: skip
    for row in rows:
        if row["status"] == "ok":
            for key in row["errors"]:
                expected = row[f"predicted_{key}"] / row[f"measured_{key}"] - 1
                assert row["errors"][key] == pytest.approx(expected)
            assert row["p05"] < row[f"predicted_{row['metric']}"] < row["p95"]
        else:
            assert row["reason"]
    assert rows[1]["framework"] == "sglang", "told by the test's name where the column is empty"
    assert rows[7]["metric"] == "output_tok_s_per_gpu"
    summary = payload["summary"]
    for name in ("source", "accelerator", "framework", "scale", "grade", "metric", "model"):
        assert summary[name]
    assert summary["all"].keys() == {"n", "mape", "bias", "p90_abs", "coverage_90"}
    assert summary["all"]["n"] == 3
    assert summary["flagged"]["n"] == 2


def test_rows_that_contradict_themselves_are_flagged(table: Path) -> None:
    cases = [serving_case(row) for row in read_table(table)[1][:4]]
    assert [bool(flag(case)) for case in cases] == [False, False, True, True]
    assert "batch limit is not stated" in flag(cases[2])
    assert "several replicas" in flag(cases[3])


def test_more_clients_and_less_time_is_a_contradiction() -> None:
    def row(row_id: str, clients: float, tpot: float, flagged: str | None = None) -> dict[str, object]:
        same = dict.fromkeys(SAME, "x")
        own = {
            "row_id": row_id,
            "status": "ok",
            "concurrency": clients,
            "measured_tpot_ms": tpot,
            "flag": flagged,
        }
        return {**same, **own}

    rows = [row("a", 8, 10.0), row("b", 16, 30.0), row("c", 32, 15.0), row("d", 64, 5.0, "queued")]
    mark_contradicted(rows)
    assert [each["contradicted"] for each in rows] == [None, "c", None, None]
    assert all(each["in_mixed_series"] for each in rows), "one of three scored rows"
    longer = [{**row(f"l{i}", 8 * i, 10.0 + i), "input_tokens": "y"} for i in range(1, 4)]
    mark_contradicted([*rows, *longer])
    assert not any(each["in_mixed_series"] for each in longer), (
        "one of six, of equal settings but for the lengths"
    )


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("TP4", ReplicaLayout(tp=4)),
        ("DEP8", ReplicaLayout(dp=8, ep=8)),
        ("tp8.0 pp1.0 adp1.0 moe_tp1.0 moe_ep8.0", ReplicaLayout(tp=8, ep=8)),
        ("tp64.0 pp1.0 adp1.0 moe_tp8.0 moe_ep8.0", ReplicaLayout(tp=8, ep=8)),
        ("tp1.0 pp1.0 adp64.0 moe_tp8.0 moe_ep8.0", ReplicaLayout(dp=8, ep=8)),
        ("tp4.0 pp1.0 adp4.0 moe_tp1.0 moe_ep16.0", ReplicaLayout(dp=4, ep=4)),
        ("tp2.0 pp1.0 adp0.0 moe_tp0.0 moe_ep0.0", ReplicaLayout(tp=2)),
    ],
)
def test_layouts_as_columns_write_them(text: str, layout: ReplicaLayout) -> None:
    assert _layout(text)[0] == layout


def test_offline_maxima_are_runs_of_so_many_requests_and_mixtures_spread_their_experts() -> None:
    """Three of TensorRT-LLM's overview, with made-up results."""
    header = COLUMNS.split(",")
    cells = "max_throughput_offline,TensorRT-LLM,{},H100,FP8,{},1.0,{},{},,,9,9,,,x"
    dense, mixture, other = (
        serving_case(Row(dict(zip(header, cells.format(*row).split(","), strict=True))))
        for row in (
            ("Llama 3.1 8B", "TP1", 128, 4096),
            ("Llama 4 Maverick", "TP8", 1000, 1000),
            ("Llama 3.1 8B", "TP2", 77, 99),
        )
    )
    assert (dense.requests, mixture.requests, other.requests) == (1500, 3000, math.inf)
    assert mixture.provider.layout == ReplicaLayout(dp=8, ep=8)
    assert other.provider.layout == ReplicaLayout(tp=2)
    assert mixture.max_tokens == 8 * 2048
    with pytest.raises(ValueError, match="closed loops and finite runs"):
        running(dense.provider, dense.provider.engine, 1, 1, 1, np.array([1, math.inf]))


def test_layouts_beyond_a_host_or_unreadable_are_skipped() -> None:
    with pytest.raises(Skipped, match="more than the 8 accelerators of one host"):
        _layout("tp16.0 pp1.0 adp1.0 moe_tp16.0 moe_ep1.0")
    with pytest.raises(Skipped, match="does not say adp"):
        _layout("tp16.0 moe_tp16.0 moe_ep1.0")


def test_the_fit_never_sees_the_groups_set_aside(table: Path) -> None:
    rows = read_table(table)[1]
    seen = {batch.provider.device.name for batch in batches(rows, False)}
    aside = {batch.provider.device.name for batch in batches(rows, True)}
    assert seen == {"H100-SXM"}
    assert aside == {"H200-SXM"}
    assert held_out(Row({"source": "x @03e27c7d5ff0"}), serving_case(rows[0]))


def test_slower_engines_make_errors_larger_and_bands_reach_nine_of_ten(table: Path) -> None:
    batch = next(b for b in batches(read_table(table)[1], False) if b.cases[0].measured.get("tpot_ms"))
    quick, slow = (
        log_errors(batch, {"any.kernel_s": k, "vllm.step_s": 1e-3})["tpot_ms"] for k in (1e-6, 1e-5)
    )
    assert (slow > quick).all()
    engine = with_numbers(
        batch.provider.engine, {"any.kernel_s": 7.0, "sglang.step_s": 9.0, "vllm.step_s": 8.0}
    )
    assert (engine.kernel_s, engine.step_s) == (7.0, 8.0)
    errors = np.random.default_rng(0).normal(0, 0.2, 20_000)
    assert sigma(errors) == pytest.approx(0.2, rel=0.03)
    assert described(np.log([1.1, 0.9]))["mape"] == pytest.approx(0.1)


def test_the_shipped_table_has_every_number_its_command_and_its_errors() -> None:
    shipped = engines_table()
    assert shipped["generated_by"].startswith("python -m argosy.validation.fit_serving")
    assert set(shipped["parameters"]) == {p.path for p in PARAMETERS}
    assert {p.field for p in PARAMETERS} == set(FITTED)
    for parameter in PARAMETERS:
        entry = shipped["parameters"][parameter.path]
        assert entry["low"] <= entry["value"] <= entry["high"]
        assert entry["value"] <= parameter.most
    residuals = shipped["residuals"]
    assert (
        residuals["measured-like"]["decode"]
        <= residuals["interpolated"]["decode"]
        <= residuals["extrapolated"]["decode"]
    )


def test_the_page_names_misses_parameters_and_what_was_left_out(table: Path) -> None:
    page = document(table)
    for words in ("## Misses", "any.kv_efficiency", "several replicas", "linear attention", "set aside"):
        assert words in page


@pytest.mark.slow
@pytest.mark.skipif(
    not PUBLISHED.is_file(), reason="../shared/data/published_serving.csv is not beside the checkout"
)
def test_published_rows_stay_within_what_the_page_says() -> None:
    payload = validate(PUBLISHED)
    rows = [row for row in payload["rows"] if row["status"] == "ok"]
    assert len(rows) > 1500
    assert all(math.isfinite(row["error"]) for row in rows)
    found = payload["summary"]["metric"]
    assert found["tpot_ms"]["fitted"]["mape"] < 0.11
    assert found["tpot_ms"]["set_aside"]["mape"] < 0.12
    assert found["ttft_ms"]["set_aside"]["mape"] < 0.30
    assert found["output_tok_s_per_gpu"]["set_aside"]["mape"] < 0.18
    for row in rows:
        if row["metric"] == "tpot_ms" and not row["flag"]:
            assert row["p05"] < row["p95"]
