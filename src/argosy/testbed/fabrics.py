"""The fabrics of the testbed: cables as `argosy fabric` draws them, a scale for their rates, and cases to run on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from argosy.fabric.fleet import NOT_TREES, fleet_topology
from argosy.fabric.linkgraph import LinkGraph, link_graph
from argosy.fabric.names import node_names
from argosy.fabric.routing import Routes, routes_for
from argosy.fabric.topologies import Design, DesignError, Topology, build

MOST_RANKS = 16  # processes of one machine; more would measure its cores
CARD_BPS = 400e9
SCALE = 4000.0  # 400 Gb/s becomes 100 Mb/s: two cores forward several times that (`experiment.headroom`)
FLEET_BPS = 400e6  # of all cards of a scenario's fleet together: messages inside hosts take cores too
MPI, GLOO = "MPI", "gloo"
LOSS, LOSS_DELAY_S = 0.01, 0.01  # of the lossy cable: share of packets, seconds one way
LOSS_BAR = 0.5  # the law of lossy connections is one of averages, and knows delayed acknowledgements or none
SITE_DELAY_S = 0.02  # one way between two sites: 40 ms there and back, some 4,000 km of fibre


@dataclass(frozen=True)
class Case:
    """One collective: `algorithm` (a name of `fabric.algorithms.ALGORITHMS["all_reduce"]`) over `bytes`, in `groups` that
    talk at once (accelerators each). `domain`: accelerators whose ring comes first in `hierarchical-serial`; None: a
    host's. `bar`: how far predicted ÷ measured − 1 may be from 0 where bandwidth is what takes the time. `library`: MPI, or
    gloo with `ring` or `hierarchical` (rings in the domain and across).
    """

    algorithm: str
    bytes: int
    groups: tuple[tuple[int, ...], ...]
    domain: int | None = None
    bar: float = 0.1
    library: str = MPI

    @property
    def ranks(self) -> int:
        """All ranks."""
        return sum(len(group) for group in self.groups)


@dataclass(frozen=True)
class Fabric:
    """A fabric to build. Rates of `topology` (bit/s) are divided by `scale`; `accelerators`: of every host, a rank each.

    `degraded`: cable number → what is left of its rate; `delay_s`, `loss`: cable number → seconds one way, and the share of
    packets lost. `shaped` False: the same cables without tc, to see what the machine itself can do.
    """

    name: str
    topology: Topology
    accelerators: int
    cases: tuple[Case, ...]
    scale: float = SCALE
    degraded: Mapping[int, float] = field(default_factory=dict)
    delay_s: Mapping[int, float] = field(default_factory=dict)
    loss: Mapping[int, float] = field(default_factory=dict)
    shaped: bool = True

    @property
    def ranks(self) -> int:
        """Accelerators of all hosts."""
        return self.topology.cables.hosts * self.accelerators

    @property
    def graph(self) -> LinkGraph:
        """The links at their scaled rates (bit/s), degraded ones with what is left. A cable is links 2c and 2c + 1."""
        graph = link_graph(self.topology.cables)
        share = np.array([self.degraded.get(int(cable), 1.0) for cable in graph.cable])
        return graph.with_rates(share / self.scale)

    def routes(self) -> Routes:
        """Routes by destination (d-mod-k): a switch's forwarding table can say them."""
        return routes_for(self.graph, "static")

    def delay_of(self, source: int, end: int) -> float:
        """Seconds one way that the cables from one endpoint to another add."""
        paths = self.routes().paths(np.array([source]), np.array([end]), "static")
        return float(sum(self.delay_s.get(int(link) // 2, 0.0) for link in paths.links))


def one_group(ranks: int) -> tuple[tuple[int, ...], ...]:
    """All ranks in one group."""
    return (tuple(range(ranks)),)


def strided(ranks: int, groups: int) -> tuple[tuple[int, ...], ...]:
    """`groups` groups whose members are `groups` apart, as data-parallel groups are beside tensor-parallel ones."""
    return tuple(tuple(range(first, ranks, groups)) for first in range(groups))


def _flat(size: int) -> Fabric:
    design = Design("fat-tree", 8, 1, 8, CARD_BPS, tiers=1)
    everyone = one_group(8)
    cases = (
        Case("ring", size, everyone),
        Case("tree", size // 4, everyone),
        Case("double-tree", size, everyone),
        Case("ring", size, everyone, library=GLOO),
    )
    return Fabric("flat", build(design), 1, cases)


def _rail(size: int) -> Fabric:
    design = Design("rail-only", 4, 2, 4, CARD_BPS)
    cases = (
        Case("ring", size, one_group(8)),
        Case("hierarchical-serial", size, one_group(8)),
        Case("hierarchical", size, one_group(8), library=GLOO),
    )
    return Fabric("rail", build(design), 2, cases)


def _leaf_spine(over: float) -> Topology:
    """Eight hosts on two leaves; one spine with as many cables as the oversubscription leaves."""
    design = Design(
        "fat-tree", 8, 1, 8, CARD_BPS, tiers=2, hosts_per_leaf=4, oversubscription=(("leaf-uplink", over),)
    )
    return build(design)


def _oversubscribed(size: int) -> Fabric:
    cases = (
        Case("ring", size, one_group(8)),
        Case("ring", size // 2, strided(8, 4)),
        Case("ring", size // 2, strided(8, 4), library=GLOO),
    )
    return Fabric("oversubscribed", _leaf_spine(2.0), 1, cases)


def _degraded(size: int) -> Fabric:
    """Four leaves, two spines; the cable over which host 2's leaf is left for host 3 keeps half its rate."""
    topology = build(Design("fat-tree", 8, 1, 4, CARD_BPS, tiers=2))
    whole = Fabric("degraded", topology, 1, ())
    up = whole.routes().paths(np.array([1]), np.array([2]), "static").links[1]
    cases = (Case("ring", size, one_group(8)), Case("ring", size, one_group(8), library=GLOO))
    return Fabric("degraded", topology, 1, cases, degraded={int(up) // 2: 0.5})


def _two_sites(size: int) -> Fabric:
    """Two leaves are two sites: the one cable from the second to the spine is long."""
    design = Design(
        "fat-tree", 8, 1, 8, CARD_BPS, tiers=2, hosts_per_leaf=4, oversubscription=(("leaf-uplink", 4.0),)
    )
    topology = build(design)
    far = next(
        cable
        for cable, (a, b) in enumerate(zip(topology.cables.a, topology.cables.b, strict=True))
        if "leaf-2" in (node_names(topology.cables)[a], node_names(topology.cables)[b])
        and "spine-1" in (node_names(topology.cables)[a], node_names(topology.cables)[b])
    )
    cases = (
        Case("ring", size, one_group(8)),
        Case("hierarchical-serial", size // 2, one_group(8), domain=4),
        Case("hierarchical", size, one_group(8), domain=4, library=GLOO),
    )
    return Fabric("two-sites", topology, 1, cases, delay_s={far: SITE_DELAY_S})


def _lossy(size: int) -> Fabric:
    """Two hosts; the cable of the second is long and loses packets, so that losses and not its rate hold connections back."""
    cases = (
        Case("ring", size, one_group(2), bar=LOSS_BAR),
        Case("ring", size, one_group(2), bar=LOSS_BAR, library=GLOO),
    )
    return replace(pair(), name="lossy", cases=cases, delay_s={1: LOSS_DELAY_S}, loss={1: LOSS})


BUILDERS = {
    "flat": _flat,
    "rail": _rail,
    "oversubscribed": _oversubscribed,
    "degraded": _degraded,
    "two-sites": _two_sites,
    "lossy": _lossy,
}


def fabric(name: str, size: int) -> Fabric:
    """A fabric of BUILDERS with cases around `size` bytes. DesignError for another name."""
    if name not in BUILDERS:
        raise DesignError(f"no testbed fabric {name!r}; write one of {', '.join(BUILDERS)}, or all")
    return BUILDERS[name](size)


def of_fleet(fleet: Any, size: int) -> Fabric:
    """The compute fabric of a small fleet (spec.Fleet), all its cards together scaled to FLEET_BPS. DesignError for one that has
    more ranks than a machine runs, or no host whose accelerators have a card each.
    """
    topology = fleet_topology(fleet, fleet.compute_fabric)
    design = topology.design
    each = design.accelerators_per_host or design.nics_per_host
    ranks = topology.cables.hosts * each
    if design.topology in NOT_TREES:
        raise DesignError(
            f"a {design.topology} has no cards to make interfaces of; write a fat-tree or rails"
        )
    if topology.problems:
        raise DesignError(f"the fabric does not close: {'; '.join(topology.problems)}")
    if ranks > MOST_RANKS:
        raise DesignError(
            f"{ranks} accelerators are too many for one machine; write a fleet of at most {MOST_RANKS}"
        )
    if design.nics_per_host != each or design.card_ports != 1:
        raise DesignError(
            f"hosts of {each} accelerators and {design.nics_per_host} cards: the testbed gives each accelerator one card"
        )
    everyone = one_group(ranks)
    tree = "hierarchical-serial" if each > 1 else "double-tree"
    cases = (Case("ring", size, everyone), Case(tree, size, everyone))
    return Fabric("scenario", topology, each, cases, design.rate * ranks / FLEET_BPS)


def chosen(names: Sequence[str], size: int, scale: float | None = None) -> list[Fabric]:
    """Fabrics of BUILDERS by name, at another scale if one is given. DesignError for another name."""
    found = [fabric(name, size) for name in names]
    return found if scale is None else [replace(one, scale=scale) for one in found]


def shortened(one: Fabric) -> Fabric:
    """A fabric for the short form: gloo's cases where they show most, on one switch, on rails and over the lossy cable."""
    cases = [case for case in one.cases if case.library == MPI or one.name in ("flat", "rail", "lossy")]
    return replace(one, cases=tuple(cases))


def pair(scale: float = SCALE) -> Fabric:
    """Two hosts on one switch: the baseline from which the share of the wire and the latency are measured."""
    return Fabric("pair", build(Design("fat-tree", 2, 1, 4, CARD_BPS, tiers=1)), 1, (), scale)
