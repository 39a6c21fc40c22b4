"""A trace of a job that computes on processors: PyTorch's operators are its kernels, gloo's spans its exchanges.

Such a trace has no device. gloo marks every collective where it runs, in a thread of its own, from when it begins until it is
done (`gloo:all_reduce`); a send or a receive from its call until it is waited for, in the thread that called: it counts from
the last operator before its end on, since what comes before hid it or was there first. What computes are the outermost operators
of every thread, but for those that only call for an exchange (`c10d::…`), which may wait in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from argosy.observe.profile import Device
from argosy.observe.records import Whole

EXCHANGES = ("gloo:",)  # backends that exchange from the processor's memory
_PAIRED = ("gloo:send", "gloo:recv")
_CALLS = ("c10d::",)
_ENGINE = "autograd::engine::evaluate_function: "


def device(operators: Whole, exchanges: Whole, names: Sequence[str]) -> Device:
    """The processor as a device. `operators` (n, 5): start, duration, name, thread, kind of all host slices that are
    operators; `exchanges` (m, 6): the same and the event's number. An operator is called for when it begins: before it the
    processor had nothing recorded to do, so that gaps are the program's own (Python's) time.
    """
    calls = np.array([name.startswith(_CALLS) for name in names], bool)
    kept = operators[~calls[operators[:, 2]]] if len(operators) else operators
    kept = kept[outermost(kept[:, 0], kept[:, 1], kept[:, 3])]
    rows = np.concatenate([kept[:, :4], _waits(exchanges, kept, names)[:, :4]])
    event = np.concatenate([np.full(len(kept), -1, np.int64), exchanges[:, 5]])
    threads = np.unique(rows[:, 3], return_inverse=True)[1]
    return Device(
        rows[:, 0].copy(),
        rows[:, 0] + rows[:, 1],
        rows[:, 2].astype(np.int32),
        rows[:, 0].copy(),
        threads.ravel().astype(np.int32),
        event,
        [name.removeprefix(_ENGINE) for name in names],
    )


def _waits(exchanges: Whole, operators: Whole, names: Sequence[str]) -> Whole:
    """The exchanges, sends and receives among them cut to what follows the last operator of their thread."""
    paired = np.array([name in _PAIRED for name in names], bool)
    found = exchanges.copy()
    # Of outermost operators the ends ascend with the starts.
    by_thread = {int(each): operators[operators[:, 3] == each] for each in np.unique(exchanges[:, 3])}
    for i in np.flatnonzero(paired[exchanges[:, 2]]):
        start, duration, thread = (int(exchanges[i, column]) for column in (0, 1, 3))
        own = by_thread[thread]
        ends = own[:, 0] + own[:, 1]
        before = int(np.searchsorted(ends, start + duration, "right")) - 1
        begin = max(start, int(ends[before])) if before >= 0 else start
        found[i, 0], found[i, 1] = begin, start + duration - begin
    return found


def outermost(start: Whole, duration: Whole, thread: Whole) -> Whole:
    """Indices of the slices that lie in no other slice of their thread, in order of thread and start."""
    order = np.lexsort((-duration, start, thread))
    found = []
    for each in np.unique(thread):
        own = order[thread[order] == each]
        reach = np.maximum.accumulate(start[own] + duration[own])
        before = np.concatenate([[np.iinfo(np.int64).min], reach[:-1]])
        found.append(own[start[own] + duration[own] > before])
    return np.concatenate(found) if found else np.zeros(0, np.int64)
