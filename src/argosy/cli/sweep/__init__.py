"""`argosy sweep STUDY` plans every point of a study; `argosy sweep show RESULTS` looks at what it found."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from argosy.cli.sweep.run import run
from argosy.cli.sweep.show import show

DEFAULT = "run"  # the command that needs no word of its own


class _OneByDefault(TyperGroup):
    """A group whose first word may be left out: what is no command's name belongs to the default command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else [DEFAULT, *args])


app = typer.Typer(cls=_OneByDefault, help="Plan every point of a study, and look at what it found.")
app.command(DEFAULT, epilog="`argosy sweep show RESULTS` looks at what was found.")(run)
app.command("show")(show)
