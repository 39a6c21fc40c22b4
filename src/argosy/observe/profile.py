"""One rank's profile as columns, and its reduction to a `RankTrace`: where every nanosecond of every step went.

Kineto's and Nsight Systems' readers fill a `Profile`; times are ns on the file's clock throughout.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from argosy.observe import names
from argosy.observe.intervals import Union, gaps, together, union
from argosy.observe.records import ACTIVITIES, Collectives, Floats, Position, RankTrace, Whole

NANO = np.float64(1e-9)  # s per ns
_NEVER = np.iinfo(np.int64).max
MOST_KERNELS = 300  # names kept one by one
MOST_DEVICE_SLICES, MOST_HOST_SLICES = 3_000, 1_000
MOST_MARKS = 10_000


@dataclass(frozen=True, slots=True)
class Call:
    """What is told of one collective: `operation`, `group`, `sequence` (−1 unknown), `bytes` of the message (0 unknown)."""

    operation: str
    group: str = ""
    sequence: int = -1
    bytes: int = 0


@dataclass(slots=True)
class Device:
    """What ran on the device, one entry per kernel or copy: `name` indexes `names`; `launched`: when the host called for
    it (−1 unknown); `stream`; `event`: its number in the file."""

    start: Whole
    end: Whole
    name: Whole
    launched: Whole
    stream: Whole
    event: Whole
    names: Sequence[str]

    def picked(self, order: Any) -> Device:
        """The entries that `order` (indices or flags) picks."""
        return replace(
            self,
            start=self.start[order],
            end=self.end[order],
            name=self.name[order],
            launched=self.launched[order],
            stream=self.stream[order],
            event=self.event[order],
        )


@dataclass(slots=True)
class Profile:
    """`steps`: (number, start, end) of the host's steps; `span`: of the profiler; `calls`: what is told of a collective,
    by its event; `annotations`: (start, end, Call) of the host's spans around a collective's launch; `products`:
    (start, FLOPs) where shapes are recorded; `marks` and `host`: (kind or thread, name, start, end, event)."""

    path: str
    era: str
    position: Position
    device_name: str | None
    device: Device
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    span: tuple[int, int] | None = None
    calls: dict[int, Call] = field(default_factory=dict)
    annotations: list[tuple[int, int, Call]] = field(default_factory=list)
    products: tuple[Whole, Floats] | None = None
    marks: list[tuple[str, int, int, int]] = field(default_factory=list)
    host: list[tuple[str, str, str, int, int]] = field(default_factory=list)
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Windows:
    """The steps on the device's side: `number`, `start`, `end` (S,)."""

    number: Whole
    start: Whole
    end: Whole

    def of(self, at: Whole) -> Whole:
        """Index of the step that each time lies in, −1 outside."""
        index = np.searchsorted(self.start, at, "right") - 1
        return np.where((index >= 0) & (at < self.end[np.maximum(index, 0)]), index, -1).astype(np.int64)


def reduced(profile: Profile) -> RankTrace:
    """The rank's trace: per step exclusive activities that sum to the step, its collectives, kernels, marks, slices."""
    device = profile.device = profile.device.picked(np.argsort(profile.device.start, kind="stable"))
    kinds = [names.category(name) for name in device.names]
    activity = np.array([names.activity(kind) for kind in kinds], np.int8)[device.name]
    windows = steps(profile, device)
    compute, communication, copy = (
        union(device.start[activity == each], device.end[activity == each])
        for each in (names.COMPUTE, names.COMMUNICATION, names.COPY)
    )
    inside = windows.of(device.start) >= 0
    seconds = (device.end - device.start)[inside] * NANO
    return RankTrace(
        path=profile.path,
        position=profile.position,
        device=profile.device_name,
        era=profile.era,
        step_number=windows.number,
        step_start_ns=windows.start,
        step_end_ns=windows.end,
        activity_s=_activities(profile, device, windows, compute, communication, copy),
        communication_s=communication.within(windows.start, windows.end) * NANO,
        collectives=_collectives(profile, device.picked(activity == names.COMMUNICATION), compute, windows),
        groups=profile.groups,
        kernels=_kernels(device, inside, seconds),
        categories=_categories(kinds, device.name[inside], seconds),
        flops=_flops(profile, windows),
        marks=_marks(profile.marks),
        slices=_slices(profile, device, kinds, windows),
        metadata=profile.metadata,
    )


