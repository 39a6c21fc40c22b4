"""Flow schedules against the closed forms, byte counts, cut bounds, max-min filling, and the `Network` of examples."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from argosy.fabric import algorithms, build_network, schedule
from argosy.fabric.algorithms import ALGORITHMS, Group
from argosy.fabric.fleet import fleet_topology
from argosy.fabric.network import InNetwork, Level, Pair, TieredNetwork
from argosy.fabric.request import request_network
from argosy.fabric.topologies import Design, DesignError, build
from argosy.facts import Values, load_catalog
from argosy.kernels.fairness import max_min_rates
from argosy.laws import collectives as law
from argosy.planning.context import context
from argosy.spec import load

CARD, LINK, ALPHA = 50e9, 450e9, 3e-6
EXAMPLES = Path(__file__).parents[2] / "examples"


def ideal(domain, accelerators, link=LINK, card=CARD, alpha=ALPHA, switched=False):
    """Everything delivered, one latency everywhere: the closed forms' own assumptions."""
    pair = (Pair(1.0, alpha, alpha),)
    levels = (Level("scale-up", domain, link, pair, pair), Level("all", math.inf, card, pair, pair))
    reduction = (InNetwork(0.0, 1.0, 2, alpha),) if switched else ()
    return TieredNetwork(levels, accelerators, (0.0,), (0.0,), (0.0,), (0.0,), in_network=reduction)


def timed(design, network, kind, name, message, ranks=None, routing="static"):
    topology = build(design)
    wires = schedule.wires_of(topology, network, routing)
    count = ranks or network.accelerators
    found = schedule.schedule(wires, network, kind, name, message, np.arange(count)[None])
    return found and schedule.seconds(found, network)


@pytest.fixture(autouse=True)
def no_tree_share(request, monkeypatch):
    if "ideal" in request.keywords or "closed" in request.node.name:
        monkeypatch.setattr(schedule, "TREE_SHARE", 1.0)


FLAT = {
    ("all_reduce", "ring"): law.ring_all_reduce,
    ("all_reduce", "tree"): law.tree_all_reduce,
    ("all_reduce", "double-tree"): law.double_tree_all_reduce,
    ("all_reduce", "halving-doubling"): law.halving_doubling_all_reduce,
    ("all_gather", "ring"): law.ring_all_gather,
    ("reduce_scatter", "ring"): law.ring_reduce_scatter,
    ("broadcast", "chain"): law.broadcast,
    ("all_to_all", "pairwise"): law.all_to_all,
}


