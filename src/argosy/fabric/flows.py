"""What a traffic pattern makes of a fabric: the load of every link, and the max-min fair rate of every flow.

Every endpoint offers its cable's whole rate, shared evenly by the flows that it sends. A link's load is what is offered
to it over its rate: above 1 it is too narrow. Rates are max-min fair (`argosy.kernels.fairness`), which is where
congestion control that works ends up. A model of flows in balance: no packets, so no queues and no losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.fabric import traffic as patterns
from argosy.fabric.analysis import plain_name
from argosy.fabric.cables import CableList
from argosy.fabric.faults import Faults, with_faults
from argosy.fabric.linkgraph import LinkGraph, link_graph
from argosy.fabric.names import node_names
from argosy.fabric.routing import SPRAYED, Paths, Routes, routes_for
from argosy.fabric.routing_torus import DimensionOrder
from argosy.fabric.topologies.design import DesignError, Topology

HOT_LINKS = 10
SEEDS = 10
FLOWS_OVER_SEEDS = 2_000_000  # of all seeds together: patterns of more flows are drawn less often
SAMPLED_PAIRS = 20_000  # of an all-to-all that is too large to follow flow by flow
NOT_SHOWN = (
    "flows in balance: pauses of priority flow control and their storms, the swing of congestion notification (ECN), "
    "and queues that overflow within an incast are not in a model of flows"
)


@dataclass(frozen=True)
class Result:
    """One pattern on one fabric: per flow its share of what it offers (flows,), per one-way link its load and flows."""

    fraction: np.ndarray
    load: np.ndarray
    passing: np.ndarray
    arrives: np.ndarray


def offered(graph: LinkGraph, source: np.ndarray) -> np.ndarray:
    """What every flow asks for, (flows,) bit/s: its endpoint's rate over the flows that this sends."""
    ends = graph.endpoints
    if graph.direct:  # a flow takes one way, so that one link's rate is the most it could get
        rate = np.zeros(len(graph.tier))
        np.maximum.at(rate, graph.tail, graph.rate)
        each = rate[ends.switch]
    else:
        each = graph.rate[ends.up]
    return np.asarray(each[source] / np.bincount(source, minlength=len(ends))[source])


