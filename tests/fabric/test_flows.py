"""Max-min fair rates against plain progressive filling in fractions, closed cases, conservation; traffic's payload."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.fabric import flows, traffic
from argosy.fabric.linkgraph import link_graph
from argosy.fabric.routing import Paths, routes
from argosy.fabric.topologies import Design, DesignError, build
from argosy.kernels.fairness import max_min_rates


def filled(flow_links, capacity, demand):
    """All flows grow at once; those on a full link, and those with all they want, stop. Exact, and slow."""
    rate = [Fraction(0)] * len(flow_links)
    left = [Fraction(c) for c in capacity]
    growing = set(range(len(flow_links)))
    while growing:
        steps = [Fraction(demand[f]) - rate[f] for f in growing]
        for link, room in enumerate(left):
            taken = sum(share for f in growing for on, share in flow_links[f] if on == link)
            if taken:
                steps.append(room / taken)
        step = min(steps)
        for f in growing:
            rate[f] += step
            for link, share in flow_links[f]:
                left[link] -= step * share
        full = {link for link, room in enumerate(left) if room == 0}
        growing = {
            f for f in growing if rate[f] < demand[f] and not any(on in full for on, _ in flow_links[f])
        }
    return rate


networks = st.integers(1, 6).flatmap(
    lambda links: st.tuples(
        st.lists(st.integers(1, 20), min_size=links, max_size=links),
        st.lists(
            st.tuples(
                st.lists(
                    st.tuples(
                        st.integers(0, links - 1), st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(3)])
                    ),
                    min_size=1,
                    max_size=4,
                    unique_by=lambda pair: pair[0],
                ),
                st.integers(1, 30),
            ),
            min_size=1,
            max_size=12,
        ),
    )
)


def arrays(flow_links):
    first = np.append(0, np.cumsum([len(one) for one in flow_links]))
    links = np.array([link for one in flow_links for link, _ in one], dtype=np.int32)
    share = np.array([float(share) for one in flow_links for _, share in one])
    return first.astype(np.int64), links, share


@settings(max_examples=200, deadline=None)
@given(networks)
def test_rates_are_those_of_progressive_filling(network):
    capacity, given_flows = network
    flow_links, demand = [links for links, _ in given_flows], [asked for _, asked in given_flows]
    found = max_min_rates(*arrays(flow_links), np.array(capacity, dtype=float), np.array(demand, dtype=float))
    assert found == pytest.approx([float(rate) for rate in filled(flow_links, capacity, demand)], rel=1e-9)


def test_the_textbook_chain():
    """One long flow over n links, one short flow on each: all get half (Bertsekas and Gallager)."""
    count = 5
    chain = [[(link, 1.0) for link in range(count)], *([(link, 1.0)] for link in range(count))]
    assert max_min_rates(*arrays(chain), np.ones(count), np.full(count + 1, 9.0)) == pytest.approx([0.5] * 6)


def test_no_link_carries_more_than_its_rate_and_each_flow_has_a_bottleneck():
    topology = build(Design("fat-tree", 128, 1, 16, 400e9, oversubscription=(("leaf-uplink", 3.0),)))
    graph = link_graph(topology.cables)
    found = routes(graph)
    source, end = traffic.pattern(graph.endpoints, "permutation", 0)
    paths = found.paths(source, end, "ecmp")
    rates = flows.fair_rates(paths, graph.rate, flows.offered(graph, source))
    carried = paths.load(len(graph), rates)
    assert (carried <= graph.rate * (1 + 1e-9)).all()
    full = carried >= graph.rate * (1 - 1e-9)
    for flow in range(len(source)):
        mine = paths.links[paths.first[flow] : paths.first[flow + 1]]
        assert full[mine].any()


def test_an_incast_shares_the_receivers_cable():
    topology = build(Design("fat-tree", 128, 1, 16, 400e9))
    payload = flows.traffic_payload(topology, "incast:20", seed=1)
    assert payload["max_link_load"] == pytest.approx(20)
    assert payload["min_throughput_fraction"] == pytest.approx(1 / 20)
    assert payload["mean_throughput_fraction"] == pytest.approx(1 / 20)
    assert payload["hot_links"][0]["to"].startswith("host-")


def test_shifts_under_static_routing_get_everything():
    topology = build(Design("rail-optimized", 64, 8, 64, 400e9))
    payload = flows.traffic_payload(topology, "shift:40", routing="static")
    assert payload["max_link_load"] == 1 and payload["min_throughput_fraction"] == 1
    assert payload["collisions"]["seeds"] == 1 and payload["unreachable_flows"] == 0


def test_oversubscription_shows_in_all_to_all():
    """1:3 uplinks: of everyone's rate 112 of 127 leave the leaf over a third of it (12 hosts down, 4 cables up)."""
    topology = build(Design("fat-tree", 128, 1, 16, 400e9, oversubscription=(("leaf-uplink", 3.0),)))
    payload = flows.traffic_payload(topology, "all-to-all", routing="spray")
    leaving = max(
        row["mean_load"] for row in payload["load_by_tier"] if row["from"] == "leaf" and row["to"] == "spine"
    )
    members = 12
    assert leaving == pytest.approx(members / 4 * (128 - members) / 127, rel=0.05)


