"""A live Prometheus server (or one that speaks its HTTP API: Thanos, Mimir, VictoriaMetrics), read over a window of time.

Addresses: `http://host:9090`, `https://...`, or `prometheus://host:9090` for plain HTTP; `?start=...&end=...&step=30&match=...`
behind them narrows what is asked for. Only the standard library is used; every request has a time limit and a largest size.
"""

from __future__ import annotations

import base64
import json
import math
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from argosy.observe.readers.metrics import MOST_SERIES, Samples, labels_of, xid_events
from argosy.observe.readers.text import stamp_s
from argosy.observe.records import Batch, Input, Problem

KIND = "prometheus_server"
MATCH = '{__name__=~"DCGM_.+|nvidia_.+|amd_gpu_.+|gpu_.+"}'  # what is asked for unless said otherwise
WINDOW_S = 6 * 3600.0  # before the end, unless a start is given
LEAST_STEP_S = 15.0  # a usual interval of scrapes; shorter only where asked for
REQUEST_S = 30.0
ALTOGETHER_S = 300.0
LARGEST_ANSWER = 256 << 20  # bytes
MOST_POINTS = 11_000  # of one series in one answer: Prometheus' own limit
_POINTS_AT_ONCE = 1_000_000  # of one answer, about 30 bytes each
MOST_METRICS = 500
_SCHEMES = {"http": "http", "https": "https", "prometheus": "http", "prometheus+https": "https"}


class ServerError(Exception):
    """The server did not answer, or answered with an error; in words."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where and what: `base` URL without password, `headers` with it; `start_s`, `end_s`, `step_s` (NaN: by default)."""

    base: str
    headers: Mapping[str, str]
    start_s: float
    end_s: float
    step_s: float
    match: str


def is_address(text: str) -> bool:
    """Whether a PATH argument is the address of a server and no file."""
    return text.partition("://")[0].lower() in _SCHEMES and "://" in text


def parse_address(text: str) -> Address:
    """What an address says. ValueError, in words, for one that cannot be used."""
    parts = urllib.parse.urlsplit(text)
    scheme = _SCHEMES.get(parts.scheme.lower())
    try:
        port = parts.port
    except ValueError:
        raise ValueError(f"{text!r}: no port number; write for example http://prometheus:9090") from None
    if scheme is None or not parts.hostname:
        raise ValueError(f"{text!r}: write for example http://prometheus:9090")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    base = f"{scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/').removesuffix('/api/v1')}"
    headers = {}
    if parts.username is not None:
        word = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(word.encode()).decode()
    asked = dict(urllib.parse.parse_qsl(parts.query))
    if unknown := asked.keys() - {"start", "end", "step", "match"}:
        raise ValueError(f"{base}: {sorted(unknown)[0]!r} means nothing; write start, end, step or match")
    start, end, step = (_moment(asked.get(name), name) for name in ("start", "end", "step"))
    return Address(base, headers, start, end, step, asked.get("match", MATCH))


def _moment(text: str | None, name: str) -> float:
    if not text:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = stamp_s(text)
    if not math.isfinite(value) or value <= 0:
        instead = "seconds, such as 30" if name == "step" else "2026-03-01T12:30:00 or seconds since 1970"
        raise ValueError(f"{name}={text}: write {instead}")
    return value


def read_server(text: str, start_s: float = math.nan, end_s: float = math.nan) -> Batch:
    """The accelerators' metrics of a server between `start_s` and `end_s` (since the epoch; what the address says goes first;
    by default the last WINDOW_S). Never raises: what fails is a Problem, and the metrics that came count.
    """
    try:
        address = parse_address(text)
    except ValueError as error:
        return _batch(text, Samples(), [str(error)])
    end = next((each for each in (address.end_s, end_s) if not math.isnan(each)), time.time())
    start = next((each for each in (address.start_s, start_s) if not math.isnan(each)), end - WINDOW_S)
    if start >= end:
        return _batch(address.base, Samples(), ["the window's start is not before its end"])
    step = (
        address.step_s if not math.isnan(address.step_s) else max(LEAST_STEP_S, (end - start) / MOST_POINTS)
    )
    samples, told = Samples(), []
    limit = time.monotonic() + ALTOGETHER_S
    try:
        metrics = _metrics(address, start, end, limit)
    except ServerError as error:
        return _batch(address.base, samples, [str(error)])
    if len(metrics) > MOST_METRICS:
        told.append(
            f"{len(metrics):,} metrics match: the first {MOST_METRICS} by name were read; narrow match="
        )
    for name in sorted(metrics)[:MOST_METRICS]:
        try:
            for began, ended in _windows(start, end, step, metrics[name]):
                _query(address, name, (began, ended, step), samples, limit)
        except ServerError as error:
            told.append(f"{name}: {error}")
            if time.monotonic() > limit:
                break
    if not metrics:
        told.append(f"no series matches {address.match} between the window's start and end")
    return _batch(address.base, samples, told)


