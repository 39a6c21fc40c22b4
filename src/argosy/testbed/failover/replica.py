"""A stateless replica: a small HTTP server with slots. The work of a request is a wait, whose length the request says.

`python -m argosy.testbed.failover.replica NAMESPACE ADDRESS PORT SLOTS WAITING VERSION LISTENS_AT BOOK`. It listens from a
monotonic moment on (an engine loads its weights until then), and ends at SIGTERM when its last request is served. BOOK gets
`s VERSION` when it listens, `r ID arrived began ended` per request served, and `q NOW inside` every SAMPLE_S; what is written
stays, killed or not.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import deque

SAMPLE_S = 0.05
LEAVE_S = 0.01  # that the last answer has to be gone
OK, BUSY = "200 OK", "503 Service Unavailable"


class Replica:
    """Slots, and the requests that wait for one, first come first served."""

    def __init__(self, slots: int, waiting: int, version: str, book: int) -> None:
        self.free, self.most_waiting, self.version, self.book = slots, waiting, version, book
        self.queue: deque[asyncio.Future[None]] = deque()
        self.inside = 0
        self.idle = asyncio.Event()
        self.idle.set()

    async def serve(self, number: str, service_s: float) -> str:
        """Wait for a slot, work, and say how it went."""
        arrived = time.monotonic()
        if self.free == 0 and len(self.queue) >= self.most_waiting:
            return BUSY
        self.inside += 1
        self.idle.clear()
        if self.free > 0:
            self.free -= 1
        else:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.queue.append(turn)
            await turn
        began = time.monotonic()
        await asyncio.sleep(service_s)
        if self.queue:  # the slot goes straight to the next
            self.queue.popleft().set_result(None)
        else:
            self.free += 1
        self.inside -= 1
        if self.inside == 0:
            self.idle.set()
        self.write(f"r {number} {arrived:.6f} {began:.6f} {time.monotonic():.6f}\n")
        return OK

    def write(self, line: str) -> None:
        """A line into the book, at once."""
        os.write(self.book, line.encode())

    async def sample(self) -> None:
        """Requests inside, every SAMPLE_S."""
        while True:
            self.write(f"q {time.monotonic():.6f} {self.inside}\n")
            await asyncio.sleep(SAMPLE_S)

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of one connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            fields = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            if first.split()[1] == "/health":
                status, body = OK, "well"
            else:
                body = fields["x-request"]
                status = await self.serve(body, float(fields["x-service"]))
            writer.write(
                f"HTTP/1.1 {status}\r\nX-Version: {self.version}\r\nContent-Length: {len(body)}\r\n"
                f"Connection: close\r\n\r\n{body}".encode()
            )
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):  # the other side has gone
            pass
        finally:
            writer.close()


async def main(address: str, port: int, replica: Replica, listens_at: float) -> None:
    """Listen from `listens_at` on; at SIGTERM take no more, finish, and end."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    await asyncio.sleep(max(0.0, listens_at - time.monotonic()))
    server = await asyncio.start_server(replica.connection, address, port, backlog=1024)
    replica.write(f"s {replica.version}\n")
    sampling = asyncio.create_task(replica.sample())
    await over.wait()
    server.close()
    await replica.idle.wait()
    await asyncio.sleep(LEAVE_S)
    sampling.cancel()


def _start(words: list[str]) -> None:
    from argosy.testbed.failover.inside import settle

    namespace, address, port, slots, waiting, version, listens_at, book = words
    settle(namespace)
    handle = os.open(book, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)

    async def run() -> None:
        await main(address, int(port), Replica(int(slots), int(waiting), version, handle), float(listens_at))

    asyncio.run(run())


if __name__ == "__main__":
    _start(sys.argv[1:])
