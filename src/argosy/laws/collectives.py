"""Closed forms of collective operations in the α-β model: time = rounds · α + bytes on the wire / bandwidth.

Conventions (those of nccl-tests): `message_bytes` M is the full tensor: all-reduce's buffer, all-gather's
total output, reduce-scatter's total input, all-to-all's send buffer of one rank, broadcast's buffer.
`bandwidth` is byte/s one way per rank, `latency` α is seconds per round. Every argument is a float or an
array; they broadcast; a time's law raises ValueError for a negative message or latency, no rank, or no
bandwidth. Range of validity: large enough messages for one α-β pair; NCCL changes protocol with
size, so the measured pairs of `argosy.fabric` are piecewise.

Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
IJHPCA 19(1), 2005 (ring, halving-doubling, tree); P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce
algorithms for clusters of workstations", JPDC 69(2), 2009 (the bound 2(N−1)/N·M); P. Sanders, J. Speck, J.
Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35(12), 2009
(double binary tree).
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require


def _require_possible(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array = 0.0) -> None:
    """ValueError for a negative message or latency, no rank, or no bandwidth; a NaN passes through."""
    require(~(np.asarray(message_bytes) < 0), "message_bytes must not be negative")
    require(~(np.asarray(ranks) < 1), "a group has at least one rank")
    require(~(np.asarray(bandwidth) <= 0), "bandwidth must be positive")
    require(~(np.asarray(latency) < 0), "latency must not be negative")


def ring_pass_share(ranks: Array) -> Array:
    """Share of the message that each rank sends in one pass round a ring: (N−1)/N. One rank sends nothing."""
    return (ranks - 1) / ranks


def all_reduce_wire_share(ranks: Array) -> Array:
    """Bytes that each rank must send per byte of an all-reduce without in-network reduction: 2(N−1)/N."""
    return 2 * ring_pass_share(ranks)


def bus_bandwidth(kind: str, message_bytes: Array, ranks: Array, seconds: Array) -> Array:
    """Bus bandwidth as nccl-tests defines it (byte/s): M/t times 2(N−1)/N (all_reduce), (N−1)/N (others), 1
    (broadcast).

    `kind`: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast.
    """
    factor = {"all_reduce": all_reduce_wire_share(ranks), "broadcast": 1.0}.get(kind, ring_pass_share(ranks))
    return message_bytes / seconds * factor


def point_to_point(message_bytes: Array, bandwidth: Array, latency: Array) -> Array:
    """One message from one rank to another: α + M/BW (s)."""
    _require_possible(message_bytes, 1, bandwidth, latency)
    return latency + message_bytes / bandwidth


def ring_reduce_scatter(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """N−1 rounds of M/N bytes: (N−1)·(α + M/(N·BW)) (s). Limit: one rank takes no time."""
    _require_possible(message_bytes, ranks, bandwidth, latency)
    return (ranks - 1) * latency + ring_pass_share(ranks) * message_bytes / bandwidth


def ring_all_gather(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """The mirror image of the reduce-scatter, same rounds and bytes (s)."""
    return ring_reduce_scatter(message_bytes, ranks, bandwidth, latency)


def ring_all_reduce(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """Reduce-scatter, then all-gather: 2(N−1)/N·M/BW + 2(N−1)·α (s). Limit N → ∞: 2M/BW plus latency."""
    return 2 * ring_reduce_scatter(message_bytes, ranks, bandwidth, latency)


def tree_depth(ranks: Array) -> Array:
    """Levels of a binary tree over N ranks: ⌈log2 N⌉."""
    return np.ceil(np.log2(ranks))


def tree_all_reduce(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """Reduce up a binary tree, broadcast down, the whole message at every level: 2⌈log2 N⌉·(α + M/BW) (s)."""
    _require_possible(message_bytes, ranks, bandwidth, latency)
    return 2 * tree_depth(ranks) * (latency + message_bytes / bandwidth)


def pipelined_tree_all_reduce(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """One binary tree, the message cut into many small pieces, reduction and broadcast at once (s): 2⌊log2
    N⌋·α + m·M/BW.

    The ranks fill the tree level by level (children of r: 2r + 1 and 2r + 2). Bytes of a rank per direction,
    for an all-reduce of M, with c children: the reduction brings c·M in and, below the root, M out; the broadcast
    brings M in below the root, and c·M out. So c + 1 for an inner rank, c for the root, 1 for a leaf, in either
    direction: m = 3 from five ranks on (an inner rank with two children), 2 for three and four, 1 for two, 0
    for one. One phase after the other would take 2 + 2 = 4 of an inner rank (receiving, then sending). Valid
    for pieces much smaller than M; the fill of the pipeline is in the latency term.
    """
    _require_possible(message_bytes, ranks, bandwidth, latency)
    ranks = np.asarray(ranks, dtype=float)
    moves = np.where(ranks > 4, 3.0, np.minimum(ranks - 1.0, 2.0))
    return (2 * np.floor(np.log2(ranks)) * latency + moves * message_bytes / bandwidth)[()]


def double_tree_all_reduce(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """Two trees, each carrying half the message, a rank inner in at most one of them (s).

    Reduction and broadcast at once, in small pieces, as in `pipelined_tree_all_reduce`: an inner rank of one
    tree moves 3 M/2 per direction there, and as a leaf of the other M/2: 2M in all, so 2⌈log2 N⌉·α + 2M/BW, a
    third less than one tree; with two ranks each is root of one tree: M. NCCL's Tree algorithm.
    """
    _require_possible(message_bytes, ranks, bandwidth, latency)
    moves = np.where(np.asarray(ranks) > 2, 2.0, ranks - 1.0)
    return 2 * tree_depth(ranks) * latency + moves * message_bytes / bandwidth


def halving_doubling_all_reduce(
    message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array
) -> Array:
    """Recursive halving, then recursive doubling: 2·log2 N·α + 2(N−1)/N·M/BW (s), for N a power of two.

    Another N first folds its N − 2^⌊log2 N⌋ surplus ranks into neighbours and unfolds them at the end: 2·(α +
    M/BW) more.
    """
    _require_possible(message_bytes, ranks, bandwidth, latency)
    ranks = np.asarray(ranks, dtype=float)
    folded = 2.0 ** np.floor(np.log2(ranks))
    fold = np.where(folded < ranks, 2 * (latency + message_bytes / bandwidth), 0.0)
    return (2 * np.log2(folded) * latency + all_reduce_wire_share(folded) * message_bytes / bandwidth + fold)[
        ()
    ]


def broadcast(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """Pipelined chain, as NCCL does: (N−1)·α + M/BW (s), for N > 1."""
    _require_possible(message_bytes, ranks, bandwidth, latency)
    return (ranks - 1) * latency + np.where(np.asarray(ranks) > 1, 1.0, 0.0)[()] * message_bytes / bandwidth


def all_to_all(message_bytes: Array, ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """Pairwise exchange: N−1 rounds of M/N bytes to another rank each: (N−1)·α + (N−1)/N·M/BW (s)."""
    _require_possible(message_bytes, ranks, bandwidth, latency)
    return (ranks - 1) * latency + ring_pass_share(ranks) * message_bytes / bandwidth


def serial_hierarchical_all_reduce(
    message_bytes: Array,
    node_ranks: Array,
    nodes: Array,
    node_bandwidth: Array,
    node_latency: Array,
    nic_bandwidth: Array,
    nic_latency: Array,
) -> Array:
    """The documents' form, phases one after the other (s): in-node reduce-scatter, tree per rail on M/n, in-
    node all-gather.

    `node_ranks` n ranks share a node; each of the n shards crosses the nodes over a card of its own, by a
    double tree (2 M/n per card and direction). For the handbook; training overlaps the phases
    (`pipelined_hierarchical_all_reduce`).
    """
    inside = ring_all_reduce(message_bytes, node_ranks, node_bandwidth, node_latency)
    return inside + double_tree_all_reduce(message_bytes / node_ranks, nodes, nic_bandwidth, nic_latency)


def pipelined_hierarchical_all_reduce(
    message_bytes: Array,
    node_ranks: Array,
    nodes: Array,
    node_bandwidth: Array,
    node_latency: Array,
    nic_bandwidth: Array,
    nic_latency: Array,
) -> Array:
    """The same phases cut into pieces that overlap (s): latencies add, the slower of the two wires sets the
    pace.

    Limit: many pieces, so that filling the pipeline is the latency terms only. Every rail works at once.
    """
    inside = ring_all_reduce(message_bytes, node_ranks, node_bandwidth, 0.0)
    across = double_tree_all_reduce(message_bytes / node_ranks, nodes, nic_bandwidth, 0.0)
    rounds = 2 * (node_ranks - 1) * node_latency + 2 * tree_depth(nodes) * nic_latency
    return rounds + np.maximum(inside, across)


def multi_rail_ring_bound(message_bytes: Array, ranks: Array, rails: Array, nic_bandwidth: Array) -> Array:
    """Bandwidth time of `rails` rings that share the message, each leaving a node over a card of its own (s):
    2(N−1)/N·M/(rails·BW).

    A node has `rails` ranks, one per card: up to that many ranks are one node, whose rings use no card: 0. No
    latency: a lower bound of this algorithm, not of every one (`cut_bound` is).
    """
    _require_possible(message_bytes, ranks, nic_bandwidth)
    require(np.asarray(rails) > 0, "rails must be positive")
    crossing = np.where(np.asarray(ranks) > rails, 1.0, 0.0)[()]
    return crossing * all_reduce_wire_share(ranks) * message_bytes / (rails * nic_bandwidth)


def cut_bound(kind: str, message_bytes: Array, ranks: Array, members: Array, egress: Array) -> Array:
    """Seconds below which no algorithm without in-network reduction can finish, from one cut of the network.

    The group's N `ranks` lie in domains of `members` each; a domain can send `egress` byte/s in all for this
    group. With d = N/members domains, each must send per byte of message: all_reduce 2(d−1)/d, reduce_scatter
    and all_gather (d−1)/d, all_to_all members·(1 − members/N), broadcast (d−1)/d on average over the domains
    (d−1 copies must leave one or another). Limit: one domain (d = 1) gives 0.
    """
    _require_possible(message_bytes, ranks, egress)
    require(np.asarray(members) > 0, "members must be positive")
    domains = ranks / members
    crossing = (domains - 1) / domains
    share = {
        "all_reduce": 2 * crossing,
        "reduce_scatter": crossing,
        "all_gather": crossing,
        "all_to_all": members * crossing,
        "broadcast": crossing,
    }[kind]
    return share * message_bytes / egress


def lone_domain_share(kind: str, ranks: Array, members: Array) -> Array:
    """Bytes per byte of message that must enter or leave one domain of `members` of the group's N `ranks`, at least.

    all_reduce 1 (its sum out, the result in), reduce_scatter and all_gather 1 − members/N, all_to_all members·(1 −
    members/N), broadcast 1 (where the root is elsewhere). Over what the domain can send per second it is a lower bound
    of the time. Limit: the whole group in one domain gives 0.
    """
    require(np.asarray(members) > 0, "members must be positive")
    elsewhere = 1 - np.asarray(members) / ranks
    whole = {"all_reduce": np.ones_like(elsewhere), "broadcast": np.ones_like(elsewhere)}
    share = {
        **whole,
        "reduce_scatter": elsewhere,
        "all_gather": elsewhere,
        "all_to_all": members * elsewhere,
    }[kind]
    return plain(np.where(elsewhere > 0, share, 0.0))


def in_switch_all_reduce(message_bytes: Array, ranks: Array, bandwidth: Array) -> Array:
    """All-reduce with the sums made in the switches (NVLS): (1 + 1/N)·M/BW (s), no latency.

    Each rank's whole message is pulled once, and it multicasts the N-th part that it owns; it receives the
    same. Limit N → ∞: M/BW, half of a ring's. Fewer bytes than 2(N−1)/N·M from four ranks on, so that a bus
    bandwidth computed with a ring's factor may exceed the wire.
    """
    _require_possible(message_bytes, ranks, bandwidth)
    return (1 + 1 / ranks) * message_bytes / bandwidth


def ring_latency_equals_bandwidth_bytes(ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """The message at which a ring's latency equals its bandwidth time: M = N·α·BW (bytes). Not a ring/tree
    crossover.
    """
    return ranks * latency * bandwidth


def ring_tree_crossover_bytes(ranks: Array, bandwidth: Array, latency: Array) -> Array:
    """The message above which a ring beats a tree that is not pipelined (bytes), from equating the two forms:
    M = α·BW·((N−1) − log2 N)/(log2 N − (N−1)/N). Valid for N > 2; a pipelined tree is not the slower one
    until far later.
    """
    depth = tree_depth(ranks)
    return latency * bandwidth * ((ranks - 1) - depth) / (depth - ring_pass_share(ranks))
