"""The job's scheduler: who lives, who is in the job, and what happens when one of them dies, by policy.

`restart`: all ranks are killed; when the queue has been waited for and there are enough hosts, all start anew from the last
checkpoint. `spare-swap`: survivors stay as they are, a rank that waits on a spare host takes the dead one's place, and all
go back to the last checkpoint. `elastic`: survivors go on by themselves from where they are, and who comes back joins at a
step's end. A process group is of one generation: whoever is in the next one builds it anew, in the living process.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from argosy.testbed.hosts import TestbedError
from argosy.testbed.policies.books import RUNNING, Began
from argosy.testbed.policies.failures import ActiveClock, Strike
from argosy.testbed.policies.machines import Machines
from argosy.testbed.policies.record import Host, Run
from argosy.testbed.policies.settings import ELASTIC, RESTART, SWAP, Settings
from argosy.testbed.policies.timers import Timers
from argosy.testbed.policies.wire import Line

MISSED_S = 0.5  # without a heartbeat (every 0.1 s) a host is dead
SILENT_S = 12.0  # from an agent that was started
BROKEN_S = 2.0  # a group that broke though nobody died is built anew after this
ACTIVE = {
    RESTART: {RUNNING, "detection", "restart"},
    SWAP: {RUNNING, "detection", "restart"},
    ELASTIC: {RUNNING},
}
"""States in which failures strike: as in the simulator, not while the job waits, nor in the pause of a tolerant one."""


class Controller:
    """One run of one job. `strikes`: its failures on the active clock; `seconds`: after which it is given up."""

    def __init__(
        self, machines: Machines, settings: Settings, strikes: list[Strike], folder: Path, seconds: float
    ) -> None:
        self.machines, self.settings, self.folder = machines, settings, folder
        self.strikes = list(reversed(strikes))
        self.limit = time.monotonic() + seconds
        self.run = Run(settings, folder)
        self.policy = settings.policy
        self.hosts = [Host(number) for number in range(settings.hosts)]
        self.members: list[Host] = []  # by place in the job; a place that is empty is not here
        self.state = "gathering"  # gathering, queued, planned, running, leaving, done
        self.waits: set[int] = set()  # members that have not said what is awaited
        self.generation = -1
        self.clock = ActiveClock()
        self.timers = Timers()
        self.source = "checkpoint"
        self.away: dict[int, float] = {}  # host: when it failed
        self.finished = 0
        self.queued_until = 0.0
        self.drained: Host | None = None

    def go(self) -> Run:
        """Run the job to its end. TestbedError where it does not come to one within its time."""
        self.machines.clear()
        self.folder.mkdir(parents=True, exist_ok=True)
        for host in self.hosts:
            self._raise(host)
        while self.state != "done":
            now = time.monotonic()
            if now > self.limit:
                raise TestbedError(
                    f"the job ({self.policy}) did not end in its time: {self.state}, {self._errors()}"
                )
            self._fire(now)
            for line, message in self.machines.hear(self._patience(time.monotonic())):
                self._hear(line, message)
            self._missed(time.monotonic())
        self.machines.clear()
        return self.run

    def _errors(self) -> str:
        texts = [path.read_text()[-300:] for path in self.folder.glob("*.error")]
        return " ".join(texts)[-900:] or "no rank failed by itself"

    # time

    def _phase(self, name: str) -> None:
        now = time.monotonic()
        if not self.run.phases and name != RUNNING:
            return  # the clock starts with the first step
        if self.run.phases and self.run.phases[-1][1] == name:
            return
        self.run.phases.append((now, name))
        self.clock.set(self.settings.anywhere or name in ACTIVE[self.policy], now)

    def _patience(self, now: float) -> float:
        moments = [now + 0.1, self.timers.next_s]
        if self.strikes and (at := self.clock.when(self.strikes[-1].at_s)) is not None:
            moments.append(at)
        return max(min(moments) - now, 0.0)

    def _fire(self, now: float) -> None:
        self.timers.fire(now)
        while self.strikes and (at := self.clock.when(self.strikes[-1].at_s)) is not None and at <= now:
            self._strike(self.strikes.pop())

    # failures

    def _strike(self, strike: Strike) -> None:
        """Kill; the controller forgets that it knows."""
        host = self._at(strike.slot)
        if host is None or not host.up:
            return  # an empty place is not hit
        now = time.monotonic()
        kills = strike.kills if host.ready else "host"
        self._phase("detection")
        self.away[host.number] = now
        self.run.failures.append(
            {
                "at_s": now,
                "host": host.number,
                "slot": strike.slot,
                "kills": kills,
                "found_s": None,
                "by": None,
            }
        )
        self.machines.strike(host.number, kills)
        self.timers.after(self.settings.repair_s, lambda: self._repaired(host))

    def _at(self, slot: int) -> Host | None:
        """The host in a place of the job. Elastic jobs have no spares: a place is a host."""
        if self.policy == ELASTIC:
            return next((one for one in self.members if one.number == slot), None)
        return self.members[slot] if slot < len(self.members) else None

    def _repaired(self, host: Host) -> None:
        if host.number not in self.away:
            return
        if host.up:  # nobody has noticed yet
            self.timers.after(0.05, lambda: self._repaired(host))
            return
        self._raise(host)

    def _raise(self, host: Host) -> None:
        """Start a host's agent; again, where nothing is heard of it."""
        host.life = self.machines.life()
        self.timers.after(SILENT_S, partial(self._again, host, host.life))
        self.machines.start_agent(host.number, host.life, host.version, self.settings.to_dict(), self.folder)

    def _again(self, host: Host, life: int) -> None:
        if host.life == life and not host.up:
            self.run.broken += 1
            self._raise(host)

    def _missed(self, now: float) -> None:
        for host in self.hosts:
            if host.up and now - host.beat_s > MISSED_S:
                self._dead(host, "heartbeat")

    def _dead(self, host: Host, by: str) -> None:
        """A host, or its rank, is known to be dead. All of it goes to repair."""
        for failure in self.run.failures:
            if failure["host"] == host.number and failure["found_s"] is None:
                failure |= {"found_s": time.monotonic(), "by": by}
        if host.number not in self.away:  # not ours: this machine was too slow for its heartbeats
            self.run.broken += 1
            self.away[host.number] = time.monotonic()
            self.timers.after(self.settings.repair_s, lambda: self._repaired(host))
            self._phase("detection")
        self.machines.end(host.number)
        host.line = host.rank = None
        host.life = host.rank_life = 0
        if host in self.members and self.state != "done":
            self.members.remove(host)
            self._lost(host)

    def _lost(self, host: Host) -> None:
        """The job has lost a member."""
        self._capacity()
        if self.policy == RESTART:
            members, self.members, self.waits = self.members, [], set()
            for other in members:
                if self._rank_fails(other):  # its end is not told apart from ours
                    self._dead(other, "exit")
                else:
                    self._stop_rank(other)
        elif self.state in ("running", "planned", "leaving"):
            self.waits = {one.number for one in self.members}
            for other in self.members:
                if other.rank is not None:
                    other.rank.send(do="halt", generation=self.generation)
        else:
            self.waits.discard(host.number)
        self.source = "newest" if self.policy == ELASTIC else "checkpoint"
        self.state = "gathering"
        self._gather()

    def _rank_fails(self, host: Host) -> bool:
        """Whether its rank was killed by a failure that is not found yet."""
        return any(
            one["host"] == host.number and one["found_s"] is None and one["kills"] == "rank"
            for one in self.run.failures
        )

    def _stop_rank(self, host: Host) -> None:
        """Kill the rank of a living host."""
        host.rank, host.rank_life = None, 0
        self.machines.end_rank(host.number)

    # who is in

    def _gather(self) -> None:
        """Look for hosts, and give them a plan when there are enough and the survivors have let go."""
        if self.state != "gathering":
            return
        s = self.settings
        if self.policy == RESTART:
            there = [host for host in self.hosts if host.up]
            if len(there) < s.ranks:
                self._phase("spare_wait")
                return
            self.members = there[: s.ranks]
            self.state = "queued"
            if self.run.phases and s.queue_s > 0:
                self._phase("queue")
                self.queued_until = time.monotonic() + s.queue_s
                self.timers.after(s.queue_s, self._start_all)
            else:
                self._start_all()
            return
        if self.policy == SWAP:
            for host in self.hosts:
                if host.ready and host not in self.members and len(self.members) < s.ranks:
                    self.members.append(host)
            if len(self.members) < s.ranks:
                self._phase("spare_wait")
                return
        else:
            ready = [host for host in self.hosts if host.ready and host is not self.drained]
            if not ready or (not self.run.phases and len(ready) < s.ranks):
                self._phase("spare_wait")
                return
            self.members = ready
        self._phase("restart")
        if not self.waits:
            self._plan()

    def _start_all(self) -> None:
        """`restart`: the queue is over, every host starts its rank."""
        if self.state != "queued" or time.monotonic() < self.queued_until - 0.001:
            return  # a failure came between: it queues anew
        if any(not host.up for host in self.members):
            self.state = "gathering"
            self._gather()
            return
        self._phase("restart")
        self.state = "gathering_ranks"
        for host in self.members:
            self._start_rank(host)

    def _start_rank(self, host: Host) -> None:
        host.rank, host.rank_life = None, self.machines.life()
        self.run.started += 1
        assert host.line is not None
        host.line.send(do="start", life=host.rank_life)

    def _plan(self) -> None:
        """A new generation."""
        self.generation += 1
        self.state = "planned"
        self.waits = {host.number for host in self.members}
        for place, host in enumerate(self.members):
            assert host.rank is not None
            host.rank.send(
                do="plan",
                generation=self.generation,
                rank=place,
                ranks=len(self.members),
                run=self.folder.name,
                source=self.source,
            )

    def _capacity(self) -> None:
        self.run.capacity.append((time.monotonic(), len(self.members)))

    # what is said

    def _hear(self, line: Line, message: dict[str, Any]) -> None:
        host = self.hosts[message["host"]]
        say, life = message["say"], message["life"]
        if say in ("agent", "beat", "exit"):
            if say == "exit":
                if host.up and life == host.rank_life:
                    self._dead(host, "exit")
            elif life == host.life:
                host.beat_s = time.monotonic()
                if say == "agent":
                    host.line = line
                    if self.policy == RESTART:
                        self._returned(host)
                        self._gather()
                    else:
                        self._start_rank(host)
        elif life == host.rank_life:
            if say == "rank":
                host.rank = line
                self._ready(host)
            else:
                self._of_member(host, say, message)

    def _returned(self, host: Host) -> None:
        failed = self.away.pop(host.number, None)
        if failed is not None:
            self.run.returns.append((host.number, failed, time.monotonic()))

    def _ready(self, host: Host) -> None:
        """A rank can take a plan."""
        if self.policy != RESTART:
            self._returned(host)
        if self.state == "gathering_ranks":
            if all(one.ready for one in self.members):
                self._plan()
        elif self.state == "gathering":
            self._gather()
        elif self.policy == ELASTIC and self.state == "running":
            self._invite()

    def _invite(self) -> None:
        """Somebody waits to come in: the members are asked to leave their group at the end of the step."""
        first = self.members[0]
        self.state, self.waits = "leaving", {one.number for one in self.members}
        if first.rank is not None:
            first.rank.send(do="leave")

    def _of_member(self, host: Host, say: str, message: dict[str, Any]) -> None:
        if message.get("generation", self.generation) != self.generation:
            return
        if say == "began":
            self._began(host, message)
        elif say in ("halted", "broken"):
            if self.state == "gathering":
                self.waits.discard(host.number)
                self._gather()
            elif say == "broken":
                self.timers.after(BROKEN_S, partial(self._fell_apart, self.generation))
        elif say == "left" and self.state == "leaving":
            self.waits.discard(host.number)
            self._phase("restart")
            if not self.waits:
                self.state, self.source = "gathering", "newest"
                self._gather()
        elif say == "done":
            self.finished += 1
            if self.finished >= len(self.members):
                self.run.end_s = time.monotonic()
                self.state = "done"

    def _fell_apart(self, generation: int) -> None:
        """A group broke though all of its members live: it is built anew."""
        if generation == self.generation and self.state in ("running", "planned", "leaving"):
            self.run.broken += 1
            self._phase("detection")
            for host in self.members:
                if host.rank is not None:
                    host.rank.send(do="halt", generation=generation)
            self.waits = {one.number for one in self.members}
            self.source = "newest" if self.policy == ELASTIC else "checkpoint"
            if self.policy == RESTART:
                for host in self.members:
                    self._stop_rank(host)
                self.members, self.waits = [], set()
            self.state = "gathering"
            self._gather()

    def _began(self, host: Host, message: dict[str, Any]) -> None:
        if self.state != "planned":
            return
        self.run.groups.append({"host": host.number, "at_s": time.monotonic(), **message})
        self.waits.discard(host.number)
        if self.waits:
            return
        now = time.monotonic()
        self.state, self.finished = "running", 0
        self.run.begins.append(Began(self.generation, now, message["step"], len(self.members)))
        self._phase(RUNNING)
        self._capacity()
        self._settled()

    def _settled(self) -> None:
        """A generation runs: who has come meanwhile is taken in."""
        if self.policy == ELASTIC and any(one.ready and one not in self.members for one in self.hosts):
            self._invite()
