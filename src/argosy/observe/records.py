"""What the readers hand over: one frozen record per kind of file, small enough that thousands of ranks fit in memory.

A reader reduces its file to one of these while it streams, and never raises for what a file holds: what cannot be
read becomes a `Problem` with its line, and the rest still counts. Times are nanoseconds (`_ns`, int64, on the
file's own clock) where a trace gives them, else seconds since the epoch (`_s`, float64).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

STATUSES = ("read", "partial", "unreadable", "ignored")
# Where every nanosecond of a rank's step goes, exclusive: an earlier kind covers a later one, but data covers host.
ACTIVITIES = ("compute", "communication", "copy", "host", "data", "idle")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a piece of evidence stands: `path`, and the `line` (from 1) or the `event` (its number or name) in it."""

    path: str
    line: int | None = None
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something of a file that could not be read, or cannot be true; `line` 0 is the whole file.

    `traceback`: set where a reader itself failed, which is a bug of ours (exit code 70) and no fault of the file.
    """

    path: str
    line: int
    message: str
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Input:
    """One file as it was taken: its `kind` (a reader's name), `status` (STATUSES), how many `events` counted."""

    path: str
    kind: str
    status: str
    events: int
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A rank's place in the job, as far as the file tells; None where it does not."""

    rank: int | None = None
    world: int | None = None
    node: str | None = None
    data: int | None = None
    pipeline: int | None = None
    tensor: int | None = None
    context: int | None = None
    expert: int | None = None


@dataclass(frozen=True, slots=True)
class Collectives:
    """One rank's communication kernels, one entry each, in order of start (arrays of one length).

    `operation`: index into `operations` (all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv, ...);
    `group`: index into `groups` (a process group's name, or its list of ranks as text; "" unknown); `sequence`: number
    within the group, −1 unknown; `start_ns`, `end_ns`; `bytes`: of the message, 0 unknown; `exposed_ns`: the part
    that no compute kernel covers; `step`: index of the step it began in, −1 outside; `event`: its number in the file.
    """

    operations: tuple[str, ...]
    groups: tuple[str, ...]
    operation: Whole
    group: Whole
    sequence: Whole
    start_ns: Whole
    end_ns: Whole
    bytes: Whole
    exposed_ns: Whole
    step: Whole
    event: Whole


@dataclass(frozen=True, slots=True)
class RankTrace:
    """One rank's profile (Kineto, Nsight Systems), reduced. Per step: arrays of length S.

    `activity_s`: by ACTIVITIES, exclusive seconds that sum to the step (`host`: launch gaps, the device having run dry
    before the host called for its next kernel; `idle`: a gap whose kernel waited in its queue, or nothing is known);
    `communication_s`: union of communication, hidden or not; `kernels`: seconds and count by kernel name, the largest few
    hundred; `categories`: seconds by kind of kernel (gemm, attention, elementwise,
    optimizer, ...); `flops`: of matrix products where shapes are recorded, else None; `marks`: host-side spans worth
    naming (garbage collection, compilation, data loading, checkpoint): kind, start_ns, end_ns, event; `slices`: the device's
    and host's slices of one middle step, bounded, for pictures: (lane, name, kind, start_ns, end_ns).
    """

    path: str
    position: Position
    device: str | None
    era: str  # absolute-us | absolute-float-us | relative-us | nsight
    step_number: Whole
    step_start_ns: Whole
    step_end_ns: Whole
    activity_s: Mapping[str, Floats]
    communication_s: Floats
    collectives: Collectives
    groups: Mapping[str, tuple[int, ...]]  # process groups' ranks, where metadata tells
    kernels: Mapping[str, tuple[float, int]]
    categories: Mapping[str, float]
    flops: float | None
    marks: tuple[tuple[str, int, int, int], ...] = ()
    slices: tuple[tuple[str, str, str, int, int], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def places(self, numbers: Iterable[int]) -> Whole:
        """Where steps of these numbers stand; damaged traces have them out of order. KeyError for one that is not there."""
        place = {number: i for i, number in enumerate(self.step_number.tolist())}
        return np.array([place[int(number)] for number in numbers], np.int64)


@dataclass(frozen=True, slots=True)
class OperationTable:
    """Operations of a pipelined job by rank, stage, step and micro-batch (ByteDance's form), arrays of one length.

    `operation`: index into `operations` (forward-compute, backward-compute, forward-recv, grads-sync, ...);
    `start_s` within the step; `duration_s`; `chunk`: the virtual stage; `sequence`: order within the operation.
    """

    path: str
    operations: tuple[str, ...]
    operation: Whole
    rank: Whole
    data: Whole
    stage: Whole
    step: Whole
    microbatch: Whole
    chunk: Whole
    sequence: Whole
    start_s: Floats
    duration_s: Floats


@dataclass(frozen=True, slots=True)
class TrainingLog:
    """A training log: one entry per reported iteration (arrays of one length; NaN where a line does not tell).

    `framework`: megatron | bigscience | nemo | torchtitan | deepspeed | atorch | csv; `time_s`: of the line since
    the epoch; `step_time_s`; `tokens_per_s`: of the whole job; `tokens_per_gpu_s`; `flops_per_gpu`: FLOP/s as the log
    counts them; `mfu` as the log prints it; `loss`; `timers_s`: the framework's timers by name; `line`: of the file.
    `settings`: what the log tells of the job (arguments, world size, sequence length, model, ...). `events`: other lines
    that matter: kind (start, checkpoint-begin, checkpoint-end, load, exit, error, gc, recompile, ...), time_s, seconds, line.
    `rank_timers_s`: seconds by rank where a log prints them: {timer: {rank: array}}.
    """

    path: str
    framework: str
    iteration: Whole
    time_s: Floats
    step_time_s: Floats
    tokens_per_s: Floats
    tokens_per_gpu_s: Floats
    flops_per_gpu: Floats
    mfu: Floats
    loss: Floats
    timers_s: Mapping[str, Floats]
    line: Whole
    settings: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[LogEvent, ...] = ()
    rank_timers_s: Mapping[str, Mapping[int, Floats]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A line of a log that is no iteration: `kind`, when (`time_s`, NaN unknown), how long (`seconds`, NaN), its `line`;
    `iteration` it names, −1 where it names none.
    """

    kind: str
    time_s: float
    seconds: float
    line: int
    text: str = ""
    iteration: int = -1


@dataclass(frozen=True, slots=True)
class LibraryMessage:
    """What NCCL or PyTorch's watchdog said: `kind` (transport | network | topology | version | warning | timeout | dump |
    last-work | exception | init), the `rank` and `node` it names, and the values read from it (`collective`, `sequence`,
    `enqueued`, `completed`, `transport`, `device`, `numel`, `timeout_s`, `ran_s`, ...).
    """

    path: str
    line: int
    kind: str
    rank: int | None
    node: str | None
    time_s: float
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FlightRecording:
    """One rank's flight recorder: entries of its ring buffer in order. Each entry has `group`, `sequence`,
    `operation`, `state` (scheduled | started | completed), `input_sizes`, `output_sizes`, `time_created_ns`, `time_started_ns`,
    `time_completed_ns` (None unknown), `ranks` (() unknown); besides `name` as recorded, `point_to_point`, `dtypes`,
    `duration_ms`, `timeout_ms` (None unknown), `frames` (the innermost, `file:line name`). `status`: by group the numbers
    `last_enqueued_collective`, `last_started_collective`, `last_completed_collective`; `descriptions`: groups' purposes.
    """

    path: str
    rank: int | None
    version: str
    groups: Mapping[str, tuple[int, ...]]
    entries: tuple[Mapping[str, Any], ...]
    status: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """A hardware message of the kernel log: `code` (an Xid number, or None for lines without one), its `kind` (a word of
    the Xid table: memory, nvlink, fallen-off-bus, ...), `node`, `pci`, `process`, `time_s` (since the epoch, NaN unknown;
    `uptime_s` where dmesg counts from boot).
    """

    path: str
    line: int
    code: int | None
    sub_code: int | None
    kind: str
    node: str | None
    pci: str | None
    process: str | None
    time_s: float
    uptime_s: float
    text: str


@dataclass(frozen=True, slots=True)
class Series:
    """A metric over time: DCGM through Prometheus. `labels`: gpu, UUID, Hostname, ... ; `time_s`, `value` of one length."""

    path: str
    metric: str
    labels: Mapping[str, str]
    time_s: Floats
    value: Floats


@dataclass(frozen=True, slots=True)
class Batch:
    """What one file gave: any of the records, and how it was taken. A reader returns exactly one."""

    input: Input
    traces: tuple[RankTrace, ...] = ()
    tables: tuple[OperationTable, ...] = ()
    logs: tuple[TrainingLog, ...] = ()
    messages: tuple[LibraryMessage, ...] = ()
    recordings: tuple[FlightRecording, ...] = ()
    faults: tuple[FaultEvent, ...] = ()
    series: tuple[Series, ...] = ()
    jobs: tuple[Any, ...] = ()  # rows of scheduling.traces' sacct reader
    benchmarks: tuple[Any, ...] = ()  # argosy.fabric.imports.nccl_tests.Benchmark
