"""Ahead of others on a busy machine, for what mostly waits: ranks, heartbeats, the manager. Light: every rank imports it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def ahead() -> Iterator[None]:
    """Real-time scheduling for this thread while the block lasts, where that is allowed; what it starts does not inherit it."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def stay_ahead() -> None:
    """The same for good, and for the threads that are started later: for ranks, which mostly sleep."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
