"""What is typed for a fabric: packets must take the predicted paths at the predicted rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argosy.fabric.topologies import DesignError
from argosy.testbed.fabrics import BUILDERS, fabric, pair
from argosy.testbed.wiring import Wiring

SIZE = 1 << 20


@pytest.fixture(params=sorted(BUILDERS))
def wiring(request):
    return Wiring.of(fabric(request.param, SIZE))


def peers(wiring):
    """Every cable's two ends, by (node, interface)."""
    found = {}
    for a, b in wiring.ends:
        found[a], found[b] = b, a
    return found


def walked(wiring, source, target):
    """The interfaces that a packet leaves by, followed entry by entry over what is typed for the switches."""
    ends = wiring.graph.endpoints
    entries = {}
    for node in wiring.switches:
        for line in wiring.forwards(node):
            words = line.split()
            if words[0] == "fdb":
                entries[wiring.nodes[node], words[2]] = words[4]
    far, node = peers(wiring), wiring.nodes[int(ends.host[source])]
    interface, taken = f"eth{ends.port[source]}", []
    while True:
        end = next(end for end in far if (end.node, end.interface) == (node, interface))
        taken.append((node, interface))
        node = far[end].node
        if node == wiring.nodes[int(ends.host[target])]:
            return taken
        assert len(taken) < 8, "a loop"
        interface = entries[node, wiring.mac(target)]


def test_typed_entries_lead_packets_over_the_predicted_links(wiring):
    ends = wiring.graph.endpoints
    routes = wiring.fabric.routes()
    for source in range(len(ends)):
        for target in range(len(ends)):
            if source == target or ends.plane[source] != ends.plane[target]:
                continue
            paths = routes.paths(np.array([source]), np.array([target]), "static")
            said = [wiring.sender(int(link)) for link in paths.links]
            assert walked(wiring, source, target) == [(end.node, end.interface) for end in said]


def test_every_link_is_shaped_once_where_it_leaves_a_node(wiring):
    lines = [(wiring.nodes[node], line) for node in range(len(wiring.nodes)) for line in wiring.shapes(node)]
    assert len(lines) == len(wiring.graph) == 2 * len(wiring.ends)
    rates = {(node, line.split()[3]): line.split()[line.split().index("rate") + 1] for node, line in lines}
    for link in range(len(wiring.graph)):
        end = wiring.sender(link)
        assert rates[end.node, end.interface] == f"{wiring.graph.rate[link]:.0f}bit"


def test_without_shaping_there_is_no_tc(wiring):
    free = Wiring.of(replace(wiring.fabric, shaped=False))
    assert not [line for node in range(len(free.nodes)) for line in free.shapes(node)]


def test_names_fit_and_are_taken_once(wiring):
    ends = [end for pair_of_ends in wiring.ends for end in pair_of_ends]
    assert len(set(ends)) == len(ends)
    assert max(len(end.interface) for end in ends) <= 15  # IFNAMSIZ
    cards = range(len(wiring.graph.endpoints))
    assert (
        len({wiring.mac(card) for card in cards})
        == len({wiring.address(card) for card in cards})
        == len(cards)
    )


def test_veths_stand_in_namespaces_alone(wiring):
    lines = list(wiring.veths("argosy-1-"))
    assert len(lines) == len(wiring.ends) - len(wiring.delays)
    assert all(line.count("netns argosy-1-") == 2 for line in lines)


def test_a_degraded_cable_keeps_its_share_both_ways():
    one = fabric("degraded", SIZE)
    (cable,) = one.degraded
    rate = one.graph.rate
    assert rate[2 * cable] == rate[2 * cable + 1] == pytest.approx(50e6)
    assert np.delete(rate, [2 * cable, 2 * cable + 1]) == pytest.approx(100e6)


def test_rails_are_subnets_of_their_own():
    wiring = Wiring.of(fabric("rail", SIZE))
    ends = wiring.graph.endpoints
    assert {wiring.address(card).rsplit(".", 1)[0] for card in range(len(ends)) if ends.port[card] == 1} == {
        "10.11.0"
    }


def test_two_sites_are_one_long_cable_apart():
    one = fabric("two-sites", SIZE)
    assert one.delay_of(0, 3) == 0.0
    assert one.delay_of(0, 4) == one.delay_of(7, 2) == pytest.approx(0.02)
    assert list(Wiring.of(one).delays) == list(one.delay_s)


def test_the_scale_divides_rates():
    assert pair(8000.0).graph.rate == pytest.approx(50e6)


def test_an_unknown_fabric_is_told_what_there_is():
    with pytest.raises(DesignError, match="two-sites"):
        fabric("ring-of-fire", SIZE)
