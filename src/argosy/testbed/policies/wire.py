"""Lines of JSON over a TCP connection: what agents and ranks and the controller say to each other."""

from __future__ import annotations

import json
import select
import socket
import time
from contextlib import suppress
from typing import Any

CHUNK = 1 << 16
PATIENCE_S = 10.0


class Line:
    """One connection. Sending waits; reading takes what has come and never waits."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        connection.setblocking(True)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.closed = False
        self.known = False  # that it is one of ours, for who has many
        self._rest = b""

    @classmethod
    def to(cls, address: str, port: int) -> Line:
        """Connect; a cable that was just put in may take a moment. OSError where nobody answers."""
        limit = time.monotonic() + PATIENCE_S
        while True:
            try:
                return cls(socket.create_connection((address, port), timeout=0.2))
            except OSError:
                if time.monotonic() > limit:
                    raise
                time.sleep(0.02)

    def fileno(self) -> int:
        """For `select`."""
        return self.connection.fileno()

    def send(self, **message: Any) -> None:
        """Say something; to one who has gone, nothing happens."""
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.closed = True

    def read(self) -> list[dict[str, Any]]:
        """Whole messages that have come; `closed` is set where the other side has gone."""
        while not self.closed:
            try:
                got = self.connection.recv(CHUNK, socket.MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                got = b""
            if not got:
                self.closed = True
            self._rest += got
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in lines]

    def wait(self, seconds: float) -> None:
        """Until something comes, at most so long."""
        select.select([self.connection], [], [], seconds)

    def close(self) -> None:
        """Hang up."""
        self.closed = True
        with suppress(OSError):
            self.connection.close()
