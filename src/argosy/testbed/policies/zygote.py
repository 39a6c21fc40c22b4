"""Imports torch once and forks the agents of hosts: `python -m argosy.testbed.policies.zygote`, orders as JSON on stdin.

It stands for the machines' disk with all that is installed on it: what starts after a failure need not import for seconds
what the two cores of this machine would import for all hosts at once. It ends, and with it every process of every host, when its
stdin does. It has one thread and computes nothing: a fork of it is whole.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from typing import Any

import torch
import torch.distributed

from argosy.testbed.policies import rank  # noqa: F401  (what ranks need is imported here, once)
from argosy.testbed.policies.agent import serve

PARENT_DEATH = 1  # prctl: end with whoever started this


def main() -> None:
    """Fork an agent per order, until there are no more."""
    torch.set_num_threads(1)
    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])  # its lazy imports
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended agents are reaped by the kernel
    print("ready", flush=True)
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        if os.fork() == 0:
            _child(order)
    os._exit(0)


def _child(order: dict[str, Any]) -> None:
    """An agent, or the store by which ranks exchange addresses; both end with the zygote."""
    try:
        ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(0)
        if "port" in order:
            _store(order)
        else:
            serve(order)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _store(order: dict[str, Any]) -> None:
    """On the control plane, beside the controller: every host may die."""
    if order["namespace"]:
        from argosy.testbed.namespaces import enter

        enter(order["namespace"])
    store = torch.distributed.TCPStore(
        order["address"], order["port"], is_master=True, wait_for_workers=False
    )
    print("store", flush=True)
    while store is not None:
        time.sleep(3600)


if __name__ == "__main__":
    main()
