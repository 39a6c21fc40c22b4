"""Shortest paths to many destinations over links as arrays, and the paths of flows along them.

A table gives, per destination (a column) and node, the number of a set of links that lead nearer; equal sets are kept
once. `start`, `out`: the links that leave node n are `out[start[n]:start[n + 1]]`; `head[l]` is where link l leads.
"""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import compiled

FAR = np.int16(32767)


@compiled(inline="always")
def mix(number):  # type: ignore[no-untyped-def]
    """splitmix64: 64 bits scattered over 64 bits (S. Vigna, public domain)."""
    mixed = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compiled()
def distances(start, into, tail, targets, nodes):  # type: ignore[no-untyped-def]
    """Links on a shortest way from every node to each target, shape (targets, nodes); FAR where there is none.

    `into[start[n]:start[n + 1]]`: the links that lead to n; `tail`: where a link comes from. `targets` (d, k): nodes
    that count as the destination, −1 for fewer than k.
    """
    found = np.full((len(targets), nodes), FAR, dtype=np.int16)
    queue = np.empty(nodes, dtype=np.int32)
    for column in range(len(targets)):
        away = found[column]
        first, last = 0, 0
        for node in targets[column]:
            if node >= 0:
                away[node] = 0
                queue[last] = node
                last += 1
        while first < last:
            node = queue[first]
            first += 1
            for entry in range(start[node], start[node + 1]):
                before = tail[into[entry]]
                if away[before] == FAR:
                    away[before] = away[node] + 1
                    queue[last] = before
                    last += 1
    return found


@compiled()
def next_sets(away, start, out, head):  # type: ignore[no-untyped-def]
    """Numbers the sets of links that lead nearer: (table (destinations, nodes), first (sets + 1,), links).

    Number 0 is the empty set of the destination itself; −1: there is no way. Sets are told apart by the sum of their
    links' 64-bit marks, looked up by open addressing.
    """
    columns, nodes = away.shape
    table = np.empty((columns, nodes), dtype=np.int32)
    marks = np.empty(len(head), dtype=np.uint64)
    for link in range(len(head)):
        marks[link] = mix(np.uint64(link))
    slots = 1024
    names, numbers = np.zeros(slots, dtype=np.uint64), np.zeros(slots, dtype=np.int32)
    known = 1
    first, links = np.zeros(1024, dtype=np.int64), np.empty(4096, dtype=np.int32)
    used = 0
    for column in range(columns):
        for node in range(nodes):
            here = away[column, node]
            if here == 0 or here == FAR:
                table[column, node] = 0 if here == 0 else -1
                continue
            name = np.uint64(0)
            for entry in range(start[node], start[node + 1]):
                if away[column, head[out[entry]]] == here - 1:
                    name += marks[out[entry]]
            slot = _slot(name, names, numbers)
            if numbers[slot] == 0:
                if known + 2 > len(first):
                    first = _longer(first)
                for entry in range(start[node], start[node + 1]):
                    if away[column, head[out[entry]]] == here - 1:
                        if used == len(links):
                            links = _longer(links)
                        links[used] = out[entry]
                        used += 1
                first[known + 1] = used
                names[slot], numbers[slot] = name, known
                table[column, node] = known
                known += 1
                if 2 * known > len(names):
                    names, numbers = _rehash(names, numbers)
            else:
                table[column, node] = numbers[slot]
    return table, first[: known + 1].copy(), links[:used].copy()


@compiled()
def _slot(name, names, numbers):  # type: ignore[no-untyped-def]
    """Where a name is in the table of names, or the free place where it belongs."""
    slot = np.int64(name % np.uint64(len(names)))
    while numbers[slot] != 0 and names[slot] != name:
        slot = (slot + 1) % len(names)
    return slot


@compiled()
def _rehash(names, numbers):  # type: ignore[no-untyped-def]
    """The same names in a table of twice the size."""
    more_names = np.zeros(2 * len(names), dtype=np.uint64)
    more_numbers = np.zeros(2 * len(names), dtype=np.int32)
    for slot in range(len(names)):
        if numbers[slot] != 0:
            to = _slot(names[slot], more_names, more_numbers)
            more_names[to], more_numbers[to] = names[slot], numbers[slot]
    return more_names, more_numbers


