"""Predictions by the flow simulator against closed forms, and counters against the bytes that were predicted."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.testbed.experiment import link_name, ring_counters, sent_bytes
from argosy.testbed.fabrics import Case, fabric, one_group
from argosy.testbed.predict import Baseline, hot_links, levels, predict, ring_bytes
from argosy.testbed.wiring import Wiring

MESSAGE = 8 << 20
WHOLE = Baseline(1.0, 0.0)
RATE = 100e6 / 8  # byte/s of a link at the usual scale


def first(name, algorithm="ring", number=0):
    one = fabric(name, MESSAGE)
    return one, [case for case in one.cases if case.algorithm == algorithm][number]


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_a_flat_ring_takes_its_bytes_over_the_rate(share):
    found = predict(*first("flat"), Baseline(share, 0.0))
    assert found.seconds == pytest.approx(2 * 7 / 8 * MESSAGE / (RATE * share))


def test_a_ring_loads_every_card_as_the_law_says():
    one, case = first("flat")
    found = predict(one, case, WHOLE)
    assert found.bytes == pytest.approx(ring_bytes(8, MESSAGE))
    assert len(found.hot) == len(found.bytes)


def test_two_rails_halve_a_ring():
    found = predict(*first("rail"), WHOLE)
    assert found.seconds == pytest.approx(2 * 7 / 8 * MESSAGE / 2 / RATE)
    assert found.bytes == pytest.approx(ring_bytes(8, MESSAGE) / 2)


def test_a_tree_moves_the_whole_message_at_every_level():
    one, case = first("flat", "tree")
    assert predict(one, case, WHOLE).seconds == pytest.approx(2 * 3 * case.bytes / RATE)


def test_latency_is_counted_per_round():
    one, case = first("flat")
    slow = predict(one, case, Baseline(1.0, 0.001))
    assert slow.latency_s == pytest.approx(14 * 0.001)
    assert slow.seconds == pytest.approx(predict(one, case, WHOLE).seconds + 0.014)


def test_oversubscription_is_felt_by_groups_over_both_leaves_only():
    one, whole = first("oversubscribed")
    assert predict(one, whole, WHOLE).seconds == pytest.approx(2 * 7 / 8 * MESSAGE / RATE)
    _, groups = first("oversubscribed", number=1)
    found = predict(one, groups, WHOLE)
    assert found.seconds == pytest.approx(2 * groups.bytes / RATE)  # M each, four of them on two uplinks
    names = {link_name(Wiring.of(one), link) for link in found.hot}
    assert all("spine" in name for name in names) and len(names) == 8


def test_the_degraded_cable_is_the_hot_one():
    one, case = first("degraded")
    found = predict(one, case, WHOLE)
    (cable,) = one.degraded
    assert {link // 2 for link in found.hot} == {cable}
    assert found.seconds == pytest.approx(2 * 2 * 7 / 8 * MESSAGE / RATE)


def test_sites_are_a_level_of_their_own():
    sizes, delays = levels(fabric("two-sites", MESSAGE))
    assert (sizes, delays) == ([1.0, 4.0, np.inf], [0.0, 0.0, pytest.approx(0.02)])
    assert levels(fabric("rail", MESSAGE))[0] == [2.0, np.inf]


def test_node_groups_on_the_fabric_load_the_hosts_own_cards():
    one, case = first("two-sites", "hierarchical-serial")
    found = predict(one, case, WHOLE)
    inside = 2 * 3 / 4 * case.bytes  # scatter and gather
    across = case.bytes / 4  # half up and half down, of each half of the shard
    ends = one.graph.endpoints
    assert found.bytes[ends.up] == pytest.approx(inside + across)
    far = next(iter(one.delay_s))
    assert found.bytes[2 * far] == found.bytes[2 * far + 1] == pytest.approx(case.bytes)


def test_hot_links_are_by_time_not_by_bytes():
    assert hot_links(np.array([10.0, 6.0, 9.9]), np.array([100.0, 50.0, 100.0])) == (1,)


def test_counters_are_read_at_the_end_that_sends():
    wiring = Wiring.of(fabric("flat", MESSAGE))
    before = {f"x-{node}": {} for node in wiring.nodes}
    after = {f"x-{node}": {} for node in wiring.nodes}
    for link in range(len(wiring.graph)):
        end = wiring.sender(link)
        before["x-" + end.node][end.interface] = (1000, 1)
        after["x-" + end.node][end.interface] = (1000 + link, 1 + (link == 3))
    sent, dropped = sent_bytes(wiring, before, after, "x-")
    assert sent == pytest.approx(np.arange(len(wiring.graph)))
    assert dropped == 1


def test_ring_counters_compare_cards_with_the_law():
    wiring = Wiring.of(fabric("flat", MESSAGE))
    case = Case("ring", MESSAGE, one_group(8))
    sent = np.full(len(wiring.graph), 1.01 * 2 * 7 / 8 * MESSAGE)
    sent[wiring.graph.endpoints.up[2]] *= 2
    found = ring_counters(wiring, case, sent)
    assert (found["min"], found["max"]) == (pytest.approx(1.01), pytest.approx(2.02))
    assert ring_counters(wiring, Case("tree", MESSAGE, one_group(8)), sent) is None
