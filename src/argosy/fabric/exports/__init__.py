"""A fabric in the formats of other tools: Slurm, ibsim, Graphviz, ASTRA-sim, and a cable list for the people who pull
them. Everything is derived from the port-level cable list.
"""

from __future__ import annotations

from pathlib import Path

from argosy.fabric.exports import astra_sim, cables_csv, dot, ibsim, slurm
from argosy.fabric.exports.slurm_lint import lint
from argosy.fabric.network import TieredNetwork
from argosy.fabric.topologies import DesignError, Topology
from argosy.fabric.torus import TorusNetwork
from argosy.facts import Values, load_catalog

KINDS = ("slurm-tree", "slurm-block", "ibsim", "dot", "astra-sim", "cables-csv")
DEFAULT_ACCELERATOR = "H100-SXM"  # whose scale-up links ASTRA-sim is told of, where no network is given


def write(
    topology: Topology,
    kind: str,
    path: Path | str,
    network: TieredNetwork | TorusNetwork | None = None,
    nodes_per_domain: int = 1,
) -> tuple[str, ...]:
    """Write `topology` as `kind` (one of KINDS) to `path`; notes that a reader of the file should know.

    `network`: for astra-sim, the collectives' view of the fabric; None: that of DEFAULT_ACCELERATOR in the hosts.
    `nodes_per_domain`: for slurm-block, the nodes that one scale-up domain joins. DesignError for a kind that is not
    known, and for a fabric that the format cannot hold.
    """
    if kind == "slurm-tree":
        lines, notes = list(slurm.tree_lines(topology)), list[str]()
    elif kind == "slurm-block":
        lines, notes = slurm.block_lines(topology, nodes_per_domain)
    elif kind == "ibsim":
        lines = list(ibsim.lines(topology))
        notes = [line.removeprefix("# ") for line in lines[1:2] if line.startswith("# ")]
    elif kind == "dot":
        lines, notes = list(dot.lines(topology)), []
    elif kind == "astra-sim":
        lines, notes = _astra_sim(topology, network)
    elif kind == "cables-csv":
        lines, notes = list(cables_csv.lines(topology, Values(load_catalog().facts))), []
    else:
        raise DesignError(f"export {kind!r} is not known; write one of {', '.join(KINDS)}")
    if kind.startswith("slurm") and (problems := lint(lines)):
        raise DesignError(f"{kind} would not hold: {problems[0][1]}")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(notes)


def _astra_sim(
    topology: Topology, network: TieredNetwork | TorusNetwork | None
) -> tuple[list[str], list[str]]:
    notes = []
    if network is None:
        from argosy.fabric.request import request_network

        network = request_network(topology, Values(load_catalog().facts), DEFAULT_ACCELERATOR, None)
        notes.append(f"the scale-up links are those of {DEFAULT_ACCELERATOR}")
    return list(astra_sim.lines(network, topology.design.topology)), notes


__all__ = ["KINDS", "lint", "write"]