@pytest.mark.parametrize("message", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("ranks", [2, 16, 48, 64])
@pytest.mark.parametrize(("kind", "name"), list(FLAT))
def test_closed_forms_hold_on_a_fabric_without_collisions(kind, name, ranks, message):
    """One card per host, sprayed over a full tree: within 2 % of the law, from latency to bandwidth."""
    design = Design("fat-tree", 64, 1, 16, 8 * CARD)
    found = timed(design, ideal(1, 64), kind, name, message, ranks, "spray")
    assert found == pytest.approx(FLAT[kind, name](message, ranks, CARD, ALPHA), rel=0.02)


@pytest.mark.parametrize("message", [1e6, 14e9])
def test_closed_hierarchical_forms(message):
    """32 nodes of 8: phases overlapping and in series."""
    design = Design("rail-optimized", 32, 8, 64, 8 * CARD)
    both = message, 8, 32, LINK, ALPHA, CARD, ALPHA
    pipelined = timed(design, ideal(8, 256), "all_reduce", "hierarchical", message)
    serial = timed(design, ideal(8, 256), "all_reduce", "hierarchical-serial", message)
    assert pipelined == pytest.approx(law.pipelined_hierarchical_all_reduce(*both), rel=0.02)
    assert serial == pytest.approx(law.serial_hierarchical_all_reduce(*both), rel=0.02)


def test_closed_in_switch_form():
    design = Design("rail-optimized", 4, 8, 64, 8 * CARD)
    found = timed(design, ideal(8, 32, switched=True, alpha=0.0), "all_reduce", "nvls", 1e9, 8)
    assert found == pytest.approx(law.in_switch_all_reduce(1e9, 8, LINK))


def test_switches_that_add_up_halve_the_bytes_of_a_card():
    """SHARP: each card sends its shard once and gets the sum once: M/(8 · card) on wide scale-up links."""
    design = Design("rail-optimized", 32, 8, 64, 8 * CARD)
    found = timed(design, ideal(8, 256, link=1e15, alpha=0.0), "all_reduce", "sharp", 8e9)
    assert found == pytest.approx(8e9 / 8 / CARD)


def test_fourteen_gigabytes_over_eight_rails():
    design = Design("rail-optimized", 32, 8, 64, 8 * CARD)
    found = timed(design, ideal(8, 256, link=1e15, alpha=0.0), "all_reduce", "ring", 14e9)
    assert found == pytest.approx(69.7e-3, rel=1e-3)


@pytest.mark.parametrize("name", ["ring", "halving-doubling"])
@pytest.mark.parametrize("ranks", [8, 64])
def test_every_rank_sends_what_an_all_reduce_must(name, ranks):
    """Counted message by message: 2(N − 1)/N · M out of and into every rank."""
    group = Group.of(np.arange(ranks), 8)
    out, into = np.zeros(ranks), np.zeros(ranks)
    for step in ALGORITHMS["all_reduce"][name].steps(group, 1.0):
        np.add.at(out, step.source, step.rounds * step.amount)
        np.add.at(into, step.end, step.rounds * step.amount)
    assert out == pytest.approx(2 * (ranks - 1) / ranks) and into == pytest.approx(out)


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 13, 64, 100])
def test_two_trees_span_all_and_nobody_is_inner_in_both(count):
    trees = algorithms.binary_trees(count)
    inner = []
    for parents in trees:
        assert (parents < 0).sum() == 1
        longest = 0
        for start in range(count):
            steps, at = 0, start
            while parents[at] >= 0:
                at, steps = parents[at], steps + 1
                assert steps <= count
            longest = max(longest, steps)
        children = np.bincount(parents[parents >= 0], minlength=count)
        assert children.max() <= 2
        inner.append(set(np.flatnonzero(children).tolist()) - {int(np.flatnonzero(parents < 0)[0])})
        assert len(algorithms.deepest(parents)) - 1 == longest <= math.ceil(math.log2(count))
    assert not inner[0] & inner[1]


def test_equal_messages_end_on_the_busiest_link():
    """What the schedule rests on: the least max-min rate of equal messages is that of the busiest link."""
    topology = build(Design("fat-tree", 64, 1, 16, 8 * CARD, oversubscription=(("leaf-uplink", 3.0),)))
    wires = schedule.wires_of(topology, ideal(1, 64), "ecmp")
    random = np.random.default_rng(4)
    for _ in range(5):
        source, end = np.arange(64), random.permutation(64)
        sends = source != end
        paths = wires.found.paths(source[sends], end[sends], "ecmp")
        rate = wires.found.graph.rate / 8
        rates = max_min_rates(paths.first, paths.links, paths.share, rate, np.full(sends.sum(), np.inf))
        load = wires.load(source[sends], end[sends], 1.0)
        assert 1 / rates.min() == pytest.approx(schedule._busiest(wires, load)[1])


CONGESTED = [
    Design("fat-tree", 64, 8, 64, 8 * CARD, oversubscription=(("leaf-uplink", 3.0),)),
    Design("multi-pod", 64, 8, 64, 8 * CARD, pods=4, oversubscription=(("pod-uplink", 7.0),)),
    Design("rail-optimized", 48, 8, 16, 8 * CARD),
    Design("multi-plane", 32, 8, 64, 8 * CARD, planes=4),
]


@pytest.mark.parametrize("routing", ["ecmp", "static", "spray"])
@pytest.mark.parametrize("design", CONGESTED, ids=lambda design: design.topology)
def test_never_faster_than_the_cut_bound(design, routing):
    """Every cut of the network: nodes, leaves, pods. Only what adds up in switches may send fewer bytes."""
    topology = build(design)
    network = request_network(topology, Values(load_catalog().facts), "H100-SXM", "infiniband")
    wires = schedule.wires_of(topology, network, routing)
    ranks = np.arange(network.accelerators)
    for kind in ALGORITHMS:
        message = 1e9
        bound = float(network.bound(kind, message, len(ranks), 1))
        cuts = [bound, *_cuts_of_leaves(topology, wires, kind, message, len(ranks))]
        for name, found in schedule.schedules(wires, network, kind, message, ranks[None]).items():
            if name not in ("nvls", "sharp"):
                assert schedule.seconds(found, network) >= max(cuts) * (1 - 1e-9), (kind, name)
                assert found.wire_s(1.0, 1.0) >= max(cuts[1:], default=0.0) * (1 - 1e-9)


