"""The tree of failure domains of one fleet: how many of each there are, what one holds, and what its failure does.

What lies inside a node fails at the preset's rates by category; domains that nodes share (racks, leaf switches, power) strike
several at once, at rates that the scenario gives. Counts come from the fleet, the fabric's cable list and the racks' power.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.fabric.fleet import fleet_topology
from argosy.facts import Values, load_catalog
from argosy.reliability.hazards import Hazards
from argosy.reliability.rates import FailureRates

SECTION = "failure-domains"
_DIRECT = ("torus", "supernode")  # fabrics whose hosts are accelerators: no leaf switch takes nodes away


@dataclass(frozen=True, slots=True)
class Domain:
    """One kind of domain: `count` of them, each holding `nodes` nodes (0: a part of a node), inside another kind.

    `effect` of a failure: `node` (its node is lost), `lose` (its nodes are lost), `slow` (the job slows by `slows_by` of its
    speed), `stop` or `job` (the job stops). `categories` count the failures of parts of nodes; `counted_in` are those whose
    published counts hold a shared domain's failures.
    """

    name: str
    what: str
    inside: str
    effect: str
    count: int
    nodes: int
    categories: tuple[str, ...] = ()
    counted_in: tuple[str, ...] = ()
    slows_by: float | None = None

    @property
    def shared(self) -> bool:
        """True where a failure is not that of one node or of the job's own software."""
        return self.effect in ("lose", "slow", "stop")


@dataclass(frozen=True, slots=True)
class Housing:
    """How nodes stand: nodes in a rack, watts of one node at nameplate, and whether liquid cools them."""

    nodes_per_rack: int
    node_w: float
    liquid: bool


