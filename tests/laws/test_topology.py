"""Topology laws against graphs built node by node and counted by networkx."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest

from argosy.laws import topology as laws


def k_ary_fat_tree(radix: int) -> nx.Graph:
    """Three tiers of Al-Fares et al.: k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores."""
    half = radix // 2
    graph = nx.Graph()
    for pod, edge in itertools.product(range(radix), range(half)):
        for host in range(half):
            graph.add_edge(("host", pod, edge, host), ("edge", pod, edge))
        for aggregation in range(half):
            graph.add_edge(("edge", pod, edge), ("aggregation", pod, aggregation))
    for pod, aggregation, port in itertools.product(range(radix), range(half), range(half)):
        graph.add_edge(("aggregation", pod, aggregation), ("core", aggregation, port))
    return graph


@pytest.mark.parametrize("radix", [4, 6, 8])
def test_three_tiers_against_a_graph(radix):
    graph = k_ary_fat_tree(radix)
    hosts = [node for node in graph if node[0] == "host"]
    assert laws.fat_tree_hosts(radix, 3) == len(hosts)
    assert laws.fat_tree_switches(radix, 3) == len(graph) - len(hosts)
    assert laws.fat_tree_links(len(hosts), 3) == graph.number_of_edges()
    farthest = max(nx.single_source_shortest_path_length(graph, hosts[0]).values())
    assert laws.fat_tree_path_switches(3) == farthest - 1
    kinds = [sum(node[0] == kind for node in graph) for kind in ("edge", "aggregation", "core")]
    assert laws.fat_tree_switches_by_tier(len(hosts), radix, 3) == tuple(kinds)


@pytest.mark.parametrize("radix", [4, 6])
def test_bisection_is_the_maximum_flow_between_halves(radix):
    graph = k_ary_fat_tree(radix).to_directed()
    nx.set_edge_attributes(graph, 400.0, "capacity")
    hosts = sorted(node for node in graph if node[0] == "host")
    for index, host in enumerate(hosts):
        graph.add_edge(*(("source", host) if index < len(hosts) // 2 else (host, "sink")))
    flow = nx.maximum_flow_value(graph, "source", "sink")
    assert laws.bisection(len(hosts), 400.0) == pytest.approx(flow)


def test_the_handbooks_counts():
    assert [laws.fat_tree_hosts(64, h) for h in (1, 2, 3, 4)] == [64, 2048, 65536, 2097152]
    assert (laws.fat_tree_hosts(128, 2), laws.fat_tree_hosts(128, 3)) == (8192, 524288)
    assert laws.injection(16384, 400e9) == pytest.approx(6553.6e12)
    assert laws.bisection(16384, 400e9) == pytest.approx(3276.8e12)
    assert laws.fat_tree_switches_by_tier(16384, 128, 3) == (256, 256, 128)
    assert laws.fat_tree_switches_by_tier(2048, 64, 2) == (64, 32)
    assert sum(laws.fat_tree_switches_by_tier(16384, 64, 3)) == 1280
    assert laws.fat_tree_links(16384, 3) == 49152
    assert 8 * laws.fat_tree_links(2048, 2) == 32768


@pytest.mark.parametrize(
    ("hosts", "radix", "tiers", "why"),
    [(100, 63, 2, "even"), (2049, 64, 2, "2048"), (0, 64, 2, "hosts"), (8, 64, 0, "tier"), (65, 64, 1, "64")],
)
def test_switches_of_a_tree_that_cannot_be(hosts, radix, tiers, why):
    with pytest.raises(ValueError, match=why):
        laws.fat_tree_switches_by_tier(hosts, radix, tiers)


def test_switches_by_tier_up_to_the_full_tree():
    assert laws.fat_tree_switches_by_tier(2048, 64, 2) == (64, 32)
    assert laws.fat_tree_switches_by_tier(64, 64, 1) == (1,)


def test_one_tier_is_one_switch():
    assert (laws.fat_tree_hosts(48, 1), laws.fat_tree_switches(48, 1), laws.fat_tree_path_switches(1)) == (
        48,
        1,
        1,
    )


@pytest.mark.parametrize("hosts", [1, 64, 65, 2048, 2049, 65536, 65537])
def test_the_fewest_tiers(hosts):
    tiers = laws.tiers_needed(hosts, 64)
    assert 2 * 32**tiers >= hosts and (tiers == 1 or 2 * 32 ** (tiers - 1) < hosts)


def test_a_switch_too_small_for_a_tree():
    with pytest.raises(ValueError, match="at least 4"):
        laws.tiers_needed(10, 2)


@pytest.mark.parametrize(("radix", "over"), [(64, 1), (64, 3), (64, 7), (36, 2), (144, 1.5)])
def test_split_is_the_most_ports_down_within_the_ratio(radix, over):
    best = max(down for down in range(1, radix) if down <= over * (radix - down) + 1e-9)
    assert laws.clos_split(radix, over) == (best, radix - best)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (2, 3), (5, 3, 3), (6, 4, 1), (2, 2, 2)])
def test_torus_against_a_graph(shape):
    graph = nx.grid_graph(dim=list(shape[::-1]), periodic=True)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    assert laws.torus_links(shape) == graph.number_of_edges()
    lengths = [d for _, row in nx.all_pairs_shortest_path_length(graph) for d in row.values() if d]
    assert laws.torus_mean_hops(shape) == pytest.approx(np.mean(lengths))


@pytest.mark.parametrize("shape", [(4, 2), (4, 4), (6, 3), (2, 2, 2), (4, 4, 2)])
def test_torus_bisection_against_a_cut(shape):
    graph = nx.grid_graph(dim=list(shape[::-1]), periodic=True)
    half = [node for node in graph if node[0] < shape[0] // 2]
    assert len(half) * 2 == math.prod(shape)
    assert laws.torus_bisection(shape, 1.0) == len(list(nx.edge_boundary(graph, half)))


def test_dragonfly_groups_are_fully_connected():
    routers, links = 4, 2
    groups = laws.dragonfly_groups(routers, links)
    assert groups - 1 == routers * links  # every other group is reached by exactly one of the group's links


def test_share_that_leaves_a_domain():
    for domain, stride in itertools.product((4, 8, 12), (1, 3, 4, 20)):
        leaving = sum((rank + stride) // domain > 0 for rank in range(domain)) / domain
        assert laws.shared_way_out(stride, domain) == pytest.approx(leaving)
