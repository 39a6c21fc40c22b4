"""Decision guide, error catalogue and glossary."""

import math

import pytest

from argosy.cli.main import COMMANDS
from argosy.facts import FactError
from argosy.handbook import answer, errors, explain, explanations, quantities, question_ids
from argosy.handbook.formula import law
from argosy.laws.collectives import ring_all_reduce


def test_there_are_five_questions_each_with_a_computation():
    assert len(question_ids()) == 5
    for question in question_ids():
        content = answer(question)
        assert content["symptom"]
        assert content["lever"]
        assert all(isinstance(step["value"], int | float) for step in content["steps"])
    assert answer("1") == answer("talk")


@pytest.mark.parametrize(
    ("question", "settings", "lever"),
    [
        ("talk", {}, "Bound by computation"),
        ("talk", {"message_bytes": "700 MB", "computation_s": 0.01}, "Bound by communication"),
        ("talk", {"message_bytes": "1 MB", "computation_s": "1 ms", "devices": 8192}, "Bound by latency"),
        ("many", {"days": 1}, "Plan with the utilisation"),
        ("fail", {"recovery_s": 3600, "write_s": 5}, "Recovery costs most"),
        ("fail", {"recovery_s": 60, "write_s": 600}, "Writing costs most"),
        ("fail", {}, "Writing costs most"),
        ("fail", {"devices": 256}, "affordable"),
        ("overhead", {"failures": "90%"}, "More time is lost"),
        ("power", {"devices": 20_000}, "Power is the limit"),
        ("power", {"per_rack": 16}, "compute does"),
        (
            "power",
            {"per_rack": 72, "board_w": "1.2 kW", "host_w": "1 kW", "site_w": "1 GW"},
            "Above what direct liquid",
        ),
        ("overhead", {"failures": 0.3}, "More time is lost"),
        ("overhead", {"mfu": 0.2}, "step itself"),
    ],
)
def test_levers_follow_the_numbers(question, settings, lever):
    assert lever in answer(question, settings)["lever"]


def test_advice_uses_the_collectives_law():
    content = answer("talk", {"message_bytes": 0.7e9, "computation_s": 0.01})
    advice = {each["change"]: each for each in content["advice"]}
    assert advice["as it is"]["rho"] == pytest.approx(ring_all_reduce(0.7e9, 256, 50e9, 5e-6) / 0.01)
    fewer = advice["a quarter of the devices, same global batch"]
    assert fewer["rho"] == pytest.approx(ring_all_reduce(0.7e9, 64, 50e9, 5e-6) / 0.04)
    assert fewer["rho"] == pytest.approx(0.7048125)  # the document's case at 64
    assert fewer["throughput"] < 1 < fewer["per_device"]


def test_unknown_questions_and_inputs():
    with pytest.raises(FactError, match="talk"):
        answer("weather")
    with pytest.raises(FactError, match="devices"):
        answer("talk", {"gpus": 3})
    with pytest.raises(FactError, match="bandwidth"):
        answer("talk", {"bandwidth": "50 W"})


def test_error_catalogue_has_right_value_reason_and_temptation():
    catalogue = {each["id"]: each for each in errors()}
    assert len(catalogue) == 54
    assert catalogue["s000-163-per-gpu-hour"]["correct_value"] == pytest.approx(586_074.07, rel=1e-7)
    assert catalogue["s000-12-usd-per-mtok"]["correct_value"] == pytest.approx(3.4125, rel=1e-4)
    assert all(each["explanation"] and each["tempting"] for each in catalogue.values())


def test_every_quantity_is_explained_in_both_languages():
    for name in quantities():
        entry = explain(name)
        assert entry["en"]
        assert any("\u4e00" <= letter <= "\u9fff" for letter in entry["zh"]), name
        assert entry["definition"], name
        assert entry["unit"], name
        assert entry["source"], name
        assert entry["used"], name
        places = {use.split()[0].rstrip(":") for use in entry["used"]}
        assert places <= {*COMMANDS, "handbook", "exercise"}, name
        if entry["law"]:
            assert law(entry["law"]).__name__ in entry["signature"]


@pytest.mark.parametrize(
    "name", ["mfu", "MFU", "模型算力利用率", "Model FLOP utilisation", "model flops utilization"]
)
def test_quantities_are_found_by_any_name(name):
    assert explain(name)["id"] == "mfu"


def test_near_misses_are_suggested():
    with pytest.raises(FactError, match="bisection"):
        explain("bisektion")
    with pytest.raises(FactError, match="lists all"):
        explain("xyzzy")


def test_claims_are_linked_to_their_law():
    assert "s004-ridge-h100" in explain("ridge")["claims"]


@pytest.mark.parametrize(
    ("question", "settings"),
    [
        ("power", {"pue": "0.5"}),
        ("talk", {"bandwidth": "-1"}),
        ("talk", {"devices": "1"}),
        ("fail", {"write_s": 0}),
        ("overhead", {"failures": "101%"}),
    ],
)
def test_inputs_outside_their_bounds_are_refused(question, settings):
    with pytest.raises(FactError, match=f"{next(iter(settings))}: .* must be"):
        answer(question, settings)


@pytest.mark.parametrize("settings", [{}, {"recovery_s": 5000}, {"devices": 200_000, "write_s": 300}])
def test_the_shares_of_a_failing_job_add_up(settings):
    parts = {step["id"]: step["value"] for step in answer("fail", settings)["steps"]}
    shares = [parts[name] for name in ("efficiency", "writing", "rework", "recovering")]
    assert sum(shares) == pytest.approx(1.0, abs=1e-12)
    recovery = settings.get("recovery_s", 600)
    assert parts["recovering"] == pytest.approx(1 - math.exp(-recovery / parts["mtbf"]), rel=1e-9)


@pytest.mark.parametrize(
    ("symbol", "ids"),
    [
        ("T", ["training-time", "iron-law"]),
        ("t", ["tensor-parallelism"]),
        ("M", ["mtbf", "checkpoint-size"]),
        ("m", ["carbon"]),
        ("D", ["tokens"]),
        ("d", ["data-parallelism", "scale-up-domain"]),
        ("Ρ", ["rho"]),
    ],
)
def test_symbols_keep_their_case_and_may_be_shared(symbol, ids):
    assert [each["id"] for each in explanations(symbol)] == ids


def test_a_shared_symbol_has_no_single_explanation():
    with pytest.raises(FactError, match="mtbf, checkpoint-size"):
        explain("M")
    with pytest.raises(FactError, match="no '–'"):
        explain("–")


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("检查点", "checkpoint"),
        ("checkpoint", "checkpoint"),
        ("碳强度", "carbon-intensity"),
        ("水", "water"),
        ("屋顶线", "roofline"),
        ("Young interval", "young-interval"),
        ("Young", "young-interval"),
        ("pipeline bubble", "pipeline-bubble"),
        ("straggler", "straggler"),
        ("spares", "spares"),
        ("ring all-reduce", "ring-all-reduce"),
        ("all-reduce", "all-reduce"),
        ("TPOT", "tpot"),
    ],
)
def test_words_of_the_trade_are_there(name, identifier):
    assert explain(name)["id"] == identifier


def test_two_devices_can_talk_and_get_no_advice_of_half_a_device():
    assert answer("talk", {"devices": 2})["advice"] == []
    assert answer("talk", {"devices": 4})["advice"]
