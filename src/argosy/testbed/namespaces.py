"""Into network namespaces, and what their interfaces counted. Light: every rank imports it."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

CLONE_NEWNET = 0x40000000
FOLDER = Path("/var/run/netns")

Result = TypeVar("Result")


def enter(namespace: str) -> None:
    """Move this thread into a namespace. OSError where that cannot be."""
    handle = os.open(FOLDER / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.setns(handle, CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(FOLDER / namespace))
    finally:
        os.close(handle)


def inside(namespaces: Sequence[str], act: Callable[[str], Result]) -> list[Result]:
    """`act(namespace)` in every namespace in turn, in a thread of its own: the caller stays where it is."""
    found: list[Result] = []
    failed: list[BaseException] = []

    def visit() -> None:
        try:
            for name in namespaces:
                enter(name)
                found.append(act(name))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=visit)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found


def counters(namespaces: Sequence[str]) -> dict[str, dict[str, tuple[int, int]]]:
    """Bytes sent and packets dropped on the way out, by namespace and interface."""

    def read(_: str) -> dict[str, tuple[int, int]]:
        rows = Path("/proc/thread-self/net/dev").read_text(encoding="ascii").splitlines()[2:]
        parts = [(name.strip(), numbers.split()) for name, _, numbers in (row.partition(":") for row in rows)]
        return {name: (int(numbers[8]), int(numbers[11])) for name, numbers in parts}

    return dict(zip(namespaces, inside(namespaces, read), strict=True))


def retransmitted(namespaces: Sequence[str]) -> dict[str, int]:
    """TCP segments sent again, by namespace."""

    def read(_: str) -> int:
        lines = Path("/proc/thread-self/net/snmp").read_text(encoding="ascii").splitlines()
        names, numbers = (line.split() for line in lines if line.startswith("Tcp:"))
        return int(numbers[names.index("RetransSegs")])

    return dict(zip(namespaces, inside(namespaces, read), strict=True))
