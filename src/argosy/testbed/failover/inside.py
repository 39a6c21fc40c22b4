"""`python -m argosy.testbed.failover.inside NAMESPACE PROGRAM …`: the program, in a namespace and ahead of others.

It ends with whoever started it. Without a namespace (`-`) it stays where it is.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

PARENT_DEATH = 1  # prctl: end with whoever started this
PRIORITY = (
    5  # of those that run ahead: a replica's work is a wait, so that none of them needs a core for long
)


def ahead(process: int) -> None:
    """Let a process (0: this one) run ahead of others, where that is allowed."""
    with suppress(OSError):
        os.sched_setscheduler(process, os.SCHED_RR, os.sched_param(PRIORITY))


def settle(namespace: str) -> None:
    """Enter the namespace, end with the parent, and run ahead of others."""
    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    if namespace != "-":
        from argosy.testbed.namespaces import enter

        enter(namespace)
    ahead(0)


if __name__ == "__main__":
    settle(sys.argv[1])
    os.execv(sys.argv[2], sys.argv[2:])
