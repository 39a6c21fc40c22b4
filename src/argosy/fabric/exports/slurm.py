"""Slurm's topology.conf: a tree of switches (topology/tree), or blocks of nodes (topology/block, Slurm 24 or newer).

Slurm knows one leaf per node and one parent per switch. A real fabric has eight leaves per node and a mesh above
them, so that what is written is the tree of nested domains: the nodes that share leaves, the leaves that share
spines, and so on (slurm.schedmd.com/topology.html).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from argosy.fabric.exports.domains import Reach, nested_domains
from argosy.fabric.exports.hostlist import compress
from argosy.fabric.names import node_names
from argosy.fabric.topologies import DesignError, Topology


def tree_lines(topology: Topology) -> Iterator[str]:
    """`SwitchName=… Nodes=…` per leaf domain, then `SwitchName=… Switches=…` per domain above."""
    levels = _levels(topology)
    hosts = np.flatnonzero(topology.cables.tier_of_nodes() == 0)
    names = node_names(topology.cables)
    yield f"# {topology.design.topology}: {len(hosts)} nodes; TopologyPlugin=topology/tree; written by argosy"
    below: list[str] = []
    for depth, level in enumerate(levels):
        own = _domain_names(topology, level, names)
        members = level.domain[hosts]
        for number, name in enumerate(own):
            if depth == 0:
                yield f"SwitchName={name} Nodes={compress([names[host] for host in hosts[members == number]])}"
            else:
                inside = np.unique(levels[depth - 1].domain[hosts[members == number]])
                yield f"SwitchName={name} Switches={compress([below[child] for child in inside])}"
        below = own


def block_lines(topology: Topology) -> tuple[list[str], list[str]]:
    """`BlockName=… Nodes=…` per leaf domain and `BlockSizes=…`; and notes.

    A block with fewer nodes than the first of BlockSizes stops slurmctld (its block_record.c), so that one is written
    as a comment and noted: its nodes run jobs that need no block, or the size is set lower by hand.
    """
    levels = _levels(topology)
    hosts = np.flatnonzero(topology.cables.tier_of_nodes() == 0)
    names = node_names(topology.cables)
    members = levels[0].domain[hosts]
    sizes = np.bincount(members)
    base = int(
        np.bincount(sizes).argmax()
    )  # the commonest: short blocks are the last, or those with missing nodes
    lines = [
        f"# {topology.design.topology}: {len(hosts)} nodes; TopologyPlugin=topology/block; written by argosy"
    ]
    notes = []
    for number, name in enumerate(_domain_names(topology, levels[0], names)):
        nodes = compress([names[host] for host in hosts[members == number]])
        short = sizes[number] < base
        lines.append(f"{'# short: ' if short else ''}BlockName={name} Nodes={nodes}")
        if short:
            notes.append(
                f"block {name} has {sizes[number]} of {base} nodes: Slurm 24 stops at a short block, so that it is "
                "written as a comment"
            )
    lines.append(
        f"BlockSizes={','.join(str(base * times) for times in _multiples(levels, hosts, sizes == base))}"
    )
    return lines, notes


def _multiples(levels: list[Reach], hosts: np.ndarray, full: np.ndarray) -> list[int]:
    """1, then the full blocks of each higher domain where that is a power of two, which is all that Slurm takes."""
    found = [1]
    for level in levels[1:]:
        inside = {
            int(np.count_nonzero(full[np.unique(levels[0].domain[hosts[level.domain[hosts] == number]])]))
            for number in range(level.count())
        }
        times = max(inside)
        if times > found[-1] and times & (times - 1) == 0:
            found.append(times)
    return found


def _levels(topology: Topology) -> list[Reach]:
    """The nested domains. DesignError for fabrics that are no tree of nodes, or fall to pieces."""
    design, cables = topology.design, topology.cables
    tier = cables.tier_of_nodes()
    if ((tier[cables.a] == 0) & (tier[cables.b] == 0)).any() or not (tier > 0).any():
        raise DesignError(
            "a torus is no tree of switches: Slurm orders its nodes by topology/3d_torus, without a file"
        )
    if design.topology == "supernode":
        raise DesignError(
            "a supernode's switches join accelerators, not nodes: Slurm is told of the fabric of its hosts"
        )
    levels = nested_domains(cables)
    if levels[-1].count() > 1:
        raise DesignError(
            f"the fabric is in {levels[-1].count()} pieces: Slurm takes this in silence and never runs a job across them"
        )
    return levels


def _domain_names(topology: Topology, level: Reach, names: list[str]) -> list[str]:
    """A domain of one switch has that switch's name; else `leaf-unit-01`, `spine-unit-1`."""
    tier = topology.cables.tier_of_nodes()
    switches = np.flatnonzero((tier == level.tier) & (level.domain >= 0))
    inside = np.bincount(level.domain[switches], minlength=level.count())
    if (inside == 1).all():
        order = np.argsort(level.domain[switches], kind="stable")
        return [names[switch] for switch in switches[order]]
    width = len(str(level.count()))
    return [f"{level.name}-unit-{number:0{width}d}" for number in range(1, level.count() + 1)]
