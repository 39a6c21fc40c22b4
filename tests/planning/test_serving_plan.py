"""Services in plans: the contract's keys, promises, prices, one budget with training, and what is told of what cannot be."""

import json

import numpy as np
import pytest

from argosy import loads
from argosy.cli import main as cli
from argosy.facts import FactError
from argosy.ledger import Ledger
from argosy.planning import plan
from argosy.planning.serving import own_assertions, serving_payload
from argosy.planning.shared import elastic_hours, gpus_by_hour, hourly_load
from argosy.planning.together import well_divided
from argosy.spec import ScenarioError, check_assertions

CHAT = """
name: test
fleet: {accelerator: H100-SXM, count: 64}
serving:
  name: chat
  model: llama-3.1-8b
  traffic: {rate: 12 req/s, input: {mean: 900}, output: {mean: 150}, duration: 5 min}
  replica: {tp: 1}
  objectives: {ttft_p99: 1 s, tpot_p95: 30 ms, e2e_p95: 60 s}
assert:
  - serving.chat.replica.ttft_s.p99 <= 1 s
  - serving.chat.fleet.gpus <= 64
"""
TRAINING = "training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 1 Mtok}\n"


@pytest.fixture(scope="module")
def chat() -> dict:
    return serving_payload(loads(CHAT), seeds=2, step_times=True)


def test_the_contract(chat):
    assert chat["schema"] == "argosy.serving/1"
    replica, fleet, cost = chat["replica"], chat["fleet"], chat["cost"]
    assert {"layout", "prefill_tokens_per_s", "ttft_s", "tpot_s", "max_batch", "kv_bytes_per_token"} <= set(
        replica
    )
    for metric in ("ttft_s", "tpot_s"):
        assert replica[metric]["p50"] <= replica[metric]["p90"] <= replica[metric]["p99"]
    assert {"replicas", "spares", "gpus", "utilization", "goodput_requests_per_s", "slo_attainment"} <= set(
        fleet
    )
    assert {"usd_per_million_input_tokens", "usd_per_million_output_tokens"} <= set(cost)
    assert chat["simulated_requests_per_s"] > 0
    assert replica["kv_bytes_per_token"] == 2 * 32 * 8 * 128 * 2
    json.dumps(chat, allow_nan=False)


def test_promises_are_kept_and_everything_is_checked(chat):
    assert chat["verdict"]["status"] == "feasible"
    assert all(each["met"] for each in chat["objectives"])
    assert all(check["holds"] for check in chat["checks"]), chat["checks"]
    Ledger.from_dict(chat["ledger"])
    gap = chat["autoscaling"]
    assert sum(gap["parts_gpu_s"].values()) == pytest.approx(gap["gap_gpu_s"])
    band = chat["band"]["reached_s"]["tpot_p95"]
    assert band["p10"] < band["p50"] < band["p90"]
    assert all(row["floor_s"] < row["nominal_s"] for row in chat["step_times"])


def test_prices_are_those_of_all_held_gpus(chat):
    """All tokens in time, at their prices, pay for the GPU-hours held."""
    cost, traffic, fleet = chat["cost"], chat["traffic"], chat["fleet"]
    rate = fleet["goodput_requests_per_s"]
    held = fleet["mean_gpus_held"] * cost["usd_per_gpu_hour"] / 3600.0
    paid = rate * traffic["input_tokens_mean"] * cost["usd_per_million_input_tokens"] / 1e6
    paid += rate * traffic["output_tokens_mean"] * cost["usd_per_million_output_tokens"] / 1e6
    assert paid == pytest.approx(held, rel=0.04)  # means are the first seed's


