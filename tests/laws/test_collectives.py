"""Closed forms of collectives against small message-passing simulations that move real chunks and count
bytes.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from argosy.laws import collectives as laws

BYTES, BANDWIDTH, LATENCY = 3.0e6, 25e9, 4e-6
SIZES = (2, 3, 4, 5, 8, 12, 16)


class Machine:
    """Ranks that hold one number per chunk; every round costs latency plus the most that any rank sends."""

    def __init__(self, ranks: int, chunks: int) -> None:
        self.data = np.random.default_rng(ranks).integers(0, 100, (ranks, chunks)).astype(float)
        self.total = self.data.sum(axis=0)
        self.chunk_bytes = BYTES / chunks
        self.seconds = 0.0
        self.sent = np.zeros(ranks)

    def round(self, messages: list[tuple[int, int, list[int], bool]]) -> None:
        """Deliver (source, target, chunks, add) at once: all read before any is written."""
        payloads = [self.data[source, chunks].copy() for source, _, chunks, _ in messages]
        sent = np.zeros(len(self.data))
        for (source, target, chunks, add), payload in zip(messages, payloads, strict=True):
            self.data[target, chunks] = payload + (self.data[target, chunks] if add else 0.0)
            sent[source] += len(chunks) * self.chunk_bytes
        self.sent += sent
        self.seconds += LATENCY + sent.max() / BANDWIDTH

    def agrees(self) -> bool:
        """Whether every rank holds the sum."""
        return bool(np.allclose(self.data, self.total))


def ring_reduce_scatter(machine: Machine) -> None:
    ranks = len(machine.data)
    for step in range(ranks - 1):
        machine.round([(r, (r + 1) % ranks, [(r - step) % ranks], True) for r in range(ranks)])


def ring_all_gather(machine: Machine) -> None:
    ranks = len(machine.data)
    for step in range(ranks - 1):
        machine.round([(r, (r + 1) % ranks, [(r + 1 - step) % ranks], False) for r in range(ranks)])


@pytest.mark.parametrize("ranks", SIZES)
def test_ring_passes_move_what_the_closed_form_says(ranks):
    machine = Machine(ranks, ranks)
    ring_reduce_scatter(machine)
    assert machine.seconds == pytest.approx(laws.ring_reduce_scatter(BYTES, ranks, BANDWIDTH, LATENCY))
    own = [machine.data[rank, (rank + 1) % ranks] for rank in range(ranks)]
    assert np.allclose(own, machine.total[(np.arange(ranks) + 1) % ranks])
    ring_all_gather(machine)
    assert machine.agrees()
    assert machine.seconds == pytest.approx(laws.ring_all_reduce(BYTES, ranks, BANDWIDTH, LATENCY))
    assert machine.sent.max() == pytest.approx(laws.all_reduce_wire_share(ranks) * BYTES)


@pytest.mark.parametrize("ranks", SIZES)
def test_tree_without_pipelining(ranks):
    machine = Machine(ranks, 1)
    strides = [2**level for level in range(math.ceil(math.log2(ranks)))]
    for stride in strides:
        machine.round([(r + stride, r, [0], True) for r in range(0, ranks - stride, 2 * stride)])
    for stride in reversed(strides):
        machine.round([(r, r + stride, [0], False) for r in range(0, ranks - stride, 2 * stride)])
    assert machine.agrees()
    assert machine.seconds == pytest.approx(laws.tree_all_reduce(BYTES, ranks, BANDWIDTH, LATENCY))


@pytest.mark.parametrize("ranks", SIZES)
def test_halving_doubling_with_surplus_ranks_folded_in(ranks):
    inner = 2 ** int(math.log2(ranks))
    machine = Machine(ranks, inner)
    every = list(range(inner))
    surplus = [(inner + extra, extra) for extra in range(ranks - inner)]
    if surplus:
        machine.round([(outer, own, every, True) for outer, own in surplus])
    held = [every] * inner
    distance = inner // 2
    while distance:
        halves = [
            [c for c in held[r] if bool(c & distance) == bool((r ^ distance) & distance)]
            for r in range(inner)
        ]
        machine.round([(r, r ^ distance, halves[r], True) for r in range(inner)])
        held = [[c for c in held[r] if bool(c & distance) == bool(r & distance)] for r in range(inner)]
        distance //= 2
    distance = 1
    while distance < inner:
        machine.round([(r, r ^ distance, held[r], False) for r in range(inner)])
        held = [sorted(held[r] + held[r ^ distance]) for r in range(inner)]
        distance *= 2
    if surplus:
        machine.round([(own, outer, every, False) for outer, own in surplus])
    assert machine.agrees()
    assert machine.seconds == pytest.approx(
        laws.halving_doubling_all_reduce(BYTES, ranks, BANDWIDTH, LATENCY)
    )


def inorder_tree(first: int, last: int, parents: dict[int, int], parent: int | None) -> None:
    """A binary search tree over first..last: leaves and inner ranks alternate when the count is 2^n − 1."""
    if first > last:
        return
    middle = (first + last) // 2
    if parent is not None:
        parents[middle] = parent
    inorder_tree(first, middle - 1, parents, middle)
    inorder_tree(middle + 1, last, parents, middle)


@pytest.mark.parametrize("ranks", [8, 16, 64])
def test_double_tree_sends_twice_the_message_from_the_busiest_rank(ranks):
    first: dict[int, int] = {}
    inorder_tree(0, ranks - 2, first, None)
    root = next(rank for rank in range(ranks - 1) if rank not in first)
    first[root] = ranks - 1  # the last rank stands above the root, so that N is a power of two
    second = {(rank + 1) % ranks: (parent + 1) % ranks for rank, parent in first.items()}
    sent = np.zeros(ranks)
    for tree in (first, second):
        for child, parent in tree.items():
            sent[child] += BYTES / 2  # the reduction goes up
            sent[parent] += BYTES / 2  # the result comes down
    inner = [set(tree.values()) - {ranks - 1, 0} for tree in (first, second)]
    assert not inner[0] & inner[1]
    bandwidth_only = laws.double_tree_all_reduce(BYTES, ranks, BANDWIDTH, 0.0)
    assert sent.max() / BANDWIDTH == pytest.approx(bandwidth_only)
    assert laws.double_tree_all_reduce(BYTES, 2, BANDWIDTH, 0.0) == pytest.approx(BYTES / BANDWIDTH)


@pytest.mark.parametrize("ranks", SIZES)
def test_all_to_all_by_pairwise_exchange(ranks):
    wanted = np.arange(ranks * ranks).reshape(ranks, ranks)
    received = np.zeros_like(wanted)
    received[np.arange(ranks), np.arange(ranks)] = wanted.diagonal()
    seconds = 0.0
    for shift in range(1, ranks):
        for rank in range(ranks):
            received[(rank + shift) % ranks, rank] = wanted[rank, (rank + shift) % ranks]
        seconds += LATENCY + BYTES / ranks / BANDWIDTH
    assert (received == wanted.T).all()
    assert seconds == pytest.approx(laws.all_to_all(BYTES, ranks, BANDWIDTH, LATENCY))


def tree_timetable(ranks: int, period: int) -> dict[tuple[int, int], int]:
    """The slot (modulo `period`) in which each directed edge of the tree moves a piece, no port used twice."""
    slots: dict[tuple[int, int], int] = {}
    for rank in range(ranks):
        parent = (rank - 1) // 2
        sending = [each for each in range(period) if rank == 0 or each != slots[rank, parent]]
        receiving = [each for each in range(period) if rank == 0 or each != slots[parent, rank]]
        children = [c for c in (2 * rank + 1, 2 * rank + 2) if c < ranks]
        for child, down, up in zip(children, sending, receiving, strict=False):
            slots[rank, child], slots[child, rank] = down, up
    return slots


def played_pipelined_tree(ranks: int, pieces: int, period: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Slots, pieces sent and pieces received per rank of one tree that reduces and broadcasts by timetable.

    A piece goes up once every child's has come, and down once it has come from above; per slot a rank sends one
    piece and receives one (full duplex), which is checked.
    """
    timetable = tree_timetable(ranks, period)
    assert len(timetable) == 2 * (ranks - 1)  # every edge has its slot, both ways
    moved = dict.fromkeys(timetable, 0)
    sent, received, slot = np.zeros(ranks), np.zeros(ranks), 0
    while min(moved.values()) < pieces:
        before = dict(moved)
        senders, receivers = [], []
        for (source, target), time in timetable.items():
            from_children = [before[a, b] for a, b in timetable if b == source and a > source]
            from_above = before[(source - 1) // 2, source] if source else 0
            summed = target < source or source == 0  # upwards, or back down from the root: every child's
            ready = min(from_children, default=pieces) if summed else from_above
            if time == slot % period and moved[source, target] < ready:
                moved[source, target] += 1
                senders.append(source)
                receivers.append(target)
        assert len(set(senders)) == len(senders)
        assert len(set(receivers)) == len(receivers)
        sent[senders] += 1
        received[receivers] += 1
        slot += 1
    return slot, sent, received


@pytest.mark.parametrize(("ranks", "period"), [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (15, 3), (16, 3)])
def test_pipelined_tree_against_pieces_that_share_ports(ranks, period):
    pieces = 100
    slots, sent, received = played_pipelined_tree(ranks, pieces, period)
    wire = laws.pipelined_tree_all_reduce(BYTES, ranks, BANDWIDTH, 0.0)
    piece = BYTES / pieces / BANDWIDTH
    assert max(sent.max(), received.max()) * piece == pytest.approx(wire)  # no schedule is faster
    levels = max(len(bin(rank + 1)) - 3 for rank in range(ranks))  # 1-based heap numbers: bits less one
    assert wire <= slots * piece * (1 + 1e-12)
    assert slots <= period * (pieces + 2 * levels)  # and this one is only slower by the fill
    assert laws.pipelined_tree_all_reduce(0.0, ranks, BANDWIDTH, LATENCY) == pytest.approx(
        2 * levels * LATENCY
    )


def test_one_tree_moves_half_as_much_again_as_two():
    one, two = (
        law(BYTES, 256, BANDWIDTH, 0.0)
        for law in (laws.pipelined_tree_all_reduce, laws.double_tree_all_reduce)
    )
    assert one / two == pytest.approx(1.5)


def test_pipelined_chain_tends_to_its_closed_form():
    ranks, pieces = 8, 4096
    piece = BYTES / pieces / BANDWIDTH
    # Piece p leaves rank r in time slot p + r; the last piece reaches the last rank after pieces + N − 2
    # slots.
    chain = (pieces + ranks - 2) * piece + (ranks - 1) * LATENCY
    assert laws.broadcast(BYTES, ranks, BANDWIDTH, LATENCY) == pytest.approx(chain, rel=0.01)


def test_reduction_in_the_switch_counts_pulls_and_multicasts():
    for ranks in SIZES:
        pulled = sum(
            1 / ranks for _ in range(ranks)
        )  # every owner's switch pulls its part of this rank's message
        multicast = 1 / ranks
        expected = (pulled + multicast) * BYTES / BANDWIDTH
        assert laws.in_switch_all_reduce(BYTES, ranks, BANDWIDTH) == pytest.approx(expected)
    ring = laws.all_reduce_wire_share(np.array(SIZES)) * BYTES / BANDWIDTH
    assert (
        (laws.in_switch_all_reduce(BYTES, np.array(SIZES), BANDWIDTH) < ring) == (np.array(SIZES) > 3)
    ).all()


def test_one_rank_takes_no_time():
    for law in (
        laws.ring_all_reduce,
        laws.ring_reduce_scatter,
        laws.ring_all_gather,
        laws.tree_all_reduce,
        laws.pipelined_tree_all_reduce,
        laws.double_tree_all_reduce,
        laws.halving_doubling_all_reduce,
        laws.broadcast,
        laws.all_to_all,
    ):
        assert law(BYTES, 1, BANDWIDTH, LATENCY) == 0


@pytest.mark.parametrize(
    ("megabytes", "flat_ms", "hierarchical_ms"),
    [
        (1, 2.58984375, 0.065888889),
        (16, 3.1875, 0.199222222),
        (680, 29.64375, 6.101444444),
        (14000, 560.3625, 124.501444444),
    ],
)
def test_the_documents_one_card_ring_and_serial_hierarchy(megabytes, flat_ms, hierarchical_ms):
    message = megabytes * 1e6
    assert laws.ring_all_reduce(message, 256, 50e9, 5e-6) * 1e3 == pytest.approx(flat_ms)
    serial = laws.serial_hierarchical_all_reduce(message, 8, 32, 450e9, 0.5e-6, 50e9, 5e-6)
    assert serial * 1e3 == pytest.approx(hierarchical_ms)


def test_eight_rails_bound_the_same_message_far_lower():
    assert laws.multi_rail_ring_bound(14e9, 256, 8, 50e9) * 1e3 == pytest.approx(69.7, abs=0.05)
    pipelined = laws.pipelined_hierarchical_all_reduce(14e9, 8, 32, 450e9, 0.5e-6, 50e9, 5e-6)
    assert pipelined * 1e3 == pytest.approx(70.0, abs=0.1)


def test_rings_over_cards_of_one_node_bound_nothing():
    nodes = np.array([1, 4, 32])
    bound = laws.multi_rail_ring_bound(14e9, nodes * 8, 8, 50e9)
    hierarchy = laws.pipelined_hierarchical_all_reduce(14e9, 8, nodes, 450e9, 0.5e-6, 50e9, 5e-6)
    assert bound[0] == 0.0
    assert (bound <= hierarchy).all()
    assert laws.multi_rail_ring_bound(14e9, 8, 8, 50e9) == 0.0


def test_crossovers():
    assert laws.ring_latency_equals_bandwidth_bytes(256, 50e9, 5e-6) == pytest.approx(64e6)
    crossing = laws.ring_tree_crossover_bytes(256, 50e9, 5e-6)
    assert crossing / 1e6 == pytest.approx(8.8, abs=0.05)
    for message, ring_wins in ((0.9 * crossing, False), (1.1 * crossing, True)):
        ring = laws.ring_all_reduce(message, 256, 50e9, 5e-6)
        assert (ring < laws.tree_all_reduce(message, 256, 50e9, 5e-6)) == ring_wins


def test_cut_bound_counts_what_must_leave_a_domain():
    ranks, members = 12, 4
    domain = np.arange(ranks) // members
    crossing = sum(BYTES / ranks for a in range(members) for b in range(ranks) if domain[a] != domain[b])
    bound = laws.cut_bound("all_to_all", BYTES, ranks, members, BANDWIDTH)
    assert bound == pytest.approx(crossing / BANDWIDTH)
    for kind in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"):
        assert laws.cut_bound(kind, BYTES, ranks, ranks, BANDWIDTH) == 0
    # A ring laid domain by domain sends 2(N−1)/N·M over each border: never less than the bound.
    over_border = laws.all_reduce_wire_share(ranks) * BYTES / BANDWIDTH
    assert laws.cut_bound("all_reduce", BYTES, ranks, members, BANDWIDTH) <= over_border


def test_bus_bandwidth_turns_a_ring_back_into_its_wire():
    for kind, passes in (("all_reduce", 2), ("all_gather", 1), ("reduce_scatter", 1)):
        seconds = passes * laws.ring_reduce_scatter(BYTES, 8, BANDWIDTH, 0.0)
        assert laws.bus_bandwidth(kind, BYTES, 8, seconds) == pytest.approx(BANDWIDTH)


def test_arrays_broadcast():
    sizes = np.array(SIZES)
    together = laws.ring_all_reduce(BYTES, sizes, BANDWIDTH, LATENCY)
    assert together == pytest.approx([laws.ring_all_reduce(BYTES, n, BANDWIDTH, LATENCY) for n in SIZES])
    assert laws.halving_doubling_all_reduce(BYTES, sizes, BANDWIDTH, LATENCY).shape == sizes.shape


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((-1.0, 8, 1e9, 1e-6), "message"),
        ((1.0, np.array([8, 0]), 1e9, 1e-6), "rank"),
        ((1.0, 8, 0.0, 1e-6), "bandwidth"),
        ((1.0, 8, 1e9, -1e-6), "latency"),
    ],
)
def test_what_no_network_can_be_is_refused(arguments, why):
    for law in (
        laws.ring_reduce_scatter,
        laws.ring_all_reduce,
        laws.tree_all_reduce,
        laws.pipelined_tree_all_reduce,
        laws.double_tree_all_reduce,
        laws.halving_doubling_all_reduce,
        laws.broadcast,
        laws.all_to_all,
    ):
        with pytest.raises(ValueError, match=why):
            law(*arguments)


def test_what_a_lone_domain_must_send_is_no_more_than_a_ring_sends():
    """Counted on a ring laid domain by domain: what crosses into one domain is at least the law's share of M."""
    for ranks, members in ((9, 1), (16, 8), (100, 4), (13, 5)):
        one_pass = (ranks - 1) / ranks  # of M, over the one border into the domain
        assert laws.lone_domain_share("all_gather", ranks, members) <= one_pass
        assert laws.lone_domain_share("all_reduce", ranks, members) <= 2 * one_pass
        pairs = members * (ranks - members)  # of M/N each, out of the domain
        assert laws.lone_domain_share("all_to_all", ranks, members) == pytest.approx(pairs / ranks)
    for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"):
        assert laws.lone_domain_share(kind, 8, 8) == 0.0
    assert laws.lone_domain_share("all_gather", 9, 1) == pytest.approx(8 / 9)
