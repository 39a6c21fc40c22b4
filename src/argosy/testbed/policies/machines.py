"""The hosts as the controller has them: agents forked, killed and heard; the zygote that forks them; addresses."""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from argosy.testbed.block import Block
from argosy.testbed.hosts import Hosts, TestbedError
from argosy.testbed.namespaces import inside
from argosy.testbed.policies.failures import HOST, RANK
from argosy.testbed.policies.wire import Line
from argosy.testbed.wiring import MANAGER

START_SECONDS = 120.0  # that importing torch may take on a busy machine
PORT = 10_000  # of the controller; of the store the next: below those that connections are given


class Machines(Block):
    """Hosts 0 … (in the namespaces of `hosts`, or None: processes on the loopback) for as long as the block lasts; one job
    after another may run on them.
    """

    def __init__(self, hosts: Hosts | None, folder: Path) -> None:
        self.hosts, self.folder = hosts, folder
        self.groups: dict[int, int] = {}  # host: process group of its processes
        self.pids: dict[int, int] = {}  # host: process of its rank
        self.lives: dict[int, int] = {}  # host: life of the agent that was started last
        self.cut: set[int] = set()
        self._lives = 0
        self._selector = selectors.DefaultSelector()
        self._zygote: subprocess.Popen[bytes] | None = None
        self._listener = socket.socket()  # not yet the one on the control plane
        self.store: tuple[str, int] = ("", 0)

    def _begin(self) -> None:
        self._listener.close()
        self._listener = self._listen()
        self._selector.register(self._listener, selectors.EVENT_READ)
        with (self.folder / "zygote.log").open("wb") as log:
            self._zygote = subprocess.Popen(
                [sys.executable, "-m", "argosy.testbed.policies.zygote"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"},
            )
        self._await("ready")
        space, address = (self.hosts.control, MANAGER) if self.hosts else (None, "127.0.0.1")
        self.store = (address, PORT + 1 if self.hosts else _free_port())
        self._order({"namespace": space, "address": address, "port": self.store[1]})
        self._await("store")

    def _await(self, word: str) -> None:
        """Until the zygote says so."""
        assert self._zygote is not None and self._zygote.stdout is not None
        heard, _, _ = select.select([self._zygote.stdout], [], [], START_SECONDS)
        if not heard or self._zygote.stdout.readline() != word.encode() + b"\n":
            raise TestbedError(f"torch did not start: {(self.folder / 'zygote.log').read_text()[-900:]}")

    def _order(self, order: dict[str, Any]) -> None:
        assert self._zygote is not None and self._zygote.stdin is not None
        self._zygote.stdin.write(json.dumps(order).encode() + b"\n")
        self._zygote.stdin.flush()

    def _end(self) -> None:
        self.clear()
        if self._zygote is not None:
            _kill(os.killpg, self._zygote.pid)
            self._zygote.wait()
            for pipe in (self._zygote.stdin, self._zygote.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        self._listener.close()
        self._selector.close()

    def _listen(self) -> socket.socket:
        """The controller's socket, on the control plane."""
        if self.hosts is None:
            return socket.create_server(("127.0.0.1", 0), backlog=64)
        return inside([self.hosts.control], lambda _: socket.create_server((MANAGER, PORT), backlog=64))[0]

    def life(self) -> int:
        """A number for a process that nobody else has."""
        self._lives += 1
        return self._lives

    def start_agent(self, host: int, life: int, version: int, settings: dict[str, Any], folder: Path) -> None:
        """Fork the agent of a host; its cables are in again."""
        if host in self.cut and self.hosts is not None:
            self.hosts.mend(host)
            self.hosts.mend(host, card=None)
        self.cut.discard(host)
        self.lives[host] = life
        order = {
            "host": host,
            "life": life,
            "version": version,
            "namespace": self.hosts.namespace(host) if self.hosts else None,
            "interface": "eth0" if self.hosts else "lo",
            "controller": self._listener.getsockname()[:2],
            "store": self.store,
            "folder": str(folder),
            "settings": settings,
        }
        self._order(order)

    def strike(self, host: int, kills: str) -> None:
        """A failure: kill −9 of the rank; or of all processes of a host, its cables pulled first, so that it cannot say
        goodbye (on the loopback it does).
        """
        if kills == RANK:
            self.end_rank(host)
        elif kills == HOST:
            if self.hosts is not None:
                self.hosts.cut(host)
                self.hosts.cut(host, card=None)
                self.cut.add(host)
            self.end(host)

    def end_rank(self, host: int) -> None:
        """Kill the rank of a host, which its agent will tell."""
        process = self.pids.pop(host, None)
        if process is not None:
            _kill(os.kill, process)

    def end(self, host: int) -> None:
        """End all processes of a host: also of one that is believed dead, so that it is."""
        group = self.groups.pop(host, None)
        self.pids.pop(host, None)
        if group is not None:
            _kill(os.killpg, group)

    def hear(self, seconds: float) -> list[tuple[Line, dict[str, Any]]]:
        """All that was said until now, waiting at most so long for something."""
        found: list[tuple[Line, dict[str, Any]]] = []
        for key, _ in self._selector.select(max(seconds, 0.0)):
            if key.fileobj is self._listener:
                self._selector.register(Line(self._listener.accept()[0]), selectors.EVENT_READ)
                continue
            line = key.fileobj
            assert isinstance(line, Line)
            found += [(line, message) for message in line.read()]
            if line.closed:
                self._selector.unregister(line)
                line.close()
        return [(line, message) for line, message in found if self._heeded(line, message)]

    def _heeded(self, line: Line, message: dict[str, Any]) -> bool:
        """Whether it comes from a process of this job. One that was still starting when its job ended is ended now."""
        host, say = message["host"], message["say"]
        if say == "agent":
            line.known = self.lives.get(host) == message["life"]
            if line.known:
                self.groups[host] = message["pid"]
            else:
                _kill(os.killpg, message["pid"])
        elif say == "rank":
            with suppress(ProcessLookupError):
                line.known = os.getpgid(message["pid"]) == self.groups.get(host)
            if line.known:
                self.pids[host] = message["pid"]
        return line.known

    def clear(self) -> None:
        """End all processes of all hosts, and forget what they said; cables are in."""
        for host in list(self.groups):
            self.end(host)
        self.lives.clear()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, Line):
                self._selector.unregister(key.fileobj)
                key.fileobj.close()
        for host in list(self.cut):
            if self.hosts is not None:
                self.hosts.mend(host)
                self.hosts.mend(host, card=None)
        self.cut.clear()


def _kill(how: Callable[[int, int], None], number: int) -> None:
    """Signal 9 to a process or group, if it is there."""
    with suppress(ProcessLookupError):
        how(number, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
