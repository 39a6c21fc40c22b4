"""Topologies as port-level cable lists: `build(design)` draws any that is known here."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from argosy.fabric.names import node_names
from argosy.fabric.topologies import clos, direct, dragonfly
from argosy.fabric.topologies.design import Design, DesignError, Domain, SwitchKind, Topology

BUILDERS = {
    "fat-tree": clos.fat_tree,
    "clos": clos.fat_tree,
    "rail-optimized": clos.rail_optimized,
    "rail-only": clos.planes,
    "multi-plane": clos.planes,
    "dual-tor": clos.dual_tor,
    "multi-pod": clos.multi_pod,
    "torus": direct.torus,
    "supernode": direct.supernode,
    "dragonfly": dragonfly.dragonfly,
    "dragonfly+": dragonfly.dragonfly_plus,
}


@lru_cache(maxsize=16)
def build(design: Design) -> Topology:
    """The cable list of a design, drawn once. DesignError for what cannot be drawn at all; what does not
    close is in its `problems`.
    """
    if design.topology not in BUILDERS:
        raise DesignError(
            f"topology {design.topology!r} is not known; there are {', '.join(sorted(BUILDERS))}"
        )
    if design.hosts < 1 or design.nics_per_host < 1:
        raise DesignError(
            f"a fabric needs at least one host with one card, not {design.hosts} × {design.nics_per_host}"
        )
    if design.rate <= 0:
        raise DesignError(f"a link needs a rate above zero, not {design.rate} bit/s")
    if design.topology not in ("torus", "supernode"):
        for tier in (1, 2, 3):
            if (ports := design.kind(tier).ports) < 4:
                raise DesignError(
                    f"a switch of {ports} ports cannot build a tree: at least 4; give the radix, or name a switch"
                )
    topology = BUILDERS[design.topology](design)
    topology = replace(topology, notes=(*topology.notes, *_unused(topology)))
    return _without_missing(topology)


def _unused(topology: Topology) -> list[str]:
    """Oversubscription that was asked for uplinks which this fabric does not have."""
    name = topology.design.topology
    tiers = max(group.tier for group in topology.cables.groups)
    if name in ("torus", "supernode"):
        has: tuple[str, ...] = ()
    elif name.startswith("dragonfly"):
        has = ("leaf-uplink", "pod-uplink")
    else:
        has = ("leaf-uplink", "spine-uplink", "pod-uplink")[: {1: 0, 2: 1}.get(tiers, 3)]
    return [
        f"oversubscription {asked} changes nothing: a {name} of {tiers} tiers has no such uplinks"
        for asked, ratio in topology.design.oversubscription
        if asked in ("leaf-uplink", "spine-uplink", "pod-uplink") and asked not in has and ratio != 1
    ]


def _without_missing(topology: Topology) -> Topology:
    """The topology with the places of its design's missing hosts left empty: their cables are not pulled."""
    missing = topology.design.missing
    if not missing:
        return topology
    if not all(0 <= host < topology.design.hosts for host in missing):
        raise DesignError(f"missing hosts are numbered 0 to {topology.design.hosts - 1}, not {max(missing)}")
    if len(set(missing)) == topology.design.hosts:
        raise DesignError("all hosts are missing: a fabric needs at least one")
    names = tuple(
        node_names(topology.cables)
    )  # of the places, so that whoever stands behind a gap keeps its own
    gone = np.unique(missing)
    cables = replace(topology.cables, names=names).without_hosts(gone)
    some = ", ".join(names[host] for host in gone[:8]) + (
        f" and {len(gone) - 8} more" if len(gone) > 8 else ""
    )
    note = f"{len(gone)} {'place stays' if len(gone) == 1 else 'places stay'} empty: {some}"
    return replace(topology, cables=cables, notes=(*topology.notes, note))


__all__ = ["BUILDERS", "Design", "DesignError", "Domain", "SwitchKind", "Topology", "build"]
