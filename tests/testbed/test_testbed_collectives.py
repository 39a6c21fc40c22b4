"""The collectives over an in-memory network: sums, and the bytes that every rank sends."""

from __future__ import annotations

import threading
from collections import defaultdict, deque

import numpy as np
import pytest

from argosy.fabric.algorithms import binary_trees, ring_laps
from argosy.testbed import collectives


class Network:
    """Mailboxes of all ranks; messages of one sender, receiver and tag stay in order."""

    def __init__(self):
        self.boxes = defaultdict(deque)
        self.sent = defaultdict(int)
        self.lock = threading.Lock()

    def of(self, rank):
        return Endpoint(self, rank)


class Request:
    def __init__(self, test):
        self.test, self.done = test, False

    def Test(self):
        self.done = self.done or self.test()
        return self.done


class Endpoint:
    def __init__(self, network, rank):
        self.network, self.rank = network, rank

    def Isend(self, buf, dest, tag=0):
        with self.network.lock:
            self.network.boxes[self.rank, dest, tag].append(np.array(buf))
            self.network.sent[self.rank] += buf.nbytes
        return Request(lambda: True)

    def Irecv(self, buf, source, tag=0):
        box = self.network.boxes[source, self.rank, tag]

        def arrived():
            with self.network.lock:
                if not box:
                    return False
                message = box.popleft()
            assert message.shape == buf.shape
            buf[:] = message
            return True

        return Request(arrived)


def reduced(ranks, length, act):
    """Data of all ranks after `act(messages, me, data)` in a thread each, their flat sum, and bytes sent by rank."""
    network = Network()
    data = {
        rank: np.random.default_rng(rank).integers(0, 100, length).astype(np.float32) for rank in range(ranks)
    }
    total = sum(data.values())
    failed = []

    def one(rank):
        try:
            act(network.of(rank), rank, data[rank])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not failed and not any(thread.is_alive() for thread in threads), failed
    return data, total, network.sent


def check(data, total):
    for rank, found in data.items():
        assert np.array_equal(found, total), rank


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("length", [5, 1000])
@pytest.mark.parametrize("slices", [1, 4])
def test_ring(ranks, length, slices):
    laps = [list(range(ranks))]
    data, total, _ = reduced(ranks, length, lambda m, me, x: collectives.ring(m, laps, me, x, slices))
    check(data, total)


def test_ring_sends_what_the_law_says():
    laps = [list(range(8))]
    _, _, sent = reduced(8, 1024, lambda m, me, x: collectives.ring(m, laps, me, x, 4))
    assert set(sent.values()) == {2 * 7 * 1024 * 4 // 8}


def test_rings_of_several_cards():
    laps = ring_laps(np.arange(8).reshape(4, 2)).tolist()
    data, total, _ = reduced(8, 997, lambda m, me, x: collectives.ring(m, laps, me, x, 3))
    check(data, total)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 6, 8])
def test_tree(ranks):
    everyone = list(range(ranks))
    data, total, _ = reduced(ranks, 100, lambda m, me, x: collectives.tree(m, everyone, me, x))
    check(data, total)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
@pytest.mark.parametrize("at_once", [1, 3, None])
def test_double_tree(ranks, at_once):
    everyone, parents = list(range(ranks)), [tree.tolist() for tree in binary_trees(ranks)]
    data, total, _ = reduced(
        ranks, 101, lambda m, me, x: collectives.double_tree(m, everyone, me, x, parents, 7, at_once)
    )
    check(data, total)


@pytest.mark.parametrize(("domains", "members"), [(1, 4), (2, 4), (4, 2), (3, 3), (4, 1)])
def test_hierarchical(domains, members):
    by_domain = np.arange(domains * members).reshape(domains, members).tolist()
    parents = [tree.tolist() for tree in binary_trees(domains)]
    data, total, _ = reduced(
        domains * members,
        203,
        lambda m, me, x: collectives.hierarchical(m, by_domain, me, x, parents, 8, 2, 4),
    )
    check(data, total)


def test_as_many_lanes_as_allowed_are_under_way():
    under_way, most = 0, 0

    def lane():
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        answers = iter((False, False, True))
        yield [Request(lambda: next(answers))]
        under_way -= 1

    collectives.run((lane() for _ in range(10)), at_once=3)
    assert (under_way, most) == (0, 3)
