"""Rank placement: groups by nested loops, rail shares by the law, bytes conserved, seconds by hand, the best order."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest

from argosy.fabric import placement
from argosy.fabric.network import Level, Pair, TieredNetwork
from argosy.fabric.placement import USUAL, groups_of, messages_of, place, placement_payload, rail_locality
from argosy.fabric.schedule import wires_of
from argosy.fabric.topologies import Design, DesignError, build
from argosy.laws import rails

CARD, LINK = 50e9, 450e9


def network(accelerators, domain=8):
    pair = (Pair(1.0, 0.0, 0.0),)
    levels = (Level("scale-up", domain, LINK, pair, pair), Level("all", math.inf, CARD, pair, pair))
    return TieredNetwork(levels, accelerators, (0.0,), (0.0,), (0.0,), (0.0,))


def wires(hosts=32, routing="spray"):
    design = Design("rail-optimized", hosts, 8, 64, 8 * CARD)
    return wires_of(build(design), network(hosts * 8), routing)


@pytest.mark.parametrize("order", list(permutations(USUAL)))
def test_groups_are_those_of_nested_loops(order):
    sizes = {"tp": 2, "cp": 3, "dp": 4, "pp": 5}
    rank_of = {}
    for rank, coordinates in enumerate(product(*(range(sizes[name]) for name in reversed(order)))):
        rank_of[tuple(coordinates[::-1][order.index(name)] for name in USUAL)] = rank
    for axis, name in enumerate(USUAL):
        expected = set()
        for place_ in product(*(range(sizes[other]) for other in USUAL if other != name)):
            expected.add(tuple(rank_of[(*place_[:axis], i, *place_[axis:])] for i in range(sizes[name])))
        assert {tuple(group) for group in groups_of(sizes, order, name).tolist()} == expected


def test_expert_groups_fold_into_a_stage():
    """Megatron-Core: expert tensor parallelism fastest, then experts, then their copies, stage by stage."""
    sizes = {"tp": 2, "cp": 1, "dp": 8, "pp": 2, "ep": 4, "etp": 2}
    expected = {
        tuple(stage * 16 + copy * 8 + expert * 2 + half for expert in range(4))
        for stage in range(2)
        for copy in range(2)
        for half in range(2)
    }
    assert {tuple(group) for group in groups_of(sizes, USUAL, "ep").tolist()} == expected


@pytest.mark.parametrize(
    ("tp", "pp", "dp"), [(8, 16, 128), (4, 16, 128), (2, 4, 32), (1, 2, 8), (16, 2, 4), (4, 1, 64)]
)
def test_rail_locality_is_the_laws(tp, pp, dp):
    sizes = {"tp": tp, "cp": 1, "dp": dp, "pp": pp}
    sent = dict.fromkeys(("tp", "dp", "pp"), 1.0)
    one = place(wires(max(tp * pp * dp // 8, 1)), sizes, sent, ("tp", "pp", "dp", "cp"))
    assert rail_locality(one, 8) == pytest.approx(rails.same_rail_share(tp, pp, dp, 8))


def test_tensor_parallelism_of_8_keeps_everything_on_its_rail_and_of_4_half():
    found = {}
    for tp in (8, 4):
        sizes = {"tp": tp, "cp": 1, "dp": 128, "pp": 16}
        one = place(wires(tp * 256), sizes, {"dp": 1.0, "pp": 1.0}, ("tp", "pp", "dp", "cp"))
        found[tp] = rail_locality(one, 8)
    assert found == {8: 1.0, 4: 0.5}


def test_bytes_are_conserved_and_seconds_are_those_of_the_wires():
    sizes = {"tp": 8, "cp": 1, "dp": 8, "pp": 4}
    one = place(wires(), sizes, {"tp": 7e9, "dp": 3e9, "pp": 2e9}, USUAL)
    assert one.tiers["tp"] == {"scale-up": pytest.approx(256 * 7e9)}
    assert sum(one.tiers["dp"].values()) == pytest.approx(256 * 3e9)
    assert sum(one.tiers["pp"].values()) == pytest.approx(2 * 3 * 64 * 1e9)  # three borders, both ways
    assert one.seconds["tp"] == pytest.approx(7e9 / LINK)
    assert one.seconds["dp"] == pytest.approx(3e9 / CARD)
    assert one.seconds["pp"] == pytest.approx(2e9 / CARD)
    assert one.wire_s == pytest.approx(7e9 / LINK + 5e9 / CARD)


def test_rings_leave_a_node_over_all_its_cards():
    """Data parallelism over whole nodes: eight rings, each with its card, 32/256 of the hops between nodes."""
    one = place(wires(), {"tp": 1, "cp": 1, "dp": 256, "pp": 1}, {"dp": 8e9}, USUAL)
    assert one.seconds["dp"] == pytest.approx(8e9 / 8 / CARD)
    assert one.tiers["dp"]["scale-up"] == pytest.approx(256 * 8e9 * 7 / 8)


def test_domains_that_hold_unequal_numbers_have_as_many_rings_as_the_fewest():
    found = messages_of("dp", np.arange(20)[None], 6.0, 8)
    sent = np.bincount(found.source, weights=found.amount, minlength=20)
    assert sent == pytest.approx(6.0) and len(found.source) == 4 * 20
    leaving = found.source // 8 != found.end // 8
    assert len(np.unique(found.source[leaving & (found.source < 8)])) == 4


def test_experts_go_to_everyone_of_their_group():
    one = place(wires(), {"tp": 1, "cp": 1, "dp": 64, "pp": 4, "ep": 16}, {"ep": 15e9}, USUAL)
    assert one.tiers["ep"]["scale-up"] == pytest.approx(256 * 15e9 * 7 / 15)
    assert one.tiers["ep"]["1 switch"] == pytest.approx(256 * 15e9 * 8 / 15)
    assert one.seconds["ep"] == pytest.approx(8e9 / CARD)


def test_the_best_order_is_found():
    """Whoever sends most belongs on the scale-up links."""
    topology = build(Design("rail-optimized", 32, 8, 64, 8 * CARD))
    sizes = {"tp": 8, "cp": 1, "dp": 8, "pp": 4}
    usual = placement_payload(
        topology, network(256), sizes, {"tp": 9e10, "dp": 1e9, "pp": 1e9}, routing="spray"
    )
    odd = placement_payload(
        topology, network(256), sizes, {"tp": 1e9, "dp": 9e10, "pp": 1e9}, routing="spray"
    )
    assert usual["placement"]["best"]["order"][0] == "tp" and odd["placement"]["best"]["order"][0] == "dp"
    for payload in (usual["placement"], odd["placement"]):
        times = [row["wire_s"] for row in payload["orders"]]
        assert times == sorted(times) and payload["best"]["wire_s"] == times[0] and len(times) == 6
        assert sum(payload["share_by_tier"].values()) == pytest.approx(1)
        assert payload["order"] == ["tp", "dp", "pp"]
    assert usual["placement"]["wire_s"] < odd["placement"]["wire_s"]


def test_layout_pattern_is_what_leaves_the_domains():
    on = wires()
    one = place(on, {"tp": 8, "cp": 1, "dp": 8, "pp": 4}, {"tp": 7e9, "dp": 3e9, "pp": 2e9}, USUAL)
    source, end, amount = placement.layout_pattern(one, on)
    assert amount.sum() == pytest.approx(256 * 3e9 + 2 * 3 * 64 * 1e9)
    assert (on.found.graph.endpoints.port[source] == on.found.graph.endpoints.port[end]).all()
    inside = place(on, {"tp": 8, "cp": 1, "dp": 1, "pp": 1}, {"tp": 7e9}, USUAL)
    with pytest.raises(DesignError, match="does not leave"):
        placement.layout_pattern(inside, on)


def test_a_layout_that_does_not_fit_is_named():
    topology = build(Design("rail-optimized", 4, 8, 64, 8 * CARD))
    with pytest.raises(DesignError, match="64 ranks does not fit 32 accelerators"):
        placement_payload(topology, network(32), {"tp": 8, "cp": 1, "dp": 8, "pp": 1}, {"dp": 1.0})
