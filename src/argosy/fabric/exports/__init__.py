"""A fabric in the formats of other tools: Slurm, ibsim, Graphviz, ASTRA-sim, and a cable list for the people who pull
them. Everything is derived from the port-level cable list.
"""

from __future__ import annotations

from pathlib import Path

from argosy.fabric.exports import astra_sim, dot, ibsim, slurm
from argosy.fabric.exports.slurm_lint import lint
from argosy.fabric.network import TieredNetwork
from argosy.fabric.topologies import DesignError, Topology
from argosy.fabric.torus import TorusNetwork

KINDS = ("slurm-tree", "slurm-block", "ibsim", "dot", "astra-sim", "cables-csv")
DEFAULT_ACCELERATOR = "H100-SXM"  # whose scale-up links ASTRA-sim is told of, where no network is given


def write(
    topology: Topology, kind: str, path: Path | str, network: TieredNetwork | TorusNetwork | None = None
) -> tuple[str, ...]:
    """Write `topology` as `kind` (one of KINDS) to `path`; notes that a reader of the file should know.

    `network`: for astra-sim, the collectives' view of the fabric; None: that of DEFAULT_ACCELERATOR in the hosts.
    DesignError for a kind that is not known, and for a fabric that the format cannot hold.
    """
    lines, notes = _render(topology, kind, network)
    if kind.startswith("slurm") and (problems := lint(lines)):
        raise DesignError(f"{kind} would not hold: {problems[0][1]}")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(notes)


def _render(
    topology: Topology, kind: str, network: TieredNetwork | TorusNetwork | None
) -> tuple[list[str], list[str]]:
    if kind == "slurm-tree":
        return list(slurm.tree_lines(topology)), []
    if kind == "slurm-block":
        return slurm.block_lines(topology)
    if kind == "ibsim":
        lines = list(ibsim.lines(topology))
        return lines, [line.removeprefix("# ") for line in lines[1:2] if line.startswith("# ")]
    if kind == "dot":
        return list(dot.lines(topology)), []
    if kind == "astra-sim":
        return _astra_sim(topology, network)
    if kind == "cables-csv":
        from argosy.fabric.exports import cables_csv
        from argosy.facts import Values, load_catalog

        return list(cables_csv.lines(topology, Values(load_catalog().facts))), []
    raise DesignError(f"export {kind!r} is not known; write one of {', '.join(KINDS)}")


def _astra_sim(
    topology: Topology, network: TieredNetwork | TorusNetwork | None
) -> tuple[list[str], list[str]]:
    notes = []
    if network is None:
        from argosy.fabric.request import request_network
        from argosy.facts import Values, load_catalog

        network = request_network(topology, Values(load_catalog().facts), DEFAULT_ACCELERATOR, None)
        notes.append(f"the scale-up links are those of {DEFAULT_ACCELERATOR}")
    return list(astra_sim.lines(network, topology.design.topology)), notes


__all__ = ["KINDS", "lint", "write"]
