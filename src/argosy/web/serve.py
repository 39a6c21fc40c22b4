"""The server's process: an address, a token where others may come, and how to stop."""

from __future__ import annotations

import secrets
import sys

from argosy.web.limits import Limits
from argosy.web.security import LOOPBACK

_LOCAL = ("127.0.0.1", "::1", "localhost")


def serve(port: int, host: str = "127.0.0.1", limits: Limits | None = None) -> None:
    """Serve until interrupted. Another host than this machine's own gets a token, which the printed address carries."""
    import uvicorn

    from argosy.web.app import create_app

    local = host in _LOCAL
    token = None if local else secrets.token_urlsafe(24)
    app = create_app(limits, LOOPBACK if local else (), token)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
    print(f"argosy: {address} (Ctrl-C ends it)", file=sys.stderr)
    uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False, date_header=False)