def steps(profile: Profile, device: Device) -> Windows:
    """The windows of the steps: a step begins on the device with the first kernel that the host's step launched, and ends
    where the next begins; the first begins with the host's, the last ends with its last kernel or the host's step.

    Without steps, one window (number 0): the profiler's span, or from the first event to the last.
    """
    found = sorted(set(profile.steps), key=lambda step: step[1])
    found = [
        step
        for i, step in enumerate(found)
        if i == 0 or step[1] >= found[i - 1][2] or step[0] != found[i - 1][0]
    ]
    if not found:
        start, end = profile.span or _extent(profile, device)
        return Windows(_one(0), _one(start), _one(max(end, start)))
    table = np.array(found, np.int64)
    number, starts, ends = table[:, 0], table[:, 1], table[:, 2]
    owner = np.searchsorted(starts, device.launched, "right") - 1
    owner[(device.launched < 0) | (owner < 0) | (device.launched >= ends[np.maximum(owner, 0)])] = -1
    launched = owner >= 0
    first = np.full(len(starts), _NEVER)
    np.minimum.at(first, owner[launched], device.start[launched])
    begins = np.where((first < _NEVER) & (first >= starts), first, starts)
    begins[0] = starts[0]
    begins = np.maximum.accumulate(begins)
    last = max(int(ends[-1]), int(begins[-1]), _latest(device, owner, len(starts) - 1))
    closes = np.append(begins[1:], last)
    # A profiler that pauses between steps leaves a hole, which no step pays for.
    for i in np.nonzero(starts[1:] - ends[:-1] > np.maximum(ends - starts, 1)[:-1])[0].tolist():
        closes[i] = min(int(closes[i]), max(int(ends[i]), _latest(device, owner, i)))
    return Windows(number, begins, closes)


def _one(value: int) -> Whole:
    return np.array([value], np.int64)


def _latest(device: Device, owner: Whole, step: int) -> int:
    ends = device.end[owner == step]
    return int(ends.max()) if len(ends) else 0


def _extent(profile: Profile, device: Device) -> tuple[int, int]:
    starts = [slice_[3] for slice_ in profile.host] + ([int(device.start[0])] if len(device.start) else [])
    ends = [slice_[4] for slice_ in profile.host] + ([int(device.end.max())] if len(device.end) else [])
    return (min(starts), max(ends)) if starts else (0, 0)


def _activities(
    profile: Profile, device: Device, windows: Windows, compute: Union, communication: Union, copy: Union
) -> Mapping[str, Floats]:
    start, end = windows.start, windows.end
    working = together(compute, communication)
    busy = together(working, copy)
    late = _late_launches(device, busy, windows) if len(device.start) else Union(end[:0], end[:0])
    loading = [(begun, done) for kind, begun, done, _ in profile.marks if kind == "data-loading"]
    spans = np.array(loading, np.int64).reshape(-1, 2)
    loaded = together(busy, union(spans[:, 0], spans[:, 1]))
    known = together(loaded, late)
    levels = [each.within(start, end) for each in (compute, working, busy, loaded, known)]
    amounts = {
        "compute": levels[0],
        "communication": levels[1] - levels[0],
        "copy": levels[2] - levels[1],
        "data": levels[3] - levels[2],
        "host": levels[4] - levels[3],
        "idle": (end - start) - levels[4],
    }
    return {kind: amounts[kind] * NANO for kind in ACTIVITIES}


def _late_launches(device: Device, busy: Union, windows: Windows) -> Union:
    """Gaps of the device that ended with a kernel which the host called for only after the device had run dry; and what
    follows the last kernel while the host's step goes on. Not those whose kernel was waiting in its queue."""
    idle = gaps(busy, int(windows.start[0]), int(windows.end[-1]))
    following = np.searchsorted(device.start, idle.end, "left")
    known = following < len(device.start)
    launched = np.where(known, device.launched[np.minimum(following, len(device.start) - 1)], idle.end)
    if (device.launched < 0).all():
        launched = np.full(len(idle.end), -1)
    late = launched >= idle.start
    return Union(idle.start[late], idle.end[late])


