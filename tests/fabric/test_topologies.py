"""Cable lists against the published designs, and what they say of designs that do not close."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from argosy.fabric import Design, DesignError, build
from argosy.fabric.analysis import cables_by_kind, injection_bps, links, oversubscription, tiers
from argosy.fabric.topologies import SwitchKind
from argosy.laws import topology as laws

RATE = 400e9


def switches(topology) -> dict[str, int]:
    return {tier.name: tier.switches for tier in tiers(topology.cables)}


# NVIDIA DGX SuperPOD reference architecture, B200 (64-port NDR, units of 32 nodes) and B300 (144-port XDR, 72
# nodes).
SUPERPOD = [
    (64, 64, {"leaf": 16, "spine": 8}),
    (128, 64, {"leaf": 32, "spine": 16}),
    (512, 64, {"leaf": 128, "spine": 128, "core": 64}),
    (72, 144, {"leaf": 8, "spine": 4}),
    (144, 144, {"leaf": 16, "spine": 8}),
    (288, 144, {"leaf": 32, "spine": 18}),
]


@pytest.mark.parametrize(("nodes", "radix", "expected"), SUPERPOD)
def test_superpod_tables(nodes, radix, expected):
    topology = build(Design("rail-optimized", nodes, 8, radix, RATE))
    assert switches(topology) == expected
    assert set(cables_by_kind(topology.cables).values()) == {nodes * 8}
    assert len(cables_by_kind(topology.cables)) == len(expected)
    assert not topology.problems


def test_sixteen_thousand_endpoints_in_three_tiers_or_eight_rails():
    wide = build(Design("fat-tree", 16384, 1, 128, RATE))
    assert switches(wide) == {"leaf": 256, "spine": 256, "core": 128}
    narrow = build(Design("fat-tree", 16384, 1, 64, RATE))
    assert (sum(switches(narrow).values()), len(narrow.cables)) == (1280, 49152)
    rails = build(Design("rail-only", 2048, 8, 64, RATE))
    assert (sum(switches(rails).values()), len(rails.cables)) == (768, 32768)
    assert injection_bps(rails.cables) == injection_bps(narrow.cables) == pytest.approx(6553.6e12)


def test_llama3_pods_are_built_whole():
    over = (("pod-uplink", 7.0),)
    topology = build(Design("multi-pod", 3072, 8, 64, RATE, oversubscription=over, pods=8, upper_radix=576))
    assert not topology.problems
    assert switches(topology)["leaf"] == 8 * 192
    assert cables_by_kind(topology.cables)["host-leaf"] == 24576
    found = oversubscription(topology.cables)
    assert found["leaf"] == 1 and 6.5 < found["spine"] <= 7
    assert [(domain.name, domain.hosts) for domain in topology.domains] == [("leaf", 2), ("pod", 384)]


def test_a_pod_that_does_not_close_says_why():
    topology = build(Design("multi-pod", 3072, 8, 64, RATE, oversubscription=(("pod-uplink", 7.0),), pods=8))
    assert any("192 leaves under 64-port spine switches" in problem for problem in topology.problems)
    assert any("need 220 ports, but have 64" in problem for problem in topology.problems)


def test_two_tiers_cannot_mesh_128_leaves_over_64_ports():
    topology = build(Design("rail-optimized", 512, 8, 64, RATE, tiers=2))
    assert any("128 leaves under 64-port spine switches cannot" in problem for problem in topology.problems)


def test_a_partly_filled_unit_is_a_note_not_a_problem():
    topology = build(Design("rail-optimized", 33, 8, 64, RATE))
    assert not topology.problems
    assert any("room for 31 more" in note for note in topology.notes)


def test_rails_meet_their_own_leaf():
    topology = build(Design("rail-optimized", 64, 8, 64, RATE))
    cables, leaves = topology.cables, topology.cables.group("leaf")
    cards = cables.boundary == 0
    for host in (0, 31, 32, 63):
        mine = cards & (cables.a == host)
        leaf = cables.b[mine] - leaves.first
        assert (leaf // 2 == cables.a_port[mine]).all()  # two units: the leaves of a rail are neighbours
        assert (leaf % 2 == host // 32).all()


def test_rail_only_planes_never_meet():
    cables = build(Design("rail-only", 40, 4, 16, RATE)).cables
    plane = np.concatenate([np.full(g.count, int(g.name[6]) if g.tier else -1) for g in cables.groups])
    inner = plane[cables.a] >= 0
    assert (plane[cables.a[inner]] == plane[cables.b[inner]]).all()
    assert (plane[cables.b[~inner]] == cables.a_port[~inner]).all()


def test_a_split_card_halves_its_rate():
    topology = build(Design("multi-plane", 32, 8, 64, RATE, planes=16))
    assert set(topology.cables.rate) == {RATE / 2}
    assert injection_bps(topology.cables) == 32 * 8 * RATE


def test_tpu_v4_torus_and_its_optical_switches():
    topology = build(Design("torus", 4096, 1, 0, RATE, shape=(16, 16, 16)))
    assert cables_by_kind(topology.cables) == {"chip-chip": 9216, "chip-ocs": 6144}
    assert switches(topology) == {"ocs": 48}
    ports = np.bincount(topology.cables.a, minlength=4096)[:4096]
    ports += np.bincount(topology.cables.b, minlength=4096)[:4096]
    assert (ports == 6).all()


def test_the_largest_v5p_job():
    topology = build(Design("torus", 6144, 1, 0, RATE, shape=(16, 16, 24)))
    assert not topology.problems and topology.cables.hosts == 6144
    with pytest.raises(DesignError, match="has 6144 places, not 6000"):
        build(Design("torus", 6000, 1, 0, RATE, shape=(16, 16, 24)))


def test_cloudmatrix_and_nvl72():
    matrix = build(Design("supernode", 384, 1, 0, 448e9))
    assert switches(matrix) == {"l1": 336, "l2": 112}
    assert cables_by_kind(matrix.cables)["l1-l2"] == 7 * 16 * 48 == 336 * 16
    assert injection_bps(matrix.cables) / 384 / 8 == pytest.approx(392e9)
    assert oversubscription(matrix.cables) == {"l1": 1.0}
    rack = build(Design("supernode", 72, 1, 0, RATE))
    assert (switches(rack), len(rack.cables)) == ({"nvswitch": 18}, 72 * 18)


@pytest.mark.parametrize(
    "design",
    [
        Design("fat-tree", 700, 1, 16, RATE),
        Design("clos", 1000, 2, 32, RATE, oversubscription=(("leaf-uplink", 3.0),)),
        Design("rail-optimized", 100, 4, 32, RATE),
        Design("multi-plane", 60, 8, 32, RATE, planes=4),
        Design("fat-tree", 3000, 1, 16, RATE, tiers=4),
    ],
)
def test_every_port_carries_at_most_one_cable(design):
    topology = build(design)
    assert not topology.problems
    cables = topology.cables
    ends = list(zip(cables.a, cables.a_port, strict=True)) + list(zip(cables.b, cables.b_port, strict=True))
    assert len(set(ends)) == len(ends)
    limits = np.concatenate([np.full(group.count, group.ports) for group in cables.groups])
    assert all(port < limits[node] for node, port in ends)
    assert (
        cables_by_kind(cables)[cables.boundaries[0].name.rpartition("/")[2]]
        == design.hosts * design.nics_per_host
    )


def test_oversubscription_found_from_the_cables():
    topology = build(Design("clos", 960, 1, 64, RATE, oversubscription=(("leaf-uplink", 3.0),)))
    assert oversubscription(topology.cables) == {"leaf": 3.0}


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (Design("hypercube", 64, 1, 64, RATE), "not known; there are clos"),
        (Design("dragonfly+", 64, 17, 8, RATE), "no room for a host of 17 cards"),
        (Design("torus", 60, 1, 0, RATE, shape=(3, 4, 5), twist=True), "must be n, n, 2n"),
        (Design("supernode", 8, 1, 0, RATE), "generation '' is not known"),
        (
            Design("fat-tree", 99, 1, 64, RATE, kinds=(("leaf", SwitchKind("", 64, 2e11)),)),
            "leaf .* too slow",
        ),
        (
            Design("fat-tree", 99, 1, 64, RATE, kinds=(("spine", SwitchKind("", 64, 2e11)),)),
            "spine .* too slow",
        ),
        (Design("fat-tree", 8, 1, 64, RATE, missing=(9,)), "numbered 0 to 7, not 9"),
        (Design("multi-pod", 8, 8, 64, RATE, pods=9), "9 pods need at least 9 hosts"),
        (Design("multi-pod", 8, 8, 64, RATE, pods=2, tiers=2), "three tiers, not 2"),
        (Design("fat-tree", 0, 1, 64, RATE), "at least one host"),
        (Design("fat-tree", 8, 1, 2, RATE), "2 ports cannot build a tree"),
        (Design("fat-tree", 8, 1, 64, 0.0), "rate above zero"),
        (Design("multi-pod", 8, 8, 64, RATE), "write pods: 8"),
        (Design("multi-plane", 8, 8, 64, RATE, planes=3), "one must divide the other"),
        (Design("supernode", 100, 1, 0, RATE), "100 accelerators is not known"),
    ],
)
def test_requests_that_cannot_be_drawn(design, words):
    with pytest.raises(DesignError, match=words):
        build(design)


def test_one_switch_takes_every_rail():
    topology = build(Design("rail-optimized", 7, 8, 64, RATE))
    assert switches(topology) == {"leaf": 1} and not topology.problems


def test_pods_of_a_fat_tree_fill_their_leaves():
    topology = build(Design("fat-tree", 64, 1, 16, RATE, pods=2))
    assert not topology.problems and switches(topology)["leaf"] == 8


def test_nobody_left_is_refused():
    with pytest.raises(DesignError, match="all hosts are missing"):
        build(Design("fat-tree", 2, 1, 16, RATE, missing=(0, 1)))


def test_planes_split_cards_in_pods_too():
    topology = build(Design("multi-pod", 32, 2, 64, RATE, pods=2, planes=4))
    assert topology.design.card_ports == 2 and injection_bps(topology.cables) == 32 * 2 * RATE


def test_one_tier_too_many_hosts():
    assert any(
        "cannot take 100 cards" in p for p in build(Design("fat-tree", 100, 1, 64, RATE, tiers=1)).problems
    )


def test_megascale_breaks_out_its_ports():
    """Three layers of 64 × 400G, 32 down and 32 up; 200G cards, two to a port (arXiv:2402.15627, section 3.6)."""
    rates = (("leaf-spine", 400e9), ("spine-core", 400e9))
    topology = build(Design("rail-optimized", 1536, 8, 64, 200e9, rates=rates))
    assert not topology.problems
    leaf = topology.cables.group("leaf")
    assert (leaf.count, leaf.ports, leaf.cages) == (1536 * 8 // 64, 64 + 32, 64)
    assert [tier.name for tier in tiers(topology.cables)] == ["leaf", "spine", "core"]
    assert oversubscription(topology.cables) == {"leaf": 1.0, "spine": 1.0}
    assert set(topology.cables.rate) == {200e9, 400e9}


def test_hpn_pods_of_two_planes_under_a_core_at_15_to_1():
    """Alibaba HPN (SIGCOMM 2024): 15 segments of 1,024 accelerators, dual-ToR, dual-plane, 60 aggregation switches a
    plane; leaves of 128 × 200G down and 60 × 400G up.
    """
    design = Design(
        "multi-pod",
        2 * 15 * 128,
        8,
        128,
        400e9,
        pods=2,
        planes=2,
        card_ports=2,
        rails=True,
        hosts_per_leaf=128,
        rates=(("leaf-spine", 400e9), ("spine-core", 400e9)),
        oversubscription=(("leaf-uplink", 128 * 200 / (60 * 400)), ("pod-uplink", 15.0)),
    )
    topology = build(design)
    assert not topology.problems
    found = switches(topology)
    assert (found["leaf"], found["spine"]) == (2 * 2 * 15 * 8, 2 * 2 * 60)
    assert oversubscription(topology.cables) == pytest.approx({"leaf": 16 / 15, "spine": 15.0})
    cables, host = topology.cables, 17
    mine = cables.a == host
    plane = np.array([b.name.partition("/")[0] for b in cables.boundaries])[cables.boundary[mine]]
    assert (plane == np.array(["plane-0", "plane-1"])[cables.a_port[mine] % 2]).all()
    assert len(set(cables.b[mine])) == 16  # a leaf of its own for both ports of all eight cards


def test_dual_tor_keeps_every_card_when_a_leaf_fails():
    topology = build(Design("dual-tor", 64, 8, 64, RATE))
    assert set(topology.cables.rate) == {RATE / 2}
    assert injection_bps(topology.cables) == 64 * 8 * RATE
    planes = {boundary.name.partition("/")[0] for boundary in topology.cables.boundaries}
    assert planes == {"plane-0", "plane-1"}


def test_tiers_of_different_switches_and_rates():
    kinds = (("spine", SwitchKind("SN5600", 64, 800e9)),)
    topology = build(Design("fat-tree", 1024, 1, 64, RATE, kinds=kinds))
    assert not topology.problems
    assert switches(topology) == {"leaf": 32, "spine": 8}  # a 64 × 800G spine takes 128 links of 400G
    assert topology.cables.group("spine").cages == 64
    faster = build(Design("fat-tree", 1024, 1, 64, RATE, kinds=kinds, rates=(("leaf-spine", 800e9),)))
    assert cables_by_kind(faster.cables)["leaf-spine"] == 1024 * 400 // 800
    assert oversubscription(faster.cables) == {"leaf": 1.0}


def test_slower_hosts_have_slower_cables():
    topology = build(Design("fat-tree", 64, 2, 64, RATE, host_rates=((16, 200e9),)))
    slow = topology.cables.rate == 200e9
    assert slow.sum() == 32 and set(topology.cables.a[slow]) == set(range(16))
    assert injection_bps(topology.cables) == 16 * 2 * 200e9 + 48 * 2 * RATE


def test_missing_hosts_leave_their_ports_empty():
    whole = build(Design("fat-tree", 128, 1, 32, RATE))
    topology = build(Design("fat-tree", 128, 1, 32, RATE, missing=(5, 77)))
    assert topology.cables.hosts == 126 and switches(topology) == switches(whole)
    assert len(topology.cables) == len(whole.cables) - 2
    assert any("2 places stay empty: host-006, host-078" in note for note in topology.notes)
    leaf = topology.cables.group("leaf")
    used = topology.cables.ports_used()[leaf.ids]
    assert sorted(used)[:3] == [31, 31, 32]


@pytest.mark.parametrize(
    ("shape", "measured"),
    [
        ((4, 4, 8), 1.63),
        ((4, 8, 8), 1.31),
    ],  # all-to-all gain on TPU v4 (N. Jouppi et al., ISCA 2023, figure 6)
)
def test_a_twist_spreads_all_to_all_over_all_links(shape, measured):
    """The even spread of shortest paths, by networkx, gains a little more than what was measured."""
    busiest = {}
    for twist in (False, True):
        cables = build(Design("torus", int(np.prod(shape)), 1, 0, RATE, shape=shape, twist=twist)).cables
        low, high, _ = links(cables)
        graph = nx.Graph(list(zip(low.tolist(), high.tolist(), strict=True)))
        assert graph.number_of_edges() == 3 * cables.hosts
        loads = nx.edge_betweenness_centrality(graph, normalized=False).values()
        busiest[twist] = max(loads)
        assert not twist or max(loads) == pytest.approx(min(loads))
    assert measured < busiest[False] / busiest[True] < 1.1 * measured


def test_baseboards_of_eight():
    for generation, chips, links_each in (("ampere", 6, 12), ("hopper", 4, 18), ("blackwell", 2, 18)):
        topology = build(Design("supernode", 8, 1, 0, 200e9, generation=generation))
        assert not topology.problems
        assert (switches(topology), len(topology.cables)) == ({"nvswitch": chips}, 8 * links_each)


def test_a_dragonfly_plus_joins_every_pair_of_groups():
    topology = build(Design("dragonfly+", 64 * 64, 1, 16, RATE))  # 64 hosts a group: 64 of at most 65 groups
    assert not topology.problems
    assert switches(topology) == {"leaf": 64 * 8, "spine": 64 * 8}
    spine = topology.cables.group("spine")
    between = topology.cables.a >= spine.first
    group = lambda node: (node[between] - spine.first) // 8  # noqa: E731
    pairs = set(zip(group(topology.cables.a), group(topology.cables.b), strict=True))
    assert len(pairs) == 64 * 63 // 2 == between.sum()


def test_the_largest_dragonfly():
    """p = h = 2, a = 4 (J. Kim et al., ISCA 2008, figure 5): 9 groups, 36 routers, 72 hosts."""
    topology = build(Design("dragonfly", 72, 1, 7, RATE))
    assert not topology.problems and topology.notes[0].startswith("two groups share few links")
    assert switches(topology) == {"router": 36}
    assert cables_by_kind(topology.cables) == {"host-router": 72, "router-router": 9 * 6, "group-group": 36}
    assert (topology.cables.ports_used()[topology.cables.group("router").ids] == 7).all()
    crowded = build(Design("dragonfly", 80, 1, 7, RATE))
    assert any("it closes with at most 9 groups" in problem for problem in crowded.problems)


def test_a_design_that_does_not_close_says_what_would():
    topology = build(Design("rail-optimized", 512, 8, 64, RATE, tiers=2))
    (problem,) = [text for text in topology.problems if "full mesh" in text]
    assert problem.endswith("of 128 ports (--radix spine:128), or 3 tiers, or at most 256 hosts in all")
    kinds = (("spine", SwitchKind("", 128)),)
    assert not build(Design("rail-optimized", 512, 8, 64, RATE, tiers=2, kinds=kinds)).problems
    assert not build(Design("rail-optimized", 512, 8, 64, RATE, tiers=3)).problems


def misfits() -> list[Design]:
    """Designs that do not close, drawn at random."""
    draw, found = random.Random(5), []
    while len(found) < 60:
        topology = draw.choice(["fat-tree", "rail-optimized", "rail-only", "multi-pod", "dual-tor"])
        pods = draw.randint(2, 9) if topology == "multi-pod" or draw.random() < 0.2 else None
        tiers_asked = None if pods else draw.randint(2, 3)
        cards, radix = draw.choice([1, 2, 4, 8]), draw.choice([5, 7, 8, 16, 32])
        over = (("leaf-uplink", draw.choice([1.0, 1.5, 3.0])), ("spine-uplink", draw.choice([1.0, 2.0])))
        design = Design(
            topology, draw.randint(20, 300), cards, radix, RATE, tiers_asked, pods=pods, oversubscription=over
        )
        if any("full mesh" in text for text in build(design).problems):
            found.append(design)
    return found


@pytest.mark.parametrize("design", misfits(), ids=str)
def test_every_way_out_that_is_told_closes(design):
    problem = next(text for text in build(design).problems if "full mesh" in text)
    tier, ports = re.search(r"--radix ([\w-]+):(\d+)", problem).groups()
    ways = [replace(design, kinds=((tier, SwitchKind("", int(ports))),))]
    if told := re.search(r"or (\d) tiers", problem):
        ways.append(replace(design, tiers=int(told[1])))
    if told := re.search(r"at most (\d+) pods", problem):
        ways.append(replace(design, pods=int(told[1])))
    if told := re.search(r"at most (\d+) hosts", problem):
        ways.append(replace(design, hosts=int(told[1]) * (design.pods or 1)))
    for way in ways:
        assert not any(f"{tier} switches cannot" in text for text in build(way).problems)
    assert len(ways) > 1 or design.pods or "hosts" not in problem


@pytest.mark.parametrize(
    ("radix", "count"),
    [(16, 1), (16, 2), (16, 3), (16, 4), (8, 5), (32, 2), (32, 3), (64, 1), (64, 2), (64, 3)],
)
def test_full_fat_trees_have_the_counts_of_the_law(radix, count):
    hosts = int(laws.fat_tree_hosts(radix, count))
    topology = build(Design("fat-tree", hosts, 1, radix, RATE))
    assert not topology.problems
    assert sum(switches(topology).values()) == laws.fat_tree_switches(radix, count)
    assert len(topology.cables) == laws.fat_tree_links(hosts, count)
