"""The time of a collective by its flow schedule: every step's messages routed over the cables and shared fairly.

Messages of equal bytes that start together end together on the busiest link: under max-min fairness nobody gets less
than they do. So a step takes its latency and the bytes of its busiest link over that link's rate; rounds that repeat
are solved once. Where steps overlap in small pieces, the busiest link over all steps sets the pace and the latencies
are those of one piece. Latencies and delivered shares are the `Network`'s (`argosy.fabric.pairs`), one pair per NCCL
protocol; what collides is not a share here but seen on the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argosy.fabric.algorithms import ALGORITHMS, Algorithm, Group, Step
from argosy.fabric.network import TREE_SHARE, Pair, TieredNetwork
from argosy.fabric.topologies.design import DesignError, Topology
from argosy.fabric.torus import TorusNetwork
from argosy.fabric.wires import Wires
from argosy.laws import collectives

Array = np.ndarray
# What NCCL itself runs between cards; the others are textbook forms, or need switches that add up (SHARP).
LIBRARY = ("ring", "double-tree", "nvls", "chain", "pairwise")


@dataclass(frozen=True)
class StepCost:
    """What a step takes of the wires: seconds of its busiest scale-up port and fabric link at their full rates in one
    round, and hops of each level in all its rounds, (levels,).
    """

    step: Step
    scale_up_s: float
    fabric_s: float
    hops: Array
    messages: int


@dataclass(frozen=True)
class Schedule:
    """A collective's steps on the wires. `scale_up_s`, `fabric_s`: of all rounds of all steps at once, the busiest link."""

    name: str
    algorithm: Algorithm
    group: Group
    leaves: bool
    costs: tuple[StepCost, ...]
    scale_up_s: float
    fabric_s: float

    def wire_s(self, scale_up: float, fabric: float) -> float:
        """Seconds of the bytes, when scale-up ports and fabric links deliver these shares of their rates."""
        if self.algorithm.overlap:
            return max(self.scale_up_s / scale_up, self.fabric_s / fabric)
        return float(
            sum(
                cost.step.rounds * max(cost.scale_up_s / scale_up, cost.fabric_s / fabric)
                for cost in self.costs
            )
        )

    def latency_s(self, per_hop: Sequence[float]) -> float:
        """Seconds of the rounds, from seconds per hop of each level."""
        return float(sum((cost.hops * np.asarray(per_hop)).sum() for cost in self.costs))


def schedule(
    wires: Wires, network: TieredNetwork, kind: str, name: str, message: float, groups: Array
) -> Schedule | None:
    """The schedule of an algorithm for `groups` (groups, ranks) that talk at once; None where it does not apply.

    `kind`: a collective; `name`: one of its ALGORITHMS; `message`: bytes, as nccl-tests counts.
    """
    algorithm = ALGORITHMS[kind][name]
    each = [Group.of(np.sort(ranks), wires.domain) for ranks in groups]
    first = each[0]
    alike = all(one.even and (one.domains, one.members) == (first.domains, first.members) for one in each)
    if not alike and not (algorithm.uneven and len(each) == 1):
        return None
    if algorithm.pairs == "in-switch" and not any(first.members >= one.members for one in network.in_network):
        return None
    leaves = first.domains > 1
    if name == "sharp" and not leaves:
        return None
    costs, total = [], np.zeros(len(wires.capacity))
    for together in zip(*(algorithm.steps(one, message) for one in each), strict=True):
        step = _together(together)
        load = _step_load(wires, step)
        total += step.rounds * load
        costs.append(_cost(wires, network, algorithm, step, load))
    scale_up, fabric = _busiest(wires, total)
    return Schedule(name, algorithm, first, leaves, tuple(costs), scale_up, fabric)


def seconds(found: Schedule, network: TieredNetwork) -> float:
    """Seconds of a schedule with the network's latencies and shares: its fastest protocol."""
    started = float(np.asarray(network.leave_s)) if found.leaves else 0.0
    members, levels = found.group.members, network.levels
    if found.algorithm.pairs == "in-switch":
        times = []
        for one in network.in_network:
            if members >= one.members:
                fabric = float(
                    levels[-1].ring[-1].delivered if len(levels) < 2 else levels[1].ring[-1].delivered
                )
                per_hop = [0.0, *(float(one.hop_s) for _ in levels[1:])]
                wire = found.wire_s(one.delivered, fabric * TREE_SHARE)
                times.append(one.rank_s * members + found.latency_s(per_hop) + wire)
        return min(times) + started
    exchange = found.algorithm.pairs == "exchange"
    tree = found.algorithm.pairs == "tree"
    bases = network.exchange_base_s if exchange else network.tree_base_s if tree else network.ring_base_s
    few = network.exchange_few_ranks if exchange else network.ring_few_ranks
    times = []
    for protocol, base in enumerate(bases):
        pairs: list[Pair] = [(level.exchange if exchange else level.ring)[protocol] for level in levels]
        per_hop = [float(pair.tree_s if tree else pair.ring_s) for pair in pairs]
        if found.leaves and not exchange and not tree:
            per_hop[0] = max(per_hop[0], network.relay_s[protocol])
        share = TREE_SHARE if tree else 1.0
        inside = float(pairs[0].delivered) * (1 - few / members if members > 1 else 1.0) * share
        outside = float(pairs[1].delivered) * share if len(pairs) > 1 else 1.0
        latency = found.latency_s(per_hop)
        if exchange:
            latency = _exchange_latency(found, network, pairs)
        times.append(base + latency + found.wire_s(inside, outside))
    return min(times) + started


