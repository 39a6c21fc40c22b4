"""`argosy web`: the what-if page."""

from __future__ import annotations

from typing import Annotated

import typer


def web(
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port.")] = 8321,
    host: Annotated[
        str,
        typer.Option("--host", help="The address; another than this machine's own needs the printed token."),
    ] = "127.0.0.1",
) -> None:
    """Open the what-if page: plan, compare, diagnose, the handbook and the catalog in a browser, computed on this machine."""
    try:
        from argosy.web import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("argosy"):
            raise
        raise typer.BadParameter(f"the page needs {error.name}: pip install 'argosy[web]'") from None
    try:
        serve(port, host)
    except OSError as error:
        raise typer.BadParameter(
            f"{host}:{port}: {(error.strerror or str(error)).partition(' (')[0].lower()}; give another --port or --host"
        ) from None
