"""A host's agent: lives in its namespace, beats, forks the host's rank when told, and says when it has ended."""

from __future__ import annotations

import ctypes
import os
import signal
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from argosy.testbed.policies.wire import Line

PARENT_DEATH = 1
BEAT_S = 0.1


def serve(order: dict[str, Any]) -> None:
    """Until the controller has gone. `order`: host, life, version, namespace (or None), interface, controller,
    store, folder, settings.
    """
    os.setsid()  # this host's processes are one group
    ahead_of_others()
    if order["namespace"]:
        from argosy.testbed.namespaces import enter

        enter(order["namespace"])
    line = Line.to(*order["controller"])
    line.send(say="agent", host=order["host"], life=order["life"], pid=os.getpid())
    ended, wakes = os.pipe()
    os.set_blocking(wakes, False)
    os.set_blocking(ended, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _Agent(order, line, ended).run()


def ahead_of_others() -> None:
    """Before other programs on a busy machine, where that is allowed: all of this mostly sleeps."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def usual() -> None:
    """This thread among others again, though favoured; what it starts, too."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, -10)


class _Agent:
    def __init__(self, order: dict[str, Any], line: Line, ended: int) -> None:
        self.order, self.line, self.ended = order, line, ended
        self.ranks: dict[int, int] = {}  # process: life

    def run(self) -> None:
        import select

        next_beat = time.monotonic()
        while not self.line.closed:
            now = time.monotonic()
            if now >= next_beat:
                self.line.send(say="beat", host=self.order["host"], life=self.order["life"])
                next_beat = now + BEAT_S
            select.select([self.line.fileno(), self.ended], [], [], max(next_beat - now, 0.0))
            with suppress(BlockingIOError):
                os.read(self.ended, 4096)
            self._reap()
            for message in self.line.read():
                if message["do"] == "start":
                    self._start(message)

    def _reap(self) -> None:
        """Say which ranks have ended."""
        while self.ranks:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return
            life = self.ranks.pop(process)
            self.line.send(say="exit", host=self.order["host"], life=life, status=status)

    def _start(self, message: dict[str, Any]) -> None:
        process = os.fork()
        if process:
            self.ranks[process] = message["life"]
            return
        status = 1
        try:
            ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.line.connection.close()
            from argosy.testbed.policies.rank import Rank

            Rank({**self.order, "life": message["life"]}).serve()
            status = 0
        except BaseException:
            name = f"rank-{self.order['host']}-{message['life']}.error"
            Path(self.order["folder"], name).write_text(traceback.format_exc(), encoding="utf-8")
        finally:
            os._exit(status)