def domain_tree(values: Values, fleet: Any, node_size: int, housing: Housing) -> dict[str, Domain]:
    """The domains of a fleet by name, those it does not have left out.

    `fleet`: spec.Fleet with its catalog names resolved; `node_size`: accelerators in a node. Leaf and spine switches are
    those of the compute fabric that serve the job's nodes and spares; a fabric without switches above nodes has none.
    """
    nodes = -(-fleet.count // node_size) + (fleet.spares.nodes or 0)
    sizes = _sizes(values, fleet, nodes, node_size, housing)
    tree = {}
    for entry in load_catalog().section(SECTION):
        if entry.name not in sizes:
            continue
        count, held, slows = sizes[entry.name]
        text = entry.text
        tree[entry.name] = Domain(
            entry.name, text["what"], text["inside"], text["effect"], count, held,
            _names(text.get("categories", "")), _names(text.get("counted_in", "")), slows,
        )  # fmt: skip
    return tree


def populations(tree: Mapping[str, Domain]) -> dict[str, int]:
    """How many parts of each kind there are, for rates per part; see `failure_rates`."""
    return {name: domain.count for name, domain in tree.items() if not domain.shared and name != "software"}


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _sizes(
    values: Values, fleet: Any, nodes: int, node_size: int, housing: Housing
) -> dict[str, tuple[int, int, float | None]]:
    """(count, nodes in one, share of speed that one takes) of every domain that the fleet has."""
    own = f"nodes.{fleet.node.name}"
    cards = _whole(values, f"{own}.nics", node_size)
    racks = max(1, housing.nodes_per_rack)
    sizes: dict[str, tuple[int, int, float | None]] = {
        "gpu": (nodes * node_size, 0, None),
        "hbm": (nodes * node_size, 0, None),
        "nic": (nodes * cards, 0, None),
        "host": (nodes, 1, None),
        "cable": (nodes * cards, 0, None),
        "optic": (2 * nodes * cards, 0, None),
        "link-flap": (nodes * cards, 0, None),
        "rack": (-(-nodes // racks), racks, None),
        "storage": (1, nodes, None),
        "software": (1, nodes, None),
        "operator": (1, nodes, None),
    }
    for part, fact in (("nvswitch", "nvswitches"), ("psu", "supplies")):
        if f"{own}.{fact}" in values:
            sizes[part] = (nodes * _whole(values, f"{own}.{fact}", 0), 0, None)
    for name in ("power-domain", *(("coolant-unit",) if housing.liquid else ())):
        power = values.facts[f"{SECTION}.{name}.power"].value
        held = max(1, int(power / (housing.node_w * racks))) * racks  # whole racks
        sizes[name] = (-(-nodes // held), held, None)
    return {**sizes, **_switches(fleet, nodes)}


def _whole(values: Values, path: str, otherwise: int) -> int:
    return int(values.facts[path].value) if path in values else otherwise


def _switches(fleet: Any, nodes: int) -> dict[str, tuple[int, int, float | None]]:
    """Leaf switches with the nodes below one, and the switches above them, from the compute fabric's cable list.

    A switch above the leaves takes at most its share of a leaf's uplinks; that the whole step slows by as much is an upper
    bound, for a job bound by that fabric.
    """
    fabric = fleet.compute_fabric
    if fabric.topology in _DIRECT:
        return {}
    cables = fleet_topology(fleet, fabric).cables
    tier = cables.tier_of_nodes()
    low, high = _ends(cables.a, cables.b, tier)
    to_leaf = (tier[low] == 0) & (tier[high] == 1)
    if not to_leaf.any():
        return {}
    pairs = np.unique(np.stack([low[to_leaf], high[to_leaf]]), axis=1)
    below = np.bincount(pairs[1])
    below = below[below > 0]
    used = min(1.0, nodes / cables.hosts)
    found: dict[str, tuple[int, int, float | None]] = {
        "leaf-switch": (max(1, round(len(below) * used)), min(nodes, int(np.median(below))), None)
    }
    above = (tier[low] == 1) & (tier[high] > 1)
    if above.any():
        pairs = np.unique(np.stack([low[above], high[above]]), axis=1)
        reached = np.bincount(pairs[0])
        switches = int((tier > 1).sum())
        share = 1.0 / float(np.median(reached[reached > 0]))
        found["spine-switch"] = (max(1, round(switches * used)), nodes, share)
    return found


def _ends(a: np.ndarray, b: np.ndarray, tier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and higher end of every cable."""
    up = tier[a] <= tier[b]
    return np.where(up, a, b), np.where(up, b, a)


def account_of_domains(
    tree: Mapping[str, Domain], rates: FailureRates, hazards: Hazards, nodes: int, active_s: float
) -> list[dict[str, Any]]:
    """The tree as rows, parents before children: {name, what, inside, count, nodes, effect, rate_per_s, expected, counted}.

    `nodes`: those that work for the job; parts of the others stand idle. `rate_per_s`: failures per second of one, None
    where none is given; `expected`: of all in `active_s` seconds of running;
    `counted`: the categories, or the domain itself, that hold its failures.
    """
    shared = {
        shock.name: (shock.rate_per_s * shock.count(_nodes(tree)), shock.effect) for shock in hazards.shocks
    }
    shared |= {each.name: (each.rate_per_s, "slow") for each in hazards.slowdowns}
    rows = []
    for name in _ordered(tree):
        domain = tree[name]
        own = [c for c in rates.categories if c.name in domain.categories and not domain.shared]
        total = sum((float(np.mean(c.system_per_s)) for c in own), start=0.0) if own else None
        working = (
            domain.count if domain.shared or domain.inside == "site" else domain.count * nodes / _nodes(tree)
        )
        if domain.shared and name in shared:
            total = float(np.mean(shared[name][0]))
        rows.append(
            {
                "name": name,
                "what": domain.what,
                "inside": domain.inside,
                "count": domain.count,
                "nodes": domain.nodes,
                "effect": domain.effect,
                "rate_per_s": None if total is None else total / working,
                "expected": None if total is None else total * active_s,
                "counted": [c.name for c in own] if own else [name] if total is not None else [],
            }
        )
    return rows


def _nodes(tree: Mapping[str, Domain]) -> int:
    return tree["host"].count


def _ordered(tree: Mapping[str, Domain]) -> list[str]:
    """Names with parents before their children, from the site downwards."""
    found: list[str] = []

    def add(parent: str) -> None:
        for name, domain in tree.items():
            if domain.inside == parent or (parent == "site" and domain.inside not in {*tree, "site"}):
                found.append(name)
                add(name)

    add("site")
    return found