def _exchange_latency(found: Schedule, network: TieredNetwork, pairs: Sequence[Pair]) -> float:
    """Seconds to post a message to every peer: per level the first one's `tree_s`, and `ring_s` for each further one.

    Rail-aware, what goes to another domain is one message to its member on the same rail.
    """
    ranks = found.group.by_domain  # exchanges are of even groups
    peers = np.concatenate([ranks[0, 1:], ranks[1:, 0] if found.name == "rail-aware" else ranks[1:].ravel()])
    level = level_of(network, np.full(len(peers), ranks[0, 0]), peers)
    latency = 0.0
    for pair, count in zip(pairs, np.bincount(level, minlength=len(pairs)), strict=True):
        latency += float(pair.tree_s + (count - 1) * pair.ring_s) if count else 0.0
    return latency


def _together(steps: tuple[Step, ...]) -> Step:
    """The same step of several groups as one; rails of different groups get different numbers."""
    one = steps[0]
    if len(steps) == 1:
        return one
    ends = [step.end + number * len(step.end) * one.everyone for number, step in enumerate(steps)]
    alike = (
        None
        if one.alike is None
        else np.concatenate([step.alike for step in steps if step.alike is not None])
    )
    source = np.concatenate([step.source for step in steps])
    return replace(one, source=source, end=np.concatenate(ends), alike=alike)


def _step_load(wires: Wires, step: Step) -> Array:
    """Bytes of one round on every link."""
    if step.in_network:
        return _tree_of_switches(wires, step)
    if step.everyone:
        return wires.everyone_load(step.source, step.end, step.bytes) / step.rounds
    load = wires.load(step.source, step.end, step.amount) if step.bytes else np.zeros(len(wires.capacity))
    if step.switched:
        ports = wires.fabric_links + 2 * step.source
        load[ports] += step.switched
        load[ports + 1] += step.switched
    return load


def _tree_of_switches(wires: Wires, step: Step) -> Array:
    """Every link of the tree that the static ways to one end form carries the bytes once up, and once back down.

    Ways by destination never part again once they have met, so that they are a tree.
    """
    width = wires.cards.shape[1]
    up = np.zeros(wires.fabric_links)
    for end in np.unique(step.end):
        own = step.end == end
        for card in range(width):
            cards = wires.cards[step.source[own], card]
            target = np.full(len(cards), wires.cards[end, card])
            paths = wires.found.paths(cards, target, "static")
            if not paths.arrives.all():
                raise DesignError("the cards of a rail must be joined for switches to add up")
            merged = np.minimum(paths.load(len(up)), 1.0)
            merged[wires.found.graph.endpoints.up[target[0]]] = 1.0  # the root's own card sends its part too
            merged[wires.found.graph.endpoints.down[target[0]]] = 0.0
            up += merged * step.bytes / width
    back = up.reshape(-1, 2)[:, ::-1].ravel()
    return np.concatenate([up + back, np.zeros(2 * wires.accelerators)])


def _busiest(wires: Wires, load: Array) -> tuple[float, float]:
    """Seconds of the busiest scale-up port and of the busiest fabric link at their full rates."""
    links = wires.fabric_links
    rate = wires.found.graph.rate / 8
    used = load[:links] > 0
    fabric = float((load[:links][used] / rate[used]).max()) if used.any() else 0.0
    return float(load[links:].max(initial=0.0)) / wires.scale_up, fabric


def _cost(wires: Wires, network: TieredNetwork, algorithm: Algorithm, step: Step, load: Array) -> StepCost:
    """The step's busiest links, and its hops."""
    scale_up, fabric = _busiest(wires, load)
    count = np.zeros(len(network.levels))
    if algorithm.pairs == "exchange":  # posted one after the other while others travel: counted as a whole
        return StepCost(step, scale_up, fabric, count, len(step.source))
    if step.lag is not None:
        count = np.bincount(level_of(network, *step.lag), minlength=len(count)).astype(float)
    elif step.bytes:
        count[level_of(network, step.source, step.end).max()] = step.rounds
    return StepCost(step, scale_up, fabric, count, len(step.source))


