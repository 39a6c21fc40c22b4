"""A console and tables from which nothing is cut: in a pipe they are as wide as they need, on a narrow screen words
are folded.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

PIPE_COLUMNS = 120  # where nobody says how wide: a pipe, a file


def new_console() -> Any:
    """The terminal's width, or COLUMNS; without both PIPE_COLUMNS rather than the 80 that would cut tables."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_COLUMNS
    return console


def new_table(title: str, *columns: str, left: Collection[str] = ()) -> Any:
    """A table of numbers, whose columns in `left` are words; what does not fit goes to the next line."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", overflow="fold")
    return table
