"""Samples of metrics, from a text file or from a server, as Series: without the exporters' known traps.

DCGM's traps: the Xid gauge holds the last Xid and never goes back to zero; instances of a partitioned GPU (MIG) repeat the
whole GPU's metrics; values that the driver does not give are printed as enormous "blank" numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from argosy.observe.readers import xid
from argosy.observe.records import FaultEvent, Series

MOST_SERIES = 500_000
MOST_SAMPLES = 50_000_000
XID_GAUGE = "DCGM_FI_DEV_XID_ERRORS"
# DCGM's blanks (dcgm_structs.h): DCGM_INT32_BLANK, DCGM_INT64_BLANK, DCGM_FP64_BLANK, each with 15 values above it
# (which as float64 are 2⁶³).
_BLANKS = ((0x7FFFFFF0, 16), (0x7FFFFFFFFFFFFFF0, 17), (140737488355328.0, 16))
_INSTANCE = ("GPU_I_ID", "GPU_I_PROFILE")
_OF_INSTANCES = ("DCGM_FI_PROF_", "DCGM_FI_DEV_FB_")  # metrics that every instance has its own of
_WHOSE = (
    *_INSTANCE,
    "container",
    "namespace",
    "pod",
    "exported_container",
    "exported_namespace",
    "exported_pod",
)

Labels = tuple[tuple[str, str], ...]


class Samples:
    """Samples by metric and labels, while they stream in."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, Labels], tuple[list[float], list[float]]] = {}
        self.count = 0
        self.blank = 0
        self.not_numbers = 0
        self.dropped = 0

    def add(self, metric: str, labels: Labels, time_s: float, value: float) -> None:
        """One sample: `time_s` since the epoch, NaN unknown. Blanks, NaN and infinities are counted and left out."""
        if not math.isfinite(value):
            self.not_numbers += 1
            return
        if metric.startswith("DCGM_") and any(low <= value < low + more for low, more in _BLANKS):
            self.blank += 1
            return
        key = (metric, labels)
        if (key not in self.held and len(self.held) >= MOST_SERIES) or self.count >= MOST_SAMPLES:
            self.dropped += 1
            return
        times, values = self.held.setdefault(key, ([], []))
        times.append(time_s)
        values.append(value)
        self.count += 1

    def series(self, path: str) -> tuple[Series, ...]:
        """Every series in order of time, each time once (the last value of it), whole-GPU metrics once per GPU."""
        kept: dict[tuple[str, Labels], None] = {}
        made = []
        for (metric, labels), (times, values) in self.held.items():
            if any(name in _INSTANCE for name, _ in labels) and not metric.startswith(_OF_INSTANCES):
                labels = tuple(pair for pair in labels if pair[0] not in _WHOSE)
            if (metric, labels) in kept:
                continue
            kept[metric, labels] = None
            made.append(Series(path, metric, dict(labels), *_ordered(times, values)))
        return tuple(made)

    def told(self) -> list[str]:
        """What was left out, in words."""
        counts = (
            (self.blank, "values are DCGM's blanks (the driver does not give them): they count for nothing"),
            (self.not_numbers, "values are NaN or infinite: they count for nothing"),
            (
                self.dropped,
                f"samples beyond {MOST_SERIES:,} series or {MOST_SAMPLES:,} samples were left out",
            ),
        )
        return [f"{count:,} {words}" for count, words in counts if count]


def labels_of(mapping: Mapping[str, object]) -> Labels:
    """Labels in one order, so that equal sets are equal; the metric's own name is none of them."""
    return tuple(sorted((str(name), str(value)) for name, value in mapping.items() if name != "__name__"))


def _ordered(times: list[float], values: list[float]) -> tuple[np.ndarray, np.ndarray]:
    moments, amounts = np.array(times, dtype=float), np.array(values, dtype=float)
    if len(moments) > 1 and not np.isnan(moments).any():
        order = np.argsort(moments, kind="stable")
        moments, amounts = moments[order], amounts[order]
        last = np.r_[np.diff(moments) > 0, True]
        moments, amounts = moments[last], amounts[last]
    return moments, amounts


def xid_events(series: Iterable[Series]) -> tuple[FaultEvent, ...]:
    """The Xids that DCGM's gauge shows: one where it changes to a number above zero.

    What it holds from the first sample on happened before, at a time nobody knows (`time_s` NaN). The same Xid again does
    not change the gauge, and is not seen.
    """
    events = []
    for each in series:
        if each.metric != XID_GAUGE:
            continue
        before = math.nan
        for moment, value in zip(each.time_s, each.value, strict=True):
            if value != before and value > 0:
                events.append(_event(each, int(value), math.nan if math.isnan(before) else float(moment)))
            before = float(value)
    return tuple(sorted(events, key=lambda event: (math.isnan(event.time_s), event.time_s)))


def _event(series: Series, code: int, time_s: float) -> FaultEvent:
    known = xid.meanings().get(code)
    labels = series.labels
    when = "held since before the first sample" if math.isnan(time_s) else "changed"
    return FaultEvent(
        series.path, 0, code, None, known["kind"] if known else "unknown",
        labels.get("Hostname") or labels.get("hostname") or labels.get("instance"), xid.pci_of(labels.get("pci_bus_id", "")),
        None, time_s, math.nan, f"{XID_GAUGE} of gpu {labels.get('gpu', '?')} {when}: {code}",
    )  # fmt: skip
