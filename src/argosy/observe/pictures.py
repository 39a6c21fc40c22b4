"""What the pictures of a diagnosis are drawn from, bounded in size: it travels in the JSON, so that it can be drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy.observe.align import Alignment
from argosy.observe.observed import Observed
from argosy.observe.records import RankTrace
from argosy.observe.replay_table import TableReplay

MOST_RANKS, MOST_PIECES, MOST_COLLECTIVES = 16, 150, 300
_COMPUTE = "compute"
_DEVICE_ONLY = frozenset({"operation", "annotation", "mark", "runtime"})  # kinds of slices of host threads


def pictures(observed: Observed, blamed: Sequence[int] = ()) -> dict[str, Any]:
    """`timeline` of one step, `arrivals` of collectives, `heat` of own time by rank; of a table its operations."""
    found: dict[str, Any] = {"timeline": [], "arrivals": [], "heat": []}
    alignment, late = observed.alignment, observed.lateness
    if alignment is not None:
        found["timeline"] = timeline(alignment, blamed)
        found["arrivals"] = arrivals(alignment)
    if late is not None and alignment is not None:
        step = float(np.median(late.step_s)) or 1.0
        for i, rank in enumerate(alignment.ranks):
            excess = float(late.typical_excess_s[i]) / step
            found["heat"].append(
                {
                    "rank": rank,
                    "stage": observed.stages[i],
                    "node": observed.node_of(rank),
                    "excess": excess,
                }
            )
    elif observed.replays:
        found["timeline"] = table_timeline(observed.replays[0])
        found["heat"] = table_heat(observed.replays[0])
    return found


def timeline(alignment: Alignment, blamed: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Pieces of the recorded step on the common clock: rank, kind (compute, copy, waiting, transfer), start and end in s.

    Of many ranks those blamed and an even choice of the others.
    """
    count = len(alignment.ranks)
    chosen = {
        i
        for i, rank in enumerate(alignment.ranks)
        if rank in set(blamed[: MOST_RANKS // 2]) or count <= MOST_RANKS
    }
    chosen |= set(
        np.linspace(0, count - 1, min(count, max(MOST_RANKS - len(chosen), 0))).astype(int).tolist()
    )
    rows: list[dict[str, Any]] = []
    for i in sorted(chosen):
        for kind, start, end in _pieces(alignment, i):
            rows.append({"rank": alignment.ranks[i], "kind": kind, "start_s": start, "end_s": end})
    if rows:
        first = min(row["start_s"] for row in rows)
        for row in rows:
            row["start_s"], row["end_s"] = round(row["start_s"] - first, 7), round(row["end_s"] - first, 7)
    return rows


def _pieces(alignment: Alignment, index: int) -> list[tuple[str, float, float]]:
    """One rank's device, nearby slices of a kind merged; communication from the aligned collectives."""
    trace = alignment.traces[index]
    device = [(kind, start, end) for _, _, kind, start, end in trace.slices if kind not in _DEVICE_ONLY]
    if not device:
        return []
    low, high = min(start for _, start, _ in device), max(end for _, _, end in device)
    each = alignment.common(index, np.array([(start, end) for _, start, end in device])) * 1e-9
    spans = [
        (kind if kind in ("copy", "communication") else _COMPUTE, float(start), float(end))
        for (kind, _, _), (start, end) in zip(device, each, strict=True)
    ]
    merged = [piece for kind in (_COMPUTE, "copy") for piece in _merged(spans, kind, (high - low) * 1e-9)]
    return sorted(merged + _communication(alignment, index, trace, low, high), key=lambda piece: piece[1])


def _merged(
    spans: list[tuple[str, float, float]], kind: str, length: float
) -> list[tuple[str, float, float]]:
    own = sorted((start, end) for each, start, end in spans if each == kind)
    gap = length / MOST_PIECES
    found: list[list[float]] = []
    for start, end in own:
        if found and start - found[-1][1] <= gap:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return [(kind, start, end) for start, end in found]


def _communication(
    alignment: Alignment, index: int, trace: RankTrace, low: int, high: int
) -> list[tuple[str, float, float]]:
    """Communication kernels of the window: split at the last arrival where they are matched."""
    each, matched = trace.collectives, alignment.matched
    inside = np.flatnonzero((each.start_ns >= low) & (each.start_ns < high))
    last = {}
    if len(matched.operation):
        own = np.flatnonzero((matched.who == index) & matched.barrier[matched.instance])
        last = dict(
            zip(matched.entry[own].tolist(), matched.last_ns[matched.instance[own]].tolist(), strict=True)
        )
    found = []
    for k in inside.tolist()[: 4 * MOST_PIECES]:
        start, end = (float(x) for x in alignment.common(index, np.array([each.start_ns[k], each.end_ns[k]])))
        split = min(max(last.get(k, start), start), end)
        if k not in last:
            found.append(("send, receive", start * 1e-9, end * 1e-9))
            continue
        if split > start:
            found.append(("waiting", start * 1e-9, split * 1e-9))
        found.append(("transfer", split * 1e-9, end * 1e-9))
    return found


def arrivals(alignment: Alignment) -> list[dict[str, Any]]:
    """Barrier-like collectives, evenly chosen: when, which, how long after the median rank the last one came, and "
    "which it was."""
    matched = alignment.matched
    chosen = np.flatnonzero(matched.barrier) if len(matched.operation) else np.zeros(0, np.int64)
    if len(chosen) > MOST_COLLECTIVES:
        chosen = chosen[np.linspace(0, len(chosen) - 1, MOST_COLLECTIVES).astype(int)]
    rows = []
    for i in chosen.tolist():
        own = slice(matched.first[i], matched.first[i + 1])
        start = matched.start_ns[own]
        rows.append(
            {
                "at_s": float(start.max()) * 1e-9,
                "operation": str(matched.operation[i]),
                "group": str(matched.group[i]),
                "spread_s": float(start.max() - np.median(start)) * 1e-9,
                "transfer_s": max(float(matched.end_ns[own].min() - start.max()), 0.0) * 1e-9,
                "last": alignment.ranks[int(matched.who[own][int(np.argmax(start))])],
            }
        )
    return rows


def table_timeline(replay: TableReplay) -> list[dict[str, Any]]:
    """The middle step of a table, first replica: forward, backward and the rest, by stage."""
    table = replay.table
    step, data = replay.steps[len(replay.steps) // 2], replay.data[0]
    own = np.flatnonzero((table.step == step) & (table.data == data) & (table.duration_s > 0))[
        : 40 * MOST_PIECES
    ]
    rows = []
    for k in own.tolist():
        name = table.operations[table.operation[k]]
        kind = (
            name.removesuffix("-compute")
            if name.endswith("-compute")
            else "send, receive"
            if "send" in name or "recv" in name
            else "other"
        )
        start = float(table.start_s[k])
        rows.append(
            {
                "rank": int(table.stage[k]),
                "kind": kind,
                "start_s": start,
                "end_s": start + float(table.duration_s[k]),
            }
        )
    return rows


def table_heat(replay: TableReplay) -> list[dict[str, Any]]:
    """Compute of every stage and replica over the median, as a share of the step."""
    total = np.median(
        sum(np.nansum(times, axis=(3, 4)) for times in replay.measured.compute.values()), axis=0
    )
    step = float(replay.actual_s.mean())
    return [
        {
            "rank": int(replica),
            "stage": int(stage),
            "node": None,
            "excess": float((total[i, k] - np.median(total)) / step),
        }
        for k, stage in enumerate(replay.stages)
        for i, replica in enumerate(replay.data)
    ]
