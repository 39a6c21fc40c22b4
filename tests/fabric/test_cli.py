"""`argosy fabric`: the contract's keys, and one message per mistake."""

from __future__ import annotations

import json

import pytest

from argosy.cli.main import run

SUPERPOD = [
    "fabric",
    "--topology",
    "rail-optimized",
    "--hosts",
    "512",
    "--nics-per-host",
    "8",
    "--radix",
    "64",
]


def answer(capsys, *arguments: str) -> dict:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_counts_of_a_superpod(capsys):
    found = answer(capsys, *SUPERPOD)
    assert found["schema"] == "argosy.fabric/1" and found["version"] and found["facts_date"]
    assert found["switches"] == {"leaf": 128, "spine": 128, "core": 64}
    assert found["cables"] == {"host-leaf": 4096, "leaf-spine": 4096, "spine-core": 4096}
    assert (found["hosts"], found["nics"]) == (512, 4096)
    assert found["injection_bps_per_direction"] == 2 * found["bisection_bps_per_direction"] == 4096 * 400e9
    assert found["usd"] > 0 and found["w"] > 0 and found["problems"] == []
    assert "time_s" not in found and "max_link_load" not in found


def test_a_collective_is_timed_and_bounded(capsys):
    found = answer(capsys, *SUPERPOD, "--collective", "all-reduce", "--bytes", "1GiB", "--ranks", "1024")
    assert found["bound_s"] < found["time_s"] < 5 * found["bound_s"]
    assert found["algorithm"] in found["algorithms_s"]
    assert found["bus_bandwidth_bytes_per_s"] == pytest.approx(2**30 / found["time_s"] * 2 * 1023 / 1024)
    assert [phase["level"] for phase in found["phases"]] == ["scale-up", "leaf", "spine"]


def test_gigabytes_and_gibibytes_are_two_sizes(capsys):
    times = [
        answer(capsys, *SUPERPOD, "--collective", "all-gather", "--bytes", size)["time_s"]
        for size in ("1GB", "1GiB")
    ]
    assert times[0] < times[1]


def test_a_scenario(capsys, tmp_path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        "name: small\n"
        "fleet: {accelerator: H100-SXM, count: 256, spares: {nodes: 0}, fabrics: [{topology: rail-optimized}, {role: storage}]}\n"
        "training: {model: llama-3.1-70b, tokens: 1e12, sequence_length: 8192, global_batch: 512 sequences}\n"
    )
    found = answer(capsys, "fabric", str(scenario), "--collective", "reduce_scatter")
    assert [row["role"] for row in found["fabrics"]] == ["compute", "storage"]
    assert found["nics"] == 256 and found["fabrics"][1]["nics"] == 32 + 1 and found["time_s"] > found["bound_s"]


def test_shape_gives_the_count(capsys):
    found = answer(capsys, "fabric", "--topology", "torus", "--shape", "16x16x24")
    assert found["hosts"] == 6144 and found["usd"] is None


def test_the_table_for_people(capsys):
    assert run([*SUPERPOD, "--tiers", "2", "--collective", "all-reduce"]) == 0
    shown = capsys.readouterr().out
    assert "4,096" in shown and "problem: 128 leaves" in shown and "bound" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fabric"], "either a scenario or --topology"),
        (["fabric", "--topology", "fat-tree", "--radix", "64"], "needs --hosts"),
        (["fabric", "--topology", "hypercube", "--hosts", "8", "--radix", "64"], "not known"),
        (["fabric", "--topology", "fat-tree", "--hosts", "8", "--radix", "64", "--rate", "50 GB/s"], "Gb/s"),
        (["fabric", "--topology", "torus", "--shape", "4by4"], "16x16x24"),
        ([*SUPERPOD, "--oversubscription", "top:3"], "leaf-uplink"),
        ([*SUPERPOD, "--oversubscription", "leaf-uplink:0.5"], "at least 1"),
        ([*SUPERPOD, "--collective", "gossip"], "all_reduce"),
        ([*SUPERPOD, "--collective", "all-reduce", "--ranks", "5000"], "2 to 4096 ranks"),
        ([*SUPERPOD, "--collective", "all-reduce", "--protocol", "smoke"], "infiniband"),
        ([*SUPERPOD, "--collective", "all-reduce", "--accelerator", "H10"], "H100"),
        (["fabric", "absent.yaml"], "absent.yaml"),
    ],
)
def test_mistakes(capsys, arguments, words):
    assert run(arguments) == 1
    captured = capsys.readouterr()
    assert words in captured.err and "Traceback" not in captured.err and captured.out == ""
