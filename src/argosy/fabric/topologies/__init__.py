"""Topologies as port-level cable lists: `build(design)` draws any that is known here."""

from functools import lru_cache

from argosy.fabric.topologies import clos, direct
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
}


@lru_cache(maxsize=16)
def build(design: Design) -> Topology:
    """The cable list of a design, drawn once. DesignError for what cannot be drawn at all; what does not
    close is in its `problems`.
    """
    if design.topology not in BUILDERS:
        raise DesignError(
            f"topology {design.topology!r} is not built yet; there are {', '.join(sorted(BUILDERS))}"
        )
    if design.hosts < 1 or design.nics_per_host < 1:
        raise DesignError(
            f"a fabric needs at least one host with one card, not {design.hosts} × {design.nics_per_host}"
        )
    if design.rate <= 0:
        raise DesignError(f"a link needs a rate above zero, not {design.rate} bit/s")
    if design.radix < 4 and design.topology not in ("torus", "supernode"):
        raise DesignError(f"a switch of {design.radix} ports cannot build a tree: at least 4")
    return BUILDERS[design.topology](design)


__all__ = ["BUILDERS", "Design", "DesignError", "Domain", "SwitchKind", "Topology", "build"]
