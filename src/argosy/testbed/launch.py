"""A plan for the ranks, and mpiexec that runs it within a time limit.

On namespaces mpiexec runs beside the manager of the control plane, and reaches its proxies on the hosts over it: what the
process manager says, and what ranks print, never crosses the cards.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from argosy.fabric.algorithms import Group, binary_trees, ring_laps
from argosy.testbed.fabrics import Case, Fabric
from argosy.testbed.hosts import Hosts, TestbedError, program
from argosy.testbed.predict import AT_ONCE, SLICES, piece_count, wires_of
from argosy.testbed.wiring import BRIDGE

RUN_SECONDS = 60.0  # per case; what takes longer is ended
WARM_UP, REPEATS = 1, 3


def mpiexec() -> str:
    """The mpiexec beside this Python, or the one on the PATH. TestbedError with what to install."""
    import shutil

    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None or find_spec("mpi4py") is None:
        raise TestbedError("MPI is not there: pip install 'argosy[testbed]'")
    return found


def orders(fabric: Fabric, case: Case) -> list[dict[str, Any]]:
    """Who talks to whom in every group of a case, by the shapes that the flow simulator follows."""
    found = []
    for ranks in case.groups:
        group = Group.of(np.sort(np.array(ranks)), case.domain or fabric.accelerators)
        one: dict[str, Any] = {"ranks": group.ranks.tolist()}
        if case.algorithm == "ring":
            one["laps"] = ring_laps(group.by_domain).tolist()
        elif case.algorithm == "double-tree":
            one["parents"] = [tree.tolist() for tree in binary_trees(group.domains)]
        elif case.algorithm == "hierarchical-serial":
            one["by_domain"] = group.by_domain.tolist()
            one["parents"] = [tree.tolist() for tree in binary_trees(group.domains)]
        found.append(one)
    return found


def as_plan(fabric: Fabric, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """The cases as the ranks read them."""
    return [
        {
            "algorithm": case.algorithm,
            "bytes": case.bytes,
            "groups": orders(fabric, case),
            "pieces": piece_count(fabric, case),
            "slices": max(1, SLICES // fabric.accelerators),  # rings run side by side, too
            "at_once": AT_ONCE,
        }
        for case in cases
    ]


def seats(fabric: Fabric, hosts: Hosts | None) -> tuple[list[str], list[str]]:
    """Namespace and interface of every rank; without hosts no namespaces, and the loopback."""
    if hosts is None:
        return [], ["lo"] * fabric.ranks
    wires = wires_of(fabric)
    ends = wires.found.graph.endpoints
    cards = wires.cards[:, 0]
    names = hosts.wiring.nodes
    return (
        [hosts.prefix + names[int(ends.host[card])] for card in cards],
        [f"eth{int(ends.port[card])}" for card in cards],
    )


def words(fabric: Fabric, hosts: Hosts | None, spaces: Sequence[str], folder: Path) -> list[str]:
    """The start of the mpiexec line: a proxy per host, which a script starts there as `ssh` would."""
    if hosts is None:
        return [mpiexec(), "-n", str(fabric.ranks)]
    ip = program("ip") or "ip"
    login = folder / "login"
    login.write_text(
        f'#!/bin/sh\nspace=$1; shift; exec {ip} netns exec "$space" sh -c "$*"\n', encoding="ascii"
    )
    login.chmod(0o700)
    seated = ",".join(f"{space}:{fabric.accelerators}" for space in dict.fromkeys(spaces))
    return [
        *(ip, "netns", "exec", hosts.control, mpiexec(), "-iface", BRIDGE),
        *("-launcher", "rsh", "-launcher-exec", str(login), "-hosts", seated, "-n", str(fabric.ranks)),
    ]


def run_ranks(
    fabric: Fabric,
    hosts: Hosts | None,
    cases: list[dict[str, Any]],
    repeats: int = REPEATS,
) -> list[dict[str, Any]]:
    """Run cases on all ranks of a fabric; what rank 0 wrote. TestbedError where MPI fails or takes too long."""
    spaces, cards = seats(fabric, hosts)
    with tempfile.TemporaryDirectory(prefix=f"argosy-{os.getpid()}-testbed-") as folder:
        output, plan = Path(folder) / "rows.json", Path(folder) / "plan.json"
        plan.write_text(
            json.dumps(
                {
                    "interfaces": cards,
                    "counted": hosts.namespaces if hosts else [],
                    "cases": cases,
                    "repeats": repeats,
                    "warm_up": WARM_UP,
                    "output": str(output),
                }
            ),
            encoding="utf-8",
        )
        line = [
            *words(fabric, hosts, spaces, Path(folder)),
            sys.executable,
            "-m",
            "argosy.testbed.worker",
            str(plan),
        ]
        told = _bounded(line, RUN_SECONDS * max(1, len(cases)))
        if not output.exists():
            raise TestbedError(f"the ranks failed: {told[-1800:] or 'they said nothing'}")
        found: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))
        return found


def _bounded(line: list[str], seconds: float) -> str:
    """Run a program; what it said. It and its children are ended when it takes too long, and when we are."""
    process = subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        return process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        raise TestbedError(f"the ranks took more than {seconds:g} s") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
