"""One life in plan and simulate: they agree where both are exact, and where only the event engine is."""

import json

import numpy as np
import pytest

import argosy
from argosy.ledger import Ledger
from argosy.planning.context import context
from argosy.planning.job import checkpoint_bytes, laid_out
from argosy.planning.life import fleet_life

DAY = 86400.0
TEXT = """
name: lives
fleet: {accelerator: H100-SXM, count: 512, spares: {nodes: SPARES}, storage: {bandwidth: 100 GB/s}}
training:
  name: pretrain
  model: llama-3.1-8b
  tokens: 1e12
  sequence_length: 8192
  global_batch: 4 Mtok
  layout: {tp: 1, pp: 1, cp: 1, dp: 512}
reliability: {preset: meta-rsc-jobs, RELIABILITY}
"""
EVERYTHING = (
    "domains: {leaf-switch: {mttf: 2 yr, repair: 1 h}, link-flap: {rate: 0.01 /day}}, ages: {shapes: {node: 0.8}}, "
    "lemons: {share: 5 %, factor: 10, evict_after: 3}, bursts: {share: 10 %}, fail_slow: {mttf: 1 yr}, "
    "repair: {time: 12 h, spread: exponential, crews: 8}"
)


def scenario(reliability: str = "", spares: int = 40) -> argosy.Scenario:
    return argosy.loads(TEXT.replace("RELIABILITY", reliability).replace("SPARES", str(spares)))


def planned(reliability: str = "", spares: int = 40, draws: int = 200) -> dict:
    return argosy.plan(scenario(reliability, spares), draws=draws).to_dict()


def simulated(reliability: str = "", spares: int = 40, lives: int = 200) -> dict:
    return argosy.simulate(scenario(reliability, spares), lives, advice=False)


@pytest.mark.parametrize(
    ("reliability", "model"),
    [
        ("", "closed form and renewal Monte Carlo"),
        ("policy: restart, queue: 20 min", "closed form and renewal Monte Carlo"),
        ("policy: elastic", "closed form and renewal Monte Carlo"),
        ("ages: {shapes: {node: 0.7}, start: new}", "event engine"),
        (EVERYTHING, "event engine"),
    ],
    ids=["memoryless", "restart", "elastic", "new", "everything"],
)
def test_plan_and_simulate_mean_the_same_life(reliability: str, model: str) -> None:
    plan, lives = planned(reliability)["training"][0], simulated(reliability)
    good = plan["goodput"]
    assert good["life"]["model"] == model
    assert bool(lives["beyond_closed_form"]) == (model == "event engine")
    assert good["ettr"]["nominal"] == pytest.approx(
        lives["goodput"]["mean"], abs=4 * lives["goodput"]["stderr"] + 2e-3
    )
    assert good["checkpoint_interval_s"] == pytest.approx(lives["interval_s"])
    failures = sum(each["mean"] for each in lives["failures"].values())
    assert good["failures_expected"] == pytest.approx(failures, rel=0.1)
    assert plan["schedule"]["days"]["nominal"] == pytest.approx(lives["horizon_s"] / DAY, rel=5e-3)
    assert 0 < good["ettr"]["p10"] <= good["ettr"]["p50"] <= good["ettr"]["p90"] < 1


def test_both_engines_draw_the_same_distribution_where_both_are_exact() -> None:
    """The same draws of facts, lived by renewal and node by node: means and spread of the wall clock."""
    from argosy.reliability.drawn import drawn_lives

    here = context(scenario())
    job = laid_out(here, here.scenario.training[0])
    life = fleet_life(here.drawn(400, 1), checkpoint_bytes(job))
    renewal = life.lives(job.work_s, 400, 1)
    events = drawn_lives(
        job.work_s,
        life.nodes,
        life.rates,
        life.cost,
        life.recovery,
        life.maintenance,
        None,
        life.hazards,
        400,
        1,
    )
    error = np.hypot(renewal.ettr.std(), events.ettr.std()) / 20
    assert events.ettr.mean() == pytest.approx(renewal.ettr.mean(), abs=4 * error + 1e-3)
    assert events.ettr.std() == pytest.approx(renewal.ettr.std(), rel=0.25)


