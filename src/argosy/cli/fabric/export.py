"""`--export KIND FILE`: a fabric for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def export(
    topology: Any, kind: str, path: Path, network: Any, scenario: Path | None, accelerator: str
) -> tuple[str, ...]:
    """Write the topology as `kind` to `path`, by argosy.fabric.exports; what a reader of the file should know.

    `network`: the collectives' view of it, which astra-sim is told; the accelerator, of the scenario or as asked, tells
    how many nodes a scale-up domain joins.
    """
    from argosy.fabric import exports
    from argosy.facts import load_catalog

    if kind not in exports.KINDS:
        raise typer.BadParameter(f"--export {kind!r}: write one of {', '.join(exports.KINDS)}")
    if scenario is not None:
        from argosy.spec import load

        accelerator = load(scenario).fleet.accelerator.name
    joined = int(load_catalog().entry("accelerators", accelerator).facts["scale_up_domain"].value)
    in_node = topology.design.accelerators_per_host or topology.design.nics_per_host
    domain = joined // in_node if scenario is not None else 1
    return exports.write(topology, kind, path, network, max(domain, 1))
