"""Planned changes of an elastic job: every host in turn is drained, changed and restored, while the others work; then all
pause, and go on.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from argosy.testbed.policies.controller import Controller
from argosy.testbed.policies.machines import Machines
from argosy.testbed.policies.record import Host
from argosy.testbed.policies.settings import Settings

FIRST_S = 1.0  # after the start
LATER_S = 0.05  # where the job is between two groups


class Upgrade(Controller):
    """One run in which all hosts are changed, `upgrade_s` seconds each, no more than one away at a time; when all are, the
    job stands still for `pause_s`, its processes and their memory as they are.
    """

    def __init__(
        self,
        machines: Machines,
        settings: Settings,
        folder: Path,
        seconds: float,
        upgrade_s: float,
        pause_s: float,
    ) -> None:
        super().__init__(machines, settings, [], folder, seconds)
        self.upgrade_s, self.pause_s = upgrade_s, pause_s
        self.paused: bool | None = None  # None: not yet
        self.outdated = list(self.hosts)
        self.timers.after(FIRST_S, self._drain)

    def _drain(self) -> None:
        """The next host is to leave at the end of a step."""
        if self.state == "running":
            self.drained = self.outdated.pop(0)
            self._invite()
        else:
            self.timers.after(LATER_S, self._drain)

    def _settled(self) -> None:
        if self.drained is not None:
            self._change(self.drained)
        elif len(self.members) < len(self.hosts):
            super()._settled()
        elif 0 < len(self.outdated) < len(self.hosts):
            self._drain()
        elif not self.outdated and self.paused is None:
            self.paused = True
            self._invite()

    def _gather(self) -> None:
        if not (self.paused and self.state == "gathering"):
            super()._gather()
        elif not self.waits:
            self._phase("maintenance")
            self.timers.after(self.pause_s, self._resume)

    def _resume(self) -> None:
        self.paused = False
        self._gather()

    def _change(self, host: Host) -> None:
        """A drained host ends, is changed, and comes back as another version."""
        self.drained = None
        self.machines.end(host.number)
        host.line = host.rank = None
        host.life = host.rank_life = 0
        host.version += 1
        self.timers.after(self.upgrade_s, partial(self._raise, host))
