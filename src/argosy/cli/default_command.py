"""A group of commands of which one needs no word: `argosy sweep STUDY` beside `argosy sweep show RESULTS`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def one_by_default(default: str) -> type[TyperGroup]:
    """A group class whose first word may be left out: what is no command's name belongs to the command `default`."""

    class OneByDefault(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            named = bool(args) and args[0] in self.commands
            return super().parse_args(ctx, args if named else [default, *args])

    return OneByDefault
