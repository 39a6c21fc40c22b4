"""A long cable: two TAP interfaces whose frames a thread hands over after a while, and loses some of, if asked.

The kernel's own `netem` does this too, but many kernels of small machines are built without it, and one way that
works everywhere is tested everywhere. Frames pass as the kernel cut them (virtio header kept), so a frame costs one read.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from random import Random

from argosy.testbed.namespaces import inside
from argosy.testbed.priority import ahead

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
CHECKSUM, TSO4 = 0x01, 0x02
LARGEST = 70_000  # bytes of a frame with its header
BATCH = 64  # frames taken from one side before the other is looked at


class DelayLine:
    """Joins two interfaces, made here: `ends` are (namespace, name). Every frame takes `seconds`; a share `lost` of them,
    drawn from `seed`, does not arrive.
    """

    def __init__(self, ends: Sequence[tuple[str, str]], seconds: float, lost: float, seed: int) -> None:
        self.handles = [inside([space], partial(_tap, name))[0] for space, name in ends]
        self.seconds, self.lost, self.random = seconds, lost, Random(seed)
        self.wake, self.alarm = os.pipe()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with ahead():  # a frame that is late is a longer cable
            self._carry()

    def _carry(self) -> None:
        first, second = self.handles
        other = {first: second, second: first}
        waiting: dict[int, deque[tuple[float, bytes]]] = {first: deque(), second: deque()}
        poll = select.poll()
        for handle in (first, second, self.wake):
            poll.register(handle, select.POLLIN)
        while True:
            due = min((queue[0][0] for queue in waiting.values() if queue), default=None)
            patience = None if due is None else max(0.0, due - time.monotonic()) * 1000
            ready = [handle for handle, _ in poll.poll(patience)]
            if self.wake in ready:
                return
            for handle in ready:
                self._take(handle, waiting[other[handle]])
            now = time.monotonic()
            for handle, queue in waiting.items():
                while queue and queue[0][0] <= now:
                    _write(handle, queue.popleft()[1])

    def _take(self, handle: int, queue: deque[tuple[float, bytes]]) -> None:
        """Read what is there, and note when it arrives at the other side."""
        for _ in range(BATCH):
            try:
                frame = os.read(handle, LARGEST)
            except OSError:  # nothing left, or the interface is down
                return
            if self.random.random() >= self.lost:
                queue.append((time.monotonic() + self.seconds, frame))

    def close(self) -> None:
        """End the thread; the interfaces vanish with their handles."""
        os.write(self.alarm, b"x")
        self.thread.join()
        for handle in (*self.handles, self.wake, self.alarm):
            os.close(handle)


def _tap(name: str, _: str) -> int:
    """A new TAP interface in the calling thread's namespace; its handle."""
    handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    request = struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
    fcntl.ioctl(handle, TUNSETIFF, request)
    fcntl.ioctl(handle, TUNSETOFFLOAD, CHECKSUM | TSO4)
    return handle


def _write(handle: int, frame: bytes) -> None:
    try:
        os.write(handle, frame)
    except OSError:  # the interface is down: the frame is lost, as on a cable that is pulled
        return
