"""HAProxy: its configuration, its admin socket, and what it says in its log.

Read against the configuration manual and the management guide of HAProxy 2.6 (Debian 12).
"""

from __future__ import annotations

import csv
import io
import re
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from argosy.testbed.failover.trace import Checks

PORT = 8080
BACKEND, FRONTEND = "replicas", "users"
POLICIES = {"round-robin": "roundrobin", "least-work": "leastconn", "power-of-two": "random(2)"}
"""Routers of Argosy's fleet simulation, and what HAProxy calls them; by requests under way, which is the work both see."""
LOG_FORMAT = "R %[capture.req.hdr(0)] %s %ST %rc %Tw %Tc %Tr %Ta %tsc"
RETRIES = 3
WEIGHT = (
    100  # gives every server 1,600 places on the ring of `random`, so that all are drawn alike; 16 do not
)
CONNECT_MS = 1000  # long: a machine that stalls is no replica that is gone, which refuses at once
_PREFIX = re.compile(r"^<\d+>.*?haproxy\[\d+\]: ")
_STATE = re.compile(r"Server replicas/(r\d+) is (UP|DOWN)\b(.*)", re.DOTALL)


def configuration(
    bind: str,
    servers: Sequence[str],
    folder: Path,
    policy: str,
    checks: Checks,
    slots: int | None,
    queue_s: float = 30.0,
) -> str:
    """The text for HAProxy: users at `bind`, replicas r1, r2, … at `servers` (address:port each).

    `policy`: a name of POLICIES. `slots`: requests at once that a replica gets, others wait in one queue in the proxy; None:
    everything is passed on, and waits at the replicas. A request is tried again, elsewhere, when a replica cannot be reached or
    ends without an answer; never when it has answered.
    """
    most = "" if slots is None else f" maxconn {slots}"
    lines = [
        "global",
        "    log stdout len 2048 format raw local0",  # a file, which drops nothing: requests
        f"    log {folder / 'log'} len 2048 local0 notice",  # a socket, read at once: changes of state
        f"    stats socket {folder / 'admin'} mode 600 level admin",
        "    maxconn 4000",
        "    nbthread 1",
        "defaults",
        "    mode http",
        "    log global",
        f"    timeout connect {CONNECT_MS}ms",
        "    timeout client 60s",
        "    timeout server 60s",
        f"    timeout queue {queue_s * 1000:.0f}ms",
        "    timeout check 400ms",
        f"    retries {RETRIES}",
        "    option redispatch 1",
        "    retry-on conn-failure empty-response junk-response response-timeout",
        "    option http-server-close",
        f"frontend {FRONTEND}",
        f"    bind {bind}",
        "    http-request capture req.hdr(X-Request) len 12",
        f"    log-format '{LOG_FORMAT}'",
        f"    default_backend {BACKEND}",
        f"backend {BACKEND}",
        f"    balance {POLICIES[policy]}",
        "    option httpchk GET /health",
        f"    default-server check inter {checks.inter_s * 1000:.0f}ms fall {checks.fall} rise {checks.rise} "
        f"weight {WEIGHT}{most}",
        *(f"    server r{number} {where}" for number, where in enumerate(servers, 1)),
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Passed:
    """One request in HAProxy's log: `server` that answered, `status`, `retries`, seconds in its queue (`wait_s`; −1: never
    left it), to connect, until the answer began, and in all; `redispatched`: another replica answered than was tried first;
    `ended`: how.
    """

    request: int
    server: str
    status: int
    retries: int
    redispatched: bool
    wait_s: float
    connect_s: float
    answer_s: float
    total_s: float
    ended: str


@dataclass(frozen=True)
class Turned:
    """Health checks found that a replica went down or came up, at `at` (monotonic seconds)."""

    at: float
    server: str
    up: bool
    reason: str


def parsed(message: str, at: float) -> Passed | Turned | None:
    """A message of HAProxy's log, read at `at`; None for what is neither request nor change of state."""
    text = _PREFIX.sub("", message.strip())
    if turned := _STATE.match(text):
        return Turned(at, turned[1], turned[2] == "UP", turned[3].strip(" .,"))
    words = text.split()
    if len(words) != 10 or words[0] != "R" or not words[1].isdecimal():
        return None
    _, number, server, status, again, *times, ended = words
    wait, connect, answer, total = (int(word.lstrip("+")) / 1000 for word in times)
    return Passed(
        int(number), server, int(status), int(again.lstrip("+")), again.startswith("+"),
        wait, connect, answer, total, ended,
    )  # fmt: skip


def requests(path: Path) -> list[Passed]:
    """The requests in what HAProxy wrote, in the order of their ends."""
    found = (parsed(line, 0.0) for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    return [one for one in found if isinstance(one, Passed)]


class Turns(threading.Thread):
    """Takes HAProxy's notices as they come; `found` holds the changes of state."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.found: list[Turned] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.settimeout(0.2)
        self._over = threading.Event()

    def run(self) -> None:
        """Until `close`."""
        while True:
            try:
                text = self._socket.recv(4096).decode("utf-8", "replace")
            except TimeoutError:
                if self._over.is_set():
                    return
                continue
            one = parsed(text, time.monotonic())
            if isinstance(one, Turned):
                self.found.append(one)

    def close(self) -> None:
        """End when nothing more comes."""
        self._over.set()
        self.join()
        self._socket.close()

    def first(self, server: str, up: bool, since: float) -> Turned | None:
        """The first time at or after `since` that a replica was found up, or down."""
        return next(
            (one for one in list(self.found) if (one.server, one.up) == (server, up) and one.at >= since),
            None,
        )


class Admin:
    """HAProxy's admin socket: one command, one answer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def ask(self, command: str) -> str:
        """What HAProxy answers. OSError where it is not there."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(10)
            line.connect(str(self.path))
            line.sendall(command.encode() + b"\n")
            parts = []
            while part := line.recv(65536):
                parts.append(part)
        return b"".join(parts).decode()

    def state(self, server: str, state: str) -> None:
        """`drain`: finish, and take no more; `maint`: out, unchecked; `ready`: take requests again."""
        told = self.ask(f"set server {BACKEND}/{server} state {state}").strip()
        if told:
            raise OSError(f"HAProxy: {told}")

    def look(self) -> dict[str, Seen]:
        """What users' side and every replica hold now."""
        return seen(self.ask("show stat"))


@dataclass(frozen=True)
class Seen:
    """A line of `show stat`: requests under way, those that wait in the proxy, the state (`UP`, `DOWN`, `DRAIN`, `UP 1/3`)."""

    current: int
    queued: int
    status: str

    @property
    def up(self) -> bool:
        """Takes new requests: neither down nor drained."""
        return self.status.startswith("UP")


def seen(text: str) -> dict[str, Seen]:
    """`show stat` read: the frontend as `users`, the backend as `replicas`, servers by their names."""
    rows: Iterable[dict[str, str]] = csv.DictReader(io.StringIO(text.removeprefix("# ")))
    names = {"FRONTEND": FRONTEND, "BACKEND": BACKEND}
    return {
        names.get(row["svname"], row["svname"]): Seen(
            int(row["scur"] or 0), int(row["qcur"] or 0), row["status"]
        )
        for row in rows
        if row.get("svname") and row["pxname"] in (FRONTEND, BACKEND)
    }
