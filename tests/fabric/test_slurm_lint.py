"""The lint of topology.conf: each fault is found, on its line, and nothing else is."""

from __future__ import annotations

import json

import pytest

from argosy.cli.main import run
from argosy.fabric.exports import lint

GOOD = [
    "# a tree",
    "SwitchName=leaf1 Nodes=n[1-4]",
    "SwitchName=leaf2 Nodes=n[5-8]",
    "SwitchName=top Switches=leaf[1-2]",
]
BLOCKS = ["BlockName=b1 Nodes=n[1-4]", "BlockName=b2 Nodes=n[5-8]", "BlockSizes=4,8"]


def test_nothing_to_mend():
    assert lint(GOOD) == [] and lint(BLOCKS) == []
    assert lint(["SwitchName=only Nodes=n1 LinkSpeed=100  # one leaf"]) == []


@pytest.mark.parametrize(
    ("change", "line", "word"),
    [
        ({3: "SwitchName=top Switches=leaf1"}, 4, "2 pieces"),
        ({3: "SwitchName=top Switches=leaf[1-3]"}, 4, "leaf3 below top is defined nowhere"),
        ({2: "SwitchName=leaf2 Nodes=n[4-8]"}, 3, "n4 is on two leaves: leaf1 (line 2) and leaf2"),
        ({2: "SwitchName=leaf1 Nodes=n[5-8]"}, 3, "defined at line 2 already"),
        ({2: "SwitchName=leaf2"}, 3, "neither Nodes= nor Switches="),
        ({2: "SwitchName=leaf2 Nodes=n[5-8] Switches=leaf1"}, 3, "both Nodes= and Switches="),
        ({2: "SwitchName=leaf2 Nodes=n[5-8],n5"}, 3, "lists a node twice"),
        ({2: "SwitchName=leaf2 Nodes=n[8-5]"}, 3, "runs backwards"),
        ({4: "SwitchName=more Switches=leaf2"}, 5, "below two: top (line 4) and more"),
        ({4: "NodeName=n1"}, 5, "neither SwitchName="),
        ({4: "BlockName=b Nodes=n[1-4]"}, 5, "not both"),
    ],
)
def test_a_fault_of_a_tree(change, line, word):
    lines = [change.get(i, text) for i, text in enumerate([*GOOD, ""])]
    assert any(at == line and word in problem for at, problem in lint(lines)), lint(lines)


def test_a_cycle_is_named():
    lines = [*GOOD, "SwitchName=x Switches=y", "SwitchName=y Switches=x"]
    assert [(line, "its own ancestor" in problem) for line, problem in lint(lines)] == [(5, True), (6, True)]


@pytest.mark.parametrize(
    ("change", "line", "word"),
    [
        ({1: "BlockName=b2 Nodes=n[5-7]"}, 2, "3 nodes, fewer than 4"),
        ({1: "BlockName=b2 Nodes=n[4-7]"}, 2, "on two blocks"),
        ({1: "BlockName=b1 Nodes=n[5-8]"}, 2, "defined at line 1"),
        ({2: "BlockSizes=4,12"}, 3, "no"),
        ({2: "BlockSizes=4,6"}, 3, "power of two"),
        ({2: "BlockSizes=0"}, 3, "above zero"),
        ({2: "BlockSizes=eight"}, 3, "above zero"),
    ],
)
def test_a_fault_of_blocks(change, line, word):
    lines = [change.get(i, text) for i, text in enumerate(BLOCKS)]
    assert any(at == line and word in problem for at, problem in lint(lines)), lint(lines)


def test_larger_blocks_are_no_fault():
    assert lint(["BlockName=b1 Nodes=n[1-5]", "BlockName=b2 Nodes=n[6-9]", "BlockSizes=4"]) == []


def test_an_empty_file():
    assert "empty" in lint([])[0][1] and "empty" in lint(["# only words"])[0][1]


def test_the_command(tmp_path, capsys):
    path = tmp_path / "topology.conf"
    path.write_text("\n".join(GOOD), encoding="utf-8")
    assert run(["fabric", "lint-slurm", str(path)]) == 0
    path.write_text("\n".join(GOOD[:3]), encoding="utf-8")
    capsys.readouterr()
    assert run(["fabric", "lint-slurm", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "argosy.fabric-lint-slurm/1" and found["problems"][0]["line"] == 3


def test_files_of_another_writer(shared_directory):
    for kind in ("tree", "block"):
        text = (shared_directory / f"samples/fabric/topograph-expected-{kind}.conf").read_text(
            encoding="utf-8"
        )
        assert lint(text.splitlines()) == []
