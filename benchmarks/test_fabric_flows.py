"""How fast flows are routed and shared at 16,384 hosts, and how fast a collective is scheduled on 16,384 endpoints.

Run: `python -m pytest benchmarks/test_fabric_flows.py --benchmark-only -s`. Everything but compilation is timed: drawing
the fabric, routing it, sharing it. Baselines of the same run: networkx's shortest paths and a plain Python walk, a part
of the work each, scaled up by its size (`extra_info`). Peak memory is that of a process of its own, interpreter and
libraries included. Nothing is asserted in seconds.
"""

import json
import subprocess
import sys
import time

import networkx
import numpy as np
import pytest

from argosy.fabric import flows, schedule, traffic
from argosy.fabric.linkgraph import link_graph
from argosy.fabric.request import request_network
from argosy.fabric.routing import routes
from argosy.fabric.topologies import Design, build
from argosy.facts import Values, load_catalog

HOSTS = Design("fat-tree", 16384, 1, 64, 400e9)
NODES = Design("fat-tree", 2048, 8, 64, 400e9, switch="QM9700", port_rate=400e9)
MESSAGE, RANKS, SAMPLE = 2.0**30, 16384, 60


def permutation() -> flows.Result:
    """Draw, route, hash and share a random permutation."""
    build.cache_clear()
    graph = link_graph(build(HOSTS).cables)
    source, end = traffic.pattern(graph.endpoints, "permutation", 0)
    return flows.simulate(graph, routes(graph), source, end, "ecmp", 0)


def all_reduce() -> dict[str, float]:
    """Draw, route and schedule every algorithm of a 1 GiB all-reduce; seconds of each."""
    build.cache_clear()
    topology = build(NODES)
    network = request_network(topology, Values(load_catalog().facts), "H100-SXM", "infiniband")
    wires = schedule.wires_of(topology, network, "static")
    found = schedule.schedules(wires, network, "all_reduce", MESSAGE, np.arange(RANKS)[None])
    return {name: schedule.seconds(one, network) for name, one in found.items()}


def peak_bytes(work: str) -> int:
    """Peak resident memory of a fresh process that runs `work` of this file."""
    code = f"import sys; sys.path.insert(0, {__file__.rpartition('/')[0]!r}); import test_fabric_flows as t; t.{work}()"
    code += "; print([line for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-2]) * 1024


def report(benchmark, name: str, baseline_s: float, work: str) -> None:
    """Prints and keeps seconds (on the clock, and of the processor), the ratio over the baseline, and peak memory."""
    seconds, peak = benchmark.stats["min"], peak_bytes(work)
    started = time.process_time()
    globals()[work]()
    processor = time.process_time() - started
    benchmark.extra_info.update(ratio=baseline_s / seconds, peak_bytes=peak, processor_s=processor)
    print(
        f"\n{name}: {seconds:.2f} s ({processor:.2f} s of one processor), {baseline_s / seconds:,.0f} × its baseline, "
        f"peak {peak / 1e6:.0f} MB"
    )


def test_a_random_permutation_of_16384_hosts(benchmark) -> None:
    permutation()  # compiled before the clock starts
    result = benchmark.pedantic(permutation, rounds=5)
    cables = build(HOSTS).cables
    graph = networkx.Graph(zip(cables.a.tolist(), cables.b.tolist(), strict=True))
    source, end = traffic.pattern(link_graph(cables).endpoints, "permutation", 0)
    started = time.perf_counter()
    for a, b in zip(source[:SAMPLE].tolist(), end[:SAMPLE].tolist(), strict=True):
        assert len(networkx.bidirectional_shortest_path(graph, a, b)) in (3, 5, 7)
    baseline = (time.perf_counter() - started) / SAMPLE * len(source)
    assert result.arrives.all() and 4 <= result.load.max() <= 12
    report(
        benchmark,
        "random permutation, 16,384 hosts, ECMP (baseline: networkx paths alone)",
        baseline,
        "permutation",
    )


