"""Every chart of an answer goes to a folder, as SVG and as PNG."""

from __future__ import annotations

import pytest

from argosy.cli.main import run as command
from argosy.report.pictures import pictures

SCENARIO = """name: small
fleet: {accelerator: H100-SXM, count: 64}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 256 sequences}
"""


def test_a_plans_charts_are_written(tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    assert (
        command(["plan", str(tmp_path / "s.yaml"), "--draws", "100", "--pictures", str(tmp_path / "p")]) == 0
    )
    names = {path.stem for path in (tmp_path / "p").iterdir()}
    assert {
        "ledger",
        "intervals",
        "pretrain-step",
        "pretrain-memory",
        "pretrain-layouts",
        "compute-fabric",
    } == names
    for path in (tmp_path / "p").glob("*.svg"):
        assert path.read_text(encoding="utf-8").startswith("<svg")
    for path in (tmp_path / "p").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_what_cannot_run_has_no_picture_and_other_answers_are_not_drawn():
    infeasible = {"schema": "argosy.plan/1", "headline": [], "training": [], "fabrics": [], "ledger": None}
    assert pictures(infeasible) == {}
    assert pictures({"schema": "argosy.serving/1", "fleet": None}) == {}
    with pytest.raises(KeyError):
        pictures({"schema": "argosy.claims/1"})


def test_every_chart_keeps_vega_lites_schema():
    """The charts are made without this check: it takes most of the time of making one."""
    from argosy.planning import plan
    from argosy.planning.facility import facility_payload
    from argosy.planning.simulation import simulate
    from argosy.report.charts import specification
    from argosy.spec import loads

    scenario = loads(SCENARIO)
    for answer in (plan(scenario, 100).payload, facility_payload(scenario), simulate(scenario, 50)):
        drawn = pictures(answer)
        assert len(drawn) > 4
        for chart in drawn.values():
            chart.to_dict(validate=True)
            config = specification(chart)["config"]
            assert config["view"]["stroke"] is None and config["background"] == "transparent"
