"""Fabrics of a scenario's fleet: designs filled from the catalog, bills, the plan's rows, the network's
levels.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from argosy.fabric import DesignError, build_network, plan_fabric
from argosy.fabric.bill import bill, cheapest_module
from argosy.fabric.fleet import fleet_design
from argosy.fabric.hall import lay_out
from argosy.fabric.switches import with_switch
from argosy.fabric.topologies import Design, build
from argosy.facts import FactError, Values, load_catalog
from argosy.spec import Fleet


@pytest.fixture
def values() -> Values:
    return Values(load_catalog().facts)


def fleet(count=2048, accelerator="H100-SXM", node=None, spares=0, **fabric) -> Fleet:
    data = {"accelerator": accelerator, "count": count, "fabrics": [fabric], "spares": {"nodes": spares}}
    return Fleet.model_validate(data | ({"node": node} if node else {}))


LLAMA = {
    "topology": "multi-pod",
    "pods": 8,
    "pod_accelerators": 3072,
    "switch": "Minipack2-64x400G",
    "protocol": "roce",
    "oversubscription": {"pod-uplink": 7},
}


def test_llama3_fabric_in_the_plan(values):
    (row,) = plan_fabric(fleet(16384, spares=32, **LLAMA), values)
    assert row["endpoints"] == 24576 and row["hosts"] == 3072 and not row["problems"]
    assert row["injection_bps_per_direction"] == pytest.approx(24576 * 400e9)
    assert [tier["name"] for tier in row["tiers"]] == ["leaf", "spine", "core"]
    chassis = {tier["switch"] for tier in row["tiers"][1:]}
    assert chassis != {"Minipack2-64x400G"}  # 192 racks do not close over 64 ports: a chassis stands above
    uplinks = row["tiers"][2]["links"] / 8 * 4
    assert row["bisection_bps_per_direction"] == pytest.approx(uplinks * 400e9)
    assert row["usd"] == pytest.approx(sum(line["usd"] for line in row["bill"]))
    assert json.dumps(row)


def test_network_levels_of_llama3(values):
    network = build_network(fleet(16384, **LLAMA), values)
    names = {level.name: level for level in network.levels}
    assert [level.size for level in network.levels] == [8, 16, 3072, np.inf]
    assert names["pod"].bandwidth == pytest.approx(50e9)
    assert 50e9 / 7 <= names["all"].bandwidth < 50e9 / 6.5
    balanced = build_network(fleet(16384, **LLAMA, placement="balanced"), values)
    assert balanced.levels[2].size == 2048


def test_defaults_come_from_the_catalog():
    asked = fleet(2048, topology="rail-optimized", spares=0)
    design = fleet_design(asked, asked.compute_fabric)
    assert (design.hosts, design.nics_per_host, design.rate, design.radix) == (256, 8, 400e9, 64)
    assert design.switch == "QM9700"


def test_spares_need_ports(values):
    (row,) = plan_fabric(fleet(2048, topology="multi-plane", spares=8), values)
    assert row["endpoints"] == (256 + 8) * 8 and not row["problems"]


def test_draws_give_draws(values):
    asked = fleet(2048, topology="rail-optimized", protocol="roce")
    drawn = values.sample(5, seed=1)
    (row,) = plan_fabric(asked, drawn)
    assert row["usd"].shape == (5,) and row["w"].shape == (5,)
    assert build_network(asked, drawn).collective("all_reduce", 1e9, 256, 8).shape == (5,)


def test_export_chips_keep_their_generation(values):
    h800, h100 = (
        build_network(fleet(64, accelerator=name, topology="rail-optimized"), values)
        for name in ("H800-SXM", "H100-SXM")
    )
    assert h800.levels[0].ring == h100.levels[0].ring
    assert h800.levels[0].bandwidth < h100.levels[0].bandwidth


def test_a_given_share_of_the_wire_is_used(values):
    network = build_network(fleet(topology="rail-optimized", delivered=0.5), values)
    assert network.levels[1].ring[-1].delivered == 0.5


def test_bill_by_hand(values):
    """64 hosts in 16 cabinets of a square hall, one switch in the middle: every length by hand."""
    topology = build(Design("fat-tree", 64, 1, 64, 400e9, switch="QM9700"))
    facts = {path: fact.value for path, fact in load_catalog().facts.items()}
    in_row = 9  # cabinets of 0.6 m, rows 3 m apart: 16·3/0.6 = 80, whose root is 8.9
    places = [(0.6 * (rack % in_row), 3.0 * (rack // in_row)) for rack in range(16)]
    middle = [sum(axis) / 16 for axis in zip(*places, strict=True)]
    lengths = [abs(x - middle[0]) + abs(y - middle[1]) + 4 for x, y in places for _ in range(4)]
    hall = lay_out(topology, values)
    assert hall.length_m == pytest.approx(lengths)
    costs, usd, w = bill(topology, values), facts["switches.QM9700.price"], facts["switches.QM9700.power"]
    for length in lengths:
        part, share = cheapest_module(400e9, length, values)
        fibre = (
            facts["optics.MPO-fibre.price"]
            if "fibre" in load_catalog().entry("optics", part).text["medium"]
            else 0
        )
        usd += 2 * share * facts[f"optics.{part}.price"] + fibre
        w += share * facts[f"optics.{part}.power"]
    assert costs.usd == pytest.approx(usd) and costs.w == pytest.approx(w)


@pytest.mark.parametrize(
    ("length", "medium"),
    [(2.0, "passive copper"), (4.5, "active copper"), (40.0, "multimode"), (90.0, "single-mode")],
)
def test_modules_follow_the_length(values, length, medium):
    part, _ = cheapest_module(400e9, length, values)
    assert medium in load_catalog().entry("optics", part).text["medium"]
    assert cheapest_module(400e9, 1e6, values) is None


def test_what_nobody_published_is_said(values):
    (row,) = plan_fabric(fleet(4096, "TPU-v4", "DGX-H100", topology="torus", shape=[16, 16, 16]), values)
    assert row["usd"] is None and any("no price is known" in note for note in row["notes"])


@pytest.mark.parametrize(
    ("fabric", "words"),
    [
        ({"topology": "multi-pod", "pods": 2, "pod_accelerators": 512}, "fewer than the 256"),
        ({"topology": "multi-pod"}, "write pods"),
        ({"topology": "fat-tree", "switch": "QM8700"}, "too slow for links of 400 Gb/s"),
        ({"topology": "fat-tree", "switch": "QM970"}, "QM9700"),
    ],
)
def test_faults_are_named(values, fabric, words):
    with pytest.raises(FactError, match=words):
        plan_fabric(fleet(**fabric), values)


def test_pods_that_are_not_given_are_as_many_as_the_fleet_fills(values):
    (row,) = plan_fabric(fleet(16384, spares=32, topology="multi-pod", pod_accelerators=3072), values)
    (given,) = plan_fabric(
        fleet(16384, spares=32, topology="multi-pod", pods=6, pod_accelerators=3072), values
    )
    assert row["tiers"] == given["tiers"]


def test_pods_hold_the_spares_too(values):
    (row,) = plan_fabric(fleet(16384, spares=32, topology="multi-pod", pods=8), values)
    assert row["hosts"] == 2080 and row["endpoints"] == 2080 * 8


def test_multi_plane_closes_in_two_tiers_for_deepseek(values):
    (row,) = plan_fabric(fleet(2048, "H800-SXM", spares=8, topology="multi-plane", planes=8), values)
    assert [tier["name"] for tier in row["tiers"]] == ["leaf", "spine"]
    assert row["endpoints"] == 2112 and not row["problems"]


def test_a_torus_larger_than_a_pod_is_refused(values):
    with pytest.raises(DesignError, match="larger than the 8"):
        build_network(fleet(4096, topology="torus"), values)


def test_two_tiers_of_a_cloudmatrix_lie_inside_the_cards(values):
    asked = {
        "accelerator": "Ascend-910C",
        "count": 768,
        "node": "CloudMatrix384-node",
        "fabrics": [
            {"topology": "supernode"},
            {"topology": "fat-tree", "link": "400 Gb/s", "protocol": "roce"},
        ],
        "spares": {"nodes": 0},
    }
    network = build_network(Fleet.model_validate(asked), values)
    assert [level.size for level in network.levels][:2] == [8, 384]
    assert network.levels[1].bandwidth == pytest.approx(392e9)
    inside, across = (float(network.collective("all_to_all", 1e9, size, 1)) for size in (384, 768))
    assert inside > 383 / 384 * 1e9 / 392e9 and across > 2 * inside
    alone = asked | {"fabrics": asked["fabrics"][:1]}
    with pytest.raises(DesignError, match="more than one supernode of 384"):
        build_network(Fleet.model_validate(alone), values)
    one = build_network(Fleet.model_validate(alone | {"count": 384}), values)
    assert float(one.collective("all_to_all", 1e9, 384, 1)) == pytest.approx(inside, rel=0.01)


@pytest.mark.parametrize(
    ("hosts", "domain", "switch"),
    [(128, 256, "QM9700"), (256, 128, "QM9700"), (128, 256, "Tomahawk5-128x400G")],
)
def test_rail_only_saves_what_its_authors_found(values, hosts, domain, switch):
    """38 to 77 % of the network's cost against any-to-any rails (W. Wang et al., arXiv:2307.12169), 32,768 cards."""
    usd = {
        kind: bill(build(with_switch(Design(kind, hosts, domain, 0, 400e9), switch)), values).usd
        for kind in ("rail-optimized", "rail-only")
    }
    assert 0.38 < 1 - usd["rail-only"] / usd["rail-optimized"] < 0.77


