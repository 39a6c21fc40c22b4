"""Collectives below what the links of this machine deliver: nccl-tests, and the exchanges of traces."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.facts import FactError, Values
from argosy.observe import thresholds
from argosy.observe.expected import expected_seconds, run_setting
from argosy.observe.findings.finding import Bound, Culprit, Finding
from argosy.observe.observed import Observed
from argosy.observe.rates import group_rates
from argosy.observe.records import Place

ID = "low-bus-bandwidth"


def find(observed: Observed) -> list[Finding]:
    """Runs of nccl-tests judged slow, and large collectives of traces far below the model of their network."""
    found = [finding for path, run in observed.benchmarks for finding in _of_benchmark(observed, path, run)]
    return found + _of_traces(observed)


def _of_benchmark(observed: Observed, path: str, run: Any) -> list[Finding]:
    from argosy.fabric.imports.bus_bandwidth import assess
    from argosy.fabric.network import KINDS

    if run.collective not in KINDS or run.ranks < 2:
        return []
    try:
        setting = run_setting(run)
        answer = assess(run, run.collective, values=Values(observed.catalog.facts), **setting)
    except FactError:
        return []  # a device or a node that the catalog has not: nothing can be expected of it
    slow = [row for row in answer["ranges"] if row["verdict"] == "slow"]
    rows = [
        row for row in answer["rows"] if row["judged"] and row["range"] in {each["range"] for each in slow}
    ]
    if not slow or not rows:
        return []
    largest = max(rows, key=lambda row: row["bytes"])
    expected = largest["expected_bytes_per_s"]["nominal"]
    ratio = largest["bus_bytes_per_s"] / expected
    causes = [
        f"{cause['likelihood']}: {cause['cause']} ({cause['because']})" for cause in answer["causes"][:4]
    ]
    socket = any("NET/Socket" in text for text in run.warnings)
    return [
        Finding(
            ID,
            f"{answer['collective']} over {answer['ranks']} ranks on {answer['nodes']} nodes reaches "
            f"{largest['bus_bytes_per_s'] / 1e9:.3g} GB/s, {ratio:.0%} of the {expected / 1e9:.3g} GB/s expected",
            answer["causes"][0]["check"]
            if answer["causes"]
            else "run it again with NCCL_DEBUG=INFO and compare the channels",
            thresholds.confidence(
                thresholds.DIRECT if socket else thresholds.INFERRED,
                (thresholds.BUS_SHORTFALL / max(ratio, 1e-9),),
            ),
            culprit=Culprit(),
            evidence=(Place(path, largest["line"]),),
            bound=Bound(
                expected,
                largest["bus_bytes_per_s"],
                "byte/s",
                "bottleneck link × delivered share (argosy fabric)",
            ),
            causes=tuple(causes),
        )
    ]


def _of_traces(observed: Observed) -> list[Finding]:
    """The exchange of all groups that is furthest below its model, where most of them are: one alone is a slow link."""
    rates = [rate for rate in group_rates(observed) if rate.crosses is not None]
    device = observed.device()
    if not rates or device is None:
        return []
    below = []
    for rate in rates:
        seconds = expected_seconds(observed, rate)
        if seconds is not None and seconds > 0:
            below.append((seconds / rate.transfer_s, seconds, rate))
    kinds: dict[tuple[str, bool | None], list[tuple[float, float, Any]]] = {}
    for each in below:
        kinds.setdefault((each[2].operation, each[2].crosses), []).append(each)
    found = []
    for (operation, crosses), same in kinds.items():
        ratios = np.array([ratio for ratio, _, _ in same])
        if np.mean(ratios < thresholds.BUS_SHORTFALL) <= 0.5:
            continue
        alignment = observed.alignment
        assert alignment is not None
        steps = max(len(alignment.traces[0].step_number), 1)
        by_rank: dict[int, float] = {}
        for ratio, _, rate in same:
            for member in rate.members:
                by_rank[member] = by_rank.get(member, 0.0) + rate.transfers_s.sum() * max(1 - ratio, 0.0)
        lost = float(np.median(list(by_rank.values()))) / steps
        step = observed.step_s or 0.0
        if not step or lost < thresholds.LEAST_SHARE * step:
            continue
        middle = same[int(np.argsort(ratios)[len(ratios) // 2])]
        found.append(
            Finding(
                ID,
                f"{operation} {'between' if crosses else 'inside'} nodes reaches {middle[0]:.0%} of what {device} and "
                f"its network "
                f"deliver: {middle[2].bus / 1e9:.3g} GB/s of {middle[2].bus / middle[0] / 1e9:.3g} GB/s",
                "run nccl-tests of the same size on the same nodes (argosy fabric check-bandwidth judges it); look at "
                "NCCL_DEBUG=INFO "
                "for the transport, the channels and GDRDMA",
                thresholds.confidence(thresholds.WEAK, (thresholds.BUS_SHORTFALL / middle[0],)),
                min(lost / step, 1.0),
                lost,
                Culprit(),
                tuple(Place(alignment.traces[i].path) for i in middle[2].members[:2]),
                Bound(
                    middle[2].bus / middle[0],
                    middle[2].bus,
                    "byte/s",
                    "bottleneck link × delivered share (argosy fabric)",
                ),
            )
        )
    return found
