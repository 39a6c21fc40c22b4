"""`argosy fabric SCENARIO | --topology NAME ...` draws a fabric and answers for it; `argosy fabric diff` holds a
built one against its plan.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from argosy.cli.fabric.built import built
from argosy.cli.fabric.check_bandwidth import check_bandwidth
from argosy.cli.fabric.diff import diff
from argosy.cli.fabric.draw import draw
from argosy.cli.fabric.lint_slurm import lint_slurm
from argosy.cli.fabric.machine import machine

DEFAULT = "draw"  # the command that needs no word of its own


class _OneByDefault(TyperGroup):
    """A group whose first word may be left out: what is no command's name belongs to the default command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else [DEFAULT, *args])


app = typer.Typer(cls=_OneByDefault, help="Draw a fabric from its cables, load it, export it, compare it.")
EPILOG = (
    "Beside it: argosy fabric diff (built against planned), built (measure what was found), "
    "check-bandwidth (is this bus bandwidth normal?), machine (one node's wiring), lint-slurm."
)
app.command(DEFAULT, epilog=EPILOG)(draw)
app.command("diff")(diff)
app.command("built")(built)
app.command("check-bandwidth")(check_bandwidth)
app.command("machine")(machine)
app.command("lint-slurm")(lint_slurm)
