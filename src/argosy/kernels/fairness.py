"""Max-min fair rates of flows over links: progressive filling, with the narrowest links in a heap.

All rates grow together; where a link is full, its flows stay as they are and the others grow on. The share of a link
only rises as flows of others are fixed, so that a heap with shares of the past finds the narrowest one: what it gives
is looked at again, and put back where it has risen. Time (links + Σ links of flows) · log links. (D. Bertsekas, R.
Gallager, Data Networks, section 6.5.2.)
"""

from __future__ import annotations

import heapq

import numpy as np

from argosy.kernels.compiled import compiled


@compiled()
def max_min_rates(first, links, share, capacity, demand):  # type: ignore[no-untyped-def]
    """Max-min fair rates, shape (flows,), in the unit of `capacity` (links,) and `demand` (flows,).

    Flow f passes `links[first[f]:first[f + 1]]`, and takes `share` of its rate from each of them (1 for a flow on one
    path; what falls on a link for one that is sprayed over many; n for n flows that are alike). No flow gets more than
    its demand. A link without capacity gives its flows nothing.
    """
    flows, width = len(demand), len(capacity)
    rates = np.full(flows, -1.0)
    weight = np.zeros(width)  # what the links' flows that still grow take per unit of rate
    at = np.zeros(width + 1, dtype=np.int64)
    for entry in range(first[flows]):
        weight[links[entry]] += share[entry]
        at[links[entry] + 1] += 1
    for link in range(width):
        at[link + 1] += at[link]
    flow_of = np.empty(first[flows], dtype=np.int32)
    filled = at[:-1].copy()
    for flow in range(flows):
        for entry in range(first[flow], first[flow + 1]):
            flow_of[filled[links[entry]]] = flow
            filled[links[entry]] += 1
    left = capacity.copy()
    growing = weight.copy()
    heap = [(np.inf, -1)]
    for link in range(width):
        if weight[link] > 0.0:
            heap.append((left[link] / weight[link], link))
    heapq.heapify(heap)
    modest = np.argsort(demand)  # flows by demand: the next to be satisfied
    asked = 0
    while True:
        level, link = heap[0]
        while asked < flows and rates[modest[asked]] >= 0.0:
            asked += 1
        if asked < flows and demand[modest[asked]] <= level:
            flow = modest[asked]
            _fix(flow, demand[flow], rates, first, links, share, left, growing)
            continue
        if link < 0:
            return rates
        if growing[link] <= 1e-9 * weight[link]:
            heapq.heappop(heap)
            continue
        now = max(left[link], 0.0) / growing[link]
        if now > level * (1.0 + 1e-12):
            heapq.heapreplace(heap, (now, link))
            continue
        heapq.heappop(heap)
        for entry in range(at[link], at[link + 1]):
            if rates[flow_of[entry]] < 0.0:
                _fix(flow_of[entry], now, rates, first, links, share, left, growing)


@compiled()
def _fix(flow, rate, rates, first, links, share, left, growing):  # type: ignore[no-untyped-def]
    """Gives a flow its rate, and takes it from its links."""
    rates[flow] = rate
    for entry in range(first[flow], first[flow + 1]):
        left[links[entry]] -= rate * share[entry]
        growing[links[entry]] -= share[entry]
