"""Routes against networkx's shortest paths, the shifts of fat trees, up-down on an irregular fabric, a torus by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import networkx
import numpy as np
import pytest

from argosy.fabric import traffic
from argosy.fabric.linkgraph import link_graph
from argosy.fabric.routing import link_loads, routes, routes_for, static_routes
from argosy.fabric.routing_torus import DimensionOrder
from argosy.fabric.topologies import Design, DesignError, build

SHIFTS = (1, 2, 3, 5, 7, 16, 31, 32, 33, 64, 100, 127, 500, 511)


def full(hosts=128, radix=16, name="fat-tree", nics=1, **more):
    return build(Design(name, hosts, nics, radix, 400e9, **more))


def graph_of(topology) -> networkx.MultiDiGraph:
    """The cable list as networkx sees it, built here from the columns alone."""
    cables, found = topology.cables, networkx.MultiDiGraph()
    for number, (a, b) in enumerate(zip(cables.a.tolist(), cables.b.tolist(), strict=True)):
        found.add_edge(a, b, key=2 * number)
        found.add_edge(b, a, key=2 * number + 1)
    return found


@pytest.mark.parametrize(
    "topology",
    [
        full(64, 8, tiers=3),
        full(16, 16, "rail-optimized", 8),
        full(48, 16, "multi-pod", 2, pods=4, oversubscription=(("pod-uplink", 7.0),)),
        full(8, 16, "multi-plane", 2, planes=4),
    ],
    ids=["three tiers", "rails", "pods", "planes"],
)
@pytest.mark.parametrize("routing", ["ecmp", "static", "up-down"])
def test_every_path_is_a_shortest_one(topology, routing):
    graph, ends = graph_of(topology), link_graph(topology.cables).endpoints
    source, end = traffic.pattern(ends, "permutation", 3)
    found = routes_for(link_graph(topology.cables), routing)
    paths = found.paths(source, end, routing, seed=5)
    assert paths.arrives.all()
    shortest = dict(networkx.all_pairs_shortest_path_length(graph))
    edges = {key: (a, b) for a, b, key in graph.edges(keys=True)}
    for flow in range(len(source)):
        links = paths.links[paths.first[flow] : paths.first[flow + 1]]
        steps = [edges[link] for link in links.tolist()]
        assert steps[0][0] == ends.host[source[flow]] and steps[-1][1] == ends.host[end[flow]]
        assert links[0] == ends.up[source[flow]] and links[-1] == ends.down[end[flow]]
        assert all(before[1] == after[0] for before, after in pairwise(steps))
        # Two hosts of different planes never meet, and of one plane they meet by that plane's shortest way.
        assert len(steps) >= shortest[steps[0][0]][steps[-1][1]]
        assert len(steps) - 2 == shortest[ends.switch[source[flow]]][ends.switch[end[flow]]]


@pytest.mark.parametrize(
    "topology",
    [
        full(1024, 64),
        full(1024, 32, tiers=3),
        full(128, 64, "rail-optimized", 8),
        full(1024, 64, upper_radix=128),
    ],
    ids=["two tiers", "three tiers", "rails", "parallel cables"],
)
@pytest.mark.parametrize("places", SHIFTS)
def test_shifts_of_a_full_tree_meet_nowhere(topology, places):
    ends = link_graph(topology.cables).endpoints
    assert len(ends) == 1024
    assert link_loads(topology, *traffic.shift(ends, places)).max() == 1


def test_a_missing_node_makes_large_shifts_meet():
    """With 127 of 128 nodes the numbers after the end no longer fall into step (measured with a subnet manager: 2)."""
    whole, lacking = full(128), full(127)
    worst = {}
    for topology in (whole, lacking):
        ends = link_graph(topology.cables).endpoints
        worst[len(ends)] = [link_loads(topology, *traffic.shift(ends, k)).max() for k in (16, 33, 64, 100)]
    assert worst == {128: [1, 1, 1, 1], 127: [2, 2, 2, 2]}


def test_random_permutations_meet_about_five_times():
    topology = full(1024, 64)
    ends = link_graph(topology.cables).endpoints
    worst = [link_loads(topology, *traffic.pattern(ends, "permutation", seed)).max() for seed in range(10)]
    assert 4 <= np.mean(worst) <= 7


def test_the_hash_spreads_as_balls_in_bins():
    """On one leaf of 32 uplinks, flows to elsewhere are balls in bins: mean of the fullest within what a draw gives."""
    topology = full(1024, 64)
    graph = link_graph(topology.cables)
    found, ends = routes(graph), graph.endpoints
    uplinks = np.flatnonzero((graph.tail == ends.switch[0]) & graph.between_switches)
    random = np.random.default_rng(0)
    hashed, drawn = [], []
    for seed in range(40):
        end = random.permutation(np.arange(32, 1024))[:32]
        hashed.append(found.paths(np.arange(32), end, "ecmp", seed).load(len(graph))[uplinks].max())
        drawn.append(np.bincount(random.integers(32, size=32)).max())
    assert len(uplinks) == 32 and np.mean(hashed) == pytest.approx(np.mean(drawn), abs=0.5)


def test_spraying_is_the_mean_over_many_hashes():
    topology = full(64, 8, tiers=3)
    graph = link_graph(topology.cables)
    found = routes(graph)
    source, end = traffic.pattern(graph.endpoints, "permutation", 1)
    mean = np.mean([found.paths(source, end, "ecmp", s).load(len(graph)) for s in range(600)], axis=0)
    sprayed = found.paths(source, end, "spray").load(len(graph))
    assert mean == pytest.approx(sprayed, abs=0.25) and abs(mean - sprayed).mean() < 0.03


def test_spraying_a_matrix_equals_spraying_its_flows():
    topology = full(16, 16, "rail-optimized", 8)
    graph = link_graph(topology.cables)
    found, ends = routes(graph), graph.endpoints
    source, end = traffic.all_to_all(ends)
    demand = np.zeros(found.table.shape)
    np.add.at(demand, (found.column[ends.switch[end]], found.local[ends.switch[source]]), 1.0)
    between = graph.between_switches
    single = found.paths(source, end, "spray").load(len(graph))
    assert found.spread_load(demand)[between] == pytest.approx(single[between])


def test_failed_links_are_gone_round():
    topology = full(32, 8)
    graph = link_graph(topology.cables)
    ends = graph.endpoints
    share = np.ones(len(graph))
    uplinks = np.flatnonzero((graph.tail == ends.switch[0]) & graph.between_switches)
    share[uplinks[1:]] = share[uplinks[1:] ^ 1] = 0.0
    found = routes(graph.with_rates(share))
    paths = found.paths(np.zeros(8, dtype=int), np.arange(8, 16), "ecmp")
    assert paths.arrives.all() and paths.load(len(graph))[uplinks[0]] == 8
    share[uplinks] = share[uplinks ^ 1] = 0.0
    cut = routes(graph.with_rates(share)).paths(np.array([0, 4]), np.array([8, 8]), "ecmp")
    assert cut.arrives.tolist() == [False, True] and cut.first.tolist()[:2] == [0, 0]


def test_up_down_never_turns_up_again():
    """Without its cable from spine 1, leaf 0 is reached from leaf 1 by hash through any spine, but never by a valley."""
    topology = full(32, 8)
    graph = link_graph(topology.cables)
    share = np.ones(len(graph))
    leaves, spines = topology.cables.group("leaf").ids, topology.cables.group("spine").ids
    lost = np.isin(graph.tail, leaves[:1]) & np.isin(graph.head, spines[1:])
    lost |= np.isin(graph.tail, leaves[1:2]) & np.isin(graph.head, spines[:1])
    share[lost | lost[np.arange(len(lost)) ^ 1]] = 0.0
    hurt = graph.with_rates(share)
    tier = graph.tier
    free = routes(hurt).paths(np.array([0]), np.array([4]), "ecmp")
    held = routes(hurt, up_down=True).paths(np.array([0]), np.array([4]), "up-down")
    assert free.arrives.all() and len(free.links) == 6  # leaf, spine, leaf, spine, leaf: a valley
    turns = np.diff(tier[graph.head[free.links]])
    assert (turns[:-1] < 0).any() and not held.arrives.any()
    everyone = traffic.pattern(graph.endpoints, "permutation", 0)
    paths = routes(hurt, up_down=True).paths(*everyone, "up-down")
    for flow in np.flatnonzero(paths.arrives):
        tiers = tier[graph.head[paths.links[paths.first[flow] : paths.first[flow + 1]]]].tolist()
        peak = tiers.index(max(tiers))
        assert tiers == sorted(tiers[: peak + 1]) + sorted(tiers[peak + 1 :], reverse=True)


def test_dimension_order_on_a_torus():
    topology = build(Design("torus", 4 * 4 * 8, 1, 0, 400e9, shape=(4, 4, 8)))
    graph = link_graph(topology.cables)
    order = DimensionOrder.of(graph, topology)
    source, end = traffic.pattern(graph.endpoints, "permutation", 2)
    paths = order.paths(source, end)
    sides = np.array([4, 4, 8])
    apart = (order.place[end] - order.place[source]) % sides
    hops = np.minimum(apart, sides - apart).sum(axis=1)
    assert np.diff(paths.first).tolist() == hops.tolist()
    one = paths.links[paths.first[0] : paths.first[1]]
    axes = [np.flatnonzero(order.place[graph.head[k]] != order.place[graph.tail[k]])[0] for k in one]
    assert axes == sorted(axes)
    assert graph.head[one[-1]] == end[0]


def test_all_to_all_on_a_torus_loads_every_link_of_an_axis_alike():
    topology = build(Design("torus", 64, 1, 0, 400e9, shape=(4, 4, 4)))
    graph = link_graph(topology.cables)
    source, end = traffic.all_to_all(graph.endpoints)
    load = DimensionOrder.of(graph, topology).paths(source, end).load(len(graph))
    # Per ring of 4: distances 1, 2, 1 from every chip over 2 directions: 2 links' worth per chip and direction of 1/2.
    assert load.sum() == 64 * 64 * 3 * 1.0 and load.max() == load.min() == 64 * 64 * 3 / (64 * 6)


def test_static_routes_are_the_same_whoever_sends():
    found = static_routes(full(128))
    paths = found.paths(np.array([0, 1, 2]), np.array([77, 77, 77]), "static")
    each = [paths.links[paths.first[f] + 1 : paths.first[f + 1]].tolist() for f in range(3)]
    assert each[0] == each[1] == each[2]


def test_what_is_not_known_is_named():
    graph = link_graph(full(32, 8).cables)
    with pytest.raises(DesignError, match="routing 'magic' is not known; write one of ecmp"):
        routes_for(graph, "magic")
    with pytest.raises(DesignError, match="dimension-order routing is for a torus"):
        routes_for(graph, "dimension-order")
    with pytest.raises(DesignError, match="traffic 'gossip' is not known; write one of permutation"):
        traffic.pattern(graph.endpoints, "gossip", 0)
    with pytest.raises(DesignError, match="write shift:K with a whole number"):
        traffic.pattern(graph.endpoints, "shift:-1", 0)
    with pytest.raises(DesignError, match="incast:32 needs 33 endpoints in one plane; there are 32"):
        traffic.pattern(graph.endpoints, "incast:32", 0)


def test_a_torus_with_a_link_missing_is_not_routed():
    topology = build(Design("torus", 27, 1, 0, 400e9, shape=(3, 3, 3)))
    cables = topology.cables
    columns = {
        name: getattr(cables, name)[1:]
        for name in ("a", "a_port", "b", "b_port", "rate", "boundary", "circuit")
    }
    torn = replace(topology, cables=replace(cables, **columns))
    with pytest.raises(DesignError, match="without all of its links"):
        DimensionOrder.of(link_graph(torn.cables), torn)