def _collectives(profile: Profile, device: Device, compute: Union, windows: Windows) -> Collectives:
    calls = [_call(profile, device, i) for i in range(len(device.start))]
    operations = tuple(dict.fromkeys(call.operation for call in calls))
    groups = tuple(dict.fromkeys(call.group for call in calls))
    operation_of = {operation: i for i, operation in enumerate(operations)}
    group_of = {group: i for i, group in enumerate(groups)}
    return Collectives(
        operations=operations,
        groups=groups,
        operation=np.array([operation_of[call.operation] for call in calls], np.int64),
        group=np.array([group_of[call.group] for call in calls], np.int64),
        sequence=np.array([call.sequence for call in calls], np.int64),
        start_ns=device.start,
        end_ns=device.end,
        bytes=np.array([call.bytes for call in calls], np.int64),
        exposed_ns=device.end - device.start - compute.within(device.start, device.end),
        step=windows.of(device.start),
        event=device.event,
    )


def _call(profile: Profile, device: Device, i: int) -> Call:
    """What the kernel's own arguments tell, else its name, with the size from the host's span that launched it."""
    told = profile.calls.get(int(device.event[i]))
    by_name = names.collective(device.names[device.name[i]])
    if told:
        return told if told.operation != "unknown" else Call(by_name, told.group, told.sequence, told.bytes)
    launched = int(device.launched[i])
    around = _around(profile.annotations, launched) if launched >= 0 else None
    return Call(
        by_name if by_name != "unknown" or not around else around.operation,
        "",
        -1,
        around.bytes if around else 0,
    )


def _around(annotations: Sequence[tuple[int, int, Call]], at: int) -> Call | None:
    """The last to begin of the spans that hold `at`; the spans are in order of start."""
    index = bisect_right(annotations, at, key=lambda span: span[0])
    for start, end, call in reversed(annotations[max(index - 8, 0) : index]):
        if start <= at < end:
            return call
    return None


def _kernels(device: Device, inside: Any, seconds: Floats) -> dict[str, tuple[float, int]]:
    total = np.bincount(device.name[inside], seconds, len(device.names))
    count = np.bincount(device.name[inside], minlength=len(device.names))
    merged: dict[str, tuple[float, int]] = {}
    order = [int(i) for i in np.argsort(-total, kind="stable") if count[i]]
    for i in order[:MOST_KERNELS]:
        before = merged.get(device.names[i], (0.0, 0))
        merged[device.names[i]] = (before[0] + float(total[i]), before[1] + int(count[i]))
    if rest := order[MOST_KERNELS:]:
        merged["(other kernels)"] = (float(total[rest].sum()), int(count[rest].sum()))
    return merged


def _categories(kinds: Sequence[str], name: Whole, seconds: Floats) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind, amount in zip(kinds, np.bincount(name, seconds, len(kinds)), strict=True):
        if amount:
            found[kind] = found.get(kind, 0.0) + float(amount)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _flops(profile: Profile, windows: Windows) -> float | None:
    if profile.products is None:
        return None
    at, flops = profile.products
    first = min((step[1] for step in profile.steps), default=int(windows.start[0]))
    last = max((step[2] for step in profile.steps), default=int(windows.end[-1]))
    return float(flops[(at >= first) & (at < last)].sum())


def _marks(marks: Sequence[tuple[str, int, int, int]]) -> tuple[tuple[str, int, int, int], ...]:
    """The longest, in order of start."""
    kept = sorted(marks, key=lambda mark: mark[1] - mark[2])[:MOST_MARKS]
    return tuple(sorted(kept, key=lambda mark: (mark[1], -mark[2])))


def _slices(
    profile: Profile, device: Device, kinds: Sequence[str], windows: Windows
) -> tuple[tuple[str, str, str, int, int], ...]:
    middle = len(windows.number) // 2
    start, end = int(windows.start[middle]), int(windows.end[middle])
    at = np.nonzero((device.end > start) & (device.start < end))[0]
    at = np.sort(at[np.argsort(device.start[at] - device.end[at], kind="stable")[:MOST_DEVICE_SLICES]])
    found = [
        (
            f"stream {device.stream[i]}",
            device.names[device.name[i]][:120],
            kinds[device.name[i]],
            int(device.start[i]),
            int(device.end[i]),
        )
        for i in at.tolist()
    ]
    host = [each for each in profile.host if each[4] > start and each[3] < end]
    host = sorted(host, key=lambda each: each[3] - each[4])[:MOST_HOST_SLICES]
    return (*found, *sorted(host, key=lambda each: (each[3], -each[4])))