def test_a_plan_of_services_alone(chat):
    found = plan(loads(CHAT))
    answer = found.to_dict()
    assert found.verdict.status == "feasible"
    assert answer["training"] == [] and answer["serving"][0]["name"] == "chat"
    assert answer["serving"][0]["fleet"]["gpus"] == chat["fleet"]["gpus"]
    assert all(result.holds for result in check_assertions(loads(CHAT), answer))
    assert answer["cost"]["total_usd"] == pytest.approx(sum(line["usd"] for line in answer["cost"]["lines"]))
    hours = answer["ledger"]["amount"] / 3600.0
    assert hours == pytest.approx(answer["serving"][0]["fleet"]["mean_gpus_held"] * 8766.0, rel=1e-6)
    json.dumps(answer, allow_nan=False)


def test_training_and_serving_share_a_budget():
    found = plan(loads(CHAT + TRAINING), draws=200)
    answer = found.to_dict()
    served, trained = answer["serving"][0]["fleet"]["gpus"], answer["training"][0]["layout"]["gpus"]
    assert served + trained <= 64
    shared = answer["shared_fleet"]
    assert shared["marginal_gpu"]["training_tokens_per_s"] > 0
    assert 0 < shared["training_days_elastic"] <= shared["training_days_static"]
    assert shared["gained_gpu_hours_per_day"] >= 0
    assert shared["static_gpus"] <= min(shared["training_gpus_by_hour"]) <= 64
    assert max(shared["training_gpus_by_hour"]) + min(shared["serving_gpus_by_hour"]) <= 64
    Ledger.from_dict(answer["ledger"])
    assert {child["name"] for child in answer["ledger"]["children"]} >= {"pretrain", "chat"}
    assert answer["cost"]["total_usd"] == pytest.approx(sum(line["usd"] for line in answer["cost"]["lines"]))
    alone = plan(loads(CHAT + TRAINING), draws=200, services=False).to_dict()
    assert alone["training"][0]["layout"]["gpus"] == 64 and alone["serving"] == []


@pytest.mark.parametrize(("micro_batches", "planned"), [(512, 32), (60, 7), (8, 8), (1, 1)])
def test_elastic_speed_is_that_of_the_busiest_replica(micro_batches, planned):
    """Micro-batches dealt out one by one; replicas that do not make the largest hand smaller are not used."""
    replicas = np.arange(0, 70)
    used, speed = elastic_hours(replicas, micro_batches, planned)

    def hand(count):
        return max((len(range(at, micro_batches, count)) for at in range(count)), default=0)

    for there, few, fast in zip(replicas, used, speed, strict=True):
        if there == 0:
            assert few == fast == 0
            continue
        assert fast == pytest.approx(hand(planned) / hand(there))
        assert hand(int(few)) == hand(there) and (few == 1 or hand(int(few) - 1) > hand(there))


def test_night_leaves_more_to_training():
    factors = ", ".join(["1.6"] * 16 + ["0.2"] * 8)
    day = CHAT.replace("duration: 5 min", f"duration: 5 min, diurnal: [{factors}]").replace(
        "12 req/s", "180 req/s"
    )
    setting, given = _context(day)
    from argosy.planning.serving import plan_service

    planned = plan_service(setting, given, seeds=1)
    load = hourly_load(planned)
    assert load.max() == 1.0 and load.min() == pytest.approx(0.125)
    taken = gpus_by_hour(planned, 8)
    assert taken[20] < taken[0] <= planned.whole_gpus


def _context(text):
    from argosy.planning.context import context

    scenario = loads(text)
    return context(scenario), scenario.serving[0]


def test_below_the_floor_is_infeasible_and_says_what_would_help():
    answer = serving_payload(loads(CHAT.replace("tpot_p95: 30 ms", "tpot_p95: 1 ms")), seeds=1)
    assert answer["verdict"]["status"] == "infeasible"
    assert answer["verdict"]["binding"] == "physical floor"
    reason = answer["verdict"]["reasons"][0]
    assert "below the floor" in reason and "the hardware's bound is" in reason and "would lower it" in reason
    assert answer["fleet"] is None


