"""What a cable list can carry, against networkx on the same cables."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from argosy.fabric import Design, build
from argosy.fabric.analysis import bisection_bps, injection_bps
from argosy.fabric.cables import CableList, Wiring

RATE = 100e9

DESIGNS = [
    Design("fat-tree", 32, 1, 8, RATE),
    Design("fat-tree", 30, 1, 8, RATE, tiers=3),
    Design("rail-optimized", 12, 2, 8, RATE),
    Design("rail-only", 16, 3, 8, RATE),
    Design("clos", 24, 1, 8, RATE, oversubscription=(("leaf-uplink", 3.0),)),
    Design("multi-pod", 32, 2, 16, RATE, pods=4, oversubscription=(("pod-uplink", 3.0),), upper_radix=64),
    Design("torus", 64, 1, 0, RATE, shape=(4, 4, 4)),
    Design("torus", 30, 1, 0, RATE, shape=(6, 5)),
]


def flow_between_halves(cables: CableList) -> float:
    """Maximum flow by networkx on every node, in the hosts' order; the ends of a circuit are joined."""
    graph = nx.DiGraph()
    plain = cables.circuit < 0
    links = list(zip(cables.a[plain], cables.b[plain], cables.rate[plain], strict=True))
    for number in np.unique(cables.circuit[~plain]):
        first, second = np.flatnonzero(cables.circuit == number)
        links.append((cables.a[first], cables.a[second], cables.rate[first]))
    for a, b, rate in links:
        for near, far in ((int(a), int(b)), (int(b), int(a))):
            before = graph[near][far]["capacity"] if graph.has_edge(near, far) else 0.0
            graph.add_edge(near, far, capacity=before + rate)
    for host in range(cables.hosts):
        graph.add_edge(*(("source", host) if host < cables.hosts // 2 else (host, "sink")))
    return float(nx.maximum_flow_value(graph, "source", "sink"))


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: f"{d.topology}-{d.hosts}")
def test_bisection_is_the_maximum_flow(design):
    cables = build(design).cables
    assert bisection_bps(cables) == pytest.approx(flow_between_halves(cables))


@pytest.mark.parametrize("seed", range(5))
def test_bisection_after_cables_are_lost_and_slowed(seed):
    cables = build(Design("fat-tree", 32, 1, 8, RATE)).cables
    random = np.random.default_rng(seed)
    kept = np.sort(random.choice(len(cables), len(cables) * 4 // 5, replace=False))
    rate = cables.rate * random.choice([1.0, 0.5], len(cables))
    damaged = replace(
        cables,
        rate=rate[kept],
        **{
            name: getattr(cables, name)[kept]
            for name in ("a", "a_port", "b", "b_port", "boundary", "circuit")
        },
    )
    found = bisection_bps(damaged)
    assert found == pytest.approx(flow_between_halves(damaged))
    assert found < bisection_bps(cables)


def test_a_full_tree_passes_half_of_what_it_takes_in():
    for hosts, radix in ((128, 16), (1024, 32)):
        cables = build(Design("fat-tree", hosts, 1, radix, RATE)).cables
        assert bisection_bps(cables) == injection_bps(cables) / 2


def test_injection_of_a_torus_counts_every_link_of_every_chip():
    cables = build(Design("torus", 4096, 1, 0, RATE, shape=(16, 16, 16))).cables
    assert injection_bps(cables) == 4096 * 6 * RATE


def test_one_host_has_no_bisection():
    assert bisection_bps(build(Design("fat-tree", 1, 1, 8, RATE)).cables) == 0.0


def test_wiring_numbers_ports_in_the_order_of_mention():
    wiring = Wiring()
    hosts = wiring.add_nodes("host", 2, 3, 0)
    leaf = wiring.add_nodes("leaf", 1, 4, 1)
    wiring.connect("host-leaf", hosts[[0, 1, 0]], leaf[[0, 0, 0]], RATE)
    wiring.connect("host-leaf", hosts[[0]], leaf[[0]], RATE)
    cables = wiring.finish()
    assert cables.a_port.tolist() == [0, 0, 1, 2] and cables.b_port.tolist() == [0, 1, 2, 3]
    assert not cables.problems()


def test_problems_name_the_fault():
    wiring = Wiring()
    host = wiring.add_nodes("host", 1, 1, 0)
    leaf = wiring.add_nodes("leaf", 2, 4, 1)
    wiring.connect("host-leaf", host[[0, 0]], leaf[[0, 0]], RATE)
    found = wiring.finish().problems()
    assert "host: 1 of 1 need 2 ports, but have 1" in found and "leaf: 1 of 2 have no cable" in found
    cables = wiring.finish()
    doubled = replace(cables, b_port=np.zeros_like(cables.b_port))
    assert any("more than one cable" in problem for problem in doubled.problems())
