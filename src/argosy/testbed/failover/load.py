"""Users: every request is sent when it is due, whatever became of those before it, and its time counts from when it was due.

A generator that waits for answers before it sends again (a closed loop) leaves out the very requests that would have met a
slow server: coordinated omission. `python -m argosy.testbed.failover.load NAMESPACE PLAN.json`; the plan's `output` gets a row
per request and samples of how many were under way.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

SAMPLE_S = 0.02
ANSWER_BYTES = 4096


class Users:
    """All requests of a plan."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.inside = 0
        self.rows: list[list[Any]] = []
        self.samples: list[tuple[float, int]] = []

    async def run(self) -> None:
        """Send everything when it is due; wait for what is still under way, and no longer than it may take."""
        plan = self.plan
        start, tasks = plan["start"], set()
        sampling = asyncio.create_task(self._sample())
        for number, (due, service) in enumerate(zip(plan["due_s"], plan["service_s"], strict=True)):
            await asyncio.sleep(max(0.0, start + due - time.monotonic()))
            tasks.add(task := asyncio.create_task(self._request(number, start + due, service)))
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        sampling.cancel()

    async def _sample(self) -> None:
        while True:
            self.samples.append((time.monotonic(), self.inside))
            await asyncio.sleep(SAMPLE_S)

    async def _request(self, number: int, due: float, service: float) -> None:
        sent = time.monotonic()
        self.inside += 1
        try:
            status, version = await asyncio.wait_for(self._ask(number, service), self.plan["patience_s"])
        except TimeoutError:
            status, version = -1, "timed out"
        except (OSError, asyncio.IncompleteReadError, ValueError, IndexError) as error:
            status, version = 0, type(error).__name__
        self.inside -= 1
        self.rows.append([number, due, sent, time.monotonic(), status, version])

    async def _ask(self, number: int, service: float) -> tuple[int, str]:
        reader, writer = await asyncio.open_connection(self.plan["address"], self.plan["port"])
        try:
            writer.write(
                f"GET /work HTTP/1.1\r\nHost: testbed\r\nX-Request: {number}\r\nX-Service: {service:.6f}\r\n"
                "Connection: close\r\n\r\n".encode()
            )
            head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
        finally:
            writer.close()
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split()[1])
        version = next(
            (line.partition(":")[2].strip() for line in lines if line.lower().startswith("x-version")), ""
        )
        if status == 200 and body != str(number).encode():
            raise ValueError("an answer to another request")
        return status, version


def _start(namespace: str, path: Path) -> None:
    from argosy.testbed.failover.inside import settle

    settle(namespace)
    plan = json.loads(path.read_text(encoding="utf-8"))
    users = Users(plan)
    asyncio.run(users.run())
    found = {"rows": sorted(users.rows), "samples": users.samples}
    unfinished = Path(plan["output"] + ".part")
    unfinished.write_text(json.dumps(found), encoding="utf-8")
    unfinished.rename(plan["output"])


if __name__ == "__main__":
    _start(sys.argv[1], Path(sys.argv[2]))