def test_more_than_the_fleet_has_is_infeasible_and_says_how_many_it_takes():
    text = CHAT.replace("count: 64", "count: 8").replace("12 req/s", "300 req/s").replace("5 min", "1 min")
    answer = serving_payload(loads(text), seeds=1)
    assert answer["verdict"]["status"] == "infeasible"
    assert answer["verdict"]["binding"] == "accelerators of the fleet"
    assert answer["fleet"]["gpus"] > 8
    whole = plan(loads(text)).to_dict()
    assert whole["verdict"]["status"] == whole["serving"][0]["verdict"]["status"] == "infeasible"


def test_a_promise_missed_is_told_and_leaves_with_zero_unless_asserted(capsys, tmp_path):
    """`violates` runs: exit 0; an assertion on the margin makes it 3."""
    text = CHAT.replace("replica: {tp: 1}", "replica: {tp: 1}\n  accelerators: 1").replace(
        "12 req/s", "60 req/s"
    )
    text = text.replace("5 min", "1 min")
    file = tmp_path / "short.yaml"
    for assertion, code in (("", 0), ("assert: [serving.chat.verdict.margin >= 0]\n", 3)):
        file.write_text(text.partition("assert:")[0] + assertion)
        assert cli.run(["serving", str(file), "--seeds", "1"]) == code
        assert "violates" in capsys.readouterr().out


def test_strange_scenarios_are_told(tmp_path):
    with pytest.raises(FactError, match="tp 3 does not divide 32 attention heads"):
        serving_payload(loads(CHAT.replace("tp: 1", "tp: 3")), seeds=1)
    with pytest.raises(FactError, match="no service 'talk'; the scenario has chat"):
        serving_payload(loads(CHAT), "talk")
    with pytest.raises(FactError, match="has no service; add serving:"):
        serving_payload(loads(CHAT.partition("serving:")[0] + TRAINING))
    trace = tmp_path / "t.csv"
    trace.write_text("arrival_s,input_tokens,output_tokens\n0,10,-1\n")
    text = CHAT.replace(
        "{rate: 12 req/s, input: {mean: 900}, output: {mean: 150}, duration: 5 min}", "{trace: t.csv}"
    )
    with pytest.raises(ScenarioError, match=r"t.csv:2:6: output_tokens: -1 is below 1"):
        serving_payload(loads(text, directory=tmp_path))
    with pytest.raises(ScenarioError, match=r"there is no file 't.csw'; write t.csv"):
        loads(text.replace("t.csv", "t.csw"), directory=tmp_path)
    from argosy.planning.sites import compare_sites

    with pytest.raises(FactError, match="no training job; add training:, or ask argosy serving"):
        compare_sites(loads(CHAT), [], "usd", 100, 0)


def test_a_load_test_stands_in_for_the_roofline(tmp_path, chat):
    """Twice the measured time per token reaches the fleet's latencies."""
    rows = [f"{clients},900,150,{2 * 1e3 * time}" for clients, time in ((1, 0.008), (32, 0.011), (128, 0.02))]
    (tmp_path / "load.csv").write_text(
        "\n".join(["concurrency,input_tokens,output_tokens,tpot_ms", *rows]) + "\n"
    )
    text = CHAT.replace("replica: {tp: 1}", "replica: {tp: 1}\n  step_times: load.csv")
    answer = serving_payload(loads(text, directory=tmp_path), seeds=1)
    assert answer["replica"]["tpot_s"]["p50"] > 1.4 * chat["replica"]["tpot_s"]["p50"]
    with pytest.raises(FactError, match="no provider 'vllm'; write roofline"):
        serving_payload(loads(text.replace("load.csv", "vllm")), seeds=1)


def test_assertions_of_other_services_wait_for_the_plan():
    scenario = loads(CHAT)
    assert len(own_assertions(scenario, "chat").assertions) == 2


def test_numbers_of_nodes_that_divide_well():
    assert well_divided(126) == [126, 108, 96, 81, 72, 64]
    assert well_divided(0) == []
