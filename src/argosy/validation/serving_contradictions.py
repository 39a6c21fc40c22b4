"""Serving rows that another row of the same settings contradicts: more clients, and yet less time per token; or the same
test on an accelerator that is better at nothing, and yet far more throughput.

Told from measured columns and nameplates alone; predictions have no part in it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from argosy.facts import Values, load_catalog
from argosy.training import Device, device_facts
from argosy.validation.contradictions import CONTRADICTED

SERIES = ("model", "accelerator", "framework", "engine", "precision", "layout")
SAME = (*SERIES, "input_tokens", "output_tokens")
TEST = (*(name for name in SAME if name != "accelerator"), "source", "n_gpus")
MIXED = 0.25  # share of a series' rows that others contradict, from which the series is none


def mark_contradicted(answers: list[dict[str, Any]]) -> None:
    """Sets `contradicted` of every predicted row, the id of the row that contradicts it or None, and `in_mixed_series`.

    An engine's iterations do not become shorter with more sequences. A row is contradicted where, of the same settings,
    as many or more clients took less time per output token by CONTRADICTED; rows whose clients queued (`flag`) are no
    witnesses, since fewer sequences ran than clients. Of a contradicted row and its witness it is not known which is
    right: where a quarter of a series (equal settings, any lengths) is contradicted, its rows were not run under the
    settings that they state, and all of it is `in_mixed_series`. An offline maximum is contradicted where the same edition's
    same test made CONTRADICTED times its throughput per accelerator on one that is better at nothing (`not_better`).
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    series: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in answers:
        if row["status"] == "ok":
            row["contradicted"], row["in_mixed_series"] = None, False
            if row["measured_tpot_ms"]:
                groups[tuple(row[name] for name in SAME)].append(row)
                series[tuple(row[name] for name in SERIES)].append(row)
    for rows in groups.values():
        witnesses = [row for row in rows if not row["flag"]]
        for row in rows:
            for other in witnesses:
                faster = row["measured_tpot_ms"] > CONTRADICTED * other["measured_tpot_ms"]
                if faster and other["concurrency"] >= row["concurrency"]:
                    row["contradicted"] = other["row_id"]
    for rows in series.values():
        scored = [row for row in rows if not row["flag"]]
        if scored and sum(row["contradicted"] is not None for row in scored) >= MIXED * len(scored):
            for row in rows:
                row["in_mixed_series"] = True
    _mark_offline([row for row in answers if row["status"] == "ok" and not row["measured_tpot_ms"]])


def _mark_offline(rows: list[dict[str, Any]]) -> None:
    tests: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        tests[tuple(row[name] for name in TEST)].append(row)
    values = Values({**load_catalog().facts, **device_facts()})
    devices = {name: Device.from_values(values, name) for name in {row["accelerator"] for row in rows}}
    for row, other in ((row, other) for same in tests.values() for row in same for other in same):
        more = other["measured_output_tok_s_per_gpu"] > CONTRADICTED * row["measured_output_tok_s_per_gpu"]
        if more and not_better(devices[other["accelerator"]], devices[row["accelerator"]]):
            row["contradicted"] = other["row_id"]


def not_better(one: Device, other: Device) -> bool:
    """Whether `one` has no rate beyond the other's, of memory or of any format, nor more memory."""
    peaks = all(peak <= other.peak_flops.get(fmt, 0.0) for fmt, peak in one.peak_flops.items())
    bandwidth = one.memory_bandwidth <= other.memory_bandwidth
    return bool(peaks and bandwidth and one.memory_bytes <= other.memory_bytes)
