"""Jobs of torch.distributed on the hosts of the testbed: torchrun's own agents, one per host, and the ranks they start.

Agents meet over the control plane (the store runs beside the manager, so that any host may die); ranks find each other
there too, and pass their data over the hosts' cards. torch is imported once, by the starter (`torch_starter`), which
forks agents, which fork ranks: on two cores eight imports would take longer than what is measured.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from argosy.testbed.block import Block
from argosy.testbed.hosts import Hosts, TestbedError
from argosy.testbed.wiring import MANAGER

STORE_PORT = 29400
POLL_S = 0.05
START_SECONDS = 120.0  # that the starter may take to import torch, on a busy machine
TAIL = 1800  # characters of a log that are shown


def missing() -> str | None:
    """What to install before torch jobs can run here; None where nothing is missing."""
    return None if find_spec("torch") else "torch is not there: pip install 'argosy[testbed]'"


@dataclass
class Job(Block):
    """A job of `module` (run as `python -m` would) on `nodes` (numbers of hosts), for as long as the block lasts.

    `hosts` None: plain processes on the loopback. `elastic`: least and most nodes; None: exactly these. `max_restarts`: of
    every agent, after failures of its own ranks. `seconds`: of the whole block; after that everything of it is killed.
    `folder` gets `node-<number>.log`, `rank-<rank>.log` (restarts append) and `ranks/<rank>.json`. `environment` is added
    to the ranks'. `card_of_rank`: rank l of a host uses card l, else card 0. `preload`: modules imported once, before
    the ranks are forked. `heartbeat_s`: how often agents tell the store that they live; after three misses one is out.
    `last_call_s`: how long an elastic job waits for more nodes once it has the least.
    """

    hosts: Hosts | None
    module: str
    arguments: Sequence[str]
    nodes: Sequence[int]
    ranks_per_node: int
    folder: Path
    seconds: float
    elastic: tuple[int, int] | None = None
    max_restarts: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    card_of_rank: bool = False
    preload: Sequence[str] = ()
    heartbeat_s: float = 5.0
    last_call_s: float = 1.0
    agents: dict[int, int] = field(default_factory=dict, init=False)
    ended: dict[int, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.folder = Path(self.folder)
        self._starter: subprocess.Popen[str] | None = None
        self._deadline = 0.0
        self._unread = ""

    def _begin(self) -> None:
        if (what := missing()) is not None:
            raise TestbedError(what)
        (self.folder / "ranks").mkdir(parents=True, exist_ok=True)
        self._deadline = time.monotonic() + self.seconds
        log = (self.folder / "starter.log").open("w", encoding="utf-8")
        self._port = STORE_PORT if self.hosts else _free_port()
        with log:
            self._starter = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "argosy.testbed.torch_starter",
                    str(int(self.seconds) + 5),
                    *self.preload,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"},
            )
        assert self._starter.stdout is not None
        os.set_blocking(self._starter.stdout.fileno(), False)
        self._tell(
            {
                "store": {
                    "namespace": self.hosts.control if self.hosts else None,
                    "port": self._port,
                    "log": str(self.folder / "store.log"),
                }
            }
        )
        self._hear("store", START_SECONDS)
        for node in self.nodes:
            self.add(node)

    def add(self, node: int) -> None:
        """Start an agent on one more node, or again on one whose agent has ended."""
        least, most = self.elastic or (len(self.nodes), len(self.nodes))
        self.ended.pop(node, None)
        self.agents.pop(node, None)
        self._tell(
            {
                "agent": {
                    "node": node,
                    "namespace": self.hosts.namespace(node) if self.hosts else None,
                    "address": self.hosts.wiring.control_address(node) if self.hosts else "127.0.0.1",
                    "endpoint": f"{MANAGER if self.hosts else '127.0.0.1'}:{self._port}",
                    "interface": "eth" if self.hosts else "lo",
                    "card_of_rank": self.card_of_rank,
                    "least": least,
                    "most": most,
                    "ranks": self.ranks_per_node,
                    "max_restarts": self.max_restarts,
                    "heartbeat_s": self.heartbeat_s,
                    "last_call_s": self.last_call_s,
                    "seconds": self.seconds,
                    "module": self.module,
                    "arguments": list(self.arguments),
                    "environment": dict(self.environment),
                    "folder": str(self.folder),
                }
            }
        )
        limit = time.monotonic() + START_SECONDS
        while node not in self.agents:
            self.poll()
            if time.monotonic() > limit:
                raise TestbedError(f"the agent of node {node} did not start: {self._tails()}")
            time.sleep(POLL_S)

    def poll(self) -> dict[int, int]:
        """Exit codes of the agents that have ended, by node (−9: killed). Does not wait. TestbedError when time is over."""
        self._listen()
        if time.monotonic() > self._deadline and len(self.ended) < len(self.agents):
            raise TestbedError(f"the job took more than {self.seconds:g} s: {self._tails()}")
        return dict(self.ended)

    def wait(self) -> dict[int, int]:
        """Wait until every agent has ended; their exit codes by node. TestbedError when the job's time is over."""
        while len(self.poll()) < len(self.agents):
            time.sleep(POLL_S)
        return dict(self.ended)

    def check(self, codes: Mapping[int, int]) -> None:
        """TestbedError with the ends of the logs where an agent failed."""
        if any(codes.values()):
            raise TestbedError(f"exit codes {dict(codes)}: {self._tails()}")

    def ranks(self) -> dict[int, dict[str, Any]]:
        """Of every rank its latest start: `pid`, `node`, `local_rank`, `restart`, `world_size`, `time` (s since the epoch)."""
        found = {}
        for path in (self.folder / "ranks").glob("*.json"):
            with suppress(ValueError):  # being written
                found[int(path.stem)] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def kill(self, *, node: int | None = None, rank: int | None = None, number: int = signal.SIGKILL) -> None:
        """Signal one rank's process, or a node's agent and all its ranks; those that have ended are passed over."""
        if node is not None and node in self.agents and node not in self.ended:
            with suppress(ProcessLookupError):
                os.killpg(self.agents[node], number)
        if rank is not None and rank in (there := self.ranks()):
            with suppress(ProcessLookupError):
                os.kill(int(there[rank]["pid"]), number)

    def _end(self) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill everything of the job. Done by the end of the block, too."""
        for node in [node for node in self.agents if node not in self.ended]:
            self.kill(node=node)
        if self._starter is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._starter.pid, signal.SIGKILL)
            self._starter.wait()
            for pipe in (self._starter.stdin, self._starter.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            self._starter = None

    def _tell(self, message: Mapping[str, Any]) -> None:
        starter = self._starter
        if starter is None or starter.stdin is None:
            raise TestbedError("the job has ended")
        try:
            starter.stdin.write(json.dumps(message) + "\n")
            starter.stdin.flush()
        except OSError:
            raise TestbedError(f"torch did not start: {self._tails()}") from None

    def _listen(self) -> list[dict[str, Any]]:
        """What the starter said since; agents' starts and ends are noted."""
        starter = self._starter
        if starter is None or starter.stdout is None:
            return []
        with suppress(BlockingIOError):
            chunk = os.read(starter.stdout.fileno(), 1 << 16)
            if not chunk and starter.poll() is not None:
                raise TestbedError(f"the starter ended with {starter.returncode}: {self._tails()}")
            self._unread += chunk.decode()
        *lines, self._unread = self._unread.split("\n")
        said = [json.loads(line) for line in lines]
        for one in said:
            if "agent" in one:
                self.agents[one["agent"]] = one["pid"]
                self.ended.pop(one["agent"], None)
            elif "ended" in one and self.agents.get(one["ended"]) == one["pid"]:
                self.ended[one["ended"]] = one["code"]
        return said

    def _hear(self, what: str, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while not any(what in one for one in self._listen()):
            if time.monotonic() > limit:
                raise TestbedError(f"no {what} after {seconds:g} s: {self._tails()}")
            time.sleep(POLL_S)

    def _tails(self) -> str:
        """The ends of the logs, ranks' first."""
        paths = [*sorted(self.folder.glob("rank-*.log")), *sorted(self.folder.glob("[ns]*.log"))]
        texts = []
        for path in paths:
            if text := path.read_text(encoding="utf-8", errors="replace").strip():
                texts.append(f"[{path.name}] {text[-TAIL // 3 :]}")
        return "\n".join(texts)[:TAIL] or f"the logs are empty; ranks that started: {sorted(self.ranks())}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
