"""The whole plan: sums close, quantiles are ordered, what cannot run is a verdict, the same seed gives the same answer."""

from __future__ import annotations

import json

import numpy as np
import pytest

import argosy
from argosy.facts import FactError
from argosy.ledger import Ledger
from argosy.planning.account import three_shares
from argosy.planning.context import context

SMALL = """
name: small
fleet: {accelerator: H100-SXM, count: 256, spares: {nodes: 2}}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok}
"""
DRAWS = 200


def planned(text: str = SMALL, **changes: str) -> dict:
    for old, new in changes.items():
        text = text.replace(old, new)
    return argosy.plan(argosy.loads(text), draws=DRAWS).to_dict()


@pytest.fixture(scope="module")
def small() -> dict:
    return planned()


def test_the_payload_is_json_without_nan(small: dict):
    assert json.loads(json.dumps(small, allow_nan=False)) == small


def test_breakdown_sums_to_the_step(small: dict):
    job = small["training"][0]
    assert sum(job["breakdown_s"].values()) == pytest.approx(job["step_time_s"]["nominal"], rel=1e-12)
    assert sum(job["compute_parts_s"].values()) == pytest.approx(job["breakdown_s"]["compute"], rel=1e-9)


def test_the_ledger_is_all_the_time_of_all_accelerators(small: dict):
    tree = Ledger.from_dict(small["ledger"])  # refuses a tree that does not close
    accelerators = 256 + 2 * 8
    days = small["training"][0]["schedule"]["days"]["nominal"]
    assert tree.amount == pytest.approx(days * 86400 * accelerators, rel=1e-9)
    assert small["training"][0]["schedule"]["gpu_hours"]["nominal"] == pytest.approx(
        tree.amount / 3600, rel=1e-9
    )


def test_useful_time_is_six_n_tokens_at_peak(small: dict):
    """The ledger's useful line, recomputed from the payload's own N, tokens and peak."""
    mfu, tree = small["training"][0]["mfu"], Ledger.from_dict(small["ledger"])
    useful = tree.find("useful: 6·N·tokens at peak")
    assert useful is not None
    assert useful.amount == pytest.approx(6 * mfu["parameters"] * 1e11 / mfu["peak_flops"], rel=1e-3)


def test_productive_share_is_ettr(small: dict):
    tree = Ledger.from_dict(small["ledger"])
    steps = tree.find("productive steps")
    spares = tree.find("spares standing by")
    assert steps is not None and spares is not None
    ettr = small["training"][0]["goodput"]["ettr"]["nominal"]
    assert steps.amount / (tree.amount - spares.amount) == pytest.approx(ettr, rel=1e-9)


def test_three_shares_sum_to_the_whole(small: dict):
    assert sum(small["three_shares"].values()) == pytest.approx(small["ledger"]["amount"])
    assert three_shares(Ledger.from_dict(small["ledger"])) == small["three_shares"]


def test_quantiles_are_ordered_everywhere(small: dict):
    found = []

    def walk(value):
        if isinstance(value, dict):
            if {"p10", "p50", "p90"} <= set(value):
                found.append(value)
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(small)
    assert len(found) > 10
    assert all(each["p10"] <= each["p50"] <= each["p90"] for each in found)


def test_cost_lines_sum_and_energy_is_power_times_time(small: dict):
    cost, site = small["cost"], small["facility"]
    assert sum(line["usd"] for line in cost["lines"]) == pytest.approx(cost["total_usd"])
    hours = small["training"][0]["schedule"]["days"]["nominal"] * 24
    assert site["energy_kwh"] == pytest.approx(site["facility_mean_w"] / 1e3 * hours, rel=1e-9)
    assert site["facility_mean_w"] == pytest.approx(site["it_mean_w"] * site["pue"])
    assert site["it_mean_w"] < site["it_peak_w"]


def test_layout_multiplies_and_fits(small: dict):
    job = small["training"][0]
    layout, memory = job["layout"], job["memory_bytes"]
    assert layout["tp"] * layout["pp"] * layout["cp"] * layout["dp"] == layout["gpus"] == 256
    assert memory["peak_allocated"] <= memory["peak_reserved"] <= memory["capacity"]
    parts = sum(
        memory[key] for key in ("weights", "gradients", "optimizer", "activations", "buffers", "overhead")
    )
    assert parts == pytest.approx(memory["peak_reserved"], rel=1e-9)


def test_the_same_seed_gives_the_same_answer(small: dict):
    again = planned()
    for plan in (small, again):
        plan["training"][0]["search"]["seconds"] = 0.0
    assert again == small


