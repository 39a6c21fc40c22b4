"""The manager's side: heartbeat processes on all hosts, and a round of questions over the control plane."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping

from argosy.testbed.block import Block
from argosy.testbed.hosts import Hosts, TestbedError, program
from argosy.testbed.namespaces import inside
from argosy.testbed.planes.told import Fault, faults

CONTROL_PORT, CARD_PORT = 7000, 7001
BEAT_S = 0.1
SILENCE_S = 1.5  # a peer not heard for so long is not heard; a full queue of a card is 0.64 s long
ANSWER_S = 0.5  # a host that has not answered for so long does not answer
PATIENCE_S = 0.02  # of a round with one host; its answer is taken in a later one
START_SECONDS = 20.0


class Monitor(Block):
    """Heartbeat processes on `count` hosts, and lines to them, for as long as the block lasts."""

    def __init__(self, hosts: Hosts, count: int) -> None:
        self.hosts, self.count = hosts, count
        self.processes: list[subprocess.Popen[str]] = []
        self.lines: dict[int, socket.socket] = {}
        self.unread: dict[int, bytes] = {}
        self.latest: dict[int, tuple[float, Mapping[int, float]]] = {}
        self.asked: dict[int, float | None] = {}
        self.round_trips: dict[int, list[float]] = {host: [] for host in range(count)}

    def _begin(self) -> None:
        for host in range(self.count):
            self._start(host)
        for process in self.processes:
            if process.stdout is None or process.stdout.readline().strip() != "ready":
                raise TestbedError("a heartbeat process did not start")
        inside([self.hosts.control], self._connect)

    def _start(self, host: int) -> None:
        wiring = self.hosts.wiring
        told = {
            "host": host,
            "control": [wiring.control_address(host), CONTROL_PORT],
            "card": [wiring.address(host), CARD_PORT],
            "peers": {other: wiring.address(other) for other in range(self.count) if other != host},
            "beat_s": BEAT_S,
        }
        line = [program("ip") or "ip", "netns", "exec", self.hosts.namespace(host), sys.executable]
        self.processes.append(
            subprocess.Popen(
                [*line, "-m", "argosy.testbed.planes.beats", json.dumps(told)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
            )
        )

    def _connect(self, _: str) -> None:
        for host in range(self.count):
            address = self.hosts.wiring.control_address(host), CONTROL_PORT
            line = socket.create_connection(address, timeout=START_SECONDS)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line.setblocking(False)
            self.lines[host], self.unread[host], self.asked[host] = line, b"", None

    def _end(self) -> None:
        for line in self.lines.values():
            line.close()
        for process in self.processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def ask(self) -> None:
        """Ask the next question of every host that has answered the last, wait a little for answers, note round trips."""
        for host, line in self.lines.items():
            if self.asked[host] is None:
                self.asked[host] = time.monotonic()
                line.send(b"?\n")
            limit = time.monotonic() + PATIENCE_S
            while self.asked[host] is not None and (left := limit - time.monotonic()) > 0:
                if select.select([line], [], [], left)[0]:
                    self._take(host)

    def _take(self, host: int) -> None:
        """Read what a host has answered."""
        self.unread[host] += self.lines[host].recv(65536)
        line, end, rest = self.unread[host].partition(b"\n")
        if not end:
            return
        now, asked = time.monotonic(), self.asked[host]
        assert asked is not None
        self.unread[host], self.asked[host] = rest, None
        self.round_trips[host].append(now - asked)
        self.latest[host] = (now, {int(peer): age for peer, age in json.loads(line).items()})

    def told(self) -> list[Fault]:
        """The faults as of now; empty before everybody has answered once."""
        if len(self.latest) < self.count:
            return []
        now, silent = time.monotonic(), self.silent()
        reports: dict[int, Mapping[int, float] | None] = {}
        for host, (when, heard) in self.latest.items():
            ages = {peer: age + now - when for peer, age in heard.items()}
            reports[host] = None if host in silent else ages
        return faults(reports, SILENCE_S)

    def silent(self) -> list[int]:
        """Hosts that have not answered for too long."""
        now = time.monotonic()
        return [host for host, asked in self.asked.items() if asked is not None and now - asked >= ANSWER_S]

    def taken(self) -> list[float]:
        """Round trips of all hosts since the last call, in seconds."""
        found = [value for values in self.round_trips.values() for value in values]
        self.round_trips = {host: [] for host in range(self.count)}
        return found
