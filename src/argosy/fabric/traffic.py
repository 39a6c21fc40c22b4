"""Traffic patterns: which endpoint sends to which. Endpoints are the hosts' cables; separate planes have their own.

A pattern is two arrays of endpoint numbers, (flows,): sources and destinations. Nobody sends to itself.
"""

from __future__ import annotations

import numpy as np

from argosy.fabric.linkgraph import Endpoints
from argosy.fabric.topologies.design import DesignError

WORDS = ("permutation", "shift:K", "all-to-all", "random", "incast:K", "rail")
MOST_FLOWS = 4_000_000  # of all-to-all traffic that is followed flow by flow

Pattern = tuple[np.ndarray, np.ndarray]


def pattern(endpoints: Endpoints, traffic: str, seed: int) -> Pattern:
    """The pattern that a word names. DesignError for one that is not known or does not fit.

    `permutation`: everyone to a random partner of its plane, each partner once; `random`: partners drawn one by one, so
    that some get several; `shift:K`: K places further, counted leaf by leaf; `all-to-all`: everyone to everyone of its
    plane; `incast:K`: K random senders to one receiver; `rail`: every card to the same card of the next host.
    """
    name, _, number = traffic.partition(":")
    random = np.random.default_rng(seed)
    if name in ("shift", "incast"):
        if not number.isdigit() or int(number) < 1:
            raise DesignError(f"traffic {traffic!r}: write {name}:K with a whole number K of at least 1")
        made = shift(endpoints, int(number)) if name == "shift" else incast(endpoints, int(number), random)
    elif number or name not in ("permutation", "all-to-all", "random", "rail"):
        raise DesignError(f"traffic {traffic!r} is not known; write one of {', '.join(WORDS)}")
    elif name == "permutation":
        made = _by_plane(endpoints, lambda members: random.permutation(members))
    elif name == "random":
        made = _by_plane(endpoints, lambda members: random.choice(members, len(members)))
    elif name == "rail":
        made = rail(endpoints)
    else:
        made = all_to_all(endpoints)
    sends = made[0] != made[1]
    if not sends.any():
        raise DesignError(f"traffic {traffic!r} has no flows here: every endpoint would send to itself")
    return made[0][sends], made[1][sends]


def shift(endpoints: Endpoints, places: int) -> Pattern:
    """Everyone to the endpoint `places` further in its plane, counted leaf by leaf and port by port, round the end."""
    return _by_plane(endpoints, lambda members: np.roll(members, -(places % len(members))))


def incast(endpoints: Endpoints, senders: int, random: np.random.Generator) -> Pattern:
    """`senders` random endpoints to one random endpoint of their plane."""
    plane = endpoints.plane[random.integers(len(endpoints))]
    members = np.flatnonzero(endpoints.plane == plane)
    if senders >= len(members):
        raise DesignError(
            f"incast:{senders} needs {senders + 1} endpoints in one plane; there are {len(members)}"
        )
    chosen = random.permutation(members)[: senders + 1]
    return chosen[1:], np.full(senders, chosen[0])


def rail(endpoints: Endpoints) -> Pattern:
    """Every card to the same card of the next host, the last host to the first: what a ring on every rail sends."""
    hosts, host = np.unique(endpoints.host, return_inverse=True)
    width = int(endpoints.port.max()) + 1
    at = np.full((len(hosts), width), -1)
    at[host, endpoints.port] = np.arange(len(endpoints))
    end = np.roll(at, -1, axis=0)[host, endpoints.port]
    there = end >= 0
    return np.flatnonzero(there), end[there]


def all_to_all(endpoints: Endpoints) -> Pattern:
    """Everyone to everyone else of its plane; at most MOST_FLOWS flows."""
    if pairs(endpoints) > MOST_FLOWS:
        raise DesignError(f"all-to-all of {len(endpoints)} endpoints has more than {MOST_FLOWS:,} flows")
    ends = np.arange(len(endpoints))
    source, end = (grid.ravel() for grid in np.meshgrid(ends, ends, indexing="ij"))
    together = (endpoints.plane[source] == endpoints.plane[end]) & (source != end)
    return source[together], end[together]


def pairs(endpoints: Endpoints) -> int:
    """Ordered pairs of different endpoints of one plane."""
    counts = np.bincount(endpoints.plane)
    return int((counts * (counts - 1)).sum())


def _by_plane(endpoints: Endpoints, partners) -> Pattern:  # type: ignore[no-untyped-def]
    """Every plane's endpoints in order, and the partners that a function of them gives."""
    by_order = np.lexsort((endpoints.order, endpoints.plane))
    groups = np.split(by_order, np.cumsum(np.bincount(endpoints.plane))[:-1])
    return np.concatenate(groups), np.concatenate([partners(members) for members in groups])
