"""Prometheus' text format and OpenMetrics (what DCGM's exporter answers on /metrics): one scrape, or several in one file."""

from __future__ import annotations

import math
import re
from pathlib import Path

from argosy.observe.readers.metrics import Labels, Samples, xid_events
from argosy.observe.readers.text import Lines, head_text, stamp_s
from argosy.observe.records import Batch, Input

KIND = "prometheus_text"
LONGEST_SAMPLE = 8192  # characters: twenty labels take a tenth of it
_SAMPLE = re.compile(
    r'([A-Za-z_:][\w:]*)[ \t]*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]+([^\s#]+)(?:[ \t]+([-+.\deE]+))?[ \t]*(?:#.*)?'
)
_LABEL = re.compile(r'([A-Za-z_]\w{0,200})[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"')
_ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_MILLISECONDS_FROM = (
    1e11  # the text format counts milliseconds, OpenMetrics seconds: seconds reach this in the year 5138
)


def looks_like(head: bytes, path: Path) -> bool:
    """Whether the beginning is metrics in text: TYPE or HELP comments, or samples of DCGM with labels."""
    lines = [
        line for line in head_text(head).splitlines()[:-1] or head_text(head).splitlines() if line.strip()
    ][:60]
    typed = sum(line.startswith(("# HELP ", "# TYPE ")) for line in lines)
    samples = sum(_sample(line) is not None for line in lines if not line.startswith("#"))
    others = sum(not line.startswith("#") for line in lines) - samples
    named = any(line.startswith("DCGM_FI_") and "{" in line for line in lines)
    return (typed > 0 or named) and samples >= others and (samples > 0 or typed > 1)


def read(path: Path) -> Batch:
    """Every series. A sample without a stamp takes that of the last comment which holds one (`# 2026-03-01T12:00:00`)."""
    lines = Lines(path)
    samples = Samples()
    moment = math.nan
    for number, raw in lines:
        line = raw.strip()
        if not line:
            continue
        if line.startswith("#"):
            if not line.startswith(("# HELP", "# TYPE", "# UNIT", "# EOF")):
                found = stamp_s(line)
                moment = found if not math.isnan(found) else moment
            continue
        told = _sample(line)
        if told is None:
            lines.problem(number, f"no sample of a metric: {line[:80]!r}")
            continue
        metric, labels, value, time_s = told
        samples.add(metric, labels, moment if math.isnan(time_s) else time_s, value)
    series = samples.series(str(path))
    status = ("partial" if samples.dropped else lines.status) if samples.count else "unreadable"
    for message in samples.told():
        lines.problem(0, message)
    taken = Input(str(path), KIND, status, samples.count, tuple(lines.problems))
    return Batch(taken, series=series, faults=xid_events(series))


def _sample(line: str) -> tuple[str, Labels, float, float] | None:
    """(metric, labels, value, seconds since the epoch or NaN) of a line; None where it is no sample."""
    found = _SAMPLE.fullmatch(line) if len(line) <= LONGEST_SAMPLE else None
    if found is None:
        return None
    try:
        value = float(found[3])
        moment = float(found[4]) if found[4] else math.nan
    except ValueError:
        return None
    if abs(moment) >= _MILLISECONDS_FROM:
        moment /= 1e3
    labels = tuple(sorted((name, _unescaped(text)) for name, text in _LABEL.findall(found[2] or "")))
    return found[1], labels, value, moment if math.isfinite(moment) else math.nan


def _unescaped(text: str) -> str:
    return re.sub(r'\\[\\"n]', lambda found: _ESCAPED[found[0]], text) if "\\" in text else text
