"""`argosy fabric` with --traffic layout, --collective by flow schedule, --algorithm, --placement: answers and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from argosy.cli.main import run

EXAMPLES = Path(__file__).parents[2] / "examples"
RAILS = ["fabric", "--topology", "rail-optimized", "--hosts", "32", "--nics-per-host", "8", "--radix", "64"]
SCENARIO = str(EXAMPLES / "llama3-70b-512.yaml")


def answer(capsys, *arguments):
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_collective_comes_with_its_schedule(capsys):
    found = answer(capsys, *RAILS, "--collective", "all-reduce", "--bytes", "1 GB")
    schedule = found["schedule"]
    assert schedule["routing"] == "adaptive"  # the habit of InfiniBand, which the catalog's switch speaks
    assert schedule["algorithm"] == found["algorithm"]
    assert schedule["time_s"] == pytest.approx(found["time_s"], rel=0.02)
    assert schedule["time_s"] > found["bound_s"] and {row["phase"] for row in schedule["steps"]}


def test_an_algorithm_can_be_asked_for(capsys):
    ring = answer(capsys, *RAILS, "--collective", "all-reduce", "--algorithm", "ring")
    tree = answer(capsys, *RAILS, "--collective", "all-reduce", "--algorithm", "hierarchical-serial")
    assert ring["algorithm"] == "ring" and ring["time_s"] == ring["algorithms_s"]["ring"]
    assert (
        tree["time_s"]
        == tree["schedule"]["time_s"]
        == tree["schedule"]["algorithms_s"]["hierarchical-serial"]
    )
    bus = 2**30 * 2 * 255 / 256 / tree["time_s"]
    assert tree["bus_bandwidth_bytes_per_s"] == pytest.approx(bus)


def test_gigabytes_and_gibibytes_do_not_mix(capsys):
    decimal = answer(capsys, *RAILS, "--collective", "all-gather", "--bytes", "8 GB")
    binary = answer(capsys, *RAILS, "--collective", "all-gather", "--bytes", "8 GiB")
    assert binary["schedule"]["wire_s"] / decimal["schedule"]["wire_s"] == pytest.approx(2**30 / 1e9)


def test_placement_of_a_scenario(capsys):
    placement = answer(capsys, "fabric", SCENARIO, "--placement")["placement"]
    assert placement["ranks"] == 512 and placement["order"][0] == "tp"
    assert sum(placement["share_by_tier"].values()) == pytest.approx(1)
    assert placement["best"]["wire_s"] <= placement["wire_s"]
    assert {row["dimension"] for row in placement["dimensions"]} <= {"tp", "cp", "dp", "pp", "ep"}


def test_traffic_of_a_layout(capsys):
    found = answer(capsys, "fabric", SCENARIO, "--traffic", "layout", "--routing", "ecmp")
    assert found["traffic"] == "layout" and found["routing"] == "ecmp" and found["flows"] > 512
    assert found["max_link_load"] >= 1 and 0 < found["mean_throughput_fraction"] <= 1


def test_the_tables_for_people(capsys):
    assert run(["fabric", SCENARIO, "--collective", "all-reduce", "--placement"]) == 0
    shown = capsys.readouterr().out
    assert "by its flow schedule under adaptive routing" in shown
    assert "by how far they go" in shown and "on one rail" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*RAILS, "--placement"], "need a scenario with training"),
        ([*RAILS, "--traffic", "layout"], "need a scenario with training"),
        (
            [*RAILS, "--collective", "all-reduce", "--algorithm", "gossip"],
            "write one of ring, tree, double-tree",
        ),
        ([*RAILS, "--collective", "broadcast", "--algorithm", "ring"], "write one of chain"),
        (
            [*RAILS, "--collective", "all-reduce", "--ranks", "8", "--algorithm", "sharp"],
            "more than one domain",
        ),
        ([*RAILS, "--collective", "all-reduce", "--routing", "magic"], "routing 'magic' is not known"),
        (["fabric", SCENARIO, "--role", "storage", "--placement"], "run on the compute fabric"),
        ([*RAILS, "--traffic", "gossip"], "write one of permutation"),
        ([*RAILS, "--traffic", "permutation", "--failed", "5000"], "cannot fail or degrade"),
        (
            ["fabric", str(EXAMPLES / "llama3-70b-tpu-v5p.yaml"), "--placement"],
            "hosts with cards, not for a torus",
        ),
    ],
)
def test_mistakes(capsys, arguments, words):
    assert run(arguments) == 1
    captured = capsys.readouterr()
    assert words in " ".join(captured.err.split()) and "Traceback" not in captured.err and captured.out == ""
