"""What the flow simulator says of a case on the testbed's cables: seconds, and bytes of every one-way link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from argosy.fabric.network import Level, Pair, TieredNetwork
from argosy.fabric.routing import Routes
from argosy.fabric.schedule import Schedule, schedule
from argosy.fabric.topologies import DesignError
from argosy.fabric.wires import Wires
from argosy.laws.wide_area import lossy_bandwidth
from argosy.testbed.fabrics import Case, Fabric
from argosy.testbed.wiring import MTU

PIECES = 64  # on each tree, at most: of what is pipelined
PIECE_BYTES = (
    32 << 10
)  # at least: smaller ones cost cores, and those under way have to fill a long cable (500 kB)
AT_ONCE = 16  # pieces under way on both trees: 8 each, as NCCL's buffers hold (NCCL_STEPS); more would only queue up
SLICES = 4  # messages under way in a ring's round: slices of its blocks, over all rings
SEGMENT_BYTES = MTU - 52  # headers of IP and TCP, with time stamps
SEGMENTS_PER_ACKNOWLEDGEMENT = 2.0  # Linux delays them
HOT = 0.02  # links within this of the busiest are as hot


@dataclass(frozen=True)
class Baseline:
    """What two hosts on one switch of the same testbed got: `share` of a link's rate that large messages have as payload,
    and `message_s`, seconds of a small message one way.
    """

    share: float
    message_s: float


@dataclass(frozen=True)
class Prediction:
    """`seconds` of a case; `wire_s` of them on the busiest links, `latency_s` else; `bytes` per one-way link (links,);
    `hot`: the links that are busiest, as shares of their rates.
    """

    seconds: float
    wire_s: float
    latency_s: float
    bytes: np.ndarray
    hot: tuple[int, ...]


def wires_of(fabric: Fabric, domain: int | None = None) -> Wires:
    """The fabric's wires at their scaled rates, lossy cables at what one connection gets through them. Inside a host messages
    cross its loopback, which is taken to cost no time; inside a larger `domain` they cross the hosts' own cards, which are
    then its ports.
    """
    size = domain or fabric.accelerators
    found = fabric.routes()
    card = float(found.graph.rate[found.graph.endpoints.up].min()) / 8
    wires = Wires.of(fabric.topology, size, card if size > fabric.accelerators else np.inf)
    return replace(wires, found=lossy(fabric, found))


def lossy(fabric: Fabric, found: Routes) -> Routes:
    """The routes with cables that lose packets at the rate to which the losses hold one connection (Mathis et al.), where that
    is below their own. The round trip is the cable's own: at such rates no queue forms.
    """
    rate = found.graph.rate.copy()
    for cable, lost in fabric.loss.items():
        trip = 2 * fabric.delay_s.get(cable, 0.0)
        if lost and trip:
            held = 8 * lossy_bandwidth(SEGMENT_BYTES, trip, lost, SEGMENTS_PER_ACKNOWLEDGEMENT)
            rate[2 * cable : 2 * cable + 2] = np.minimum(rate[2 * cable : 2 * cable + 2], held)
    return replace(found, graph=replace(found.graph, rate=rate))


def predict(fabric: Fabric, case: Case, baseline: Baseline, kind: str = "all_reduce") -> Prediction:
    """Seconds and loads of a case of a `kind` of collective (`case.algorithm` is one of that kind). DesignError where the
    algorithm does not fit its groups.
    """
    wires = wires_of(fabric, case.domain)
    piece_s = 1 / piece_count(fabric, case) / (_card(fabric) * baseline.share)
    return predict_phase(fabric, wires, kind, case.bytes, case.groups, baseline, case.algorithm, piece_s)


def predict_phase(
    fabric: Fabric,
    wires: Wires,
    kind: str,
    message: float,
    groups: Sequence[Sequence[int]],
    baseline: Baseline,
    algorithm: str = "ring",
    piece_s: float = 0.0,
    ways: int = 1,
) -> Prediction:
    """Seconds and loads of a collective of `kind` over `message` bytes in all of `groups` at once. `piece_s`: seconds per byte
    that is passed on as one piece in a tree; `ways`: how often a message's cables are gone along until it is there.
    """
    sizes, delays = levels(fabric)
    network = _network(sizes, wires.accelerators)
    found = schedule(wires, network, kind, algorithm, message, np.array(groups))
    if found is None:
        raise DesignError(f"{algorithm} does not fit groups {groups} of {fabric.name}")
    latency = _latency(found, ways * np.array(delays) + baseline.message_s, piece_s)
    wire = found.wire_s(baseline.share, baseline.share)
    carried = link_bytes(wires, found, fabric.accelerators)
    return Prediction(wire + latency, wire, latency, carried, hot_links(carried, fabric.graph.rate))


def levels(fabric: Fabric) -> tuple[list[float], list[float]]:
    """Sizes of the domains that accelerators share (host; hosts without a long cable between them; all), and the seconds
    that a message takes longer over each one's wires.
    """
    hosts = fabric.topology.cables.hosts
    first = [fabric.delay_of(0, other * fabric.accelerators) for other in range(1, hosts)]
    near = 1 + next((number for number, seconds in enumerate(first) if seconds), hosts - 1)
    sizes, delays = [float(fabric.accelerators)], [0.0]
    if near < hosts:
        sizes, delays = [*sizes, float(near * fabric.accelerators)], [*delays, 0.0]
    return [*sizes, np.inf], [*delays, max(first, default=0.0)]


def _network(sizes: list[float], accelerators: int) -> TieredNetwork:
    """Domains of these sizes, for the hops of a schedule; their costs are the baseline's, not NCCL's."""
    none = (Pair(1.0, 0.0, 0.0),)
    return TieredNetwork(
        tuple(Level(f"level {number}", size, 1.0, none, none) for number, size in enumerate(sizes)),
        accelerators, (0.0,), (0.0,), (0.0,), (0.0,),
    )  # fmt: skip


def _card(fabric: Fabric) -> float:
    """Byte/s of the slowest card."""
    graph = fabric.graph
    return float(graph.rate[graph.endpoints.up].min()) / 8


def piece_count(fabric: Fabric, case: Case) -> int:
    """Pieces into which what is pipelined is cut: on each of two trees, half of a rank's share of the message."""
    half = case.bytes // (case.domain or fabric.accelerators) // 2
    return int(np.clip(half // PIECE_BYTES, 1, PIECES))


def _latency(found: Schedule, hop_s: np.ndarray, piece_s: float) -> float:
    """Seconds of the hops. In a pipelined tree a hop also takes the one piece that is passed on whole: `piece_s` per byte
    of the tree's message.
    """
    total = 0.0
    for cost in found.costs:
        piece = cost.step.bytes * piece_s if cost.step.phase == "trees" else 0.0
        total += float((cost.hops * (hop_s + piece)).sum())
    return total


def link_bytes(wires: Wires, found: Schedule, accelerators: int) -> np.ndarray:
    """Payload bytes of all rounds on every one-way link of the fabric, (links,)."""
    load = np.zeros(len(wires.capacity))
    for cost in found.costs:
        load += cost.step.rounds * wires.load(cost.step.source, cost.step.end, cost.step.amount)
    carried = load[: wires.fabric_links]
    if wires.domain > accelerators:  # ports of the domain are the hosts' own cards
        ends = wires.found.graph.endpoints
        ports = load[wires.fabric_links :].reshape(-1, 2)
        carried = carried + np.bincount(ends.up[wires.cards[:, 0]], ports[:, 0], len(carried))
        carried = carried + np.bincount(ends.down[wires.cards[:, 0]], ports[:, 1], len(carried))
    return np.asarray(carried)


def hot_links(carried: np.ndarray, rate: np.ndarray) -> tuple[int, ...]:
    """Links whose bytes take the longest at their rates, and those within HOT of them."""
    busy = carried * 8 / rate
    return tuple(int(link) for link in np.flatnonzero(busy >= busy.max() * (1 - HOT)))


def ring_bytes(size: int, message: float) -> float:
    """Bytes that a rank of a ring sends: 2(N − 1)M/N (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005)."""
    return 2 * (size - 1) * message / size
