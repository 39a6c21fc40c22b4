"""Imports torch once and forks: the store's process, the agents of the hosts, and by them the ranks.

`python -m argosy.testbed.torch_starter SECONDS [MODULE ...]` reads what to start as lines of JSON and says as lines of JSON
what it started and what ended. The agents are torch's own (`torch.distributed.launcher`), those that `torchrun` runs; their ranks
are forked instead of started anew. After SECONDS all of it is killed; it is when whoever started this ends, too.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import select
import signal
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as distributed
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from argosy.testbed.namespaces import enter
from argosy.testbed.wiring import MANAGER

PARENT_DEATH = 1  # prctl: end with whoever started this
MISSES = 3  # heartbeats of an agent
PATIENCE_S = 0.05
SHUTDOWN_S = 2  # from an agent's SIGTERM to its SIGKILL


def main(seconds: int, preload: list[str]) -> None:
    """Start what is asked for until standard input ends."""
    end_with_parent()
    signal.alarm(seconds)
    torch.set_num_threads(1)
    for name in preload:
        import_module(name)
    children: dict[int, int] = {}
    unread = b""
    while True:
        ready, _, _ = select.select([0], [], [], PATIENCE_S)
        if ready:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                return
            *lines, unread = (unread + chunk).split(b"\n")
            for line in lines:
                asked = json.loads(line)
                if "store" in asked:
                    _fork(asked["store"], _store)
                else:
                    one = asked["agent"]
                    children[_fork({**one, "log": f"{one['folder']}/node-{one['node']}.log"}, _agent)] = one[
                        "node"
                    ]
        _reap(children)


def _reap(children: dict[int, int]) -> None:
    """Say which children have ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        if pid in children:
            say({"ended": children.pop(pid), "pid": pid, "code": os.waitstatus_to_exitcode(status)})


def say(message: dict[str, Any]) -> None:
    """A line to whoever started this."""
    os.write(1, json.dumps(message).encode() + b"\n")


def end_with_parent() -> None:
    """Be killed when the parent ends."""
    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)


def _fork(one: dict[str, Any], act: Any) -> int:
    """A child in a session and namespace of its own that does `act(one)` and ends; its process number."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        if "node" in one:
            say({"agent": one["node"], "pid": pid})
        return pid
    code = 1
    try:
        end_with_parent()
        signal.alarm(0)
        os.setsid()
        saying = os.dup(1)
        _redirect(Path(one["log"]))
        os.set_inheritable(saying, False)
        if one["namespace"]:
            enter(one["namespace"])
        act(one, saying)
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _redirect(log: Path) -> None:
    """Standard output and error to the end of a file; nothing to read."""
    sys.stdout.flush()
    sys.stderr.flush()
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.dup2(empty, 0)
    os.close(handle)
    os.close(empty)


def _store(one: dict[str, Any], saying: int) -> NoReturn:
    """The store by which agents meet: beside the manager, so that every host may die."""
    address = MANAGER if one["namespace"] else "127.0.0.1"
    store = distributed.TCPStore(address, one["port"], is_master=True, wait_for_workers=False)
    os.write(saying, json.dumps({"store": store.port}).encode() + b"\n")
    os.close(saying)
    while True:
        time.sleep(3600)


def _agent(one: dict[str, Any], saying: int) -> None:
    """torchrun's agent of one host."""
    os.close(saying)
    # Ranks meet anew in every round: by default the first round's rank 0 keeps their store, and takes it with it when it dies.
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    config = LaunchConfig(
        min_nodes=one["least"],
        max_nodes=one["most"],
        nproc_per_node=one["ranks"],
        run_id="argosy",
        rdzv_endpoint=one["endpoint"],
        rdzv_backend="c10d",
        rdzv_configs={
            "is_host": False,
            "timeout": one["seconds"],
            "join_timeout": one["seconds"],
            "last_call_timeout": one["last_call_s"],
            "keep_alive_interval": max(1, round(one["heartbeat_s"])),
            "keep_alive_max_attempt": MISSES,
        },
        max_restarts=one["max_restarts"],
        monitor_interval=0.05,
        start_method="fork",
        shutdown_timeout=SHUTDOWN_S,
        local_addr=one["address"],
        logs_specs=DefaultLogsSpecs(log_dir=f"{one['folder']}/torchrun-{one['node']}"),
    )
    elastic_launch(config, rank)(one)


def rank(one: dict[str, Any]) -> None:
    """One rank, in an agent's child: its log, its interface, then the module."""
    end_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # torch's handler waits for calls into C++ to return
    folder, number, local = Path(one["folder"]), os.environ["RANK"], int(os.environ["LOCAL_RANK"])
    _redirect(folder / f"rank-{number}.log")
    interface = one["interface"]
    if interface == "eth":
        interface = f"eth{local if one['card_of_rank'] else 0}"
    os.environ |= {**one["environment"], "GLOO_SOCKET_IFNAME": interface, "ARGOSY_NODE": str(one["node"])}
    about = {
        "pid": os.getpid(),
        "node": one["node"],
        "local_rank": local,
        "restart": int(os.environ["TORCHELASTIC_RESTART_COUNT"]),
        "world_size": int(os.environ["WORLD_SIZE"]),
        "time": time.time(),
    }
    fresh = folder / "ranks" / f".{number}.{os.getpid()}"
    fresh.write_text(json.dumps(about), encoding="utf-8")
    fresh.rename(folder / "ranks" / f"{number}.json")
    sys.argv = [one["module"], *one["arguments"]]
    try:
        runpy.run_module(one["module"], run_name="__main__", alter_sys=True)
    except SystemExit as exit_:
        if exit_.code:
            raise
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
