"""`argosy fabric SCENARIO | --topology NAME ...` draws a fabric and answers for it; `argosy fabric diff` holds a
built one against its plan.
"""

from __future__ import annotations

import typer

from argosy.cli.default_command import one_by_default
from argosy.cli.fabric.built import built
from argosy.cli.fabric.check_bandwidth import check_bandwidth
from argosy.cli.fabric.diff import diff
from argosy.cli.fabric.draw import draw
from argosy.cli.fabric.lint_slurm import lint_slurm
from argosy.cli.fabric.machine import machine

DEFAULT = "draw"  # the command that needs no word of its own


app = typer.Typer(
    cls=one_by_default(DEFAULT), help="Draw a fabric from its cables, load it, export it, compare it."
)
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