def test_an_all_reduce_of_16384_endpoints(benchmark) -> None:
    all_reduce()
    times = benchmark.pedantic(all_reduce, rounds=5)
    started = time.perf_counter()
    walked = python_ring_round()
    baseline = (time.perf_counter() - started) * 2 * (RANKS - 1)
    assert times["ring"] > walked * 2 * (RANKS - 1)
    print("\n" + json.dumps({name: round(seconds, 6) for name, seconds in times.items()}))
    report(
        benchmark, "1 GiB all-reduce, 16,384 endpoints, three tiers, eight algorithms (baseline: every ring round "
        "walked in Python)", baseline, "all_reduce",
    )  # fmt: skip


def python_ring_round() -> float:
    """One round of the eight rings, message by message in plain Python; seconds of its busiest link at full rates."""
    topology = build(NODES)
    wires = schedule.wires_of(
        topology, request_network(topology, Values(load_catalog().facts), "H100-SXM", "infiniband"), "static"
    )
    found, ends = wires.found, wires.found.graph.endpoints
    table, first, links = found.table, found.set_first.tolist(), found.set_links.tolist()
    divisor, head = found.set_divisor.tolist(), found.head.tolist()
    piece, load = MESSAGE / RANKS / 8, {}
    for ring in range(8):
        lap = [8 * node + (ring + place) % 8 for node in range(RANKS // 8) for place in range(8)]
        for sender, receiver in zip(lap, lap[1:] + lap[:1], strict=True):
            relay = receiver if sender // 8 == receiver // 8 else sender // 8 * 8 + receiver % 8
            hops = [("out", sender), ("in", relay)] if relay != sender else []
            if relay != receiver:
                a, b = int(wires.cards[relay, 0]), int(wires.cards[receiver, 0])
                column, node = found.column[ends.switch[b]], int(found.local[ends.switch[a]])
                hops += [int(ends.up[a]), int(ends.down[b])]
                while (chosen := table[column, node]) > 0:
                    members = links[first[chosen] : first[chosen + 1]]
                    link = members[(int(ends.order[b]) // divisor[chosen]) % len(members)]
                    hops.append(link)
                    node = head[link]
            for hop in hops:
                load[hop] = load.get(hop, 0.0) + piece
    return max(amount / (wires.scale_up if isinstance(hop, tuple) else 50e9) for hop, amount in load.items())


def test_max_min_rates_beside_plain_python(benchmark) -> None:
    graph = link_graph(build(Design("fat-tree", 1024, 1, 64, 400e9)).cables)
    source, end = traffic.pattern(graph.endpoints, "permutation", 0)
    paths = routes(graph).paths(source, end, "ecmp")
    demand = flows.offered(graph, source)
    flows.fair_rates(paths, graph.rate, demand)
    rates = benchmark(flows.fair_rates, paths, graph.rate, demand)
    started = time.perf_counter()
    plain = filled(
        [paths.links[paths.first[f] : paths.first[f + 1]].tolist() for f in range(len(source))], graph.rate
    )
    baseline = time.perf_counter() - started
    assert rates == pytest.approx(plain)
    benchmark.extra_info["ratio"] = baseline / benchmark.stats["mean"]
    print(f"\nmax-min of 1,024 flows: {baseline / benchmark.stats['mean']:,.0f} × plain Python")


def filled(ways: list[list[int]], rate: np.ndarray) -> list[float]:
    """Progressive filling in plain Python: the narrowest link fixes its flows, again and again."""
    left, on, got = rate.tolist(), {}, [0.0] * len(ways)
    for flow, way in enumerate(ways):
        for link in way:
            on.setdefault(link, set()).add(flow)
    while on:
        narrow = min(on, key=lambda link: left[link] / len(on[link]))
        share = left[narrow] / len(on[narrow])
        for flow in list(on[narrow]):
            got[flow] = share
            for link in ways[flow]:
                left[link] -= share
                on[link].discard(flow)
                if not on[link]:
                    del on[link]
    return got
