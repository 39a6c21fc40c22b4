"""One host's heartbeat process: answers the manager over the control plane, and says whom it hears over its card.

`python -m argosy.testbed.planes.beats JSON` in the host's namespace. JSON has `control` and `card` (address and port each),
`peers` (host → address), `host` (its own number), `beat_s`. Control is TCP, a line for a line; beats are single UDP packets.
"""

from __future__ import annotations

import ctypes
import json
import select
import signal
import socket
import sys
import time
from typing import Any

from argosy.testbed.priority import ahead

PARENT_DEATH = 1  # prctl: end with whoever started this


def main(told: dict[str, Any]) -> None:
    """Beat and answer until killed."""
    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    server = socket.create_server(tuple(told["control"]))
    card = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    card.bind(tuple(told["card"]))
    card.setblocking(False)
    heard: dict[str, float] = {}
    line: socket.socket | None = None
    due = time.monotonic()
    print("ready", flush=True)
    while True:
        now = time.monotonic()
        if now >= due:
            due = now + told["beat_s"]
            _beat(card, told)
        there = [server, card, *([line] if line else [])]
        for ready in select.select(there, [], [], max(0.0, due - time.monotonic()))[0]:
            if ready is server:
                line = server.accept()[0]
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            elif ready is card:
                heard[card.recv(100).decode()] = time.monotonic()
            elif not _answer(ready, heard):
                line = None


def _beat(card: socket.socket, told: dict[str, Any]) -> None:
    """One packet to every peer; a cable that is pulled is no reason to end."""
    for address in told["peers"].values():
        try:
            card.sendto(str(told["host"]).encode(), (address, told["card"][1]))
        except OSError:
            continue


def _answer(line: socket.socket, heard: dict[str, float]) -> bool:
    """Answer a line of the manager: how long ago every peer was heard; False where the manager has gone."""
    try:
        if not line.recv(4096):
            return False
        now = time.monotonic()
        line.sendall(json.dumps({host: now - when for host, when in heard.items()}).encode() + b"\n")
    except OSError:
        return False
    return True


if __name__ == "__main__":
    with ahead():
        main(json.loads(sys.argv[1]))
