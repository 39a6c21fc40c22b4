"""What `argosy fabric --topology` assumes of hosts and switches: scale-up domains of several hosts, switches that add up."""

import json

import pytest

from argosy.cli.main import run
from argosy.fabric import Design, build
from argosy.fabric.switches import without_sums

TREE = [
    "fabric",
    "--topology",
    "rail-optimized",
    "--rate",
    "400 Gb/s",
    "--collective",
    "all-reduce",
    "--json",
]


def asked(capsys, *more):
    code = run([*TREE, *more])
    shown = capsys.readouterr()
    return code, json.loads(shown.out) if code == 0 else shown.err


def test_a_rack_of_nvl72_is_one_domain(capsys):
    """18 trays of 4 reduce in their NVLink switches: nothing passes the cards, whose 50 GB/s would bound at
    4 × 50 GB/s × 71/72 · 18/17 = 209 GB/s.
    """
    options = ["--hosts", "18", "--nics-per-host", "4", "--radix", "64", "--bytes", "8GiB"]
    _, rack = asked(capsys, *options, "--accelerator", "GB200")
    assert rack["algorithm"] == "nvls" and rack["bus_bandwidth_bytes_per_s"] > 600e9
    assert any("72 GB200 of 18 hosts" in note for note in rack["notes"])
    assert [phase["level"] for phase in rack["phases"]] == ["scale-up"]
    _, hosts = asked(capsys, *options, "--accelerator", "H100-SXM")
    assert hosts["bus_bandwidth_bytes_per_s"] < 209e9
    assert not any("scale-up links join" in note for note in hosts["notes"])


def test_sharp_needs_switches_that_add_up(capsys):
    size = ["--hosts", "32", "--nics-per-host", "8", "--algorithm", "sharp"]
    code, told = asked(capsys, *size, "--switch", "SN5400")
    assert code == 1 and "SN5400 do" in told
    _, quantum = asked(capsys, *size, "--switch", "QM9700")
    assert quantum["algorithm"] == "sharp" and not any("SHARP" in note for note in quantum["notes"])
    assert quantum["time_s"] >= quantum["bound_s"] > 0
    _, unknown = asked(capsys, *size, "--radix", "32")
    assert any("SHARP" in note for note in unknown["notes"])
    _, others = asked(capsys, *size[:-2], "--switch", "SN5400")
    assert "sharp" not in others["schedule"]["algorithms_s"]


@pytest.mark.parametrize(("switch", "lacking"), [("QM9700", []), ("SN5400", ["SN5400"]), ("", None)])
def test_which_switches_add_up(switch, lacking):
    assert without_sums(build(Design("fat-tree", 100, 1, 64, 400e9, switch=switch))) == lacking
