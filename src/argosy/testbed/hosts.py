"""Network namespaces made, looked into, and taken away again.

Names begin with `argosy-<process>-`, so that whoever comes next can tell what a killed run left behind. No interface,
address or route outside the namespaces is touched. Interfaces between namespaces vanish with them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from argosy.facts import FactError
from argosy.testbed.block import Block
from argosy.testbed.delay import DelayLine
from argosy.testbed.namespaces import FOLDER, inside
from argosy.testbed.wiring import CONTROL, Wiring

NAME = re.compile(r"argosy-(\d+)-")
PROGRAMS = ("ip", "bridge", "tc")
SECONDS = 30.0  # that one of them may take
# A namespace's own: no IPv6 chatter in the counters; answers may come in by another rail than they left; a window that
# was open stays open, as RDMA's is. Reno: without losses it is a fixed window, and any namespace may have it.
SETTINGS = {
    "ipv6/conf/default/disable_ipv6": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv4/tcp_congestion_control": "reno",
    "ipv4/tcp_slow_start_after_idle": "0",
    "ipv4/tcp_no_metrics_save": "1",
    "ipv4/ip_local_port_range": "20000 60999",
}


class TestbedError(FactError):
    """What this machine cannot do, or a program that did not do its part."""

    __test__ = False  # not a test, whatever pytest thinks of its name


def why_not() -> str | None:
    """Why network namespaces cannot be had here; None where they can."""
    missing = [name for name in PROGRAMS if program(name) is None]
    if missing:
        return f"no {', '.join(missing)}: install iproute2"
    name = f"argosy-{os.getpid()}-probe"
    made = subprocess.run([program("ip") or "ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode:
        return f"network namespaces are not permitted ({made.stderr.strip() or 'no reason given'}); root is needed"
    shaped = subprocess.run(
        [
            program("tc") or "tc",
            "-n",
            name,
            *[
                "qdisc",
                "add",
                "dev",
                "lo",
                "root",
                "tbf",
                "rate",
                "1gbit",
                "burst",
                "32768",
                "limit",
                "99999",
            ],
        ],
        capture_output=True,
        text=True,
    )
    remove([name])
    return f"tc cannot shape here ({shaped.stderr.strip()})" if shaped.returncode else None


def program(name: str) -> str | None:
    """The path of a system program, which a user's PATH may lack."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def batch(name: str, lines: Iterable[str], *options: str) -> None:
    """Lines for `ip`, `bridge` or `tc -batch`. TestbedError with what it said."""
    text = "".join(line + "\n" for line in lines)
    if not text:
        return
    done = subprocess.run(
        [program(name) or name, *options, "-batch", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode:
        raise TestbedError(f"{name} {' '.join(options)}: {done.stderr.strip()[-400:]}")


class Hosts(Block):
    """The namespaces of a wiring, for as long as the block lasts; whatever ends it, they are gone afterwards."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.prefix = f"argosy-{os.getpid()}-"
        self.lines: list[DelayLine] = []
        self._before: dict[int, object] = {}

    @property
    def namespaces(self) -> list[str]:
        """All of them: hosts, switches, the control plane's."""
        return [self.prefix + node for node in (*self.wiring.nodes, CONTROL)]

    @property
    def control(self) -> str:
        """The namespace from which the hosts are managed."""
        return self.prefix + CONTROL

    def namespace(self, host: int) -> str:
        """The namespace of the host of that number, 0 and up."""
        return self.prefix + self.wiring.nodes[self.wiring.hosts[host]]

    def cut(self, host: int, card: int | None = 0) -> None:
        """Pull the cable of a host's card, at the switch's end; `card` None: that of its control interface."""
        self._cable(host, card, "down")

    def mend(self, host: int, card: int | None = 0) -> None:
        """Put the cable in again."""
        self._cable(host, card, "up")

    def _cable(self, host: int, card: int | None, state: str) -> None:
        if card is None:
            batch("ip", [f"link set c{host} {state}"], "-n", self.control)
            return
        ends = self.wiring.graph.endpoints
        node = self.wiring.hosts[host]
        endpoint = int(np.flatnonzero((ends.host == node) & (ends.port == card))[0])
        far = self.wiring.sender(int(ends.down[endpoint]))
        batch("ip", [f"link set {far.interface} {state}"], "-n", self.prefix + far.node)

    def keep(self, link: int, share: float) -> None:
        """Leave a one-way link this share of its rate from now on."""
        end = self.wiring.sender(link)
        batch("tc", [self.wiring.shape(link, share)], "-n", self.prefix + end.node)

    def _begin(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            with suppress(ValueError):  # another thread than the first may not
                self._before[number] = signal.signal(number, _leave)
        clean()
        wiring = self.wiring
        batch("ip", [f"netns add {name}" for name in self.namespaces])
        inside(self.namespaces, lambda _: _set(SETTINGS))
        batch("ip", [*wiring.veths(self.prefix), *wiring.control_veths(self.prefix)])
        batch("ip", wiring.control_up(), "-n", self.control)
        for cable, (seconds, lost) in wiring.delays.items():
            ends = [(self.prefix + end.node, end.interface) for end in wiring.ends[cable]]
            self.lines.append(DelayLine(ends, seconds, lost, seed=cable))
        for node, name in enumerate(self.prefix + node for node in wiring.nodes):
            batch("ip", wiring.links_up(node), "-n", name)
            batch("tc", wiring.shapes(node), "-n", name)
            if node in wiring.switches:
                batch("bridge", wiring.forwards(node), "-n", name)

    def _end(self) -> None:
        for line in self.lines:
            line.close()
        remove(self.namespaces)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def _leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _set(settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        path = Path("/proc/sys/net") / name
        if path.exists():
            path.write_text(value, encoding="ascii")


def leftovers(names: Iterable[str], alive: Callable[[int], bool]) -> list[str]:
    """Those of `names` that a testbed made whose process is no longer alive."""
    found = []
    for name in names:
        match = NAME.match(name)
        if match and not alive(int(match[1])):
            found.append(name)
    return sorted(found)


def clean() -> list[str]:
    """Take away what killed runs left: processes in their namespaces, the namespaces, the plans; names of namespaces."""

    def alive(number: int) -> bool:
        return Path(f"/proc/{number}").exists()

    found = leftovers((path.name for path in FOLDER.iterdir()) if FOLDER.is_dir() else (), alive)
    remove(found)
    folder = Path(tempfile.gettempdir())
    for name in leftovers((path.name for path in folder.glob("argosy-*-testbed-*")), alive):
        shutil.rmtree(folder / name, ignore_errors=True)
    return found


def remove(namespaces: Sequence[str]) -> None:
    """End the processes of these namespaces, then delete them; those that are not there are passed over."""
    there = [name for name in namespaces if (FOLDER / name).exists()]
    nodes = {os.stat(FOLDER / name).st_ino for name in there}
    for number in _members(nodes):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    limit = time.monotonic() + 5
    while _members(nodes) and time.monotonic() < limit:
        time.sleep(0.02)
    for name in there:
        subprocess.run([program("ip") or "ip", "netns", "delete", name], capture_output=True)


def _members(nodes: set[int]) -> list[int]:
    """Processes whose network namespace is one of these inodes; never this one."""
    found = []
    for entry in Path("/proc").iterdir() if nodes else ():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if os.stat(entry / "ns" / "net").st_ino in nodes:
                    found.append(int(entry.name))
    return found


def machine() -> dict[str, object]:
    """What a reader of measurements must know of this machine."""
    return {
        "cores": os.cpu_count(),
        "kernel": os.uname().release,
        "load_average": round(os.getloadavg()[0], 2),
    }
