"""PyTorch's profiler (Kineto) as a Chrome trace, .json or .json.gz, of NVIDIA and AMD devices, one rank a file.

Three eras of time: whole µs since the epoch; decimal µs since the epoch; µs relative to `baseTimeNanoseconds` (absolute ns =
base + 1000·ts, negative ones too). Everything is read digit by digit into ns, since a double resolves 0.25 µs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from argosy.kernels import trace_scan as scan
from argosy.observe import names
from argosy.observe.products import PRODUCTS, flops
from argosy.observe.profile import Call, Device, Profile, reduced
from argosy.observe.readers import kineto_metadata as metadata_of
from argosy.observe.readers import kineto_processor as processor
from argosy.observe.readers.source import Source
from argosy.observe.readers.trace_stream import Stream
from argosy.observe.records import Batch, Input, Position, Problem, Whole

DEVICE, OPERATION, RUNTIME, ANNOTATION, SPAN, PYTHON = range(6)
CATEGORIES = {
    "kernel": DEVICE,
    "gpu_memcpy": DEVICE,
    "gpu_memset": DEVICE,
    "memcpy": DEVICE,
    "memset": DEVICE,
    "cpu_op": OPERATION,
    "operator": OPERATION,
    "cuda_runtime": RUNTIME,
    "cuda_driver": RUNTIME,
    "hip_runtime": RUNTIME,
    "runtime": RUNTIME,
    "user_annotation": ANNOTATION,
    "trace": SPAN,
    "python_function": PYTHON,
}
_ROLES = np.array(list(CATEGORIES.values()), np.int8)
LONGEST_NS = 86_400 * 10**9  # of one slice: ROCm writes durations that overflowed
MOST_DEVICE = 8_000_000  # kernels and copies of one file
MOST_HOST = 100_000  # host slices kept while reading, the longest
_HELD = (
    scan.START,
    scan.DURATION,
    scan.NAME,
    scan.THREAD,
    scan.KIND,
)  # columns of a host slice that are kept
MOST_SPANS = 500_000  # steps, marks and launches of collectives together, and collectives with arguments
_STEP = re.compile(r"^ProfilerStep#(\d{1,15})$")
_NOTHING, _IS_STEP, _IS_CALL, _IS_MARK, _IS_EXCHANGE = range(5)


def looks_like(head: bytes, path: Path) -> bool:
    """Whether these first bytes are a Chrome trace's."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"{":
        kineto = b'"schemaVersion"' in head and (
            b'"deviceProperties"' in head or b'"distributedInfo"' in head
        )
        return b'"traceEvents"' in head or kineto
    return start == b"[" and b'"ph"' in head and b'"ts"' in head


def read(path: Path) -> Batch:
    """The rank's trace; damage is told as problems, and what was read before and behind it counts."""
    with Source(path) as source:
        stream = Stream(source, str(path), list(CATEGORIES), list(PRODUCTS))
        found = _Found(stream, str(path))
        stream.run(found.take)
    problems = [*stream.problems, *found.problems()]
    events = int(stream.counters[scan.EVENTS])
    if events and not found.slices:
        problems.append(Problem(str(path), 0, "a Chrome trace without a profiler's kernels and operators"))
        return Batch(Input(str(path), "kineto", "ignored", 0, tuple(problems)))
    traces = () if not events else (reduced(found.profile(problems)),)
    status = "read" if not problems else "partial" if events else "unreadable"
    return Batch(Input(str(path), "kineto", status, events, tuple(problems)), traces=traces)


