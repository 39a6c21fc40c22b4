"""A fabric that was found is measured as the plan is: the same numbers where it was built as planned."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from ibnet import ibnetdiscover

from argosy.cli.main import run
from argosy.fabric import Design, DesignError, build
from argosy.fabric.analysis import bisection_bps, injection_bps, oversubscription, tiers
from argosy.fabric.built import built_topology
from argosy.fabric.failures import single_failures
from argosy.fabric.imports.wires import Device, from_rows, planned_wires
from argosy.fabric.names import node_names
from argosy.fabric.paths import hop_histogram

RATE = 400e9
DESIGNS = [
    Design("rail-optimized", 24, 4, 16, RATE),
    Design("fat-tree", 100, 1, 8, RATE),
    Design("multi-pod", 32, 2, 16, RATE, pods=4, oversubscription=(("pod-uplink", 3.0),), upper_radix=64),
    Design("dragonfly+", 64, 1, 8, RATE),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda one: one.topology)
def test_what_was_built_as_planned_measures_alike(design):
    planned = build(design)
    found = built_topology(planned_wires(planned))
    assert node_names(found.cables) == node_names(planned.cables)
    assert injection_bps(found.cables) == injection_bps(planned.cables)
    assert bisection_bps(found.cables) == pytest.approx(bisection_bps(planned.cables))
    assert oversubscription(found.cables) == oversubscription(planned.cables)
    assert [(one.name, one.switches) for one in tiers(found.cables)] == [
        (one.name, one.switches) for one in tiers(planned.cables)
    ]
    assert [row.pairs for row in hop_histogram(found)[0]] == [row.pairs for row in hop_histogram(planned)[0]]
    assert len(single_failures(found)[0]) == len(single_failures(planned)[0])
    assert not found.problems


def test_a_lost_uplink_shows():
    planned = build(DESIGNS[0])
    kept = np.ones(len(planned.cables), dtype=bool)
    kept[np.flatnonzero(planned.cables.boundary == 1)[0]] = False
    found = built_topology(planned_wires(replace(planned, cables=planned.cables.kept(kept))))
    assert bisection_bps(found.cables) < bisection_bps(planned.cables)


def test_rates_that_are_not_known_are_the_usual_one_and_said():
    wires = planned_wires(build(DESIGNS[1]))
    rate = wires.rate.copy()
    rate[3] = np.nan
    found = built_topology(replace(wires, rate=rate))
    assert set(found.cables.rate) == {RATE} and "the rate of 1 cables is not known" in found.notes[-1]
    with pytest.raises(DesignError, match="no cable of the file"):
        built_topology(replace(wires, rate=np.full(len(wires), np.nan)))


def test_what_is_no_fabric_is_refused():
    hosts = [Device("a", 0), Device("b", 0)]
    with pytest.raises(DesignError, match="2 and 0"):
        built_topology(from_rows(hosts, [(0, 1, 1, 1, RATE, 0)]))
    three = [*hosts, Device("s")]
    with pytest.raises(DesignError, match="without a switch between them"):
        built_topology(from_rows(three, [(0, 1, 1, 1, RATE, 0), (0, 2, 2, 1, RATE, 0)]))


def test_the_command(capsys, tmp_path):
    cables = [((f"host-{h} mlx5_{c}", 1), (f"leaf-{c}", h + 1)) for h in range(4) for c in range(2)]
    cables += [((f"leaf-{c}", 33 + s), (f"spine-{s}", c + 1)) for c in range(2) for s in range(4)]
    path = tmp_path / "built.txt"
    path.write_text(ibnetdiscover(cables), encoding="utf-8")
    picture = tmp_path / "built.svg"
    asked = [
        "fabric",
        "built",
        str(path),
        "--analysis",
        "--traffic",
        "permutation",
        "--picture",
        str(picture),
    ]
    assert run([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "argosy.fabric-built/1" and found["hosts"] == 4 and found["nics"] == 8
    assert found["switches"] == {"leaf": 2, "spine": 4} and found["usd"] is None and not found["bill"]
    assert found["worst_failure"]["what"] == "leaf" and picture.exists()
    assert run(asked) == 0 and "as-built" in capsys.readouterr().out
    path.write_text(path.read_text(encoding="utf-8")[:900], encoding="utf-8")
    assert run(asked) == 1 and "built.txt:" in capsys.readouterr().err


def test_loops_carry_nothing():
    """A switch joined to itself counts in no rate, no oversubscription, no failure."""
    topology = build(Design("fat-tree", 16, 1, 8, 40e9))
    wires = planned_wires(topology)
    leaf = next(i for i, device in enumerate(wires.devices) if device.is_switch)
    looped = replace(
        wires,
        a=np.append(wires.a, leaf), a_port=np.append(wires.a_port, 90),
        b=np.append(wires.b, leaf), b_port=np.append(wires.b_port, 91),
        rate=np.append(wires.rate, 40e9), line=np.append(wires.line, 7),
    )  # fmt: skip
    found = built_topology(looped)
    assert len(found.cables) == len(wires) and any(
        "1 loop carries no traffic" in note for note in found.notes
    )
    assert oversubscription(found.cables) == oversubscription(topology.cables)


def test_unused_oversubscription_is_told():
    over = (("leaf-uplink", 2.0), ("spine-uplink", 3.0))
    two = build(Design("fat-tree", 32, 1, 8, 40e9, tiers=2, oversubscription=over))
    assert [note for note in two.notes if "changes nothing" in note] == [
        "oversubscription spine-uplink changes nothing: a fat-tree of 2 tiers has no such uplinks"
    ]
    three = build(Design("fat-tree", 64, 1, 8, 40e9, tiers=3, oversubscription=over))
    assert not any("changes nothing" in note for note in three.notes)
