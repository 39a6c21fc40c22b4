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


def block_lines(topology: Topology, nodes_per_domain: int = 1) -> tuple[list[str], list[str]]:
    """`BlockName=… Nodes=…` per block and `BlockSizes=…`; and notes.

    A block is a scale-up domain where one joins several nodes (`nodes_per_domain`: 18 for NVL72), else a leaf domain. A
    block with fewer nodes than the first of BlockSizes stops slurmctld (its block_record.c), so that one is written as a
    comment and noted: its nodes run jobs that need no block, or the size is set lower by hand.
    """
    hosts = np.flatnonzero(topology.cables.tier_of_nodes() == 0)
    names = node_names(topology.cables)
    levels = _levels(topology)
    if nodes_per_domain > 1:
        members = np.arange(len(hosts)) // nodes_per_domain
        blocks = _numbered("domain", int(members.max()) + 1)
        higher: list[Reach] = []  # rails cross racks: which racks share leaves says little
    else:
        members, higher = levels[0].domain[hosts], levels[1:]
        blocks = _domain_names(topology, levels[0], names)
    sizes = np.bincount(members)
    base = int(np.bincount(sizes).argmax())  # the commonest: short ones are the last, or have lost nodes
    head = (
        f"# {topology.design.topology}: {len(hosts)} nodes; TopologyPlugin=topology/block; written by argosy"
    )
    lines, notes = [head], []
    for number, name in enumerate(blocks):
        nodes = compress([names[host] for host in hosts[members == number]])
        short = sizes[number] < base
        lines.append(f"{'# short: ' if short else ''}BlockName={name} Nodes={nodes}")
        if short:
            notes.append(
                f"block {name} has {sizes[number]} of {base} nodes: Slurm 24 stops at a short block, so that it is "
                "written as a comment"
            )
    times = _multiples([level.domain[hosts] for level in higher], members, sizes == base)
    lines.append(f"BlockSizes={','.join(str(base * each) for each in times)}")
    return lines, notes


def _multiples(higher: list[np.ndarray], members: np.ndarray, full: np.ndarray) -> list[int]:
    """1, then the full blocks of each higher domain where that is a power of two, which is all that Slurm takes.

    `higher`: per level the domain of every host, shape (hosts,); `members`: its block; `full` (blocks,): whether it is.
    """
    found = [1]
    for domain in higher:
        inside = np.unique(np.stack([domain, members]), axis=1)
        times = int(np.bincount(inside[0], weights=full[inside[1]]).max())
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
    return _numbered(f"{level.name}-unit", level.count())


def _numbered(stem: str, count: int) -> list[str]:
    """`leaf-unit-01` and so on."""
    return [f"{stem}-{number:0{len(str(count))}d}" for number in range(1, count + 1)]
