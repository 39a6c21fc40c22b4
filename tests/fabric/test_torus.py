"""Collectives over a torus, against message-by-message routing on a graph and the cuts of its links."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from argosy.fabric import build_network
from argosy.fabric.torus import TorusNetwork
from argosy.facts import Values, load_catalog
from argosy.spec import Fleet

LINK = 100e9


def net(*shape) -> TorusNetwork:
    return TorusNetwork(shape, LINK, 1.0, 0.0)


def routed_load(sides, closed):
    """The largest number of messages on one way of one link: all pairs, shortest, axis after axis."""
    load: Counter = Counter()
    for source, target in itertools.permutations(itertools.product(*map(range, sides)), 2):
        place = list(source)
        for axis, side in enumerate(sides):
            distance = (target[axis] - source[axis]) % side
            if closed[axis]:
                ways = [1] if distance < side / 2 else [-1] if distance > side / 2 else [1, -1]
            else:
                ways = [1 if target[axis] > source[axis] else -1]
            for way in ways:
                at = list(place)
                while at[axis] != target[axis]:
                    load[(tuple(at), axis, way)] += 1 / len(ways)
                    at[axis] = (at[axis] + way) % side
            place[axis] = target[axis]
    return max(load.values())


@pytest.mark.parametrize("sides", [(4, 4), (4, 6), (3, 5), (4, 4, 6), (5, 4, 3)])
def test_all_to_all_against_routing(sides):
    ranks = int(np.prod(sides))
    found = float(net(*sides).collective("all_to_all", 1e9, ranks, 1))
    assert found == pytest.approx(routed_load(sides, [True] * len(sides)) * 1e9 / ranks / LINK)


def test_all_to_all_on_part_of_an_axis_is_a_line():
    found = float(net(16, 4).collective("all_to_all", 1e9, 8, 1))
    assert found == pytest.approx(routed_load((8,), [False]) * 1e9 / 8 / LINK)


@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "all_to_all"])
@pytest.mark.parametrize(
    ("size", "stride"), [(16, 1), (8, 1), (256, 1), (384, 16), (6144, 1), (24, 256), (4, 4)]
)
def test_nothing_beats_its_bound(kind, size, stride):
    network = net(16, 16, 24)
    bound = float(network.bound(kind, 1e9, size, stride))
    found = float(network.collective(kind, 1e9, size, stride))
    assert bound * (1 - 1e-12) <= found < 2.2 * bound


def test_the_bound_is_the_cut_around_one_chip():
    graph = nx.grid_graph((4, 4, 4), periodic=True)
    degree = len(list(nx.edge_boundary(graph, [(0, 0, 0)])))
    assert float(net(4, 4, 4).bound("all_gather", 1e9, 64, 1)) == pytest.approx(
        63 / 64 * 1e9 / (degree * LINK)
    )


def test_all_reduce_of_a_ring_by_hand():
    assert float(net(16, 16, 24).collective("all_reduce", 1e9, 16, 1)) == pytest.approx(
        2 * 15 / 16 * 1e9 / 2 / LINK
    )
    # Half an axis has no way round; members four apart share their links with three other groups.
    assert float(net(16, 4).collective("all_gather", 1e9, 8, 1)) == pytest.approx(7 / 8 * 1e9 / LINK)
    assert float(net(16, 4).collective("all_gather", 1e9, 4, 4)) == pytest.approx(3 / 4 * 1e9 * 4 / 2 / LINK)


def test_more_axes_carry_more():
    network = net(16, 16, 16)
    one, two, three = (float(network.collective("all_reduce", 1e9, 16**k, 1)) for k in (1, 2, 3))
    assert one > 1.7 * two and two > 1.35 * three


def test_one_rank_says_nothing_and_hops_add_latency():
    assert float(net(16, 16).collective("all_reduce", 1e9, 1, 1)) == 0
    slow = TorusNetwork((16, 16), LINK, 1.0, 1e-6)
    assert float(slow.collective("all_gather", 1.0, 256, 1)) == pytest.approx(16e-6, rel=1e-3)
    assert float(slow.collective("all_gather", 1.0, 8, 1)) == pytest.approx(7e-6, rel=1e-3)


def test_point_to_point_passes_the_links_between():
    network = net(16, 16, 24)
    assert float(network.point_to_point(1e9, 256)) == pytest.approx(1e9 / LINK)
    assert float(network.point_to_point(1e9, 3 * 256)) == pytest.approx(3e9 / LINK)
    assert float(network.point_to_point(1e9, 15)) == pytest.approx(1e9 / LINK)  # the short way round


def test_a_fleet_of_v5p_and_draws():
    values = Values(load_catalog().facts)
    asked = {"accelerator": "TPU-v5p", "count": 6144, "node": "TPU-v5p-host", "spares": {"nodes": 0}}
    fleet = Fleet.model_validate(asked | {"fabrics": [{"topology": "torus", "shape": [16, 16, 24]}]})
    assert build_network(fleet, values).link == pytest.approx(100e9)
    drawn = build_network(fleet, values.sample(5, seed=1))
    assert drawn.collective("all_reduce", 1e9, 16, 1).shape == (5,)
