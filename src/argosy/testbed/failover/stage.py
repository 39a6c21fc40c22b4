"""Everything of a case running: replicas, HAProxy and users, each in a host of its own; gone when the block ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argosy.testbed import hosts as machine
from argosy.testbed.block import Block
from argosy.testbed.failover.inside import ahead
from argosy.testbed.failover.proxy import PORT, Admin, Passed, Seen, Turns, configuration, requests
from argosy.testbed.failover.trace import Checks, Fleet, Trace
from argosy.testbed.hosts import Hosts, TestbedError

PACKAGE = "argosy.testbed.failover"
START_S = 30.0  # until everything answers, at most
AHEAD_S = 1.0  # from the order to the first request: an interpreter starts
PATIENCE_S = 20.0  # of a user
LOOK_S = 0.05  # between looks at the proxy


def haproxy() -> str:
    """HAProxy's path. TestbedError with what to type."""
    found = machine.program("haproxy")
    if found is None:
        raise TestbedError("haproxy is not installed: apt-get install --no-install-recommends haproxy")
    return found


@dataclass
class Seats:
    """Where who is: namespaces (`-`: none) of users, proxy and replicas, and their addresses with ports."""

    users: str
    proxy: str
    replicas: list[str]
    bind: tuple[str, int]
    servers: list[tuple[str, int]]

    @classmethod
    def of(cls, hosts: Hosts | None, replicas: int) -> Seats:
        """Hosts in order: users, proxy, replicas; on the loopback ports that are free now."""
        if hosts is None:
            free = _free_ports(replicas + 1)
            one = "127.0.0.1"
            return cls("-", "-", ["-"] * replicas, (one, free[0]), [(one, port) for port in free[1:]])
        names = [hosts.namespace(number) for number in range(replicas + 2)]
        at = [hosts.wiring.address(number) for number in range(len(names))]
        return cls(names[0], names[1], names[2:], (at[1], PORT), [(address, PORT) for address in at[2:]])


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            line = stack.enter_context(socket.socket())
            line.bind(("127.0.0.1", 0))
            found.append(int(line.getsockname()[1]))
        return found


@dataclass
class Watch:
    """What was seen of the proxy, every LOOK_S: moments, and the lines of `show stat` at them."""

    at: list[float] = field(default_factory=list)
    seen: list[dict[str, Seen]] = field(default_factory=list)