def _cuts_of_leaves(topology, wires, kind, message, ranks):
    """Per leaf whose hosts have no other: bytes that must leave it over its uplinks, from the cables alone."""
    cables, tier = topology.cables, topology.cables.tier_of_nodes()
    per_host = topology.design.nics_per_host
    for leaf in np.flatnonzero(tier == 1):
        below = cables.a[(cables.b == leaf) & (tier[cables.a] == 0)]
        hosts, cards = np.unique(below, return_counts=True)
        if len(hosts) and (cards == per_host).all():
            up = cables.rate[((cables.a == leaf) & (tier[cables.b] > 1))].sum() / 8
            members = per_host * len(hosts)
            if up > 0 and members < ranks:
                share = {"all_to_all": members * (1 - members / ranks)}.get(kind, 1.0)
                share = 2 * min(members, ranks - members) / ranks if kind == "all_reduce" else share
                share = members / ranks if kind in ("all_gather", "reduce_scatter") else share
                share = 0.0 if kind == "broadcast" else share
                yield share * message / up


def test_bus_bandwidth_exceeds_a_card_only_with_scale_up_links_or_sums_in_switches():
    flat, nodes = Design("fat-tree", 64, 1, 16, 8 * CARD), Design("rail-optimized", 2, 8, 64, 8 * CARD)

    def bus(design, network, name):
        ranks = network.accelerators
        seconds = timed(design, network, "all_reduce", name, 8e9)
        return law.bus_bandwidth("all_reduce", 8e9, ranks, seconds)

    for name in ("ring", "tree", "double-tree", "halving-doubling", "hierarchical"):
        assert bus(flat, ideal(1, 64), name) <= CARD * (1 + 1e-9)
    assert bus(flat, ideal(1, 64), "sharp") > CARD
    assert 8 * CARD < bus(nodes, ideal(8, 16, link=1e15), "hierarchical") <= 15 * CARD * (1 + 1e-9)