def test_a_rack_with_spares_inside_is_a_smaller_domain():
    text = (
        "name: r\nfleet: {accelerator: GB200, count: 4096}\n"
        "training: {model: llama-3.1-70b, tokens: 1e12, sequence_length: 8192, global_batch: 2048 sequences}\n"
    )
    whole = argosy.plan(argosy.loads(text), draws=10)
    spared = argosy.plan(argosy.loads(text + "reliability: {rack_spares: {of: 72, needed: 64}}\n"), draws=10)
    assert any("72 accelerators divides few layouts" in note for note in whole.payload["notes"])
    assert not any("divides few layouts" in note for note in spared.payload["notes"])
    assert spared.payload["training"][0]["layout"]["gpus"] == 4096


def test_another_seed_moves_quantiles_but_not_the_nominal(small: dict):
    other = argosy.plan(argosy.loads(SMALL), draws=DRAWS, seed=1).to_dict()
    days, others = small["training"][0]["schedule"]["days"], other["training"][0]["schedule"]["days"]
    assert others["nominal"] == days["nominal"]
    assert others["p50"] != days["p50"]


def test_a_model_that_does_not_fit_is_infeasible_with_a_way_out():
    plan = planned(**{"llama-3.1-8b": "llama-3.1-405b", "count: 256": "count: 8", "2 Mtok": "32 sequences"})
    verdict = plan["verdict"]
    assert verdict["status"] == "infeasible"
    assert verdict["binding"] == "memory per accelerator"
    assert verdict["margin"] < 0
    assert any("more accelerators" in reason for reason in verdict["reasons"])


def test_an_undividable_layout_is_infeasible_with_reasons():
    plan = planned(**{"2 Mtok": "2 Mtok, layout: {tp: 64}"})
    assert plan["verdict"]["status"] == "infeasible"
    assert plan["verdict"]["binding"] == "layout"
    assert any("attention heads" in reason for reason in plan["verdict"]["reasons"])


def test_an_envelope_that_is_too_small_is_violated_not_infeasible():
    plan = planned(SMALL + "facility: {envelope: 100 kW}\n")
    assert plan["verdict"]["status"] == "violates"
    assert plan["verdict"]["binding"] == "power envelope of the site"
    assert plan["verdict"]["margin"] < 0


def test_two_jobs_run_one_after_the_other():
    text = SMALL.replace("training: {name: pretrain,", "training:\n  - {name: first,").rstrip("\n")
    second = text.splitlines()[-1].replace("first", "second")
    both = planned(f"{text}\n{second}\n")
    days = [job["schedule"]["days"]["nominal"] for job in both["training"]]
    assert both["ledger"]["amount"] == pytest.approx(sum(days) * 86400 * 272, rel=1e-9)
    assert [child["name"] for child in both["ledger"]["children"]] == ["first", "second"]


def test_overrides_change_facts_and_inline_facts_do_too():
    slower = SMALL + "assumptions: {overrides: {accelerators.H100-SXM.memory_bandwidth: 2 TB/s}}\n"
    inline = SMALL.replace("accelerator: H100-SXM", "accelerator: {name: H100-SXM, memory_bandwidth: 2 TB/s}")
    base = planned()["training"][0]["step_time_s"]["nominal"]
    changed = [planned(text)["training"][0]["step_time_s"]["nominal"] for text in (slower, inline)]
    assert changed[0] == pytest.approx(changed[1])
    assert changed[0] > base


def test_unknown_stack_names_the_known_ones():
    with pytest.raises(FactError, match="megatron-core"):
        planned(**{"name: pretrain,": "name: pretrain, stack: megatronn,"})


def test_draws_centre_on_the_nominal_step():
    """Facts and residual have their centre at the nominal step; the median of draws may not wander from it."""
    step = planned()["training"][0]["step_time_s"]
    assert np.log(step["p50"] / step["nominal"]) == pytest.approx(0.0, abs=0.06)


def test_facts_of_the_step_model_are_overridden_like_any_other():
    def numbers(overrides: str):
        return context(argosy.loads(SMALL + f"assumptions: {{overrides: {overrides}}}")).values

    path = "training.sustained_clock.hopper"
    values = numbers(f"{{{path}: {{value: 0.7, low: 0.65, high: 0.75}}, stacks.generic.host_layer_s: 2 ms}}")
    assert values[path] == 0.7 and values.facts[path].low == 0.65 and values.facts[path].unit == ""
    assert values["stacks.generic.host_layer_s"] == pytest.approx(2e-3)
    with pytest.raises(FactError, match=r"did you mean training\.sustained_clock\.hopper"):
        numbers("{training.sustained_clock.hoper: 0.7}")


def test_a_job_that_never_finishes_is_infeasible_and_says_where_its_time_goes():
    for section in ("maintenance: {per_day: 60, duration: 30 min}", "overrides: {gpu: {mttf: 1 s}}"):
        plan = planned(SMALL + f"reliability: {{{section}}}\n")
        assert plan["verdict"]["status"] == "infeasible"
        assert "never finishes" in plan["verdict"]["reasons"][0]
        assert plan["ledger"] is None


@pytest.mark.parametrize("length", [512, 2048])
def test_short_sequences_have_layouts(length: int):
    assert planned(**{"8192": str(length)})["verdict"]["status"] == "feasible"