class Stage(Block):
    """Replicas and proxy running; `policy` as in `proxy.configuration`. TestbedError where one does not start."""

    def __init__(
        self, hosts: Hosts | None, fleet: Fleet, policy: str, checks: Checks, queue_in_proxy: bool = False
    ) -> None:
        self.fleet, self.checks = fleet, checks
        self.seats = Seats.of(hosts, fleet.replicas)
        self.folder = Path(tempfile.mkdtemp(prefix=f"argosy-{os.getpid()}-testbed-"))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.versions = ["1"] * fleet.replicas
        self.watch = Watch()
        self._policy, self._slots = policy, fleet.slots if queue_in_proxy else None
        self._over = threading.Event()

    def _begin(self) -> None:
        ahead(0)  # the operator, too, and whoever watches: they sleep nearly always
        self.turns, self.admin = Turns(self.folder / "log"), Admin(self.folder / "admin")
        self.turns.start()
        for number in range(self.fleet.replicas):
            self.start(number)
        self.wait(
            lambda: all(map(self.listens, range(self.fleet.replicas))), START_S, "the replicas do not start"
        )
        told = self.folder / "haproxy.cfg"
        bind, servers = (f"{at}:{port}" for at, port in (self.seats.bind,)), self.seats.servers
        text = configuration(
            next(bind),
            [f"{at}:{port}" for at, port in servers],
            self.folder,
            self._policy,
            self.checks,
            self._slots,
        )
        told.write_text(text, encoding="utf-8")
        self._run("haproxy", ["inside", self.seats.proxy, haproxy(), "-db", "-f", str(told)])
        self.wait(self._all_up, START_S, "the replicas do not answer")
        self._looking = threading.Thread(target=self._look, daemon=True)
        self._looking.start()

    def listens(self, number: int) -> bool:
        """A replica takes connections: it writes into its book from then on."""
        with suppress(OSError):
            return f"s {self.versions[number]}\n" in self.book(number).read_text(encoding="ascii")
        return False

    def _all_up(self) -> bool:
        """The proxy finds every replica well."""
        with suppress(OSError):
            lines = self.admin.look()
            return all(lines[f"r{number + 1}"].status == "UP" for number in range(self.fleet.replicas))
        if self.processes["haproxy"].poll() is not None:
            raise TestbedError(f"haproxy ended: {self.said('haproxy')}")
        return False

    def _look(self) -> None:
        """Note what the proxy holds, every LOOK_S."""
        following = time.monotonic()
        while not self._over.is_set():
            with suppress(OSError):
                found = self.admin.look()
                self.watch.at.append(time.monotonic())
                self.watch.seen.append(found)
            following = max(following + LOOK_S, time.monotonic())
            self._over.wait(following - time.monotonic())

    def _run(self, name: str, words: list[str]) -> None:
        module, *rest = words
        with (self.folder / f"{name}.said").open("ab") as said:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"{PACKAGE}.{module}", *rest],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip
        ahead(self.processes[name].pid)  # its start, too

    def said(self, name: str) -> str:
        """The end of what a process said."""
        return (self.folder / f"{name}.said").read_text(encoding="utf-8", errors="replace")[
            -1500:
        ] or "nothing"

    def book(self, number: int) -> Path:
        """The book of a replica."""
        return self.folder / f"r{number + 1}.book"

    def start(self, number: int, cold_s: float = 0.0) -> None:
        """Start a replica, which listens `cold_s` from now, or when its program has started."""
        address, port = self.seats.servers[number]
        words = [
            "replica",
            self.seats.replicas[number],
            address,
            str(port),
            str(self.fleet.slots),
            str(self.fleet.waiting),
        ]
        self._run(
            f"r{number + 1}",
            [*words, self.versions[number], f"{time.monotonic() + cold_s:.3f}", str(self.book(number))],
        )

    def kill(self, number: int) -> float:
        """kill −9; the moment."""
        process = self.processes[f"r{number + 1}"]
        at = time.monotonic()
        process.send_signal(signal.SIGKILL)
        process.wait()
        return at

    def end(self, number: int) -> None:
        """SIGTERM, and wait until the replica has ended by itself."""
        process = self.processes[f"r{number + 1}"]
        process.terminate()
        try:
            process.wait(timeout=START_S)
        except subprocess.TimeoutExpired:
            raise TestbedError(f"replica {number + 1} does not end") from None

    def wait(self, met: Callable[[], bool], seconds: float, else_: str) -> float:
        """Wait until something is so; the moment. TestbedError with `else_` when it takes more than `seconds`."""
        limit = time.monotonic() + seconds
        while not met():
            if time.monotonic() > limit:
                raise TestbedError(f"{else_} after {seconds:g} s; haproxy said {self.said('haproxy')}")
            time.sleep(0.01)
        return time.monotonic()

    def users(self, trace: Trace) -> float:
        """Begin to send a trace; the moment from which its seconds count."""
        start = time.monotonic() + AHEAD_S
        address, port = self.seats.bind
        plan: dict[str, Any] = {
            "address": address, "port": port, "start": start, "patience_s": PATIENCE_S,
            "due_s": trace.due_s.tolist(), "service_s": trace.service_s.tolist(),
            "output": str(self.folder / "users.json"),
        }  # fmt: skip
        (self.folder / "users.plan").write_text(json.dumps(plan), encoding="utf-8")
        self._run("users", ["load", self.seats.users, str(self.folder / "users.plan")])
        return start

    def answers(self, trace: Trace) -> dict[str, Any]:
        """What the users saw, when all of them are done."""
        try:
            self.processes["users"].wait(timeout=trace.horizon_s + PATIENCE_S + 10)
        except subprocess.TimeoutExpired:
            raise TestbedError("the users do not end") from None
        path = self.folder / "users.json"
        if not path.exists():
            raise TestbedError(f"the users failed: {self.said('users')}")
        time.sleep(0.1)  # the log's last lines
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def passed(self) -> list[Passed]:
        """What the proxy noted of every request."""
        return requests(self.folder / "haproxy.said")

    def _end(self) -> None:
        self._over.set()
        for process in self.processes.values():
            with suppress(OSError):
                process.kill()
        for process in self.processes.values():
            process.wait()
        if hasattr(self, "turns") and self.turns.is_alive():
            self.turns.close()
        if hasattr(self, "_looking"):
            self._looking.join()
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
