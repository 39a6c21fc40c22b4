"""Processes that compute the answers: each takes one at a time, and one that takes too long is ended and replaced."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any

from argosy.web.limits import Limits


class Failure(Exception):
    """Why there is no answer: an HTTP `status`, and every problem as {file, line, column, path, message, instead}."""

    def __init__(self, status: int, problems: tuple[dict[str, Any], ...]) -> None:
        super().__init__(status, problems)
        self.status, self.problems = status, problems


def told(message: str, status: int = 422) -> Failure:
    """A failure of one problem without a place."""
    return Failure(status, (problem(message),))


class Workers:
    """`limits.workers` processes, started when first needed."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._idle: asyncio.LifoQueue[ProcessPoolExecutor] = asyncio.LifoQueue()
        self._all: set[ProcessPoolExecutor] = set()
        self._waiting = 0
        for _ in range(limits.workers):
            self._idle.put_nowait(self._started())

    async def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of `work`, a module's function, in a process of its own. Raises Failure with what to tell the asker."""
        if self._waiting >= self._limits.waiting:
            raise told("the server is busy with other requests; try again in a moment", 503)
        self._waiting += 1
        try:
            pool = await self._idle.get()
        finally:
            self._waiting -= 1
        try:
            future = asyncio.wrap_future(pool.submit(_guarded, work, arguments))
            kind, value = await asyncio.wait_for(future, self._limits.seconds)
        except (TimeoutError, asyncio.CancelledError, BrokenProcessPool) as error:
            self._end(pool)
            pool = self._started()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise told(_lost(error, self._limits.seconds), 503) from None
        finally:
            self._idle.put_nowait(pool)
        if kind == "answer":
            return value
        raise Failure(422 if kind == "mistake" else 500, tuple(value))

    def close(self) -> None:
        """End all processes."""
        for pool in list(self._all):
            self._end(pool)

    def _started(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_end_with_server)
        self._all.add(pool)
        return pool

    def _end(self, pool: ProcessPoolExecutor) -> None:
        self._all.discard(pool)
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)


def _end_with_server() -> None:
    """In the worker: end when the server is gone, however it went."""
    server = parent_process()
    if server is None:
        return

    def wait() -> None:
        server.join()
        os._exit(0)

    Thread(target=wait, daemon=True).start()


def _lost(error: BaseException, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return (
            f"the answer took more than {seconds:g} s and was given up; ask for less, or use the command line"
        )
    return "the process that computed the answer ended; try again"


def _guarded(work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, Any]:
    """In the worker: an answer, the user's mistakes, or a bug with its traceback; exceptions do not travel well."""
    from argosy.mistakes import is_mistake

    try:
        return "answer", work(*arguments)
    except Exception as error:
        if not is_mistake(error):
            return "bug", [problem(traceback.format_exc())]
        return "mistake", [problem(each) for each in getattr(error, "problems", (str(error),))]


def problem(fault: Any) -> dict[str, Any]:
    """A scenario's problem with its place, or a sentence without one."""
    if isinstance(fault, str):
        return {"file": "", "line": 0, "column": 0, "path": "", "message": fault, "instead": ""}
    return {name: getattr(fault, name) for name in ("file", "line", "column", "path", "message", "instead")}
