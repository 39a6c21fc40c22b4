"""Paths and single failures, against networkx on the same cables, one element at a time."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from argosy.fabric import Design, build
from argosy.fabric.analysis import bisection_bps, links
from argosy.fabric.failures import analysis_payload, single_failures
from argosy.fabric.paths import card_of_cables, hop_histogram

RATE = 100e9
DESIGNS = [
    Design("fat-tree", 30, 1, 8, RATE, tiers=3),
    Design("rail-optimized", 12, 2, 8, RATE),
    Design("rail-only", 16, 3, 8, RATE),
    Design("dual-tor", 12, 2, 8, RATE),
    Design("dragonfly+", 40, 1, 8, RATE),
    Design("dragonfly", 40, 1, 7, RATE),
    Design("torus", 32, 1, 0, RATE, shape=(4, 8)),
    Design("torus", 64, 1, 0, RATE, shape=(4, 4, 4)),
    Design("supernode", 8, 1, 0, RATE, generation="hopper"),
]


def walked(topology) -> dict[int | None, float]:
    """Ordered pairs of cards of different hosts by links on a shortest path: a graph with a node for every card."""
    cables, tier = topology.cables, topology.cables.tier_of_nodes()
    graph = nx.DiGraph()
    low, high, _ = links(cables)
    if ((tier[low] == 0) & (tier[high] == 0)).any():
        edges = nx.Graph(list(zip(low.tolist(), high.tolist(), strict=True)))
        found = [far for _, ends in nx.all_pairs_shortest_path_length(edges) for far in ends.values() if far]
        return {far: float(found.count(far)) for far in set(found)}
    host_of = {}
    for card, a, b in zip(
        card_of_cables(topology).tolist(), cables.a.tolist(), cables.b.tolist(), strict=True
    ):
        if card < 0:
            graph.add_edges_from([(a, b), (b, a)])
        else:
            host_of[card] = a
            graph.add_edges_from([(("from", card), b), (b, ("to", card))])
    counts: dict[int | None, float] = {}
    for one, host in host_of.items():
        reached = nx.single_source_shortest_path_length(graph, ("from", one))
        for other, its in host_of.items():
            if host != its:
                far = reached.get(("to", other))
                counts[far] = counts.get(far, 0.0) + 1
    return counts


@pytest.mark.parametrize("design", DESIGNS, ids=lambda one: f"{one.topology}-{one.hosts}")
def test_hops_are_those_of_a_walk(design):
    topology = build(design)
    rows, sampled = hop_histogram(topology)
    assert not sampled
    assert {row.links: row.pairs for row in rows} == walked(topology)


def test_equal_paths_of_a_fat_tree_and_a_torus():
    rows, _ = hop_histogram(build(Design("fat-tree", 128, 1, 8, RATE)))
    assert [(row.switches, row.paths_min, row.paths_max) for row in rows] == [
        (1, 1, 1),
        (3, 4, 4),
        (5, 16, 16),
    ]
    far = hop_histogram(build(Design("torus", 125, 1, 0, RATE, shape=(5, 5, 5))))[0][-1]
    assert (far.links, far.paths_min, far.paths_max) == (
        6,
        90,
        90,
    )  # 6!/(2! 2! 2!) orders of two steps per axis


@pytest.mark.parametrize(
    "design",
    [*DESIGNS[:4], Design("clos", 24, 2, 8, RATE, oversubscription=(("leaf-uplink", 3.0),))],
    ids=lambda one: f"{one.topology}-{one.hosts}",
)
def test_every_switch_that_fails_alike_does(design):
    """Each switch is taken out in turn: the bisection and the hosts' rates that are left are those of its row."""
    topology = build(design)
    cables = topology.cables
    rows, complete = single_failures(topology)
    assert complete
    whole = bisection_bps(cables)
    for group in cables.groups:
        if not group.tier:
            continue
        told = [row for row in rows if row.kind == "switch" and row.what == group.name.rpartition("/")[2]]
        for node in group.ids:
            left = cables.kept((cables.a != node) & (cables.b != node))
            share = bisection_bps(left) / whole
            assert any(share == pytest.approx(row.bisection_left) for row in told)
    switches = sum(group.count for group in cables.groups if group.tier)
    assert sum(row.count for row in rows if row.kind == "switch") == switches
    assert sum(row.count for row in rows if row.kind == "cable") == len(cables)


def test_what_a_leaf_and_a_spine_cost():
    rows, _ = single_failures(build(Design("rail-optimized", 128, 8, 64, RATE)))
    by_kind = {(row.kind, row.what): row for row in rows}
    leaf, spine = by_kind["switch", "leaf"], by_kind["switch", "spine"]
    assert (leaf.accelerators_cut, leaf.accelerators_slowed, leaf.host_rate_left) == (32, 32, 7 / 8)
    assert (spine.accelerators_cut, spine.accelerators_slowed) == (0, 1024)
    assert spine.uplink_left == pytest.approx(15 / 16) and spine.bisection_left == pytest.approx(15 / 16)
    cable = by_kind["cable", "host-leaf"]
    assert (cable.accelerators_cut, cable.accelerators_slowed) == (1, 1)
    assert by_kind["cable", "leaf-spine"].uplink_left == pytest.approx(31 / 32)


def test_two_leaves_per_card_cut_nobody_off():
    rows, _ = single_failures(build(Design("dual-tor", 64, 8, 64, RATE)))
    leaf = next(row for row in rows if row.what == "leaf")
    assert leaf.accelerators_cut == 0 and leaf.accelerators_slowed == 32
    assert leaf.host_rate_left == pytest.approx(15 / 16)


def test_an_optical_switch_takes_both_fibres_of_its_circuits():
    rows, _ = single_failures(build(Design("torus", 512, 1, 0, RATE, shape=(8, 8, 8))))
    ocs = next(row for row in rows if row.what == "ocs")
    assert ocs.count == 48 and ocs.accelerators_slowed == 16  # 8 circuits between 8 blocks in a ring of two
    assert ocs.host_rate_left == pytest.approx(5 / 6)


def test_an_irregular_fabric_is_tried_in_part_and_says_so():
    cables = build(Design("fat-tree", 128, 1, 16, RATE)).cables
    rate = cables.rate * np.random.default_rng(1).choice([1.0, 0.5, 0.25], len(cables))
    topology = replace(build(Design("fat-tree", 128, 1, 16, RATE)), cables=replace(cables, rate=rate))
    told = analysis_payload(topology)
    assert any("irregular" in note for note in told["notes"])
    assert any("PFC" in note or "priority flow control" in note for note in told["notes"])
    assert told["worst_failure"]["accelerators_cut"] == max(
        row["accelerators_cut"] for row in told["single_failures"]
    )


def test_switches_with_all_uplinks_on_one_are_told():
    """4 pods of 8 spines under 8 cores: one core carries the uplinks of one spine of every pod."""
    design = Design(
        "multi-pod", 64, 8, 64, 400e9, pods=4, upper_radix=576, oversubscription=(("pod-uplink", 7.0),)
    )
    notes = analysis_payload(build(design))["notes"]
    cores = build(design).cables.group("core").count
    assert any("loss of one core switch takes all uplinks" in note for note in notes) == (cores > 1)
    assert not any(
        "takes all uplinks" in note
        for note in analysis_payload(build(Design("fat-tree", 64, 1, 8, 400e9)))["notes"]
    )