def _metrics(address: Address, start: float, end: float, limit: float) -> Counter[str]:
    """Metrics' names and how many series each has."""
    data = _get(
        address, "series", {"match[]": address.match, "start": f"{start:.3f}", "end": f"{end:.3f}"}, limit
    )
    if not isinstance(data, list):
        raise ServerError("answered series with something that is no list: is this a Prometheus server?")
    if len(data) > MOST_SERIES:
        raise ServerError(f"{len(data):,} series match: narrow match= or the window")
    names = (each.get("__name__") for each in data if isinstance(each, dict))
    return Counter(
        name for name in names if isinstance(name, str) and re.fullmatch(r"[A-Za-z_:][\w:]*", name)
    )


def _windows(start: float, end: float, step: float, series: int) -> list[tuple[float, float]]:
    """The window in parts, each within what one answer may hold."""
    points = max(2, min(MOST_POINTS - 1, _POINTS_AT_ONCE // max(series, 1)))
    parts: list[tuple[float, float]] = []
    while start <= end and len(parts) < 10_000:
        parts.append((start, min(start + (points - 1) * step, end)))
        start += points * step
    return parts


def _query(
    address: Address, name: str, window: tuple[float, float, float], samples: Samples, limit: float
) -> None:
    start, end, step = window
    asked = {"query": name, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
    data = _get(address, "query_range", asked, limit)
    found = data.get("result") if isinstance(data, dict) else None
    if not isinstance(found, list):
        raise ServerError("answered query_range with something that is no matrix")
    for each in found:
        metric, values = (each.get("metric"), each.get("values")) if isinstance(each, dict) else (None, None)
        if not isinstance(metric, dict) or not isinstance(values, list):
            raise ServerError("a series without labels or values")
        labels = labels_of(metric)
        for pair in values:
            try:
                moment, value = float(pair[0]), float(pair[1])
            except (TypeError, ValueError, IndexError, OverflowError, KeyError):
                raise ServerError(f"a sample that is none: {str(pair)[:60]}") from None
            samples.add(name, labels, moment, value)


def _get(address: Address, what: str, asked: Mapping[str, str], limit: float) -> Any:
    """`data` of an answer of the HTTP API. ServerError for everything else."""
    left = limit - time.monotonic()
    if left <= 0:
        raise ServerError(
            f"took more than {ALTOGETHER_S:g} s altogether: narrow the window, or ask for a larger step"
        )
    url = f"{address.base}/api/v1/{what}?{urllib.parse.urlencode(asked)}"
    request = urllib.request.Request(url, headers={"Accept": "application/json", **address.headers})
    try:
        with urllib.request.urlopen(request, timeout=min(REQUEST_S, left)) as answer:
            body = _body(answer, limit)
    except urllib.error.HTTPError as error:
        raise ServerError(f"answered {error.code} {error.reason}: {_complaint(error.read(4096))}") from None
    except (urllib.error.URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise ServerError(f"cannot be reached or breaks off: {reason}") from None
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise ServerError("answered with something that is no JSON: is this a Prometheus server?") from None
    if not isinstance(told, dict) or told.get("status") != "success":
        raise ServerError(f"answered with an error: {_complaint(body[:4096])}")
    return told.get("data")


def _body(answer: Any, limit: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := answer.read1(1 << 20):
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            raise ServerError(f"an answer of more than {LARGEST_ANSWER >> 20} MiB: ask for a larger step=")
        if time.monotonic() > limit:
            raise ServerError(f"took more than {ALTOGETHER_S:g} s altogether")
    return b"".join(parts)


def _complaint(body: bytes) -> str:
    """What the server says is wrong, in one line."""
    try:
        told = json.loads(body)
        return str(told.get("error", told))[:300] if isinstance(told, dict) else str(told)[:300]
    except (ValueError, RecursionError):
        return " ".join(body.decode("utf-8", "replace").split())[:200] or "nothing"


def _batch(path: str, samples: Samples, told: list[str]) -> Batch:
    series = samples.series(path)
    status = ("partial" if told or samples.dropped else "read") if samples.count else "unreadable"
    problems = tuple(Problem(path, 0, message) for message in [*told[:40], *samples.told()])
    return Batch(Input(path, KIND, status, samples.count, problems), series=series, faults=xid_events(series))
