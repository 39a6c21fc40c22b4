"""Who may ask, and what an answer may do in a browser: hosts, token, sizes, and the headers of every response.

Plain ASGI, so that it stands before everything else, a request's body included.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from argosy.web.limits import Limits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

COOKIE = "argosy-token"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
UPLOADS = ("/api/diagnose", "/api/serving/trace")
# No script but ours, no evaluation of text as script, nothing from elsewhere. Vega sets `style` on the marks it draws.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Guard:
    """Lets through what may be asked, bounded in size; everything that leaves has the headers.

    `hosts`: names that the Host header may have (against names that rebind to this machine); empty lets all through,
    which needs a `token`. With a token every request but a static file's must carry it: `Authorization: Bearer`, the
    cookie, or once `?token=`, which sets the cookie.
    """

    def __init__(
        self, app: Any, limits: Limits, hosts: tuple[str, ...] = LOOPBACK, token: str | None = None
    ) -> None:
        if not hosts and not token:
            raise ValueError("a server for other machines needs a token")
        self._app, self._limits, self._hosts, self._token = app, limits, hosts, token
        # browsers heed the opener policy on this machine's own names and over TLS, and complain of it elsewhere
        self._headers = {
            name: value
            for name, value in HEADERS.items()
            if not token or name != "cross-origin-opener-policy"
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        answer = _with_headers(send, self._headers, self._cookie(scope))
        if refused := self._refusal(scope, headers):
            await _refuse(answer, *refused)
            return
        await self._app(scope, self._bounded(scope, receive), answer)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
        if self._hosts and host.strip("[]") not in {each.strip("[]") for each in self._hosts}:
            return 421, "this server answers to its own name only"
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin")
            if origin is not None and origin.rpartition("//")[2] != headers.get("host"):
                return 403, "requests come from this server's own page only"
        if self._token and not self._known(scope, headers):
            return 401, "a token is needed: open the address that the server printed"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most(scope):
            return 413, f"more than {self._most(scope):,} bytes"
        return None

    def _most(self, scope: Scope) -> int:
        uploads = scope["path"].startswith(UPLOADS)
        return self._limits.upload_bytes if uploads else self._limits.body_bytes

    def _known(self, scope: Scope, headers: dict[str, str]) -> bool:
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        given = [headers.get("authorization", "").removeprefix("Bearer "), _asked(scope)]
        given += [cookies[COOKIE].value] if COOKIE in cookies else []
        return any(secrets.compare_digest(each.encode(), str(self._token).encode()) for each in given)

    def _cookie(self, scope: Scope) -> str | None:
        """The cookie to set where the address carries the right token."""
        asked = _asked(scope)
        if self._token and secrets.compare_digest(asked.encode(), self._token.encode()):
            return f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        return None

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """A body that says no length, or more than it says, ends where the limit is; one that does not come, after a while."""
        most, taken, more = self._most(scope), 0, True

        async def next_part() -> MutableMapping[str, Any]:
            nonlocal taken, more
            try:
                message = await asyncio.wait_for(receive(), self._limits.part_seconds if more else None)
            except TimeoutError:
                return {"type": "http.disconnect"}
            taken += len(message.get("body", b""))
            more = bool(message.get("more_body"))
            return {"type": "http.disconnect"} if taken > most else message

        return next_part


def _asked(scope: Scope) -> str:
    """The token in the address, or nothing."""
    return str(parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0])


def _with_headers(send: Send, headers: dict[str, str], cookie: str | None) -> Send:
    async def answer(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {key.lower() for key, _ in message.get("headers", [])}
            added = [
                (key.encode(), value.encode()) for key, value in headers.items() if key.encode() not in given
            ]
            added += [(b"set-cookie", cookie.encode("latin-1"))] if cookie else []
            message["headers"] = [*message.get("headers", []), *added]
        await send(message)

    return answer


async def _refuse(send: Send, status: int, message: str) -> None:
    body = json.dumps({"problems": [{"message": message}]}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