def level_of(network: TieredNetwork, source: Array, end: Array) -> Array:
    """The innermost level whose domain both ends share, (pairs,)."""
    found = np.full(np.shape(source), len(network.levels) - 1)
    for depth in range(len(network.levels) - 2, -1, -1):
        size = network.levels[depth].size
        found[source // size == end // size] = depth
    return found


def schedules(
    wires: Wires,
    network: TieredNetwork,
    kind: str,
    message: float,
    groups: Array,
    names: Sequence[str] | None = None,
) -> dict[str, Schedule]:
    """Every algorithm that applies (or those of `names`), by name."""
    found = {}
    for name in names or ALGORITHMS[kind]:
        one = schedule(wires, network, kind, name, message, groups)
        if one is not None:
            found[name] = one
    return found


def schedule_payload(
    topology: Topology,
    network: Any,
    kind: str,
    message: float,
    ranks: int,
    *,
    algorithm: str | None = None,
    routing: str = "static",
    seed: int = 0,
    queue_pairs: int = 1,
) -> dict[str, Any]:
    """What the flow schedule of one collective over the first `ranks` accelerators takes: the key `schedule`.

    `network`: the fabric's `Network`; `message`: bytes, as nccl-tests counts; `algorithm`: None for the fastest of
    those that NCCL has. On a torus or supernode, without cards, `schedule` is None and a note says so. DesignError for
    an algorithm that is not known or does not apply.
    """
    kind = kind.replace("-", "_").lower().replace("alltoall", "all_to_all")
    known = list(ALGORITHMS[kind])
    if algorithm is not None and algorithm not in known:
        raise DesignError(f"algorithm {algorithm!r} of {kind} is not known; write one of {', '.join(known)}")
    if isinstance(network, TorusNetwork):
        if algorithm is not None:
            raise DesignError(
                "a torus has one algorithm of each kind, rings on all axes; leave --algorithm out"
            )
        return _on_torus(topology, network, kind, message, ranks)
    if topology.design.topology in ("torus", "supernode"):
        note = "no flow schedule here: accelerators without cards go by the closed form"
        return {"schedule": None, "notes": [note]}
    wires = wires_of(topology, network, routing, seed, queue_pairs)
    found = schedules(wires, network, kind, message, np.arange(ranks)[None, :])
    times = {name: seconds(one, network) for name, one in found.items()}
    if algorithm is not None and algorithm not in times:
        raise DesignError(f"{algorithm} does not apply to {ranks} ranks here: {why_not(algorithm)}")
    library = [name for name in times if name in LIBRARY] or list(times)
    if not times:
        return {"schedule": None, "notes": [f"no flow schedule of {ranks} ranks: they fill domains unevenly"]}
    chosen = algorithm or min(library, key=lambda name: times[name])
    return {
        "schedule": {
            "algorithm": chosen,
            "time_s": times[chosen],
            "bus_bandwidth_bytes_per_s": float(
                collectives.bus_bandwidth(kind, message, ranks, times[chosen])
            ),
            "wire_s": found[chosen].wire_s(1.0, 1.0),
            "routing": routing,
            "queue_pairs": queue_pairs,
            "algorithms_s": times,
            "steps": step_rows(found[chosen]),
        }
    }


def _on_torus(
    topology: Topology, network: TorusNetwork, kind: str, message: float, ranks: int
) -> dict[str, Any]:
    """The key `schedule` of a torus, which has one algorithm."""
    from argosy.fabric.schedule_torus import torus_schedule

    found = torus_schedule(topology, network, kind, message, ranks)
    if isinstance(found, str):
        return {"schedule": None, "notes": [found]}
    bus = float(collectives.bus_bandwidth(kind, message, ranks, found["time_s"]))
    times = {found["algorithm"]: found["time_s"]}
    return {"schedule": {**found, "bus_bandwidth_bytes_per_s": bus, "queue_pairs": 1, "algorithms_s": times}}


def why_not(algorithm: str) -> str:
    """Why an algorithm does not apply to a group."""
    reasons = {
        "nvls": "it needs scale-up switches that add up, and enough ranks in a domain",
        "sharp": "it needs ranks in more than one domain",
    }
    return reasons.get(algorithm, "every domain must hold equally many of them")


def wires_of(topology: Topology, network: Any, routing: str, seed: int = 0, queue_pairs: int = 1) -> Wires:
    """The wires that a network's schedule needs: its scale-up domain and rate over the topology's cables.

    DesignError for a torus or supernode.
    """
    if not isinstance(network, TieredNetwork):
        raise DesignError(f"a flow schedule is for hosts with cards, not for a {topology.design.topology}")
    inner = network.levels[0]
    return Wires.of(topology, int(inner.size), float(np.mean(inner.bandwidth)), routing, seed, queue_pairs)


def step_rows(found: Schedule) -> list[dict[str, Any]]:
    """The schedule's steps for people: phase, messages, bytes, rounds, seconds on the wires at their full rates."""
    return [
        {
            "phase": cost.step.phase,
            "messages": cost.messages,
            "bytes": cost.step.bytes or cost.step.switched,
            "rounds": cost.step.rounds,
            "scale_up_s": cost.scale_up_s * cost.step.rounds,
            "fabric_s": cost.fabric_s * cost.step.rounds,
        }
        for cost in found.costs
    ]