def fair_rates(paths: Paths, capacity: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """Max-min fair rates, (flows,), of flows that ask for `demand` over links of `capacity`, in one unit; 0 without a
    way.
    """
    from argosy.kernels.fairness import max_min_rates

    asked = np.where(paths.arrives, demand, 0.0)
    return np.asarray(
        max_min_rates(paths.first, paths.links, paths.share, np.asarray(capacity, float), asked)
    )


def simulate(
    graph: LinkGraph,
    found: Routes | DimensionOrder,
    source: np.ndarray,
    end: np.ndarray,
    routing: str = "ecmp",
    seed: int = 0,
    queue_pairs: int = 1,
    demand: np.ndarray | None = None,
) -> Result:
    """Loads and rates of a pattern. `queue_pairs`: as many flows on paths of their own; a message waits for the slowest.

    `demand` (flows,) bit/s: what each offers; None: its share of its endpoint's rate.
    """
    flows = len(source)
    asked = offered(graph, source) if demand is None else demand
    parts = np.repeat(np.arange(flows), queue_pairs)
    pair = np.tile(np.arange(queue_pairs), flows)
    paths = found.paths(source[parts], end[parts], routing, seed, pair)
    each = asked[parts] / queue_pairs
    rate = np.where(graph.rate > 0, graph.rate, np.inf)
    got = fair_rates(paths, graph.rate, each) / np.where(each > 0, each, 1.0)
    return Result(
        got.reshape(flows, queue_pairs).min(axis=1),
        paths.load(len(graph), each) / rate,
        paths.load(len(graph)) / queue_pairs,
        np.asarray(paths.arrives.reshape(flows, queue_pairs).all(axis=1)),
    )


def simulate_all_to_all(graph: LinkGraph, found: Routes, routing: str = "ecmp", seed: int = 0) -> Result:
    """Everyone to everyone, for endpoints too many to keep every flow: loads are exact, the fractions those of a sample.

    A pair gets what its busiest link leaves when all that cross it give way in proportion: no more than max-min fair.
    """
    ends = graph.endpoints
    peers = np.bincount(ends.plane)[ends.plane] - 1
    weight = graph.rate[ends.up] / peers
    if routing in SPRAYED:
        load = _spread_everywhere(graph, found, weight)
    else:
        load = _walk_everywhere(graph, found, weight, seed, hashed=routing != "static")
    np.add.at(load, ends.up, weight * peers)
    incoming = np.bincount(ends.plane, weights=weight)[ends.plane] - weight
    np.add.at(load, ends.down, incoming)
    load = load / np.where(graph.rate > 0, graph.rate, np.inf)
    random = np.random.default_rng(seed)
    source, end = random.integers(len(ends), size=(2, SAMPLED_PAIRS))
    together = (ends.plane[source] == ends.plane[end]) & (source != end)
    paths = found.paths(source[together], end[together], "ecmp" if routing in SPRAYED else routing, seed)
    busiest = np.ones(len(paths.arrives))
    flow = np.repeat(np.arange(len(paths.arrives)), np.diff(paths.first))
    np.maximum.at(busiest, flow, load[paths.links])
    return Result(np.where(paths.arrives, 1 / busiest, 0.0), load, np.zeros(len(graph)), paths.arrives)


def _walk_everywhere(
    graph: LinkGraph, found: Routes, weight: np.ndarray, seed: int, hashed: bool
) -> np.ndarray:
    """Load per link between switches when every endpoint sends `weight` (endpoints,) to every other of its plane.

    Routed by destination, all endpoints of a switch take the same way: they are walked as one.
    """
    from argosy.kernels import routes as kernels

    ends = graph.endpoints
    node, key = found.local[ends.switch], np.arange(len(ends), dtype=np.uint64)
    sources = (node, ends.plane, key, weight)
    if not hashed:
        one, which = np.unique(ends.switch, return_index=True)
        total = np.bincount(ends.switch, weights=weight)[one]
        sources = (node[which], ends.plane[which], key[which], total)
    load, _ = kernels.count_all(
        found.table, found.set_first, found.set_links, found.set_divisor, found.head,
        sources, (found.column[ends.switch], ends.plane, key, ends.order), np.uint64(seed), hashed,
    )  # fmt: skip
    return np.asarray(load.reshape(-1, len(graph)).sum(axis=0))


def _spread_everywhere(graph: LinkGraph, found: Routes, weight: np.ndarray) -> np.ndarray:
    """Load per link between switches when every endpoint sprays `weight` (endpoints,) to every other of its plane."""
    ends = graph.endpoints
    leaf, into = found.local[ends.switch], found.column[ends.switch]
    columns, nodes = found.table.shape
    planes = int(ends.plane.max()) + 1
    sends, takes = np.zeros((planes, nodes)), np.zeros((planes, columns))
    np.add.at(sends, (ends.plane, leaf), weight)
    np.add.at(takes, (ends.plane, into), 1.0)
    demand = takes.T @ sends
    demand[found.table <= 0] = 0.0
    return found.spread_load(demand)


@dataclass(frozen=True)
class Run:
    """One pattern followed over a fabric: the links after faults, a result per seed (the first for the asked one), the
    cables that failed and degraded, and whether pairs were sampled.
    """

    graph: LinkGraph
    results: list[Result]
    failed: list[int]
    degraded: list[int]
    sampled: bool
    routing: str


def run_traffic(
    topology: Topology,
    traffic: str,
    seed: int = 0,
    routing: str = "ecmp",
    *,
    seeds: int = SEEDS,
    queue_pairs: int = 1,
    failed: Faults = 0,
    degraded: Faults = 0,
    degraded_rate: float = 0.5,
    messages: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> Run:
    """Follow a pattern; the arguments of `traffic_payload`. DesignError for what does not fit.

    `messages`: endpoints from and to, and bytes (flows,), of the pattern `layout` (`placement.layout_pattern`). They are
    offered at rates in proportion to their bytes, at which the busiest endpoint sends all the time.
    """
    if queue_pairs < 1 or seeds < 1:
        raise DesignError("queue pairs and seeds are at least 1")
    if topology.design.topology == "torus" and not topology.design.twist:
        routing = "dimension-order"
    whole = link_graph(topology.cables)
    graph, hurt = with_faults(whole, topology.cables, seed, failed, degraded, degraded_rate)
    found = DimensionOrder.of(graph, topology) if routing == "dimension-order" else routes_for(graph, routing)
    large = traffic == "all-to-all" and patterns.pairs(graph.endpoints) > patterns.MOST_FLOWS
    if large and graph.direct:
        raise DesignError(
            f"all-to-all traffic of {len(graph.endpoints)} chips is too much; write a smaller torus"
        )

    def run(number: int) -> Result:
        if large and isinstance(found, Routes):
            return simulate_all_to_all(graph, found, routing, number)
        if messages is not None:
            source, end, amount = messages
            rate = graph.rate[graph.endpoints.up]
            sent = np.bincount(source, weights=amount, minlength=len(rate))
            demand = amount / (sent / np.where(rate > 0, rate, np.inf)).max()
            return simulate(graph, found, source, end, routing, number, queue_pairs, demand)
        source, end = patterns.pattern(graph.endpoints, traffic, number)
        return simulate(graph, found, source, end, routing, number, queue_pairs)

    fixed = traffic.partition(":")[0] in ("shift", "rail", "all-to-all", "layout") and routing not in (
        "ecmp",
        "up-down",
    )
    first = run(seed)
    others = 1 if fixed or large else max(1, min(seeds, FLOWS_OVER_SEEDS // len(first.fraction)))
    results = [first, *(run(number) for number in range(seed + 1, seed + others))]
    return Run(graph, results, hurt[0], hurt[1], large, routing)


def traffic_payload(
    topology: Topology,
    traffic: str,
    seed: int = 0,
    routing: str = "ecmp",
    *,
    seeds: int = SEEDS,
    queue_pairs: int = 1,
    failed: Faults = 0,
    degraded: Faults = 0,
    degraded_rate: float = 0.5,
) -> dict[str, Any]:
    """The contract's keys of `argosy fabric --traffic`, with quantiles, loads by tier, and collisions over seeds.

    `traffic`: one of `argosy.fabric.traffic.WORDS`; `seed`: of the pattern, of the hash, and of the cables that fail;
    `seeds`: from `seed` on, for the statistics of collisions (one where nothing is random, fewer of many flows).
    `failed` and `degraded` cables between switches, named or so many drawn at random (`argosy.fabric.faults`): the
    former carry nothing, the latter `degraded_rate` of their rate.
    Loads are what is offered over the link's rate; fractions are a flow's max-min fair rate over what it offers.
    DesignError for a pattern, routing or number that does not fit.
    """
    run = run_traffic(
        topology,
        traffic,
        seed,
        routing,
        seeds=seeds,
        queue_pairs=queue_pairs,
        failed=failed,
        degraded=degraded,
        degraded_rate=degraded_rate,
    )
    return run_payload(topology, traffic, seed, run)


def run_payload(topology: Topology, traffic: str, seed: int, run: Run) -> dict[str, Any]:
    """A run as `traffic_payload` tells it."""
    graph, first = run.graph, run.results[0]
    return {
        "traffic": traffic,
        "routing": run.routing,
        "seed": seed,
        "flows": int(patterns.pairs(graph.endpoints)) if run.sampled else len(first.fraction),
        "unreachable_flows": int((~first.arrives).sum()),
        "max_link_load": float(first.load.max()),
        "mean_throughput_fraction": float(first.fraction.mean()),
        "min_throughput_fraction": float(first.fraction.min()),
        "throughput_fraction": quantiles(first.fraction),
        "link_load": quantiles(
            first.load[graph.between_switches] if graph.between_switches.any() else first.load
        ),
        "load_by_tier": load_by_tier(topology.cables, graph, first.load),
        "hot_links": hot_links(topology.cables, graph, first, HOT_LINKS),
        "collisions": collisions(graph, run.results),
        "failed_cables": run.failed,
        "degraded_cables": run.degraded,
        "notes": [NOT_SHOWN, *_sampled(run.sampled)],
    }


def _sampled(large: bool) -> list[str]:
    """What is said of an all-to-all that is too large to follow."""
    if not large:
        return []
    return [
        f"throughput of a sample of {SAMPLED_PAIRS:,} pairs, all that cross a full link giving way in proportion: no "
        "more than max-min fair; loads are of all pairs"
    ]


def quantiles(numbers: np.ndarray) -> dict[str, float]:
    """p01, p10, p50, p90, p99 and the ends."""
    marks = {"min": 0.0, "p01": 0.01, "p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    return {name: float(np.quantile(numbers, mark)) for name, mark in marks.items()}


def collisions(graph: LinkGraph, results: list[Result]) -> dict[str, Any]:
    """Over the seeds: the busiest link, the throughput, and the share of links between switches loaded above 1."""
    between = graph.between_switches
    above = [float((one.load[between] > 1 + 1e-9).mean()) if between.any() else 0.0 for one in results]
    return {
        "seeds": len(results),
        "max_link_load": spread_over([float(one.load.max()) for one in results]),
        "mean_throughput_fraction": spread_over([float(one.fraction.mean()) for one in results]),
        "min_throughput_fraction": spread_over([float(one.fraction.min()) for one in results]),
        "links_above_rate_fraction": spread_over(above),
    }


def spread_over(numbers: list[float]) -> dict[str, float]:
    """Mean and quantiles of one number over the seeds."""
    p10, p50, p90 = np.quantile(numbers, [0.1, 0.5, 0.9])
    return {
        "mean": float(np.mean(numbers)), "p10": float(p10), "p50": float(p50), "p90": float(p90),
        "max": float(np.max(numbers)),
    }  # fmt: skip


def load_by_tier(cables: CableList, graph: LinkGraph, load: np.ndarray) -> list[dict[str, Any]]:
    """Mean and maximum load of the links between each two kinds of nodes, one way each."""
    kind = np.repeat(
        [plain_name(group.name) for group in cables.groups], [group.count for group in cables.groups]
    )
    names, number = np.unique(kind, return_inverse=True)
    pair = number[graph.tail] * len(names) + number[graph.head]
    rows = []
    for one in np.unique(pair):
        chosen = load[pair == one]
        rows.append(
            {
                "from": str(names[one // len(names)]),
                "to": str(names[one % len(names)]),
                "links": len(chosen),
                "mean_load": float(chosen.mean()),
                "max_load": float(chosen.max()),
            }
        )
    return rows


def hot_links(cables: CableList, graph: LinkGraph, result: Result, count: int) -> list[dict[str, Any]]:
    """The busiest links by name, with load, flows and rate; only those that carry something."""
    names = node_names(cables)
    busiest = np.argsort(-result.load, kind="stable")[:count]
    return [
        {
            "from": names[graph.tail[link]],
            "to": names[graph.head[link]],
            "cable": int(graph.cable[link]),
            "load": float(result.load[link]),
            "flows": float(result.passing[link]),
            "rate_bps": float(graph.rate[link]),
        }
        for link in busiest
        if result.load[link] > 0
    ]
