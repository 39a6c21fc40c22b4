"""The netfile of ibsim, the emulator of InfiniBand fabrics (linux-rdma/ibsim, README): routed by a real opensm.

One block per device, one line per cabled port; ports count from 1. Every port of a host is a channel adapter of
its own, as the one-port cards of GPU servers are; its description `host-0001 mlx5_0` is what ibnetdiscover
shows, and what `argosy fabric diff` reads back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from argosy.fabric.names import node_names
from argosy.fabric.topologies import DesignError, Topology

MOST_PORTS = (
    254  # a port number is one byte, 0 and 255 are taken (InfiniBand Architecture Specification, vol. 1)
)
# ibsim knows three lane rates and these widths (its sim_net.c); rates one way, in bit/s of signalling.
LANE_BPS = {1: 2.5e9, 2: 5e9, 4: 10e9}
LANES = {1: 1, 2: 4, 4: 8, 8: 12}


def lines(topology: Topology) -> Iterator[str]:
    """The netfile, line by line. DesignError for a fabric that InfiniBand cannot be: no switches, optical circuits,
    more than 254 ports.
    """
    cables = topology.cables
    tier = cables.tier_of_nodes()
    if not (tier > 0).any() or ((tier[cables.a] == 0) & (tier[cables.b] == 0)).any():
        raise DesignError(
            "ibsim joins hosts by switches: a fabric of host-to-host links cannot be written for it"
        )
    if (cables.circuit >= 0).any():
        raise DesignError("ibsim has no optical circuit switches: this fabric cannot be written for it")
    widest = max(group.ports for group in cables.groups if group.tier)
    if widest > MOST_PORTS:
        raise DesignError(
            f"InfiniBand numbers at most {MOST_PORTS} ports of a switch, not {widest}; use a smaller radix"
        )
    yield f"# {topology.design.topology}: {cables.hosts} hosts, {len(cables)} cables; written by argosy"
    if fastest := _too_fast(cables.rate):
        yield f"# ibsim ends at 12 lanes of 10 Gb/s: links of {fastest / 1e9:g} Gb/s are written as 4xQDR"
    yield from _blocks(topology)


def port_options(rate: float) -> str:
    """` w=2 s=4`: the width and speed codes whose product is `rate` (bit/s); 4xQDR for a rate that ibsim lacks."""
    for width in (2, 1, 4, 8):
        for speed, lane in LANE_BPS.items():
            if lane * LANES[width] == rate:
                return f" w={width} s={speed}"
    return " w=2 s=4"


def _too_fast(rates: np.ndarray) -> float:
    """The largest rate that no width and speed of ibsim make, 0 without one."""
    known = {lane * lanes for lane in LANE_BPS.values() for lanes in LANES.values()}
    return max((float(rate) for rate in np.unique(rates) if float(rate) not in known), default=0.0)


def _blocks(topology: Topology) -> Iterator[str]:
    cables = topology.cables
    names = node_names(cables)
    hosts = cables.tier_of_nodes() == 0
    options = {rate: port_options(float(rate)) for rate in np.unique(cables.rate).tolist()}
    ends: dict[int, list[tuple[int, int, int, float]]] = {}
    columns = (cables.a, cables.a_port, cables.b, cables.b_port, cables.rate)
    for a, a_port, b, b_port, rate in zip(*(column.tolist() for column in columns), strict=True):
        ends.setdefault(a, []).append((a_port, b, b_port, rate))
        ends.setdefault(b, []).append((b_port, a, a_port, rate))

    def far(node: int, port: int) -> str:
        return f'"{names[node]}.{port}"[1]' if hosts[node] else f'"{names[node]}"[{port + 1}]'

    for group in cables.groups:
        for node in group.ids.tolist():
            here = sorted(ends.get(node, ()))
            if group.tier:
                yield ""
                yield f'Switch {group.ports} "{names[node]}" # "{names[node]}"'
                yield from (f"[{port + 1}] {far(b, b_port)}{options[rate]}" for port, b, b_port, rate in here)
                continue
            for port, b, b_port, rate in here:
                yield ""
                yield f'Ca 1 "{names[node]}.{port}" # "{names[node]} mlx5_{port}"'
                yield f"[1] {far(b, b_port)}{options[rate]}"


def sizes(topology: Topology) -> dict[str, Any]:
    """What ibsim must be started with: `switches`, `nodes` and `ports`, each a little above what is needed."""
    cables = topology.cables
    switches = sum(group.count for group in cables.groups if group.tier)
    hosts = cables.tier_of_nodes() == 0
    cards = int(hosts[cables.a].sum() + hosts[cables.b].sum())
    ports = sum(group.count * (group.ports + 1) for group in cables.groups if group.tier) + cards
    return {"switches": switches + 8, "nodes": switches + cards + 8, "ports": ports + 64}
