"""A design kept in JSON is drawn again, cable by cable."""

from __future__ import annotations

import json

import numpy as np
import pytest

from argosy.fabric import Design, DesignError, build
from argosy.fabric.names import node_names
from argosy.fabric.record import design_of, design_record
from argosy.fabric.topologies.design import SwitchKind

DESIGNS = [
    Design("fat-tree", 32, 1, 8, 400e9, oversubscription=(("leaf-uplink", 3.0),)),
    Design("rail-optimized", 16, 8, 32, 400e9, kinds=(("spine", SwitchKind("", 64)),), missing=(3,)),
    Design("torus", 64, 1, 0, 800e9, shape=(4, 4, 4)),
    Design("multi-pod", 16, 4, 16, 400e9, pods=2, rates=(("spine-core", 800e9),)),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.topology)
def test_there_and_back(design):
    again = design_of(json.loads(json.dumps(design_record(design))), "here")
    assert again == design
    one, two = build(design).cables, build(again).cables
    assert all(
        np.array_equal(getattr(one, name), getattr(two, name))
        for name in ("a", "a_port", "b", "b_port", "rate")
    )


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"topology": "fat-tree", "colour": "red"}, "here: a design has no colour"),
        ({"topology": "fat-tree"}, "not whole"),
    ],
)
def test_a_record_that_is_none(record, message):
    with pytest.raises(DesignError, match=message):
        design_of(record, "here")


def test_names_are_one_per_node_and_sort():
    cables = build(DESIGNS[0]).cables
    names = node_names(cables)
    assert len(set(names)) == len(names) == cables.nodes
    hosts = [name for name in names if name.startswith("host-")]
    assert hosts == sorted(hosts) and hosts[0] == "host-01"
    planes = node_names(build(Design("rail-only", 4, 2, 8, 1e9)).cables)
    assert "plane-0-leaf-1" in planes and not any("/" in name or " " in name for name in planes)
