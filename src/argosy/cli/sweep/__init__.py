"""`argosy sweep STUDY` plans every point of a study; `argosy sweep show RESULTS` looks at what it found."""

from __future__ import annotations

import typer

from argosy.cli.default_command import one_by_default
from argosy.cli.sweep.run import run
from argosy.cli.sweep.show import show

DEFAULT = "run"  # the command that needs no word of its own


app = typer.Typer(cls=one_by_default(DEFAULT), help="Plan every point of a study, and look at what it found.")
app.command(DEFAULT, epilog="`argosy sweep show RESULTS` looks at what was found.")(run)
app.command("show")(show)
