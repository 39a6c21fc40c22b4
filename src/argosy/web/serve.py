"""The server's process: an address, a token where others may come, and how to stop."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from argosy.web.limits import Limits
from argosy.web.security import LOOPBACK

_LOCAL = ("127.0.0.1", "::1", "localhost")
_ALL = ("0.0.0.0", "::")


def serve(port: int, host: str = "127.0.0.1", limits: Limits | None = None) -> None:
    """Serve until interrupted. Another host than this machine's own gets a token, which the printed address carries.

    OSError where the address cannot be had: the port is taken, or the host is not this machine's.
    """
    import uvicorn

    from argosy.web.app import create_app

    bounds = limits or Limits()
    place = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    local = host in _LOCAL
    token = None if local else secrets.token_urlsafe(24)
    app = create_app(bounds, LOOPBACK if local else (), token)
    print(f"argosy: {_address(host, port, token)} (Ctrl-C ends it)", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        date_header=False,
        ws="none",
        limit_concurrency=bounds.connections,
    )
    # uvicorn ends in order and then raises the signal again, which would end this process before it has tidied up
    signal.signal(signal.SIGTERM, _interrupted)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[place])


def _address(host: str, port: int, token: str | None) -> str:
    """What to open: the machine's name where it listens on all of its addresses."""
    name = socket.gethostname() if host in _ALL else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def _interrupted(number: int, frame: Any) -> None:
    raise KeyboardInterrupt
