"""Xid messages, GPUs off the bus, NVSwitch errors: what the kernel said of the hardware."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding
from argosy.observe.findings.throttling import who
from argosy.observe.observed import Observed
from argosy.observe.readers.xid import action_of, meanings, stops_jobs
from argosy.observe.records import FaultEvent, Place

ID = "hardware-fault"
_PROGRAM = "restart-application"  # what the catalog says of faults that a program makes


def find(observed: Observed) -> list[Finding]:
    """One finding per node, GPU and number that calls for more than nothing; and gauges that hold an Xid."""
    groups: dict[tuple[str | None, str | None, int | None, str], list[FaultEvent]] = defaultdict(list)
    for event in observed.faults:
        groups[event.node, event.pci, event.code, event.kind].append(event)
    found = [finding for key, events in groups.items() if (finding := _finding(key, events)) is not None]
    return found + _gauges(observed, {(event.node, event.code) for event in observed.faults})


def _finding(key: tuple[str | None, str | None, int | None, str], events: list[FaultEvent]) -> Finding | None:
    node, pci, code, kind = key
    stopping = [event for event in events if stops_jobs(event)]
    if not stopping:
        return None
    action = action_of(stopping[0])
    known = meanings().get(code if code is not None else -1, {})
    name = f"Xid {code}" if code is not None and not kind.startswith("nvswitch") else kind
    told = known.get("description") or kind
    program = action == _PROGRAM
    where = ", ".join(text for text in (node or "", f"GPU {pci}" if pci else "") if text)
    first = stopping[0]
    return Finding(
        ID,
        f"{name} ({told})"
        + (f" on {where}" if where else "")
        + (f", {len(events)} times" if len(events) > 1 else ""),
        f"NVIDIA's catalog: {action.replace('-', ' ')}"
        + (
            "; a fault of the program more often than of the GPU: run it under compute-sanitizer if it returns on other nodes"
            if program
            else "; drain the node, keep the kernel log, and test the GPU before it returns"
        ),
        thresholds.confidence(thresholds.WEAK if program else thresholds.DIRECT),
        culprit=Culprit(node=node, link=f"GPU {pci}" if pci else None),
        evidence=tuple(
            Place(event.path, event.line) for event in [first, *events[:8]][1 if events[0] is first else 0 :]
        ),
        causes=(f"process {first.process}",) if first.process else (),
        stopped=not program,
    )


def _gauges(observed: Observed, told: set[tuple[str | None, int | None]]) -> list[Finding]:
    """DCGM's Xid gauge holds the last Xid for ever: it says that one came, not when; a change within the series does."""
    found = []
    for series in observed.series:
        values = series.value[np.isfinite(series.value)]
        if series.metric != "DCGM_FI_DEV_XID_ERRORS" or not values.size or values[-1] <= 0:
            continue
        host, gpu = who(series)
        code = int(values[-1])
        if (host, code) in told or meanings().get(code, {}).get("action") in (None, "ignore"):
            continue
        changed = bool((np.diff(values) != 0).any())
        found.append(
            Finding(
                ID,
                f"DCGM holds Xid {code} ({meanings()[code].get('description', '')}) for GPU {gpu} of {host}"
                + ("" if changed else "; the gauge never resets, so that it may be old"),
                "look for it in the node's kernel log: the gauge alone does not tell when it came",
                thresholds.confidence(thresholds.INFERRED if changed else 0.5 * thresholds.WEAK),
                culprit=Culprit(node=host),
                evidence=(Place(series.path, event=f"{series.metric}{{gpu={gpu}}}"),),
            )
        )
    return found
