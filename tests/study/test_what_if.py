"""A plan at given layouts is the plan's own nominal, whatever else changes; the map of layouts holds every shape once."""

from __future__ import annotations

import pytest
from sweep_cases import SCENARIO

from argosy.facts import FactError
from argosy.planning import plan
from argosy.planning.job import NothingFitsError
from argosy.spec import loads
from argosy.study.layout_map import layout_map
from argosy.study.what_if import at_layouts
from argosy.training.search import OUT_OF_MEMORY

FREE = SCENARIO.partition(", layout:")[0].rstrip() + "}\n"


@pytest.mark.parametrize(
    "change", [{}, {"reliability.detection": "20 min"}, {"prices.accelerator_hour": "9 USD/h"}]
)
def test_it_is_the_plan_at_that_layout(change):
    scenario = loads(SCENARIO, changes=change)
    whole = plan(scenario, draws=100).payload
    layouts = {job["name"]: [stage["layout"] for stage in job["stages"]] for job in whole["training"]}
    quick = at_layouts(loads(FREE, changes=change), layouts)
    for a, b in zip(quick["headline"], whole["headline"], strict=True):
        assert a["nominal"] == pytest.approx(b["nominal"], rel=1e-12) and a["p50"] is None
    assert quick["ledger"] == whole["ledger"]
    assert quick["scenario"]["hash"] == loads(FREE, changes=change).hash


def test_layouts_that_do_not_fit_are_told_as_such():
    scenario = loads(FREE)
    (stage,) = plan(scenario, draws=100).payload["training"][0]["stages"]
    alone = {**stage["layout"], "tp": 1, "pp": 1, "cp": 1, "zero": 1, "recompute": "none", "micro_batch": 4}
    large = loads(FREE.replace("llama-3.1-8b", "llama-3.1-70b"))
    with pytest.raises(NothingFitsError, match="no layout fits"):
        at_layouts(large, {"pretrain": [alone]})
    with pytest.raises(FactError, match="1 stages, but 2 layouts"):
        at_layouts(scenario, {"pretrain": [alone, alone]})


def test_the_map_names_every_shape_once_and_why_it_is_out():
    found = layout_map(loads(FREE))
    shapes = [(cell["tp"], cell["pp"]) for cell in found["cells"]]
    assert len(shapes) == len(set(shapes)) and {1, 2, 4, 8} <= {tp for tp, _ in shapes}
    reasons = {cell["reason"] for cell in found["cells"]}
    assert None in reasons and len(reasons) > 1
    best = max(cell.get("mfu", 0.0) for cell in found["cells"])
    mfu = plan(loads(FREE), draws=100).payload["training"][0]["mfu"]["parameters_only"]
    assert best == pytest.approx(mfu, rel=0.01)  # the plan's ties are ordered by their event schedule


def test_what_does_not_fit_says_how_much_it_needs():
    found = layout_map(
        loads(FREE.replace("llama-3.1-8b", "llama-3.1-405b").replace("count: 64", "count: 16"))
    )
    full = [cell for cell in found["cells"] if cell["reason"] == OUT_OF_MEMORY]
    assert full and all(cell["peak_bytes"] > found["capacity_bytes"] for cell in full)
