"""The paradigm table and its classifier."""

import pytest

from argosy.facts import FactError
from argosy.handbook.paradigms import classify, questions, table


def test_eight_dimensions_by_three_paradigms():
    content = table()
    assert list(content["paradigms"]) == ["hpc", "wsc", "ml"]
    assert len(content["dimensions"]) == 8
    assert all(each[key] for each in content["dimensions"] for key in content["paradigms"])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_pure_workload_is_its_paradigm(place: int):
    pure = {each["id"]: each["answers"][place] for each in questions()}
    result = classify(pure)
    assert result["paradigm"] == ["hpc", "wsc", "ml"][place]
    assert result["score"][result["paradigm"]] == 8
    assert not result["foreign"]


def test_a_weather_model_a_search_service_and_a_training_run():
    weather = {
        "aim": "flops",
        "coupling": "lockstep",
        "failure": "restart",
        "scheduling": "batch",
        "nodes": "pet",
        "network": "latency",
    }
    search = {"aim": "requests", "coupling": "independent", "failure": "failover", "state": "database"}
    training = {
        "coupling": "lockstep",
        "failure": "elastic",
        "scheduling": "gang",
        "nodes": "pet-then-cattle",
        "network": "bisection",
    }
    assert classify(weather)["paradigm"] == "hpc"
    assert classify(search)["paradigm"] == "wsc"
    assert classify(training)["paradigm"] == "ml"
    assert classify(training)["foreign"] == ["coupling"]


def test_a_tie_is_a_hybrid():
    assert classify({"coupling": "lockstep", "failure": "failover"})["paradigm"] == "hybrid"


def test_faults_are_told_together():
    with pytest.raises(FactError) as caught:
        classify({"weather": "fine", "coupling": "glue"})
    assert len(caught.value.problems) == 2
    with pytest.raises(FactError, match="at least one"):
        classify({})
