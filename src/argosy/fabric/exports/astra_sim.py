"""ASTRA-sim's network.yml (astra-sim/astra-network-analytical): one entry per dimension, innermost first.

`bandwidth` is one way, per accelerator, in what the simulator calls GB/s and multiplies by 2^30 bytes: so that is
what is written. `latency` is nanoseconds per link: a switch is two links, so half of what a hop takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from argosy.fabric.network import TieredNetwork
from argosy.fabric.torus import TorusNetwork

GIB = 2.0**30
NS = 1e-9


def lines(network: TieredNetwork | TorusNetwork, name: str) -> Iterator[str]:
    """The file of a network, line by line."""
    dimensions = _rings(network) if isinstance(network, TorusNetwork) else _switches(network)
    kinds, counts, rates, latencies, labels = zip(*dimensions, strict=True)
    yield f"# {name}: {math.prod(counts)} accelerators; written by argosy"
    yield f"topology: [ {', '.join(kinds)} ]  # {', '.join(labels)}"
    yield f"npus_count: [ {', '.join(str(count) for count in counts)} ]"
    yield f"bandwidth: [ {', '.join(f'{rate / GIB:.6g}' for rate in rates)} ]  # GiB/s one way, which ASTRA-sim calls GB/s"
    yield f"latency: [ {', '.join(f'{seconds / NS:.6g}' for seconds in latencies)} ]  # ns per link"


def _rings(network: TorusNetwork) -> list[tuple[str, int, float, float, str]]:
    """A torus: one bidirectional ring per axis."""
    link, hop = float(network.link), float(network.hop_s)
    return [("Ring", side, link, hop, f"axis {i + 1}") for i, side in enumerate(network.shape) if side > 1]


def _switches(network: TieredNetwork) -> list[tuple[str, int, float, float, str]]:
    """Nested domains: one switch per level that joins more than one domain, at NCCL's shortest hop over its wires.

    The simulator's dimensions divide each other: a level whose domains hold no whole number of those inside is passed
    over; the inside ones give way only to the last level, which is all accelerators.
    """
    found: list[tuple[str, int, float, float, str]] = []
    sizes = [1]
    for level in network.levels:
        size = int(min(level.size, network.accelerators))
        while size == network.accelerators and size % sizes[-1]:
            sizes.pop()
            found.pop()
        if size > sizes[-1] and size % sizes[-1] == 0:
            latency = float(level.ring[0].ring_s) / 2
            found.append(("Switch", size // sizes[-1], float(level.bandwidth), latency, level.name))
            sizes.append(size)
    return found