@pytest.mark.parametrize(
    "fabric",
    [
        {"topology": "dual-tor"},
        {"topology": "dragonfly+"},
        {"topology": "dragonfly", "pods": 9},
        {"topology": "multi-plane", "planes": 2, "card_ports": 2},
        {"topology": "multi-pod", "pods": 4, "rails": True, "planes": 2, "card_ports": 2},
        {
            "topology": "rail-optimized",
            "switches": {"spine": "Q3400-RA"},
            "link_rates": {"leaf-spine": "800 Gb/s"},
        },
    ],
    ids=lambda one: one["topology"],
)
def test_every_topology_carries_training(values, fabric):
    """A fleet of 2,048: no problems, levels that narrow outwards, and a collective no faster than its bound."""
    asked = fleet(2048, **fabric)
    if "switches" in fabric:
        asked = fleet(2048, switch="Q3400-RA", **fabric)
    (row,) = plan_fabric(asked, values)
    assert not row["problems"] and row["usd"] > 0
    network = build_network(asked, values)
    rates = [float(level.bandwidth) for level in network.levels[1:]]
    assert rates == sorted(rates, reverse=True)
    found = float(network.collective("all_reduce", 1e9, 2048, 1))
    assert found >= float(network.bound("all_reduce", 1e9, 2048, 1))


