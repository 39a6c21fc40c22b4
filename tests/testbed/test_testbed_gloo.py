"""gloo's all-reduces: who talks to whom, what the wires carry, what losses leave; a real one where torch and root are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argosy.testbed import experiment, gloo, hosts
from argosy.testbed.fabrics import GLOO, Case, fabric, one_group, pair
from argosy.testbed.predict import Baseline, lossy, ring_bytes

SIZE = 8 << 20
BASE = Baseline(1.0, 0.0)


def only_gloo(name):
    """A fabric with its cases of gloo alone."""
    one = fabric(name, SIZE)
    return replace(one, cases=tuple(case for case in one.cases if case.library == GLOO))


def test_groups_of_neighbours_and_across():
    case = Case("hierarchical", SIZE, one_group(8), domain=4, library=GLOO)
    inside, across = gloo.inside_and_across(case, 1)
    assert inside == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert across == [[0, 4], [1, 5], [2, 6], [3, 7]]
    ring = Case("ring", SIZE, ((0, 2), (1, 3)), library=GLOO)
    assert gloo.inside_and_across(ring, 1) == ([[0, 2], [1, 3]], [])


def test_a_ring_takes_what_the_law_says():
    one = only_gloo("flat")
    found = gloo.predict_gloo(one, one.cases[0], BASE)
    ends = one.graph.endpoints
    assert found.seconds == pytest.approx(ring_bytes(8, SIZE) * 8 / 100e6)
    assert found.bytes[ends.up] == pytest.approx(ring_bytes(8, SIZE))


def test_its_messages_go_to_the_rank_before():
    """On the degraded fabric the slow cable is the way from host 1 to host 2: the other way round it is not felt."""
    one = only_gloo("degraded")
    up = replace(one.cases[0], library="MPI")
    down = gloo.predict_gloo(one, one.cases[0], BASE)
    assert experiment.predict(one, up, BASE).seconds == pytest.approx(2 * down.seconds, rel=1e-6)
    paths = one.routes().paths(np.array([2]), np.array([1]), "static")
    assert (down.bytes[paths.links] > 0).all()


def test_hierarchical_rings_add_up():
    """Two sites of four: 3/4 M scattered, M/4 exchanged across (2 · 1/2), 3/4 M gathered; four flows share the long cable."""
    one = only_gloo("two-sites")
    found = gloo.predict_gloo(one, one.cases[0], BASE)
    ends, part = one.graph.endpoints, SIZE / 4
    assert found.bytes[ends.up] == pytest.approx(2 * 3 * part + part)
    (cable,) = one.delay_s
    assert found.bytes[2 * cable] == found.bytes[2 * cable + 1] == pytest.approx(4 * part)
    assert found.wire_s == pytest.approx((2 * 3 * part + 4 * part) * 8 / 100e6)


def test_inside_a_host_the_loopback_carries_it():
    one = only_gloo("rail")
    found = gloo.predict_gloo(one, one.cases[0], BASE)
    assert found.bytes[one.graph.endpoints.up] == pytest.approx(ring_bytes(4, SIZE / 2))


def test_losses_hold_a_connection_below_its_link():
    one = fabric("lossy", SIZE)
    rate = lossy(one, one.routes()).graph.rate
    kept = 8 * 8948 / 0.02 * (1.5 / (2 * 0.01)) ** 0.5  # Mathis et al., with delayed acknowledgements
    assert rate[2:] == pytest.approx(kept)
    assert rate[:2] == pytest.approx(100e6)
    assert lossy(pair(), pair().routes()).graph.rate == pytest.approx(100e6)
    none = replace(one, loss={1: 0.0})
    assert lossy(none, none.routes()).graph.rate == pytest.approx(100e6)


def test_a_real_ring_of_gloo():
    if reason := hosts.why_not():
        pytest.skip(reason)
    pytest.importorskip("torch")
    one = replace(pair(), cases=(Case("ring", 256 << 10, one_group(2), library=GLOO),))
    (row,) = experiment.measure(one, Baseline(0.99, 0.001), repeats=1)
    assert row["sums_right"] and row["library"] == GLOO
    assert row["bytes_over_predicted"]["min"] >= 1.0 and row["bytes_over_predicted"]["max"] < 1.2


def test_without_torch_gloo_is_left_out_and_said(monkeypatch):
    if reason := hosts.why_not():
        pytest.skip(reason)
    monkeypatch.setattr(experiment, "missing", lambda: "no torch")
    said = []
    one = replace(pair(), cases=(Case("ring", 64 << 10, one_group(2), library=GLOO),))
    monkeypatch.setattr(experiment, "run_ranks", lambda *given: [])
    assert experiment.measure(one, BASE, 1, said.append) == []
    assert said == ["pair: gloo left out: no torch"]


def test_a_reduce_scatter_by_messages_is_right():
    """Three ranks as threads, messages by queues instead of a network."""
    torch = pytest.importorskip("torch")
    import queue
    import threading

    from argosy.testbed import torch_worker

    boxes = [queue.Queue() for _ in range(3)]
    local = threading.local()

    class Sent:
        def wait(self):
            return None

    class Network:
        def get_rank(self):
            return local.rank

        def isend(self, data, end, group):
            boxes[end].put(data.clone())
            return Sent()

        def recv(self, data, source, group):
            data.copy_(boxes[local.rank].get(timeout=30))

    found = {}
    saved, torch_worker.dist = torch_worker.dist, Network()

    def work(rank):
        local.rank = rank
        data = torch.arange(9.0) * (rank + 1)
        found[rank] = torch_worker.reduce_scatter(data, [0, 1, 2], None)

    try:
        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        torch_worker.dist = saved
    for rank in range(3):
        assert found[rank].tolist() == (torch.arange(9.0)[3 * rank : 3 * rank + 3] * 6).tolist()