class _Found:
    """What the blocks of rows gave so far, in compact columns."""

    def __init__(self, stream: Stream, path: str) -> None:
        self._stream, self._path = stream, path
        self._device: list[tuple[Any, ...]] = []
        self._devices = 0
        self._launches: list[tuple[Whole, Whole]] = []
        self._products: list[tuple[Whole, Whole]] = []
        self._host: list[Whole] = []
        self._hosts, self._shortest = 0, 0
        self._host_kind = np.zeros(0, np.int8)  # by name: _NOTHING, a step, a collective's launch, a mark
        self._communicates = np.zeros(0, bool)  # by name of a kernel
        self.steps: list[tuple[int, int, int]] = []
        self.calls: dict[int, Call] = {}
        self.annotations: list[tuple[int, int, Call]] = []
        self.exchanges: list[Whole] = []
        self.exchange_calls: dict[int, Call] = {}
        self.marks: list[tuple[str, int, int, int]] = []
        self.groups: dict[str, tuple[int, ...]] = {}
        self.span: tuple[int, int] | None = None
        self.overlong = self.slices = 0
        self.too_many = False

    def take(self, rows: Whole, buffer: bytearray) -> bool:
        """Takes one block; False once the file holds more than is kept."""
        self._classify()
        self.slices += len(rows)
        long = rows[:, scan.DURATION] > LONGEST_NS
        if long.any():
            self.overlong += int(long.sum())
            rows = rows[~long]
        role = _ROLES[rows[:, scan.KIND]]
        if (role == DEVICE).any():
            self._take_device(rows[role == DEVICE], buffer)
        runtime = rows[role == RUNTIME]
        runtime = runtime[runtime[:, scan.CORRELATION] >= 0]
        if len(runtime):
            self._launches.append((runtime[:, scan.CORRELATION].copy(), runtime[:, scan.START].copy()))
        for span in rows[role == SPAN]:
            start, end = int(span[scan.START]), int(span[scan.START] + span[scan.DURATION])
            self.span = (min(start, self.span[0]), max(end, self.span[1])) if self.span else (start, end)
        host = rows[(role == OPERATION) | (role == ANNOTATION) | (role == PYTHON)]
        if len(host):
            self._take_host(host, buffer)
        return not self.too_many

    def _classify(self) -> None:
        """The kinds of names that came with this block."""
        known = len(self._host_kind)
        fresh = self._stream.names[known:]
        kinds = np.zeros(len(fresh), np.int8)
        for i, name in enumerate(fresh):
            if self._stream.parents[known + i] >= 0:
                continue
            if _STEP.match(name):
                kinds[i] = _IS_STEP
            elif name.startswith(("nccl:", "rccl:")):
                kinds[i] = _IS_CALL
            elif name.startswith(processor.EXCHANGES):
                kinds[i] = _IS_EXCHANGE
            elif names.mark(name):
                kinds[i] = _IS_MARK
        self._host_kind = np.concatenate((self._host_kind, kinds))
        self._communicates = np.concatenate((self._communicates, np.zeros(len(fresh), bool)))

    def _take_device(self, rows: Whole, buffer: bytearray) -> None:
        for name in np.unique(rows[:, scan.NAME]):
            self._communicates[name] = names.category(self._stream.names[name]) == "communication"
        start = rows[:, scan.START].copy()
        self._device.append(
            (
                start,
                start + rows[:, scan.DURATION],
                rows[:, scan.NAME].astype(np.int32),
                rows[:, scan.CORRELATION].copy(),
                np.clip(rows[:, scan.STREAM], -1, 1 << 30).astype(np.int32),
                np.clip(rows[:, scan.DEVICE], -1, 1 << 14).astype(np.int16),
                rows[:, scan.NUMBER].copy(),
            )
        )
        self._devices += len(rows)
        self.too_many = self._devices > MOST_DEVICE
        for row in rows[self._communicates[rows[:, scan.NAME]]][: MOST_SPANS - len(self.calls)]:
            arguments = metadata_of.arguments(row, buffer)
            if "Collective name" in arguments or "Process Group Name" in arguments:
                self.calls[int(row[scan.NUMBER])] = self._call(arguments)

    def _call(self, arguments: Mapping[str, Any]) -> Call:
        operation = names.collective(str(arguments.get("Collective name", "")))
        sent, received = (metadata_of.count(arguments.get(f"{way} msg nelems")) for way in ("In", "Out"))
        elements = sent if operation == "all_to_all" and sent else max(sent, received)
        group = str(arguments.get("Process Group Name", ""))[:200]
        ranks = metadata_of.rank_list(arguments.get("Process Group Ranks"))
        if ranks and group:
            self.groups.setdefault(group, ranks)
        sequence = arguments.get("Seq")
        return Call(
            operation,
            group or (str(list(ranks)) if ranks else ""),
            sequence if type(sequence) is int and 0 <= sequence < 1 << 62 else -1,
            elements * names.element_bytes(str(arguments.get("dtype", ""))[:40]),
        )

    def _take_host(self, rows: Whole, buffer: bytearray) -> None:
        shaped = rows[rows[:, scan.SHAPE] >= 0]
        if len(shaped):
            self._products.append((shaped[:, scan.START].copy(), shaped[:, scan.SHAPE].copy()))
        kinds = self._host_kind[rows[:, scan.NAME]]
        left = MOST_SPANS - (len(self.steps) + len(self.marks) + len(self.annotations) + len(self.exchanges))
        for row in rows[kinds != _NOTHING][: max(left, 0)]:
            name, number = self._stream.names[row[scan.NAME]], int(row[scan.NUMBER])
            start, end = int(row[scan.START]), int(row[scan.START] + row[scan.DURATION])
            if step := _STEP.match(name):
                self.steps.append((int(step[1]), start, end))
            elif kind := names.mark(name):
                self.marks.append((kind, start, end, number))
            else:
                size = metadata_of.sent_bytes(metadata_of.arguments(row, buffer))
                call = Call(names.collective(name), "", -1, size)
                if name.startswith(processor.EXCHANGES):
                    self.exchanges.append(row[[*_HELD, scan.NUMBER]])
                    self.exchange_calls[number] = call
                else:
                    self.annotations.append((start, end, call))
        kept = rows[(rows[:, scan.DURATION] >= self._shortest) & (_ROLES[rows[:, scan.KIND]] != PYTHON)]
        self._host.append(kept[:, _HELD])
        self._hosts += len(kept)
        if self._hosts > MOST_HOST:
            held = np.concatenate(self._host)
            self._shortest = int(np.partition(held[:, 1], len(held) // 2)[len(held) // 2]) + 1
            self._host = [held[held[:, 1] >= self._shortest]]
            self._hosts = len(self._host[0])

    # --- afterwards ---

    def problems(self) -> list[Problem]:
        """What of the slices could not be used."""
        untimed = int(self._stream.counters[scan.UNTIMED])
        told = (
            (untimed, "slices have no usable time or a negative duration; they do not count"),
            (self.overlong, "slices last longer than a day, which is an overflow; they do not count"),
            (self._stream.undecodable, "names are no UTF-8; their wrong bytes are replaced"),
            (self._stream.names_full, "the file has more names than are told apart"),
            (self.too_many, f"more than {MOST_DEVICE:,} kernels: the rest is not read; profile fewer steps"),
        )
        found = [
            Problem(self._path, 0, text if isinstance(count, bool | np.bool_) else f"{count:,} {text}")
            for count, text in told
            if count
        ]
        if not self._devices and self.slices and not self.exchanges:
            found.append(Problem(self._path, 0, "no kernel of a device is in it: only the host was profiled"))
        return found

    def profile(self, problems: list[Problem]) -> Profile:
        """All of it as a Profile, in absolute ns."""
        metadata = self._stream.metadata
        base = metadata.get("baseTimeNanoseconds")
        shift = base if type(base) is int and 0 < base < 4 * 10**18 else 0
        if base is not None and not shift:
            problems.append(
                Problem(
                    self._path, 0, f"baseTimeNanoseconds {str(base)[:40]} is no time; ranks cannot be aligned"
                )
            )
        fraction = bool(self._stream.counters[scan.FRACTION])
        distributed = metadata.get("distributedInfo")
        distributed = distributed if isinstance(distributed, dict) else {}
        groups = {**self.groups, **metadata_of.groups(distributed.get("pg_config"))}
        if self._devices or not self.exchanges:
            device, number = self._busiest(problems)
        else:
            device, number = self._processor(groups), -1
        device.start += shift
        device.end += shift
        device.launched[device.launched != np.iinfo(np.int64).min] += shift
        device.launched[device.launched == np.iinfo(np.int64).min] = -1
        node = metadata.get("host_name", metadata.get("hostname"))
        return Profile(
            path=self._path,
            era="relative-us" if shift else "absolute-float-us" if fraction else "absolute-us",
            position=Position(
                rank=metadata_of.index(distributed.get("rank")),
                world=metadata_of.index(distributed.get("world_size")),
                node=node[:200] if isinstance(node, str) else None,
            ),
            device_name=metadata_of.device_name(metadata.get("deviceProperties"), number),
            device=device,
            steps=[(step, start + shift, end + shift) for step, start, end in self.steps],
            span=(self.span[0] + shift, self.span[1] + shift) if self.span else None,
            calls=self.calls,
            annotations=sorted(
                ((start + shift, end + shift, call) for start, end, call in self.annotations),
                key=lambda each: each[:2],
            ),
            products=self._flops(shift),
            marks=[(kind, start + shift, end + shift, event) for kind, start, end, event in self.marks],
            host=self._host_slices(shift),
            groups=groups,
            metadata=metadata_of.scalars(metadata, self._path, distributed),
        )

    def _processor(self, groups: Mapping[str, tuple[int, ...]]) -> Device:
        """The operators and exchanges of a trace without a device; a job's only group is that of all of its exchanges."""
        only = next(iter(groups)) if len(groups) == 1 else ""
        self.calls = {event: replace(call, group=only) for event, call in self.exchange_calls.items()}
        held = np.concatenate(self._host)
        operators = held[_ROLES[held[:, 4]] == OPERATION]
        return processor.device(operators, np.stack(self.exchanges), self._stream.names)

    def _busiest(self, problems: list[Problem]) -> tuple[Device, int]:
        """The columns of the device that worked most, with its number (−1 unknown)."""
        blocks, columns = [list(block) for block in self._device], []
        self._device = []
        for i in range(7):  # a column at a time, so that none is held twice
            column = [block[i] for block in blocks]
            columns.append(np.concatenate(column) if column else np.empty(0, np.int64))
            for block in blocks:
                block[i] = None
        start, end, name, correlation, stream, device, event = columns
        numbers = np.unique(device[device >= 0])
        number = int(numbers[0]) if len(numbers) else -1
        if len(numbers) > 1:
            busy = {int(each): int((end - start)[device == each].sum()) for each in numbers}
            number = max(busy, key=lambda each: busy[each])
            kept = (device == number) | (device < 0)
            start, end, name, correlation, stream, event = (
                column[kept] for column in (start, end, name, correlation, stream, event)
            )
            text = f"kernels of {len(numbers)} devices; only those of the busiest, device {number}, count"
            problems.append(Problem(self._path, 0, text))
        launched = np.full(len(start), np.iinfo(np.int64).min)
        if self._launches:
            called, at = (np.concatenate(column) for column in zip(*self._launches, strict=True))
            order = np.argsort(called, kind="stable")
            called, at = called[order], at[order]
            place = np.minimum(np.searchsorted(called, correlation), len(called) - 1)
            launched = np.where(called[place] == correlation, at[place], launched)
        return Device(start, end, name, launched, stream, event, self._stream.names), number

    def _flops(self, shift: int) -> tuple[Whole, Any] | None:
        if not self._products:
            return None
        at, shape = (np.concatenate(column) for column in zip(*self._products, strict=True))
        by_shape = np.zeros(len(self._stream.names))
        for number in np.unique(shape):
            parent = self._stream.parents[number]
            if parent >= 0:
                by_shape[number] = flops(
                    self._stream.names[parent], metadata_of.parsed(self._stream.names[number])
                )
        return at + shift, by_shape[shape]

    def _host_slices(self, shift: int) -> list[tuple[str, str, str, int, int]]:
        words = {OPERATION: "operation", ANNOTATION: "annotation"}
        held = np.concatenate(self._host) if self._host else np.empty((0, 5), np.int64)
        return [
            (
                f"thread {thread}",
                self._stream.names[name][:120],
                words[int(_ROLES[kind])],
                start + shift,
                start + duration + shift,
            )
            for start, duration, name, thread, kind in held.tolist()
        ]
