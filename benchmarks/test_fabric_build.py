"""How fast a fabric's cables are drawn and measured, against the same tree built cable by cable in networkx."""

import time

import networkx as nx
import pytest

from argosy.fabric import Design
from argosy.fabric.analysis import bisection_bps
from argosy.fabric.topologies import BUILDERS

RATE = 400e9
HOSTS = 100_000
SMALL = 8_192  # of radix 32 in three tiers: what networkx is given


def plain_tree(hosts: int, radix: int) -> nx.Graph:
    """A three-tier fat tree of `hosts` = radix³/4, one edge at a time."""
    half, graph = radix // 2, nx.Graph()
    for host in range(hosts):
        graph.add_edge(("host", host), ("leaf", host // half), rate=RATE)
    for leaf in range(hosts // half):
        for spine in range(half):
            graph.add_edge(("leaf", leaf), ("spine", leaf // half, spine), rate=RATE)
    for pod in range(hosts // half**2):
        for spine in range(half):
            for core in range(half):
                graph.add_edge(("spine", pod, spine), ("core", spine, core), rate=RATE)
    return graph


def cpu_seconds(work) -> float:  # type: ignore[no-untyped-def]
    started = time.process_time()
    work()
    return time.process_time() - started


@pytest.mark.benchmark(group="fabric")
def test_drawing_a_tree_against_networkx(benchmark):
    """Cables per second, so that a hundred thousand hosts are held against a tree that networkx can take."""
    baseline = min(cpu_seconds(lambda: plain_tree(SMALL, 32)) for _ in range(3)) / (3 * SMALL)
    topology = benchmark.pedantic(
        lambda: BUILDERS["fat-tree"](Design("fat-tree", HOSTS, 1, 64, RATE)), rounds=3, warmup_rounds=1
    )
    each = benchmark.stats.stats.min / len(topology.cables)
    benchmark.extra_info["cables"] = len(topology.cables)
    benchmark.extra_info["times as fast as networkx, per cable"] = round(baseline / each, 1)
    assert not topology.problems
    assert baseline / each > 2.0


@pytest.mark.benchmark(group="fabric")
def test_bisection_against_networkx(benchmark):
    """The maximum flow between halves: of 16,384 hosts here, of 1,024 by networkx (whose time grows faster)."""
    small = BUILDERS["fat-tree"](Design("fat-tree", 1024, 1, 16, RATE)).cables
    graph = nx.DiGraph()
    for a, b, rate in zip(small.a.tolist(), small.b.tolist(), small.rate.tolist(), strict=True):
        graph.add_edge(a, b, capacity=rate)
        graph.add_edge(b, a, capacity=rate)
    for host in range(1024):
        graph.add_edge(*(("source", host) if host < 512 else (host, "sink")))
    baseline = cpu_seconds(lambda: nx.maximum_flow_value(graph, "source", "sink"))
    cables = BUILDERS["fat-tree"](Design("fat-tree", 16_384, 1, 128, RATE)).cables
    flow = benchmark.pedantic(lambda: bisection_bps(cables), rounds=3, warmup_rounds=1)
    ratio = baseline / benchmark.stats.stats.min
    benchmark.extra_info["networkx on 1,024 hosts ÷ this on 16,384"] = round(ratio, 2)
    assert flow == 16_384 / 2 * RATE
    assert ratio > 1.0
