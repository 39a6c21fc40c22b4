"""Cables that fail or degrade: named, or so many drawn at random.

A name is `leaf-20:spine-05` (one cable between the two; twice for two), `leaf-20[49]` (the cable in that port, from
1), or a switch without hosts, `spine-05`, with all its cables. Names are those of every export (`argosy.fabric.names`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from argosy.fabric.cables import CableList
from argosy.fabric.linkgraph import LinkGraph
from argosy.fabric.names import node_names
from argosy.fabric.topologies import DesignError

Faults = int | Sequence[str]  # how many, or which

_PORT = re.compile(r"(.+)\[(\d+)\]")


def with_faults(
    graph: LinkGraph, cables: CableList, seed: int, failed: Faults, degraded: Faults, degraded_rate: float
) -> tuple[LinkGraph, tuple[list[int], list[int]]]:
    """The graph with cables between switches failed (rate 0) or degraded (their rate times `degraded_rate`), and the
    numbers of both in the cable list. What is drawn at random depends on `seed` alone. DesignError for what is not there.
    """
    if not 0 < degraded_rate <= 1:
        raise DesignError("what is left of a degraded cable's rate lies above 0, at most 1")
    wanted = [faults if isinstance(faults, int) else 0 for faults in (failed, degraded)]
    if min(wanted) < 0:
        raise DesignError("failed and degraded cables are counts from 0 on, or names")
    number = graph.cable[::2]
    between = np.flatnonzero(graph.between_switches[::2])
    usable = set(number[between].tolist())
    hit: list[list[int]] = []
    for faults in (failed, degraded):
        hit.append([] if isinstance(faults, int) else _named(cables, usable, faults))
        usable -= set(hit[-1])
    free = between[np.isin(number[between], list(usable))]
    if sum(wanted) > len(free):
        raise DesignError(f"{sum(wanted)} cables cannot fail or degrade: {len(free)} join switches")
    drawn = number[np.random.default_rng([seed, 1]).permutation(free)].tolist()
    hit[0] += drawn[: wanted[0]]
    hit[1] += drawn[wanted[0] : sum(wanted)]
    share = np.ones(len(number))
    share[np.isin(number, hit[0])] = 0.0
    share[np.isin(number, hit[1])] = degraded_rate
    return graph.with_rates(np.repeat(share, 2)), (sorted(hit[0]), sorted(hit[1]))


def _named(cables: CableList, usable: set[int], words: Sequence[str]) -> list[int]:
    """The numbers of the cables that are named; each once, and only of `usable` ones."""
    node_of = {name: node for node, name in enumerate(node_names(cables))}
    found: list[int] = []
    for word in words:
        left = usable - set(found)
        fits = _cables_of(cables, node_of, word)
        open_ones = [cable for cable in fits.tolist() if cable in left]
        if ":" in word:
            open_ones = open_ones[:1]
        elif len(open_ones) < len(fits):
            raise DesignError(
                f"{word!r}: not all its cables join switches, or one is named twice; name others"
            )
        if not open_ones:
            raise DesignError(f"{word!r}: no cable (left) between switches there")
        found += open_ones
    return found


def _cables_of(cables: CableList, node_of: dict[str, int], word: str) -> np.ndarray:
    """The numbers of the cables that a name may mean."""

    def at(name: str) -> int:
        if name.strip() not in node_of:
            known = list(node_of)
            raise DesignError(
                f"{word!r}: no {name.strip()!r} here; nodes are called {known[0]} to {known[-1]}; write a number, A:B, "
                "A[PORT] or a switch"
            )
        return node_of[name.strip()]

    if port := _PORT.fullmatch(word):
        node, place = at(port[1]), int(port[2]) - 1
        ends = ((cables.a == node) & (cables.a_port == place)) | (
            (cables.b == node) & (cables.b_port == place)
        )
    elif ":" in word:
        one, _, other = word.partition(":")
        x, y = at(one), at(other)
        ends = ((cables.a == x) & (cables.b == y)) | ((cables.a == y) & (cables.b == x))
    else:
        node = at(word)
        ends = (cables.a == node) | (cables.b == node)
    return np.flatnonzero(ends)