@compiled()
def _longer(array):  # type: ignore[no-untyped-def]
    """The same numbers in an array of twice the length."""
    longer = np.empty(2 * len(array), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@compiled(inline="always")
def _choose(members, divisor, key, seed, node, order, hashed):  # type: ignore[no-untyped-def]
    """Which of a set's `members` a flow takes: by a hash that every switch salts, or by its destination's number."""
    if hashed:
        return np.int64(mix(key ^ mix(np.uint64(node) ^ seed)) % np.uint64(members))
    return (order // divisor) % members


@compiled()
def walk(table, set_first, set_links, set_divisor, head, begin, up, column, down, order, key, seed, hashed):  # type: ignore[no-untyped-def]
    """Paths of flows from node `begin[f]` to destination `column[f]`: (first (flows + 1,), links, whether it arrives).

    `up`, `down` (flows,): the links before and after the walk, −1 for none. `key` (flows,) uint64: what the hash is of;
    `order`: the number of the destination's port. A flow that finds no way has no links.
    """
    flows = len(begin)
    first = np.zeros(flows + 1, dtype=np.int64)
    links = np.empty(8 * flows + 16, dtype=np.int32)
    arrives = np.ones(flows, dtype=np.bool_)
    used = 0
    for flow in range(flows):
        node = begin[flow]
        before = used
        if used + 2 > len(links):
            links = _longer(links)
        if up[flow] >= 0:
            links[used] = up[flow]
            used += 1
        while True:
            chosen = table[column[flow], node]
            if chosen <= 0:
                break
            members = set_first[chosen + 1] - set_first[chosen]
            pick = _choose(members, set_divisor[chosen], key[flow], seed, node, order[flow], hashed)
            link = set_links[set_first[chosen] + pick]
            if used + 2 > len(links):
                links = _longer(links)
            links[used] = link
            used += 1
            node = head[link]
        if chosen < 0:
            arrives[flow] = False
            used = before
        elif down[flow] >= 0:
            links[used] = down[flow]
            used += 1
        first[flow + 1] = used
    return first, links[:used].copy(), arrives


@compiled()
def count_all(  # type: ignore[no-untyped-def]
    table, set_first, set_links, set_divisor, head, sources, ends, seed, hashed
):
    """Load per link when every source sends its weight to every end of its plane: (load (links,), pairs without a way).

    `sources`: nodes, planes, hash keys, weights; `ends`: columns, planes, hash keys, numbers; arrays (sources,), (ends,).
    Paths are walked, not kept. Who shares a switch crosses no link here.
    """
    load = np.zeros(len(head))
    lost = 0
    begin, from_plane, from_key, weight = sources
    column, to_plane, to_key, order = ends
    for source in range(len(begin)):
        for end in range(len(column)):
            if from_plane[source] != to_plane[end]:
                continue
            node = begin[source]
            pair = (from_key[source] << np.uint64(40)) ^ (to_key[end] << np.uint64(16))
            while True:
                chosen = table[column[end], node]
                if chosen <= 0:
                    lost += chosen < 0
                    break
                members = set_first[chosen + 1] - set_first[chosen]
                pick = _choose(members, set_divisor[chosen], pair, seed, node, order[end], hashed)
                link = set_links[set_first[chosen] + pick]
                load[link] += weight[source]
                node = head[link]
    return load, lost


@compiled()
def spread(table, set_first, set_links, head, by_distance, demand):  # type: ignore[no-untyped-def]
    """Load per link of `demand` (destinations, nodes), each split evenly over all shortest ways.

    `by_distance` (destinations, nodes): nodes from the farthest to the nearest. What finds no way is left out.
    """
    load = np.zeros(len(head))
    columns, nodes = table.shape
    passing = np.empty(nodes)
    for column in range(columns):
        passing[:] = demand[column]
        for node in by_distance[column]:
            chosen = table[column, node]
            if passing[node] == 0.0 or chosen <= 0:
                continue
            begin, end = set_first[chosen], set_first[chosen + 1]
            part = passing[node] / (end - begin)
            for entry in range(begin, end):
                load[set_links[entry]] += part
                passing[head[set_links[entry]]] += part
    return load


@compiled()
def spread_flows(table, set_first, set_links, head, begin, up, column, down, nodes, limit):  # type: ignore[no-untyped-def]
    """The links over which one unit from node `begin[f]` to destination `column[f]` is sprayed evenly, and the shares.

    Returns (first (flows + 1,), links, shares, arrives); no links at all where more than `limit` entries are needed.
    `up`, `down`: as in `walk`.
    """
    flows = len(begin)
    first = np.zeros(flows + 1, dtype=np.int64)
    links = np.empty(max(16, 8 * flows), dtype=np.int32)
    shares = np.empty(len(links))
    arrives = np.ones(flows, dtype=np.bool_)
    inflow = np.zeros(nodes)
    wave = np.empty(nodes, dtype=np.int32)
    used = 0
    for flow in range(flows):
        before = used
        if used + 2 > len(links):
            links, shares = _longer(links), _longer(shares)
        if up[flow] >= 0:
            links[used], shares[used] = up[flow], 1.0
            used += 1
        wave[0] = begin[flow]
        inflow[begin[flow]] = 1.0
        here, last = 0, 1
        while (
            here < last
        ):  # breadth first: all ways are equally long, so that a node's inflow is whole when it is met
            node = wave[here]
            here += 1
            chosen = table[column[flow], node]
            if chosen > 0:
                one, beyond = set_first[chosen], set_first[chosen + 1]
                if used + beyond - one > limit:
                    return first, links[:0].copy(), shares[:0].copy(), arrives
                while used + beyond - one + 2 > len(links):
                    links, shares = _longer(links), _longer(shares)
                part = inflow[node] / (beyond - one)
                for entry in range(one, beyond):
                    links[used], shares[used] = set_links[entry], part
                    used += 1
                    to = head[set_links[entry]]
                    if inflow[to] == 0.0:
                        wave[last] = to
                        last += 1
                    inflow[to] += part
            elif chosen < 0:
                arrives[flow] = False
            inflow[node] = 0.0
        if not arrives[flow]:
            used = before
        elif down[flow] >= 0:
            if used + 1 > len(links):
                links, shares = _longer(links), _longer(shares)
            links[used], shares[used] = down[flow], 1.0
            used += 1
        first[flow + 1] = used
    return first, links[:used].copy(), shares[:used].copy(), arrives
