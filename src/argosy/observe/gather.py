"""Everything that some files and folders hold: sorted by content, each file reduced by its reader, in parallel.

A reader never raises for what a file holds. Should one raise all the same, that is a bug of ours: it is kept as a
`Problem` with its traceback, the other files still count, and the command line ends with exit code 70.
"""

from __future__ import annotations

import os
import stat
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from sys import intern
from types import ModuleType
from typing import Any

from argosy.observe.readers import source
from argosy.observe.records import Batch, Input, Problem

# Modules of observe.readers, in the order in which they are asked whether they know a file by its first bytes.
READERS = (
    "nsight",
    "flight_recorder",
    "kineto",
    "operation_table",
    "nccl_tests",
    "sacct",
    "prometheus_text",
    "step_times",
    *(LOGS := ("training_log", "nccl_messages", "xid")),
)
# LOGS: one text may hold an iteration, a warning of NCCL and an Xid, the last far behind the first bytes: a text that
# one of these knows, or nobody, is given to all of them.
LARGEST_COUNT = 100_000  # files
LARGEST_UNKNOWN = (
    256 << 20
)  # bytes of a text that nobody knows by its beginning, yet is searched for lines of logs
MOST_SLICES, LEAST_SLICES = 250_000, 250  # kept of all ranks' pictures together (tens of MB), and of each
_PACKED = {b"\x28\xb5\x2f\xfd": "zstd -d", b"BZh": "bunzip2", b"\xfd7zXZ\0": "unxz", b"PK\x03\x04": "unzip"}
_KINDS = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def gather(
    paths: Iterable[Path | str],
    executor: Executor | None = None,
    *,
    debug: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Batch]:
    """One `Batch` per file under `paths`, in order of path; files that hold nothing for us are among them, `ignored`.

    `executor`: where files are read (processes, for many ranks' traces), else here; `progress(done, of)` is called
    after every file; `debug` re-raises a reader's own fault instead of keeping it as a Problem.
    """
    found: dict[str, Batch] = {}
    work: list[tuple[int, str]] = []
    for path, size, batch in _walk(paths):
        if batch is None:
            work.append((size, path))
        else:
            found[path] = batch
    work.sort(key=lambda item: (-item[0], item[1]))  # the largest first: nobody waits for one at the end
    slices = max(MOST_SLICES // max(len(work), 1), LEAST_SLICES)
    for done, (path, batch) in enumerate(_taken([path for _, path in work], executor, debug, slices), 1):
        found[path] = _shared(batch)
        if progress:
            progress(done, len(work))
    return [found[path] for path in sorted(found)]


def _taken(
    paths: Sequence[str], executor: Executor | None, debug: bool, slices: int
) -> Iterator[tuple[str, Batch]]:
    if executor is None:
        for path in paths:
            yield path, _cut(take(path, debug), slices)
        return
    waiting: dict[Future[Batch], str] = {
        executor.submit(_take_cut, path, debug, slices): path for path in paths
    }
    for future in as_completed(waiting):
        path = waiting[future]
        try:
            yield path, future.result()
        except BrokenProcessPool:
            why = "the process that read it, or another file beside it, was killed (out of memory?)"
            yield path, nothing(path, "unknown", "unreadable", f"{why}; give fewer files at once")


def _take_cut(path: str, debug: bool, slices: int) -> Batch:
    return _cut(take(path, debug), slices)


def _cut(batch: Batch, slices: int) -> Batch:
    """The batch with no more than the longest `slices` of each trace: a thousand ranks are to fit in memory."""
    if all(len(trace.slices) <= slices for trace in batch.traces):
        return batch
    traces = []
    for trace in batch.traces:
        longest = sorted(range(len(trace.slices)), key=lambda i: trace.slices[i][3] - trace.slices[i][4])[
            :slices
        ]
        traces.append(replace(trace, slices=tuple(trace.slices[i] for i in sorted(longest))))
    return replace(batch, traces=tuple(traces))


def _shared(batch: Batch) -> Batch:
    """The batch with one copy of every name, however many ranks have it."""
    if not batch.traces:
        return batch
    traces = []
    for trace in batch.traces:
        slices = tuple(
            (intern(lane), intern(name), intern(kind), a, b) for lane, name, kind, a, b in trace.slices
        )
        kernels = {intern(name): amount for name, amount in trace.kernels.items()}
        traces.append(replace(trace, slices=slices, kernels=kernels))
    return replace(batch, traces=tuple(traces))


def nothing(path: str, kind: str, status: str, why: str) -> Batch:
    """A file that gave no record, with the reason."""
    return Batch(Input(path, kind, status, 0, (Problem(path, 0, why),)))


def take(path: str, debug: bool = False) -> Batch:
    """One file by the reader that knows its first bytes. Whatever the file holds, a Batch comes back."""
    try:
        head = source.head(Path(path))
        if not head:
            with source.Source(Path(path)) as opened:
                opened.read(1)
                if opened.damage:
                    return nothing(path, "unknown", "unreadable", opened.damage)
            return nothing(path, "empty", "ignored", "an empty file")
        for magic, command in _PACKED.items():
            if head.startswith(magic):
                return nothing(
                    path, "packed", "ignored", f"packed in a way that is not read; unpack it first: {command}"
                )
        names = _claims(head, path)
        batches = [_reader(name).read(Path(path)) for name in names]
    except OSError as error:
        return nothing(path, "unknown", "unreadable", error.strerror or str(error))
    except MemoryError:
        return nothing(path, "unknown", "unreadable", "reading it took more memory than there is")
    except Exception as error:
        if debug:
            raise
        problem = Problem(path, 0, f"a bug of argosy, not of your file: {error!r}", traceback.format_exc())
        return Batch(Input(path, "unknown", "unreadable", 0, (problem,)))
    kept = [each for each in batches if each.input.events] or batches[:1]
    if not kept or (len(names) > 1 and not kept[0].input.events and not kept[0].input.problems):
        if _reader("xid").kernel_log(head):
            return nothing(path, "kernel log", "ignored", "a kernel log that tells of no fault of a GPU")
        return nothing(path, "unknown", "ignored", "no reader knows what it holds")
    return joined(kept)


def joined(batches: Sequence[Batch]) -> Batch:
    """The records of one file that several readers gave, as one Batch; the kind names them all."""
    first = batches[0]
    if len(batches) == 1:
        return first
    inputs = [each.input for each in batches]
    status = "read" if all(each.status == "read" for each in inputs) else "partial"
    problems = tuple(dict.fromkeys(problem for each in inputs for problem in each.problems))
    kind = "+".join(each.kind for each in inputs)
    records: dict[str, Any] = {
        field.name: tuple(record for each in batches for record in getattr(each, field.name))
        for field in fields(Batch)
        if field.name != "input"
    }
    together = Input(first.input.path, kind, status, sum(each.events for each in inputs), problems)
    return replace(first, input=together, **records)


def _claims(head: bytes, path: str) -> tuple[str, ...]:
    name = _claimed(head, path)
    if name in LOGS:
        return (name, *(other for other in _present(LOGS) if other != name))
    if name is None:
        return _present(LOGS) if _is_text(head) and os.path.getsize(path) <= LARGEST_UNKNOWN else ()
    return (name,)


def _claimed(head: bytes, path: str) -> str | None:
    return next((name for name in _present(READERS) if _reader(name).looks_like(head, Path(path))), None)


def _present(names: Sequence[str]) -> tuple[str, ...]:
    from importlib.util import find_spec

    return tuple(name for name in names if find_spec(f"argosy.observe.readers.{name}"))


def _reader(name: str) -> ModuleType:
    return import_module(f"argosy.observe.readers.{name}")


def _is_text(head: bytes) -> bool:
    control = sum(head.count(bytes([code])) for code in (0, 1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18, 19))
    return not head.count(0) and control * 100 <= len(head)


def _walk(paths: Iterable[Path | str]) -> Iterator[tuple[str, int, Batch | None]]:
    """(path, bytes, None) of every file to read, (path, 0, Batch) of what is left out. A file counts once, and a
    folder; links to folders are not followed, which could lead anywhere."""
    seen: dict[tuple[int, int], str] = {}
    stack = [os.fspath(path) for path in reversed(list(paths))]
    given = set(stack)
    count = 0
    while stack:
        path = stack.pop()
        try:
            status = os.stat(path)
            identity = status.st_dev, status.st_ino
            if identity in seen:
                if path != seen[identity]:
                    yield path, 0, nothing(path, "link", "ignored", f"the same as {seen[identity]}")
                continue
            seen[identity] = path
            if stat.S_ISDIR(status.st_mode) and path not in given and os.path.islink(path):
                yield (
                    path,
                    0,
                    nothing(path, "link", "ignored", "a link to a folder; name the folder itself to read it"),
                )
            elif stat.S_ISDIR(status.st_mode):
                names = sorted(os.listdir(path), reverse=True)
                stack.extend(os.path.join(path, name) for name in names)
            elif not stat.S_ISREG(status.st_mode):
                kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a special file")
                yield path, 0, nothing(path, "special", "ignored", f"{kind}, which is not read")
            elif (count := count + 1) > LARGEST_COUNT:
                yield (
                    path,
                    0,
                    nothing(
                        path, "unknown", "ignored", f"more than {LARGEST_COUNT:,} files; give folders apart"
                    ),
                )
                return
            else:
                yield path, status.st_size, None
        except OSError as error:
            yield path, 0, nothing(path, "unknown", "unreadable", error.strerror or str(error))
