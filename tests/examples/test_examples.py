"""Every shipped example loads and plans; its figures agree with each other and with physics."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from argosy.planning import plan
from argosy.spec import check_assertions, load

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.yaml"))


def ledger_gaps(node, path=""):
    """Nodes of the ledger whose children do not sum to them."""
    children = node.get("children") or []
    total = sum(child["amount"] for child in children)
    if children and not math.isclose(total, node["amount"], rel_tol=1e-6, abs_tol=1.0):
        yield f"{path}/{node['name']}"
    for child in children:
        yield from ledger_gaps(child, f"{path}/{node['name']}")


SERVICES = [path for path in EXAMPLES if path.stem.startswith("serving-")]


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_service_plans(path):
    scenario = load(path)
    answer = plan(scenario).to_dict()
    assert answer["verdict"]["status"] == "feasible", answer["verdict"]
    assert not list(ledger_gaps(answer["ledger"]))
    for entry in answer["serving"]:
        assert all(check["holds"] for check in entry["checks"]), entry["checks"]
        assert all(promise["met"] for promise in entry["objectives"])
        assert 0.9 < entry["fleet"]["slo_attainment"] <= 1.0
        assert (
            0
            < entry["cost"]["usd_per_million_input_tokens"]
            < entry["cost"]["usd_per_million_output_tokens"]
            < 50
        )
    assert all(result.holds for result in check_assertions(scenario, answer))


@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path not in SERVICES], ids=lambda path: path.stem
)
def test_example_plans(path):
    answer = plan(load(path), draws=100).to_dict()
    assert answer["verdict"]["status"] == "feasible", answer["verdict"]
    job = answer["training"][0]
    assert sum(s or 0 for s in job["breakdown_s"].values()) == pytest.approx(job["step_time_s"]["nominal"])
    assert not list(ledger_gaps(answer["ledger"]))
    assert 0.05 < job["mfu"]["parameters_only"] < 0.7
    days = job["schedule"]["days"]
    assert 0 < days["p10"] <= days["p50"] <= days["p90"]
    assert job["memory_bytes"]["peak_allocated"] <= job["memory_bytes"]["capacity"]
    layout = job["layout"]
    assert layout["tp"] * layout["pp"] * layout["cp"] * layout["dp"] == layout["gpus"]
    assert answer["cost"]["total_usd"] > 0
    per_accelerator = answer["facility"]["facility_mean_w"] / layout["gpus"]
    assert 100 < per_accelerator < 3000  # W, from a TPU at part load to a GB200 with its rack and cooling