@pytest.mark.parametrize("routing", ["ecmp", "static", "spray"])
def test_large_all_to_all_counts_the_same_loads(routing, monkeypatch):
    """Not following every flow gives the loads that following them gives."""
    topology = build(Design("multi-plane", 24, 2, 8, 400e9, planes=4))
    followed = flows.traffic_payload(topology, "all-to-all", routing=routing)
    monkeypatch.setattr(traffic, "MOST_FLOWS", 10)
    counted = flows.traffic_payload(topology, "all-to-all", routing=routing)
    assert counted["flows"] == followed["flows"] == 4 * 24 * 23
    assert counted["max_link_load"] == pytest.approx(followed["max_link_load"])
    for one, other in zip(counted["load_by_tier"], followed["load_by_tier"], strict=True):
        assert one == pytest.approx(other)
    assert counted["min_throughput_fraction"] <= followed["min_throughput_fraction"] * (1 + 1e-9)
    assert "sample" in counted["notes"][-1]


def test_queue_pairs_spread_the_hash():
    topology = build(Design("fat-tree", 512, 1, 64, 400e9))
    one = flows.traffic_payload(topology, "permutation", seeds=4)
    many = flows.traffic_payload(topology, "permutation", seeds=4, queue_pairs=16)
    assert many["max_link_load"] < one["max_link_load"]
    assert (
        many["collisions"]["mean_throughput_fraction"]["mean"]
        > one["collisions"]["mean_throughput_fraction"]["mean"]
    )
    sprayed = flows.traffic_payload(topology, "permutation", routing="spray")
    assert sprayed["mean_throughput_fraction"] == pytest.approx(1) and sprayed[
        "max_link_load"
    ] == pytest.approx(1)


def test_failed_and_degraded_cables_cost_throughput():
    topology = build(Design("fat-tree", 512, 1, 64, 400e9))
    whole = flows.traffic_payload(topology, "permutation", routing="spray", seeds=1)
    failed = flows.traffic_payload(topology, "permutation", routing="spray", seeds=1, failed=20)
    slow = flows.traffic_payload(
        topology, "permutation", routing="spray", seeds=1, degraded=20, degraded_rate=0.25
    )
    assert len(failed["failed_cables"]) == len(slow["degraded_cables"]) == 20
    assert failed["max_link_load"] > whole["max_link_load"]
    assert slow["max_link_load"] == pytest.approx(4, rel=0.1)
    assert failed["mean_throughput_fraction"] < 1 and slow["mean_throughput_fraction"] < 1


def test_who_is_cut_off_gets_nothing():
    graph = link_graph(build(Design("fat-tree", 32, 1, 8, 400e9)).cables)
    share = np.ones(len(graph))
    share[graph.endpoints.up[3]] = 0.0
    hurt = graph.with_rates(share)
    source, end = traffic.shift(graph.endpoints, 8)
    result = flows.simulate(hurt, routes(hurt), source, end, "static", demand=np.full(len(source), 400e9))
    assert result.fraction[source == 3] == 0 and (result.fraction[source != 3] == 1).all()


def test_a_torus_gets_what_its_axes_carry():
    topology = build(Design("torus", 64, 1, 0, 400e9, shape=(4, 4, 4)))
    payload = flows.traffic_payload(topology, "rail")
    assert payload["routing"] == "dimension-order" and payload["unreachable_flows"] == 0
    assert payload["collisions"]["seeds"] == 1


def test_faults_that_do_not_fit_are_named():
    topology = build(Design("fat-tree", 32, 1, 8, 400e9))
    with pytest.raises(DesignError, match="100 cables cannot fail or degrade: 32 join switches"):
        flows.traffic_payload(topology, "permutation", failed=100)
    with pytest.raises(DesignError, match="above 0, at most 1"):
        flows.traffic_payload(topology, "permutation", degraded=1, degraded_rate=0.0)
    with pytest.raises(DesignError, match="counts"):
        flows.traffic_payload(topology, "permutation", degraded=-1)
    with pytest.raises(DesignError, match="queue pairs"):
        flows.traffic_payload(topology, "permutation", queue_pairs=0)


def test_paths_say_what_falls_on_a_link():
    paths = Paths(np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([1.0, 0.5, 1.0]), np.array([True, True]))
    assert paths.load(3, np.array([4.0, 1.0])).tolist() == [4.0, 3.0, 0.0]


def test_messages_are_offered_in_proportion_to_their_bytes():
    """The busiest endpoint sends all the time; who sends half as much, half of it."""
    topology = build(Design("fat-tree", 32, 1, 8, 400e9))
    messages = (np.array([0, 0, 9]), np.array([8, 16, 24]), np.array([3.0, 1.0, 2.0]))
    run = flows.run_traffic(topology, "layout", routing="static", messages=messages)
    ends, load = run.graph.endpoints, run.results[0].load
    assert load[ends.up[[0, 9]]] == pytest.approx([1.0, 0.5])
    assert load[ends.down[[8, 16, 24]]] == pytest.approx([0.75, 0.25, 0.5])
    assert run.results[0].fraction == pytest.approx(1.0) and len(run.results) == 1
