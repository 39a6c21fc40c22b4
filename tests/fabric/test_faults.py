"""Cables that fail by name: exactly those, and what is not there is said."""

import numpy as np
import pytest

from argosy.fabric import Design, build, flows
from argosy.fabric.names import node_names
from argosy.fabric.topologies import DesignError


@pytest.fixture(scope="module")
def topology():
    return build(Design("fat-tree", 32, 1, 8, 400e9))  # 8 leaves of 4 hosts, 4 spines of 8 ports


def ends(topology, numbers):
    names, cables = node_names(topology.cables), topology.cables
    return [(names[cables.a[one]], names[cables.b[one]]) for one in numbers]


@pytest.mark.parametrize("word", ["leaf-3:spine-2", "spine-2:leaf-3", "spine-2[3]"])
def test_one_cable_by_name(topology, word):
    run = flows.run_traffic(topology, "all-to-all", routing="spray", failed=[word])
    assert ends(topology, run.failed) == [("leaf-3", "spine-2")]
    dead = run.graph.rate == 0
    assert dead.sum() == 2 and (run.results[0].load[dead] == 0).all()
    # 4 hosts of leaf 3 send 28 of 31 shares out over 3 of 4 uplinks
    assert run.results[0].load.max() == pytest.approx(28 / 31 * 4 / 3)


def test_a_switch_by_name_takes_all_its_cables(topology):
    run = flows.run_traffic(topology, "all-to-all", routing="spray", failed=["spine-2"])
    assert {pair[1] for pair in ends(topology, run.failed)} == {"spine-2"} and len(run.failed) == 8
    assert run.results[0].load.max() == pytest.approx(28 / 31 * 4 / 3)
    assert run.results[0].arrives.all()


def test_names_and_counts_together(topology):
    """A named cable is not drawn again: 31 of 32 are left to draw."""
    run = flows.run_traffic(topology, "permutation", failed=["leaf-3:spine-2"], degraded=31)
    assert len(run.degraded) == 31 and not np.isin(run.failed, run.degraded).any()
    with pytest.raises(DesignError, match="32 cables cannot fail or degrade: 31 join switches"):
        flows.run_traffic(topology, "permutation", failed=["leaf-3:spine-2"], degraded=32)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["leaf-9:spine-2"], "no 'leaf-9' here; nodes are called host-01 to spine-4"),
        (["leaf-1:leaf-2"], "no cable"),
        (["host-01:leaf-1"], "no cable"),
        (["leaf-1"], "not all its cables join switches"),
        (["leaf-1[99]"], "no cable"),
        (["leaf-3:spine-2", "leaf-3:spine-2"], "no cable"),
    ],
)
def test_what_is_not_there_is_said(topology, words, message):
    with pytest.raises(DesignError, match=message.replace("[", r"\[")):
        flows.run_traffic(topology, "permutation", failed=words)
