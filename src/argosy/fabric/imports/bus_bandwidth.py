"""Is this bus bandwidth normal? A run of nccl-tests against the expected range, with the likely causes where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from argosy.fabric.imports.causes import FAST, NORMAL, SLOW, likely_causes, verdicts
from argosy.fabric.imports.expected import expect
from argosy.fabric.imports.machine import Machine
from argosy.fabric.imports.nccl_tests import Benchmark, Point
from argosy.fabric.imports.spread import RANGES
from argosy.facts import FactError, Values
from argosy.laws.collectives import bus_bandwidth

FEWEST_RANKS = 2
FEW_DIGITS = (
    1e9  # byte/s; nccl-tests prints two decimals of a GB/s, which below this lose more than half a per cent
)


def assess(
    run: Benchmark,
    kind: str,
    network: Callable[[Any], Any],
    values: Values,
    generation: str,
    cards: int,
    machine: Machine | None = None,
) -> dict[str, Any]:
    """The answer: `verdict` (normal, slow, fast), `ranges`, `rows` with the expected range, `causes`.

    `network(values)` builds the network that the run's ranks have, `generation` its scale-up links (for the fit's
    error); `cards`: per node. Bandwidths are byte/s. FactError for a run of one rank.
    """
    if run.ranks < FEWEST_RANKS:
        raise FactError("one rank has no bus bandwidth: run nccl-tests over at least two")
    run = replace(run, points=tuple(_sharpened(point, kind, run.ranks) for point in run.points))
    expected = expect(run, kind, network, values, generation)
    ranges = verdicts(run, expected)
    told = [row["verdict"] for row in ranges]
    wrong = sum(point.wrong or 0 for point in run.points)
    verdict = SLOW if SLOW in told else FAST if FAST in told else NORMAL
    causes = (
        likely_causes(run, expected, ranges, cards, machine)
        if verdict != NORMAL or wrong or run.truncated
        else []
    )
    return {
        "verdict": verdict,
        "collective": kind,
        "ranks": run.ranks,
        "nodes": run.nodes,
        "devices": list(run.devices),
        "wrong_elements": wrong,
        "ranges": ranges,
        "causes": [asdict(cause) for cause in causes],
        "rows": [
            {
                "bytes": point.bytes,
                "range": RANGES[expected.range[i]],
                "judged": bool(expected.judged[i]),
                "bus_bytes_per_s": point.bus,
                "expected_bytes_per_s": {
                    "low": float(expected.low[i]),
                    "nominal": float(expected.nominal[i]),
                    "high": float(expected.high[i]),
                },
                "bound_bytes_per_s": float(expected.bound[i]),
                "fit_error": float(expected.error[i]),
                "line": point.line,
            }
            for i, point in enumerate(run.points)
        ],
    }


def _sharpened(point: Point, kind: str, ranks: int) -> Point:
    """The point with its bus bandwidth from its time, where the printed one is rounded away (8 B in 46 µs are `0.00`)."""
    if point.bus >= FEW_DIGITS:
        return point
    return replace(point, bus=float(bus_bandwidth(kind, point.bytes, ranks, point.seconds)))
