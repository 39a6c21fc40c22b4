"""`--export KIND FILE`: a fabric for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def export(topology: Any, kind: str, path: Path, network: Any = None) -> tuple[str, ...]:
    """Write the topology as `kind` to `path`, by argosy.fabric.exports; what a reader of the file should know.

    `network`: the collectives' view of it, which astra-sim is told.
    """
    from argosy.fabric import exports

    if kind not in exports.KINDS:
        raise typer.BadParameter(f"--export {kind!r}: write one of {', '.join(exports.KINDS)}")
    return exports.write(topology, kind, path, network)