@pytest.mark.parametrize("reliability", ["", EVERYTHING], ids=["memoryless", "everything"])
def test_the_ledger_of_a_plan_closes(reliability: str) -> None:
    answer = planned(reliability, draws=100)
    tree = Ledger.from_dict(answer["ledger"])  # refuses a tree that does not close
    days = answer["training"][0]["schedule"]["days"]["nominal"]
    fleet = 512 + 40 * 8
    assert tree.amount == pytest.approx(days * DAY * fleet, rel=1e-9)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_the_book_of_a_simulation_closes() -> None:
    answer = simulated(EVERYTHING, lives=50)
    assert sum(answer["ledger_gpu_s"].values()) == pytest.approx(answer["total_gpu_s"], rel=1e-9)
    assert answer["goodput"]["mean"] == answer["views"]["ettr"]
    assert all(each["expected"] is not None for each in answer["failures"].values())
    assert {"leaf-switch", "host"} <= {row["name"] for row in answer["domains"]}


# --- the traps of fleet simulations -----------------------------------------------------


def test_an_all_new_fleet_of_early_failures_fails_more_often_than_one_in_service() -> None:
    new, aged = (
        simulated(f"ages: {{shapes: {{node: 0.7}}, start: {start}}}") for start in ("new", "stationary")
    )
    assert new["failures"]["node"]["mean"] > 1.3 * aged["failures"]["node"]["mean"]
    worn = simulated("ages: {shapes: {node: 2.5}, start: new}")
    assert worn["failures"]["node"]["mean"] < 0.5 * aged["failures"]["node"]["mean"]


def test_too_few_spares_starve() -> None:
    few, enough = (
        planned("repair: 7 days", spares, draws=100)["training"][0]["goodput"]["ettr"]["nominal"]
        for spares in (2, 40)
    )
    assert few < 0.75 * enough


@pytest.mark.parametrize("more", ["", ", fail_slow: {mttf: 300 days}"], ids=["renewal", "events"])
def test_a_job_that_fails_faster_than_it_saves_never_finishes(more: str) -> None:
    answer = planned(
        f"overrides: {{node: {{mttf: 8 h}}}}, checkpoint: {{interval: 1 h, mode: sync}}{more}", draws=100
    )
    assert answer["verdict"]["status"] == "infeasible"
    assert "never finishes" in answer["verdict"]["reasons"][0]
    lives = simulated(
        f"overrides: {{node: {{mttf: 8 h}}}}, checkpoint: {{interval: 1 h, mode: sync}}{more}", lives=2
    )
    assert lives["finishes"] is False
    assert "will never finish" in " ".join(lives["notes"])
    assert 0 <= lives["goodput"]["mean"] < 0.01


def test_a_checkpoint_is_never_begun_before_the_last_one_is_safe() -> None:
    slow = planned("checkpoint: {interval: 1 s}", draws=100)
    job = slow["training"][0]
    assert job["goodput"]["checkpoint_interval_s"] > 1.0
    assert "as short as writing one takes" in " ".join(slow["verdict"]["reasons"])


def test_without_failures_nothing_is_lost_but_the_first_checkpoints() -> None:
    quiet = planned("overrides: {node: {mttf: 1e9 yr}}", draws=100)["training"][0]["goodput"]
    assert quiet["ettr"]["nominal"] > 0.9999
    assert quiet["failures_expected"] < 1e-3


def test_a_fleet_of_a_hundred_thousand_keeps_goodput_between_zero_and_one() -> None:
    """Where a published first-order form gives −0.41."""
    text = TEXT.replace("count: 512", "count: 131072").replace("dp: 512", "dp: 4096, tp: 8, pp: 4")
    text = (
        text.replace("tp: 1, pp: 1, cp: 1, ", "cp: 1, ")
        .replace("4 Mtok", "64 Mtok")
        .replace("llama-3.1-8b", "llama-3.1-405b")
    )
    text = text.replace("meta-rsc-jobs", "meta-rsc1").replace("SPARES", "400")
    text = text.replace(
        "RELIABILITY", "checkpoint: {interval: 30 min}, restart: 10 min, ages: {shapes: {node: 0.9}}"
    )
    here = context(argosy.loads(text))
    life = fleet_life(here, 5e12)
    form = life.goodput()
    assert 0 < float(form.ettr) < 0.5
    assert sum(float(share) for share in form.shares.values()) == pytest.approx(1.0, rel=1e-9)
    lived = life.event_lives(2 * DAY, 4, 0)
    assert np.all((lived.ettr > 0) & (lived.ettr < 1))


