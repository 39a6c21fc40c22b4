"""Recommendations: the best of plans made by hand, limits that bind, shadow prices as differences, limits to relax."""

from __future__ import annotations

import json

import pytest
from sweep_cases import SCENARIO

from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.laws.batch import loss
from argosy.planning import plan
from argosy.report.advice import binding_sentence, headline
from argosy.spec import ScenarioError, load
from argosy.study.question import read_question, rungs
from argosy.study.recommend import recommend

COUNTS = (32, 64, 128)


def ask(folder, more: str = "", free: str = "fleet.count: [32, 64, 128]"):
    (folder / "small.yaml").write_text(SCENARIO + "prices: {accelerator_hour: 2 USD/h}\n", encoding="utf-8")
    path = folder / "question.yaml"
    path.write_text(f"scenario: small.yaml\nfree: {{{free}}}\n{more}", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hand")
    ask(folder)
    found = {}
    for size in COUNTS:
        payload = plan(load(folder / "small.yaml", changes={"fleet.count": size}), draws=100).payload
        found[size] = (payload["training"][0]["schedule"]["days"]["nominal"], payload["cost"]["total_usd"])
    return found


def test_the_best_is_the_best_of_the_plans_made_by_hand(tmp_path, by_hand):
    soonest = recommend(read_question(ask(tmp_path), "soonest"))
    assert [option["free"]["fleet.count"] for option in soonest["options"]] == sorted(COUNTS, reverse=True)
    cheapest = recommend(read_question(ask(tmp_path), "cheapest"))
    assert cheapest["options"][0]["free"]["fleet.count"] == min(by_hand, key=lambda size: by_hand[size][1])
    for option in cheapest["options"]:
        days, usd = by_hand[option["free"]["fleet.count"]]
        assert option["figures"]["days"] == pytest.approx(days, rel=1e-9)
        assert option["figures"]["usd"] == pytest.approx(usd, rel=1e-9)
        assert option["plan"]["schema"] == "argosy.plan/1"
    assert cheapest["binding"] == []


def test_a_limit_that_keeps_the_best_out_binds_at_its_price(tmp_path, by_hand):
    most = by_hand[64][0] * 1.01
    answer = recommend(read_question(ask(tmp_path), "least-carbon", (f"finish={most} days",)))
    best = answer["options"][0]
    assert best["free"]["fleet.count"] == 64
    (row,) = answer["binding"]
    assert row["constraint"] == "finish" and row["next"] == {"fleet.count": 32}
    days, usd = (by_hand[32][i] - by_hand[64][i] for i in (0, 1))
    assert row["needs"] == pytest.approx(by_hand[32][0] - most)
    assert row["shadow"]["usd"] == pytest.approx(usd / days)
    assert row["shadow"]["gpus"] == pytest.approx((32 - 64) / days)
    assert "finish binds" in binding_sentence(row)


def test_a_megawatt_more_buys_gpus_and_days(tmp_path):
    free = recommend(read_question(ask(tmp_path), "soonest"))
    figures = {option["free"]["fleet.count"]: option["figures"] for option in free["options"]}
    envelope = figures[64]["facility_peak_w"] * 1.05
    answer = recommend(read_question(ask(tmp_path), "soonest", (f"envelope={envelope} W",)))
    assert answer["options"][0]["free"]["fleet.count"] == 64
    (row,) = answer["binding"]
    megawatts = (figures[128]["facility_peak_w"] - figures[64]["facility_peak_w"]) / 1e6
    assert row["shadow"]["unit"] == "MW"
    assert row["shadow"]["gpus"] == pytest.approx(64 / megawatts)
    assert row["shadow"]["days"] == pytest.approx((figures[128]["days"] - figures[64]["days"]) / megawatts)


def test_where_nothing_keeps_the_limits_it_says_what_to_relax_and_by_how_much(tmp_path, by_hand):
    question = ask(tmp_path, "goal: cheapest\nwithin: {finish: 1 h, budget: 1e9 USD}\n")
    answer = recommend(read_question(question))
    assert answer["options"] == [] and "keeps all limits" in headline(answer)
    first = answer["relax"][0]
    assert first["constraint"] == "finish" and first["to"] == pytest.approx(
        min(days for days, _ in by_hand.values())
    )
    assert first["by"] == pytest.approx(first["to"] * 24 - 1)
    assert answer["relax"][1]["to"] is None  # a larger budget alone helps nobody
    assert command(["recommend", str(question), "--executor", "none"]) == 2


def test_runners_up_and_what_cannot_run_are_told(tmp_path):
    free = "fleet.count: [64, 128], training.pretrain.model: [llama-3.1-8b, llama-3.1-70b, llama-3.1-405b]"
    answer = recommend(read_question(ask(tmp_path, free=free), "soonest"))
    told = [row["why"] for row in answer["rejected"]]
    assert any("cannot run" in why for why in told)
    assert answer["runnable"] < answer["planned"] == 6


def test_the_lowest_loss_follows_the_stated_law(tmp_path):
    free = "training.pretrain.tokens: ['1e11', '2e11', '4e11']"
    answer = recommend(read_question(ask(tmp_path, free=free), "lowest-loss", ("finish=96 h",)))
    figures = answer["options"][0]["figures"]
    assert figures["days"] <= 4
    tokens = float(answer["options"][0]["free"]["training.pretrain.tokens"])
    assert figures["loss"] == pytest.approx(float(loss(8.03e9, tokens)), rel=1e-3)
    assert tokens == 2e11  # 4e11 would take too long, 1e11 loses more


def test_a_scenario_alone_is_a_question(tmp_path):
    ask(tmp_path)
    question = read_question(tmp_path / "small.yaml", "soonest")
    (axis,) = question.free
    assert axis.path == "fleet.count" and min(axis.values) == 16 and max(axis.values) == 256


def test_rungs_are_sizes_that_powers_of_two_divide():
    found = rungs(1024, 8192, 17)
    assert {1024, 2048, 4096, 8192, 1536, 3072, 6144} <= set(found)
    assert list(found) == sorted(found) and len(found) > 12
    assert rungs(100, 100, 5) == (100,) or all(each == 100 for each in rungs(100, 100, 5))


@pytest.mark.parametrize(
    ("more", "free", "words"),
    [
        ("goal: best\n", "fleet.count: [32]", "write one of soonest, cheapest"),
        ("within: {finnish: 3 days}\n", "fleet.count: [32]", "no limit 'finnish'; write finish"),
        ("within: {finish: 3 MW}\n", "fleet.count: [32]", "finish:"),
        ("gaol: cheapest\n", "fleet.count: [32]", "gaol: unknown key; write goal"),
        ("", "fleet.count: 5", "is neither a list nor a range"),
    ],
)  # fmt: skip
def test_faults_of_a_question_name_their_place(more, free, words, tmp_path):
    with pytest.raises(ScenarioError) as error:
        read_question(ask(tmp_path, more, free))
    assert words in str(error.value) and "question.yaml:" in str(error.value)


def test_words_beside_the_file_are_checked(tmp_path):
    path = ask(tmp_path)
    for goal, within, words in (
        ("fast", (), "no goal"),
        (None, ("finish",), "write for example"),
        (None, ("envelope=0 W",), "above zero"),
    ):
        with pytest.raises(FactError, match=words):
            read_question(path, goal, within)
    with pytest.raises(ScenarioError, match="write count"):
        recommend(read_question(ask(tmp_path, free="fleet.cuont: [2]")))


def test_the_command(tmp_path, capsys):
    assert command(["recommend", str(ask(tmp_path)), "--executor", "none", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "argosy.recommend/1"
    assert {"options", "binding", "rejected"} <= set(answer)
    assert command(["recommend", str(ask(tmp_path)), "--executor", "none", "--goal", "soonest"]) == 0
    assert "soonest: fleet.count 128" in capsys.readouterr().out


@pytest.mark.parametrize(
    "goal, figure", [("soonest", "days"), ("cheapest", "usd"), ("least-energy", "energy_kwh")]
)
def test_over_two_free_fields_and_a_limit_nothing_planned_by_hand_is_better(tmp_path, goal, figure):
    """Every fleet of whole nodes from 32 to 128 GPUs that the batch divides, with two storage speeds, planned one by one."""
    free = "fleet.count: [32, 64, 128], fleet.storage.bandwidth: [5 GB/s, 200 GB/s]"
    path = ask(tmp_path, free=free)
    plans = {
        (size, speed): _figures_by_hand(tmp_path / "small.yaml", size, speed)
        for size in range(32, 129, 16)
        for speed in ("5 GB/s", "200 GB/s")
    }
    days = sorted(each["days"] for each in plans.values() if each)
    most = days[len(days) // 2]
    answer = recommend(read_question(path, goal, (f"finish={most * 1.001} days",)))
    within = [each for each in plans.values() if each and each["days"] <= most * 1.001]
    found = answer["options"][0]["figures"][figure]
    assert found <= min(each[figure] for each in within) * (1 + 1e-9)
    chosen = answer["options"][0]["free"]
    by_hand = _figures_by_hand(
        tmp_path / "small.yaml", chosen["fleet.count"], chosen["fleet.storage.bandwidth"]
    )
    assert found == pytest.approx(by_hand[figure], rel=1e-9)


def _figures_by_hand(scenario, size, speed):
    changed = load(scenario, changes={"fleet.count": size, "fleet.storage.bandwidth": speed})
    found = plan(changed, draws=100).payload
    if found["verdict"]["status"] == "infeasible":
        return None
    return {
        "days": found["training"][0]["schedule"]["days"]["nominal"],
        "usd": found["cost"]["total_usd"],
        "energy_kwh": found["facility"]["energy_kwh"],
    }
