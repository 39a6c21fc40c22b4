"""The manager: takes the ranks' beats, raises the alarm, and asks for what their recorders kept. No torch.

A beat is a UDP packet of JSON, `{"attempt", "rank", "steps"}`. The answer to one may be `dump`: the rank writes its flight
recorder and says so.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from argosy.testbed.hang.plan import BEAT_S, MISSED, PATIENCE, RANKS
from argosy.testbed.hosts import TestbedError

LOOK_S = 0.002
SETTLE_S = 0.3  # until everybody has come to where he waits
DUMP_S = 3.0  # that a rank may take to write its recorder
REPORTS = 0  # the rank whose steps are the job's


@dataclass
class State:
    """What the beats of an attempt have told: of each rank when it was heard, and of the job when its step last rose."""

    heard: dict[int, float] = field(default_factory=dict)
    steps: int = -1
    rose: float = 0.0

    def beat(self, rank: int, steps: int, now: float) -> None:
        """A rank's beat at `now`."""
        self.heard[rank] = now
        if rank == REPORTS and steps > self.steps:
            self.steps, self.rose = steps, now

    def alarm(self, now: float) -> tuple[str, tuple[int, ...]] | None:
        """("silent", ranks that missed their beats), ("still", ()) where the job makes no steps, or None. Nothing is said
        before all ranks were heard and a step was made.
        """
        if len(self.heard) < RANKS or self.steps < 1:
            return None
        silent = tuple(sorted(rank for rank, at in self.heard.items() if now - at >= MISSED * BEAT_S))
        if silent:
            return "silent", silent
        return ("still", ()) if now - self.rose >= PATIENCE * BEAT_S else None


class Watch:
    """The manager's socket, for as long as the block lasts."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(LOOK_S)
        self.port = int(self.socket.getsockname()[1])
        self.addresses: dict[int, tuple[str, int]] = {}

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def until_alarm(
        self, attempt: int, seconds: float, act: Callable[[State, float], None] = lambda state, now: None
    ) -> tuple[str, tuple[int, ...], float]:
        """Wait for an attempt's alarm: its kind, the silent ranks, when. `act(state, now)` is called between beats.
        TestbedError where there is none in `seconds`.
        """
        state, limit = State(), time.monotonic() + seconds
        self.addresses = {}
        while (now := time.monotonic()) < limit:
            if (said := state.alarm(now)) is not None:
                return *said, now
            act(state, now)
            try:
                told, address = self.socket.recvfrom(1000)
            except TimeoutError:
                continue
            beat = json.loads(told)
            if beat["attempt"] == attempt and "steps" in beat:
                self.addresses[beat["rank"]] = address
                state.beat(beat["rank"], beat["steps"], time.monotonic())
        raise TestbedError(f"attempt {attempt}: no alarm in {seconds:g} s")

    def dumps(self, attempt: int, silent: Sequence[int] = ()) -> tuple[int, ...]:
        """Have all ranks write their recorders; those that did. Of `silent` ones none is waited for."""
        time.sleep(SETTLE_S)
        for address in self.addresses.values():
            self.socket.sendto(b"dump", address)
        wrote: set[int] = set()
        limit = time.monotonic() + DUMP_S
        while time.monotonic() < limit and not wrote >= self.addresses.keys() - set(silent):
            try:
                told = json.loads(self.socket.recv(1000))
            except TimeoutError:
                continue
            if told["attempt"] == attempt and told.get("dumped"):
                wrote.add(told["rank"])
        return tuple(sorted(wrote))
