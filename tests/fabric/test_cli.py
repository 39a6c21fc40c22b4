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
    assert (
        found["nics"] == 256 and found["fabrics"][1]["nics"] == 32 + 1 and found["time_s"] > found["bound_s"]
    )


def test_shape_gives_the_count(capsys):
    found = answer(capsys, "fabric", "--topology", "torus", "--shape", "16x16x24")
    assert found["hosts"] == 6144 and found["usd"] is None


def test_the_table_for_people(capsys):
    assert run([*SUPERPOD, "--tiers", "2", "--collective", "all-reduce"]) == 0
    shown = capsys.readouterr().out
    assert "4,096" in shown and "problem: 128 leaves" in shown and "bound" in shown


def test_traffic_has_the_contracts_keys(capsys):
    found = answer(capsys, *SUPERPOD[:4], "32", *SUPERPOD[5:], "--traffic", "shift:8", "--seed", "3")
    assert {
        "max_link_load",
        "mean_throughput_fraction",
        "min_throughput_fraction",
        "hot_links",
    } <= found.keys()
    assert found["seed"] == 3 and any("congestion notification" in note for note in found["notes"])


def test_the_analysis_adds_its_keys(capsys):
    found = answer(capsys, *SUPERPOD[:4], "64", *SUPERPOD[5:], "--analysis")
    assert sum(row["pairs"] for row in found["hops"]) == 512 * (512 - 8)
    assert {row["what"] for row in found["single_failures"]} == {"leaf", "spine", "host-leaf", "leaf-spine"}
    assert found["worst_failure"]["what"] == "leaf" and found["worst_failure"]["accelerators_cut"] == 32


def test_every_tier_has_its_own_switch_and_rate(capsys):
    found = answer(
        capsys,
        *("fabric", "--topology", "fat-tree", "--hosts", "512", "--rate", "200 Gb/s", "--radix", "64"),
        *("--rate", "leaf-spine:400 Gb/s", "--switch", "spine:SN5600", "--host-rate", "32:100 Gb/s"),
        *("--missing", "0,100-102"),
    )
    assert found["hosts"] == 508 and not found["problems"]
    assert found["tiers"][1]["switch"] == "SN5600"
    assert found["cables"] == {"host-leaf": 508, "leaf-spine": 256}
    assert found["injection_bps_per_direction"] == (31 * 100 + 477 * 200) * 1e9


def test_exports_and_notes(capsys, tmp_path):
    path = tmp_path / "topology.conf"
    found = answer(capsys, *SUPERPOD[:4], "64", *SUPERPOD[5:], "--export", "slurm-tree", str(path))
    assert "SwitchName" in path.read_text(encoding="utf-8") and found["hosts"] == 64


def test_a_role_of_a_scenario(capsys, tmp_path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        "name: small\n"
        "fleet: {accelerator: H100-SXM, count: 256, spares: {nodes: 0}, fabrics: [{}, {role: storage}]}\n"
        "training: {model: llama-3.1-70b, tokens: 1e12, sequence_length: 8192, global_batch: 512 sequences}\n"
    )
    found = answer(capsys, "fabric", str(scenario), "--role", "storage")
    assert found["role"] == "storage" and found["storage"]["servers"] == 1
    assert found["storage"]["checkpoint_burst_s"] > 0 and found["storage"]["reads_fraction"] < 0.01
    assert run(["fabric", str(scenario), "--role", "management"]) == 1
    assert "compute, storage" in capsys.readouterr().err


def test_a_baseboard_is_that_of_its_accelerator(capsys):
    board = ["fabric", "--topology", "supernode", "--hosts", "8", "--rate", "200 Gb/s", "--accelerator"]
    assert answer(capsys, *board, "H100-SXM")["switches"] == {"nvswitch": 4}
    assert answer(capsys, *board, "A100-80GB-SXM")["switches"] == {"nvswitch": 6}


def test_the_word_draw_may_be_left_out(capsys):
    assert answer(capsys, *SUPERPOD) == answer(capsys, "fabric", "draw", *SUPERPOD[1:])
    assert run(["fabric", "--help"]) == 0 and "check-bandwidth" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*SUPERPOD, "--radix", "top:64"], "leaf, spine, core"),
        ([*SUPERPOD, "--radix", "spine:many"], "whole number above zero"),
        ([*SUPERPOD, "--switch", "spine:QM97"], "QM9700"),
        ([*SUPERPOD, "--rate", "host-leaf:400 Gb/s"], "leaf-spine"),
        ([*SUPERPOD, "--host-rate", "200 Gb/s"], "64:200 Gb/s"),
        ([*SUPERPOD, "--missing", "1-x"], "5,17,20-23"),
        ([*SUPERPOD, "--missing", "512"], "numbered 0 to 511"),
        ([*SUPERPOD, "--traffic", "storm"], "permutation"),
        ([*SUPERPOD, "--traffic", "permutation", "--routing", "luck"], "ecmp"),
        ([*SUPERPOD, "--export", "visio", "x"], "slurm-tree"),
        ([*SUPERPOD, "--picture", "x.bmp"], ".svg"),
        (["fabric", "--topology", "fat-tree", "--hosts", "0", "--radix", "64"], "at least one host"),
        (["fabric", "--topology", "fat-tree", "--hosts", "8"], "give the radix, or name a switch"),
        (["fabric", "--topology", "fat-tree", "--hosts", "8", "--radix", "2"], "at least 4"),
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