@pytest.mark.parametrize(("domains", "members"), [(2, 4), (2, 3), (4, 2), (8, 1), (3, 5)])
@pytest.mark.parametrize("passes", [1, 2])
def test_a_ring_is_as_late_as_its_slowest_block(domains, members, passes):
    """Every block followed from its rank, message after message: how many of its messages leave a domain, at most."""
    size = domains * members
    worst = max(
        sum(
            (at % size) // members != ((at + 1) % size) // members
            for at in range(first, first + passes * (size - 1))
        )
        for first in range(size)
    )
    (step,) = algorithms.ring(algorithms.Group.of(np.arange(size), members), 1.0, passes)
    assert step.lag.shape == (2, passes * (size - 1))
    assert int((step.lag[0] // members != step.lag[1] // members).sum()) == worst
    assert (step.lag[1][:-1] == step.lag[0][1:]).all()  # one goes on where the last one ended


EXAMPLE_GROUPS = ((8, 1), (64, 1), (16, 8), (256, 1))


@pytest.mark.parametrize(
    "name",
    ["minimal", "llama3-70b-512", "megascale-ablation", "deepseek-v3", "kimi-k2-gb200", "llama3-70b-4096"],
)
def test_the_network_of_examples_agrees_with_the_schedule(name):
    """All groups of a layout at once, sprayed: within 2 %; a double tree up to 13 % faster than the network's, an
    all-to-all up to 6 % slower, a ring's small message up to 4 %.

    The network, as fitted, leaves out a ring's hop from the last domain back to the first: the schedule sees the slowest
    block pass it. The network lets every rank of a domain pass a chain's message up and down: the schedule sees that a
    chain's ends do so once. The schedule hands what goes to another rail to its owner over scale-up links, which shows in the
    protocol that uses least of them. Under hashing and d-mod-k collisions come on top, which the network has as a
    share.
    """
    setting = context(load(EXAMPLES / f"{name}.yaml"))
    fleet = setting.fleet
    topology, network = fleet_topology(fleet, fleet.compute_fabric), build_network(fleet, setting.values)
    wires = schedule.wires_of(topology, network, "spray")
    checked = 0
    for size, stride in EXAMPLE_GROUPS:
        block = size * stride
        groups = np.arange(min(fleet.count, 1024) // block * block).reshape(-1, size, stride)
        groups = groups.swapaxes(1, 2).reshape(-1, size)
        for kind in ALGORITHMS:
            for message in (2.0**16, 2.0**30):
                expected = network.algorithms(kind, message, size, stride)
                found = schedule.schedules(wires, network, kind, message, groups, list(expected))
                for algorithm, one in found.items():
                    ratio = schedule.seconds(one, network) / float(expected[algorithm])
                    low = 0.87 if algorithm == "double-tree" else 0.98
                    high = 1.06 if kind == "all_to_all" else 1.04 if algorithm == "ring" else 1.02
                    assert low <= ratio <= high, (kind, algorithm, size, stride, message)
                    checked += 1
    assert checked >= 14


def test_hashing_costs_what_the_links_show():
    """One queue pair per message collides more than sixteen, and these more than packets that go everywhere."""
    topology = build(Design("rail-optimized", 128, 8, 64, 8 * CARD))
    network, times = ideal(8, 1024), {}
    for routing, pairs in (("spray", 1), ("ecmp", 16), ("ecmp", 1)):
        wires = schedule.wires_of(topology, network, routing, queue_pairs=pairs)
        groups = np.arange(1024).reshape(4, 256).T  # members a unit apart: every message crosses the spines
        found = schedule.schedule(wires, network, "all_gather", "ring", 1e9, groups)
        times[routing, pairs] = schedule.seconds(found, network)
    assert times["spray", 1] < times["ecmp", 16] < times["ecmp", 1]


def test_payload_chooses_by_size_and_takes_an_algorithm():
    topology = build(Design("rail-optimized", 32, 8, 64, 8 * CARD))
    network = request_network(topology, Values(load_catalog().facts), "H100-SXM", "infiniband")
    chosen = {}
    for message in (2**12, 2**33):
        payload = schedule.schedule_payload(topology, network, "all-reduce", message, 256, routing="spray")
        found = payload["schedule"]
        assert found["time_s"] == min(found["algorithms_s"][name] for name in ("ring", "double-tree", "nvls"))
        chosen[message] = found["algorithm"]
        assert found["steps"] and all(row["rounds"] > 0 for row in found["steps"])
    assert chosen[2**12] != chosen[2**33]
    asked = schedule.schedule_payload(
        topology, network, "all-reduce", 1e9, 256, algorithm="hierarchical-serial"
    )
    assert asked["schedule"]["algorithm"] == "hierarchical-serial" and len(asked["schedule"]["steps"]) == 3
    with pytest.raises(DesignError, match="algorithm 'magic' of all_reduce is not known; write one of ring"):
        schedule.schedule_payload(topology, network, "all-reduce", 1e9, 256, algorithm="magic")
    with pytest.raises(DesignError, match="sharp does not apply to 8 ranks here: it needs ranks in more"):
        schedule.schedule_payload(topology, network, "all-reduce", 1e9, 8, algorithm="sharp")
    uneven = schedule.schedule_payload(topology, network, "all-to-all", 1e9, 13)
    assert uneven["schedule"] is None and "unevenly" in uneven["notes"][0]


def test_ranks_that_fill_domains_unevenly_have_as_many_rings_as_the_fewest():
    """8 and 5 ranks: five rings, each over a card of its own; a card carries a fifth of 2 · 12/13 of the message."""
    topology = build(Design("rail-optimized", 32, 8, 64, 8 * CARD))
    network = ideal(8, 256, link=1e15, alpha=0.0)
    payload = schedule.schedule_payload(topology, network, "all_reduce", 1e9, 13, routing="spray")["schedule"]
    assert payload["algorithm"] == "ring"
    assert payload["algorithms_s"]["ring"] == pytest.approx(2 * 12 / 13 * 1e9 / 5 / CARD)
    assert set(payload["algorithms_s"]) == {"ring", "tree", "halving-doubling"}
    assert payload["time_s"] >= float(network.bound("all_reduce", 1e9, 13, 1))


@pytest.mark.parametrize("shape", [(4, 4, 4), (8, 8, 8), (4, 4, 8), (4, 8), (2, 4, 4), (16,), (3, 5)])
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"])
def test_torus_schedules_are_the_closed_form(shape, kind):
    """Whole tori, message by message on their cables; never faster than the bound."""
    chips = math.prod(shape)
    topology = build(Design("torus", chips, 1, 0, 8 * CARD, shape=shape))
    network = request_network(topology, Values(load_catalog().facts), "TPU-v4", "ici")
    for message in (1e5, 1e9):
        found = schedule.schedule_payload(topology, network, kind, message, chips)["schedule"]
        closed = float(network.collective(kind, message, chips, 1))
        assert found["time_s"] == pytest.approx(closed, rel=0.02)
        assert found["wire_s"] >= float(network.bound(kind, message, chips, 1)) * (1 - 1e-9)


def test_a_slow_torus_link_slows_its_axis():
    topology = build(Design("torus", 64, 1, 0, 8 * CARD, shape=(4, 4, 4)))
    rate = topology.cables.rate.copy()
    rate[0] /= 4
    hurt = replace(topology, cables=replace(topology.cables, rate=rate))
    network = request_network(topology, Values(load_catalog().facts), "TPU-v4", "ici")
    times = [
        schedule.schedule_payload(one, network, "all_reduce", 1e9, 64)["schedule"]["wire_s"]
        for one in (topology, hurt)
    ]
    assert times[1] == pytest.approx(4 * times[0])


def test_parts_of_a_torus_and_supernodes_have_the_closed_form_alone():
    topology = build(Design("torus", 64, 1, 0, 8 * CARD, shape=(4, 4, 4)))
    network = request_network(topology, Values(load_catalog().facts), "TPU-v4", "ici")
    payload = schedule.schedule_payload(topology, network, "all-reduce", 1e9, 16)
    assert payload["schedule"] is None and "closed form" in payload["notes"][0]


def test_places_left_empty_are_not_ranks():
    design = Design("rail-optimized", 32, 8, 64, 8 * CARD)
    topology = build(replace(design, missing=(3, 30)))
    wires = schedule.wires_of(topology, ideal(8, 240), "static")
    assert wires.accelerators == 240 and len(np.unique(wires.cards)) == 240


@pytest.mark.parametrize("routing", ["ecmp", "static", "spray"])
def test_everyone_to_everyone_is_counted_as_if_message_by_message(routing):
    topology = build(Design("multi-plane", 12, 4, 8, 8 * CARD, planes=8))
    wires = schedule.wires_of(topology, ideal(4, 48), routing)
    ranks, rail = np.arange(48), np.arange(48) % 4
    source, end = (grid.ravel() for grid in np.meshgrid(ranks, ranks, indexing="ij"))
    pairs = (source != end) & (rail[source] == rail[end])
    single = wires.card_load(source[pairs], end[pairs], np.full(pairs.sum(), 3.0))
    assert wires.everyone_load(ranks, rail, 3.0)[: wires.fabric_links] == pytest.approx(single)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 9, 13, 16, 100, 1000])
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "broadcast"])
def test_one_group_from_rank_zero_is_timed_as_it_lies(kind, ranks):
    """No border is straddled that need not be, and the domain with fewest ranks sets the number of rings."""
    topology = build(Design("rail-optimized", 128, 8, 64, 8 * CARD))
    network = request_network(topology, Values(load_catalog().facts), "H100-SXM", "infiniband").of_one_group()
    wires = schedule.wires_of(topology, network, "spray")
    name = "chain" if kind == "broadcast" else "ring"
    found = schedule.schedule(wires, network, kind, name, 1e9, np.arange(ranks)[None])
    expected = float(network.algorithms(kind, 1e9, ranks, 1)[name])
    assert schedule.seconds(found, network) == pytest.approx(expected, rel=0.02)
    assert found.wire_s(1.0, 1.0) >= float(network.bound(kind, 1e9, ranks, 1)) * (1 - 1e-9)
