"""argosy facility: the contract's keys, sums that close, a cap that slows the step, a tree that the verdict knows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import argosy
from argosy.cli.main import application
from argosy.planning.facility import facility_payload

SMALL = """
name: small
fleet: {accelerator: H100-SXM, count: 256, spares: {nodes: 2}}
training:
  {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok,
   layout: {tp: 2, pp: 4, vp: 2, micro_batch: 1}}
facility: {site: us-texas, cooling: air}
"""
AIR = "facility: {site: us-texas, cooling: air"


@cache
def answered(text: str = SMALL) -> dict:
    return facility_payload(argosy.loads(text), draws=100)


@cache
def planned(text: str) -> dict:
    return argosy.plan(argosy.loads(text), draws=100).to_dict()


def with_facility(more: str) -> str:
    return SMALL.replace(AIR, f"{AIR}, {more}")


def by_boundary(payload: dict) -> dict[str, dict]:
    return {row["boundary"]: row for row in payload["power"]}


def parts(tree: dict) -> list[dict]:
    return [tree] + [part for child in tree["children"] for part in parts(child)]


def test_the_keys_of_the_contract() -> None:
    payload = answered()
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload
    assert payload["schema"] == "argosy.facility/1"
    for key in (
        "tree",
        "trips_first",
        "waveform",
        "cooling",
        "tco",
        "carbon",
        "water",
        "verdict",
        "facts_date",
    ):
        assert payload[key] is not None, key
    for part in parts(payload["tree"]):
        assert {"name", "rating_w", "load_w", "children"} <= set(part)
    assert {"dt_s", "w", "swing_w", "ramp_w_per_s", "dominant_hz"} <= set(payload["waveform"])
    assert {"class", "liquid_fraction", "pue_by_month"} <= set(payload["cooling"])
    assert {"lines", "usd_per_gpu_hour"} <= set(payload["tco"])
    assert len(payload["cooling"]["pue_by_month"]) == 12
    band = payload["cooling"]["pue_quantiles"]
    assert 1 < band["p10"] <= band["p50"] <= band["p90"]
    assert payload["trips_first"] in [row["name"] for row in payload["levels"]]


def test_the_same_numbers_as_the_plan() -> None:
    payload, plan = answered(), planned(SMALL)
    assert payload["tree"]["drawn_w"] == pytest.approx(plan["facility"]["facility_peak_w"], rel=1e-9)
    feed = payload["levels"][0]
    assert feed["mean_w"] + feed["loss_mean_w"] == pytest.approx(
        plan["facility"]["facility_mean_w"], rel=1e-3
    )
    assert payload["cooling"]["pue"] == pytest.approx(plan["facility"]["pue"])
    assert np.mean(payload["cooling"]["pue_by_month"]) == pytest.approx(plan["facility"]["pue"])
    assert sum(line["usd"] for line in payload["tco"]["lines"]) == pytest.approx(plan["cost"]["total_usd"])


def test_heat_out_is_power_in() -> None:
    balance = answered()["cooling"]["balance"]
    heat = sum(balance[f"heat_{where}_w"] for where in ("by_liquid", "by_air", "of_plant", "outdoors"))
    assert heat == pytest.approx(balance["meter_w"], rel=1e-12)


def test_the_waveform_draws_what_the_phases_draw() -> None:
    payload, plan = answered(), planned(SMALL)
    wave = payload["waveform"]
    assert wave["dt_s"] <= 0.01
    assert len(wave["w"]) * wave["dt_s"] == pytest.approx(
        plan["training"][0]["step_time_s"]["nominal"], rel=1e-6
    )
    assert np.mean(wave["w"]) == pytest.approx(wave["mean_w"])
    # The event simulation and the step model's breakdown agree on what a step draws.
    busy_mean = payload["levels"][-1]["mean_w"]
    assert wave["mean_w"] == pytest.approx(busy_mean, rel=0.03)
    assert 0 < wave["swing_w"] < by_boundary(payload)["IT: nodes, spares, network, storage"]["measured_w"]
    assert 0.1 <= wave["dominant_hz"] <= 20
    kinds = [event["kind"] for event in wave["life"]["events"]]
    assert kinds == ["steps", "checkpoint", "steps", "failure", "restart", "steps"]
    assert wave["life"]["largest_step_w"] > wave["swing_w"]
    assert {row["name"] for row in wave["mitigations"]} >= {
        "none",
        "power floor",
        "dummy load",
        "storage",
        "staggering",
    }


def test_a_binding_cap_slows_the_step_and_saves_energy() -> None:
    free, capped = planned(SMALL), planned(with_facility("power_cap: 450 W"))
    slower = capped["training"][0]["step_time_s"]["nominal"] / free["training"][0]["step_time_s"]["nominal"]
    # 450 of 700 W, a quarter static: the clock is (275/525)^(1/3); compute alone follows it.
    clock = (275 / 525) ** (1 / 3)
    compute = free["training"][0]["breakdown_s"]["compute"] / free["training"][0]["step_time_s"]["nominal"]
    assert 1 < slower < 1 / clock
    assert slower == pytest.approx(1 + compute * (1 / clock - 1), rel=0.06)
    assert capped["facility"]["it_mean_w"] < free["facility"]["it_mean_w"]
    # Hosts draw as before for longer: a mild cap saves energy, a hard one need not.
    mild = planned(with_facility("power_cap: 600 W"))
    assert mild["facility"]["energy_kwh"] < free["facility"]["energy_kwh"]
    assert "clock" in " ".join(capped["verdict"]["reasons"])
    loose = planned(with_facility("power_cap: 700 W"))
    assert loose["training"][0]["step_time_s"] == free["training"][0]["step_time_s"]


def test_capped_many_against_uncapped_few() -> None:
    cap = answered()["power_cap"]
    whole = cap["rows"][0]
    assert whole["gain"]["nominal"] == pytest.approx(0.0, abs=1e-12)
    fleets = [row["accelerators"] for row in cap["rows"]]
    assert fleets == sorted(fleets)
    for row in cap["rows"]:
        assert row["accelerators"] * row["facility_w_per_accelerator"] <= cap["envelope_w"] * (1 + 1e-9)
        per_fleet = row["tokens_per_s"] / whole["tokens_per_s"] - 1
        assert per_fleet == pytest.approx(row["gain"]["nominal"], abs=0.06)  # whole nodes
        assert row["gain"]["p10"] <= row["gain"]["p50"] <= row["gain"]["p90"]
    assert "accelerators capped at" in cap["answer"] or "no cap" in cap["answer"]


def test_a_breaker_that_is_too_small_is_no_feasible_plan() -> None:
    small = planned(with_facility("power_tree: {pdu: {rating: 100 kW, count: 4}}"))
    assert small["verdict"]["status"] == "violates"
    assert small["verdict"]["binding"] == "power tree: pdu"
    assert sum("pdu: the peak" in reason for reason in small["verdict"]["reasons"]) == 1
    large = planned(with_facility("power_tree: {pdu: {rating: 100 kW, count: 8}}"))
    assert large["verdict"]["status"] == "feasible"


@pytest.mark.parametrize("rating", [30, 60, 90, 120, 150, 200])
def test_no_feasible_verdict_has_an_exceeded_breaker(rating: int) -> None:
    text = with_facility(
        f"power_tree: {{pdu: {{rating: {rating} kW, count: 4}}, rack: 26 kW}}, envelope: 520 kW"
    )
    payload = answered(text)
    broken = [row for row in payload["levels"] if row["margin"] < -1e-9]
    assert bool(broken) == (payload["verdict"]["status"] != "feasible")


def test_an_existing_hall_answers_with_reasons() -> None:
    weak = planned(with_facility("hall: {racks: 10, rack_cooling: 12 kW, rack_power: 17 kW}"))
    assert weak["verdict"]["status"] == "violates"
    assert weak["verdict"]["binding"] == weak["verdict"]["reasons"][0].partition("; ")[0]
    assert weak["verdict"]["margin"] is None  # the memory that is left says nothing about racks
    assert any("34 racks are needed, the hall has 10" in reason for reason in weak["verdict"]["reasons"])
    strong = planned(with_facility("hall: {racks: 40, rack_cooling: 12 kW, rack_power: 17 kW}"))
    assert strong["verdict"]["status"] == "feasible"
    assert strong["facility"]["racks"] == 34


def test_a_given_pue_overrides_the_climate() -> None:
    payload = answered(with_facility("pue: 1.3"))
    assert payload["cooling"]["pue_by_month"] == [1.3] * 12
    assert payload["cooling"]["pue_origin"] == "given in the scenario"
    assert payload["tree"]["drawn_w"] == pytest.approx(
        1.3 * by_boundary(payload)["IT: nodes, spares, network, storage"]["capped_w"], rel=1e-3
    )


def test_the_command_prints_its_answer_and_its_json(tmp_path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    runner = CliRunner()
    shown = runner.invoke(application("facility"), ["facility", str(file), "--draws", "100"])
    assert shown.exit_code == 0, shown.output
    for word in ("Power by boundary", "trips first", "Racks", "Cooling", "Waveform", "Power cap"):
        assert word in shown.output
    printed = runner.invoke(application("facility"), ["facility", str(file), "--json", "--draws", "100"])
    assert json.loads(printed.stdout)["schema"] == "argosy.facility/1"


def test_the_page_has_its_pictures_and_asks_nothing_of_the_network(tmp_path) -> None:
    from argosy.report.facility_html import facility_html

    page = facility_html(answered())
    assert page.count("<svg") == 6
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "src=" not in page
    for word in ("Power tree at the peak", "Spectrum", "PUE by month", "Power cap", "Assumptions"):
        assert word in page


def test_cables_at_the_packing_of_the_racks() -> None:
    rows = answered()["racks"]["cabling"]
    hosts = next(row for row in rows if row["boundary"] == "host-leaf")
    # 32 servers and two spares, eight cards each.
    assert sum(hosts["parts"].values()) == hosts["cables"] == 272
    assert hosts["racks_per_leaf"] == np.ceil(hosts["hosts_per_leaf"] / answered()["racks"]["nodes_per_rack"])
    for row in rows:
        assert row["fits"]
        assert row["reach_m"] >= row["longest_m"]
    short = planned(with_facility("hall: {cable_reach_m: 3}"))
    assert short["verdict"]["status"] == "violates"
    assert any("longer than the 3 m that the hall allows" in reason for reason in short["verdict"]["reasons"])


def test_retrofit_says_what_the_hall_carries() -> None:
    assert answered()["retrofit"] is None
    hall = answered(with_facility("hall: {racks: 10, rack_cooling: 24 kW, rack_power: 26 kW}"))["retrofit"]
    assert not hall["fits"]
    assert hall["racks_needed"] == 17
    assert (hall["carries_accelerators"], hall["wanted_accelerators"]) == (160, 272)
    assert hall["use"]["cooling"] == pytest.approx(20.4 / 24)
    assert hall["use"]["power"] == pytest.approx(20.4 / (0.8 * 26))
    roomy = answered(with_facility("hall: {racks: 30, rack_cooling: 24 kW, rack_power: 26 kW}"))["retrofit"]
    assert roomy["fits"]
    assert roomy["reasons"] == []
    hot = answered(with_facility("hall: {racks: 90, rack_cooling: 9 kW}"))["retrofit"]
    assert hot["carries_accelerators"] == 0
    assert "can shed" in hot["reasons"][0]


def test_a_ramp_that_the_utility_does_not_accept() -> None:
    tight = planned(with_facility("ramp_limit: 1 kW/s"))
    assert tight["verdict"]["status"] == "violates"
    assert tight["verdict"]["binding"] == "ramp that the utility accepts"
    loose = answered(with_facility("ramp_limit: 5 MW/s"))
    assert loose["verdict"]["status"] == "feasible"
    assert loose["waveform"]["mitigations"][0]["within_limit"] is True


def test_a_schedule_without_a_simulated_order_still_has_a_waveform(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = answered()["waveform"]

    def refuses(*_: object, **__: object) -> None:
        raise ValueError("interleaving needs micro-batches in multiples of the ranks")

    monkeypatch.setattr("argosy.planning.power_trace.simulate_layout", refuses)
    wave = facility_payload(argosy.loads(SMALL), draws=100)["waveform"]
    assert wave["mean_w"] == pytest.approx(simulated["mean_w"], rel=0.05)
    assert wave["swing_w"] > 0
    assert len(wave["w"]) * wave["dt_s"] == pytest.approx(wave["period_s"])


def test_what_cannot_run_has_no_facility_and_exits_with_2(tmp_path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text(SMALL.replace("tp: 2, pp: 4, vp: 2", "tp: 2, pp: 64, vp: 1"))
    result = CliRunner().invoke(application("facility"), ["facility", str(file), "--json", "--draws", "100"])
    assert result.exit_code == 2
    payload = json.loads(result.stdout)
    assert payload["tree"] is None
    assert payload["verdict"]["status"] == "infeasible"


def test_a_unit_without_a_spare_is_refused_with_its_place() -> None:
    with pytest.raises(argosy.spec.ScenarioError, match="500 has no unit"):
        argosy.loads(with_facility("power_tree: {pdu: 500}"))
    with pytest.raises(argosy.spec.ScenarioError, match="one unit has no 2N"):
        argosy.loads(with_facility("power_tree: {ups: {rating: 1 MW, count: 1, redundancy: 2N}}"))
    alone = planned(with_facility("power_tree: {ups: {rating: 1 MW, count: 1}}"))
    assert alone["verdict"]["status"] == "feasible"


def test_the_fields_of_the_documentation_load() -> None:
    page = (Path(__file__).parents[2] / "docs" / "facility.md").read_text(encoding="utf-8")
    block = page.split("```yaml\n")[1].split("```")[0]
    head = SMALL.split("facility:")[0]
    scenario = argosy.loads(head + block)
    assert scenario.facility.power_tree.ups.count == 20
    assert scenario.facility.hall.racks == 400


def test_joules_per_token_are_power_over_tokens() -> None:
    """Of the uncapped fleet: what the waveform draws in a step, over the step's tokens."""
    whole, wave = answered()["power_cap"]["rows"][0], answered()["waveform"]
    tokens = planned(SMALL)["training"][0]["tokens_per_s"] * wave["period_s"]
    spares = 2 * 1900.0  # idle nodes are in the waveform and not in the comparison
    per_token = (wave["mean_w"] - spares) * answered()["cooling"]["pue"] * wave["period_s"] / tokens
    assert whole["joules_per_token"] == pytest.approx(per_token, rel=0.04)


def test_levels_add_up_from_devices_to_it() -> None:
    rows = by_boundary(answered())
    for level in ("measured_w", "capped_w"):
        devices = 34 * rows["node at its inlet"][level]
        devices += rows["switches and optics"][level] + rows["storage and management"][level]
        assert rows["IT: nodes, spares, network, storage"][level] == pytest.approx(devices)
    assert rows["switches and optics"]["nameplate_w"] >= rows["switches and optics"]["measured_w"]
    assert rows["accelerator board"]["sources"]["nameplate"]
    assert "arXiv 2412.08602" in rows["node at its inlet"]["sources"]["measured"]
    assert rows["rack of nodes"]["capped_w"] == answered()["racks"]["rack_w"]