def test_redundancy_costs_machines_and_saves_time() -> None:
    pairs, swap = (
        planned(f"policy: {policy}", 10, 100)["training"][0] for policy in ("redundancy", "spare-swap")
    )
    assert pairs["goodput"]["ettr"]["nominal"] > swap["goodput"]["ettr"]["nominal"]
    hours = [each["schedule"]["gpu_hours"]["nominal"] for each in (pairs, swap)]
    assert hours[0] > 1.5 * hours[1]


def test_a_restart_goes_back_to_the_queue() -> None:
    book = simulated("policy: restart, queue: 30 min", lives=100)["ledger_gpu_s"]
    swapped = simulated("policy: spare-swap", lives=100)["ledger_gpu_s"]
    assert book["queue"] > 0 == swapped["queue"]


def test_long_lives_stand_for_several_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean and the spread stay when a fifth of the lives is played through; work is each draw's own."""
    from argosy.reliability import drawn

    here = context(scenario(EVERYTHING)).drawn(1000, 2)
    life = fleet_life(here, 1e11)
    work = np.linspace(5, 15, 1000) * DAY
    whole = life.lives(work, 1000, 3)
    monkeypatch.setattr(drawn, "MOST_EVENTS", 0.0)
    fewer = life.lives(work, 1000, 3)
    assert drawn.lives_within(fewer.closed_form, work, life.hazards, 1000) == drawn.FEWEST
    assert fewer.seconds["productive"] == pytest.approx(work)
    assert fewer.ettr.mean() == pytest.approx(whole.ettr.mean(), abs=4 * whole.ettr.std() / 200**0.5)
    assert fewer.wall_s == pytest.approx(sum(fewer.seconds.values()))


@pytest.mark.parametrize(
    ("policy", "spares"), [("elastic", 0), ("replica", 2), ("redundancy", 0)], ids=lambda given: str(given)
)
def test_a_tolerant_job_short_of_spares_is_lived_node_by_node(policy: str, spares: int) -> None:
    text = f"policy: {policy}, repair: 3 days"
    good = planned(text, spares, draws=100)["training"][0]["goodput"]
    lived = simulated(text, spares)["goodput"]
    assert good["life"]["model"] == "event engine"
    assert good["life"]["because"] == [f"policy {policy} short of spares"]
    assert abs(good["ettr"]["nominal"] - lived["mean"]) < 5 * lived["stderr"] + 1e-3


def test_a_node_takes_all_replicas_on_it_away() -> None:
    """512 replicas of one accelerator stand on 64 nodes: losing a node slows the job by 1/64, not 1/512."""
    here = context(scenario("policy: elastic"))
    assert fleet_life(here, 1e11, 512).recovery.replicas == here.nodes == 64


def test_elastic_training_on_one_node_stops_as_any_other() -> None:
    text = TEXT.replace("count: 512", "count: 8").replace("dp: 512", "dp: 8").replace("SPARES", "1")
    answer = argosy.simulate(argosy.loads(text.replace("RELIABILITY", "policy: elastic")), 20, advice=False)
    assert answer["policy"] == "spare-swap"
    assert any("needs two replicas" in note for note in answer["notes"])


def test_an_interval_longer_than_the_work_never_saves_and_still_finishes() -> None:
    text = "checkpoint: {interval: 1000 days, mode: sync}, overrides: {node: {mttf: 1 yr}}"
    plan, lives = planned(text, draws=100), simulated(text, lives=2000)
    assert plan["verdict"]["status"] == "feasible"
    assert lives["ledger_gpu_s"]["checkpoint"] == 0
    good = lives["goodput"]
    # the mean of a ratio lies above the ratio of means, which is what the closed form is
    whole = lives["ledger_gpu_s"]["productive"] / lives["total_gpu_s"]
    assert plan["training"][0]["goodput"]["ettr"]["nominal"] == pytest.approx(whole, abs=5 * good["stderr"])


def test_a_rate_of_zero_takes_a_category_out() -> None:
    lives = simulated("overrides: {node: {rate: 0 /day}}", lives=20)
    assert lives["mtbf_s"] is None
    assert lives["ledger_gpu_s"]["rework"] == lives["ledger_gpu_s"]["restart"] == 0


def test_maintenance_without_end_is_not_blamed_on_failures() -> None:
    lives = simulated("maintenance: {per_day: 50, duration: 30 min}", lives=2)
    assert lives["finishes"] is False
    assert "the job will never finish: maintenance takes all of its time" in lives["notes"]