def test_slow_nodes_hold_up_everybody(values):
    quick, mixed = (
        build_network(fleet(2048, topology="rail-optimized", **more), values)
        for more in ({}, {"slow_nodes": {"nodes": 8, "link": "200 Gb/s"}})
    )
    assert mixed.levels[1].bandwidth == quick.levels[1].bandwidth / 2


def test_eight_racks_of_nvl72(values):
    """A unit of GB200: 8 racks of 72 in 18 trays of 4; 9 switch trays of 2 chips; 18 links an accelerator."""
    asked = fleet(576, "GB200", topology="supernode")
    (row,) = plan_fabric(asked, values)
    assert (row["copies"], row["hosts"]) == (8, 72)
    (tier,) = row["tiers"]
    assert (tier["switches"], tier["links"]) == (9 * 2, 72 * 18)
    tray = load_catalog().entry("nodes", "GB200-tray").facts["accelerators"].value
    assert row["hosts"] / tray == 18
    assert row["injection_bps_per_direction"] / 72 / 8 == pytest.approx(900e9)


def test_the_hall_is_the_scenarios_to_change(values):
    topology = build(Design("fat-tree", 64, 1, 64, 400e9, switch="QM9700"))
    changed = load_catalog().with_overrides(
        {"halls.default.rise": {"value": "12 m", "low": "12 m", "high": "12 m", "source": "our hall"}}
    )
    ours = lay_out(topology, Values(changed.facts))
    assert ours.length_m == pytest.approx(lay_out(topology, values).length_m + 20.0)
    assert ours.names()[0] == "rack-01" and ours.names()[-1] == "net-1"
    whole = build(Design("multi-pod", 32, 2, 16, 400e9, pods=4, upper_radix=64))
    inside = lay_out(whole, values).length_m[whole.cables.boundary == 0]
    assert set(inside) == {2.0}  # a rack's leaf stands in the rack of its hosts
