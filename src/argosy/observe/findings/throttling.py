"""GPUs held back by heat or power, from DCGM's counters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding
from argosy.observe.observed import Observed
from argosy.observe.records import Place, Series

ID = "throttling"
# Bits of the clocks-event (throttle) reasons that slow a GPU down, NVML nvmlClocksEventReason*; the cap of power (0x4) is
# what full load at the board's limit shows on every healthy GPU, and is left out.
_REASONS = {
    0x8: "hardware slowdown",
    0x20: "software thermal limit",
    0x40: "hardware thermal limit",
    0x80: "power brake",
}
_VIOLATIONS = {
    "DCGM_FI_DEV_THERMAL_VIOLATION": "thermal limit",
    "DCGM_FI_DEV_RELIABILITY_VIOLATION": "reliability limit",
}
_BUSY = 50.0  # per cent of utilisation from which a clock tells something


def find(observed: Observed) -> list[Finding]:
    """Throttle reasons, violation counters that grow, and clocks below the peers' under load; one finding a node and GPU."""
    told: dict[str, list[tuple[str, Place, float]]] = defaultdict(list)
    gpus: dict[str, set[str]] = defaultdict(set)
    for host, gpu, text, place, share in _signs(observed):
        told[host].append((f"GPU {gpu}: {text}", place, share))
        gpus[host].add(gpu)
    found = []
    for host, each in told.items():
        share = max(share for _, _, share in each)
        found.append(
            Finding(
                ID,
                f"GPU {', '.join(sorted(gpus[host]))} of {host} is held back: {each[0][0]}",
                "look at inlet temperature, fans or coolant flow, dust, the power supply and the rack's power cap; "
                "drain the node if it "
                "stays",
                thresholds.confidence(thresholds.DIRECT, (), min(max(share, 0.5), 1.0)),
                None,
                None,
                Culprit(node=host, link=None),
                tuple(place for _, place, _ in each),
                least="medium",
                causes=tuple(dict.fromkeys(text for text, _, _ in each[:6])),
            )
        )
    return found


def throttled(observed: Observed) -> list[tuple[str, str, Place]]:
    """Every sign of throttling: node, text, place."""
    return [(host, f"GPU {gpu} of {host}: {text}", place) for host, gpu, text, place, _ in _signs(observed)]


def who(series: Series) -> tuple[str, str]:
    """Node and GPU that a series is about."""
    labels = series.labels
    host = (
        labels.get("Hostname")
        or labels.get("hostname")
        or labels.get("instance")
        or labels.get("node")
        or "?"
    )
    return host.rpartition(":")[0] or host if host.rpartition(":")[2].isdigit() else host, labels.get(
        "gpu"
    ) or labels.get("GPU") or labels.get("UUID", "?")


def whole_gpu(series: Series) -> bool:
    """Whether a series is a whole GPU's: series of MIG instances repeat it."""
    return not any(name in series.labels for name in ("GPU_I_ID", "GPU_I_PROFILE"))


def _signs(observed: Observed) -> Iterator[tuple[str, str, str, Place, float]]:
    clocks: list[Series] = []
    busy: dict[tuple[str, str], float] = {}
    for series in observed.series:
        if not whole_gpu(series) or not len(series.value):
            continue
        host, gpu = who(series)
        place = Place(series.path, event=f"{series.metric}{{gpu={gpu}}}")
        if "THROTTLE_REASONS" in series.metric or "CLOCKS_EVENT_REASONS" in series.metric:
            values = series.value[
                np.isfinite(series.value) & (series.value >= 0) & (series.value < 2**53)
            ].astype(np.int64)
            for bit, name in _REASONS.items():
                share = float(np.mean(values & bit != 0)) if values.size else 0.0
                if share > 0 and (share >= thresholds.LEAST_SHARE):
                    yield host, gpu, f"{name} in {share:.0%} of the samples", place, share
        elif series.metric in _VIOLATIONS and len(series.value) > 1:
            grown, span = _grown(series.value), float(series.time_s[-1] - series.time_s[0])
            share = grown * 1e-9 / span if span > 0 else 0.0  # DCGM counts ns of violation
            if share >= thresholds.LEAST_SHARE:
                yield (
                    host,
                    gpu,
                    f"{_VIOLATIONS[series.metric]} for {min(share, 1.0):.0%} of the time",
                    place,
                    min(share, 1.0),
                )
        elif series.metric == "DCGM_FI_DEV_SM_CLOCK":
            clocks.append(series)
        elif series.metric == "DCGM_FI_DEV_GPU_UTIL":
            busy[host, gpu] = float(np.nanmedian(series.value))
    loaded = [series for series in clocks if busy.get(who(series), 100.0) >= _BUSY]
    if len(loaded) < thresholds.ENOUGH_PEERS:
        return
    middle = float(np.median([np.nanmedian(series.value) for series in loaded]))
    for series in loaded:
        lasting = float(np.mean(series.value < thresholds.THROTTLE_CLOCK * middle))
        if (
            np.nanmedian(series.value) < thresholds.THROTTLE_CLOCK * middle
            and lasting > thresholds.PERSISTENCE
        ):
            host, gpu = who(series)
            text = f"clock of {float(np.nanmedian(series.value)):.0f} MHz under load where others run at {middle:.0f} MHz"
            yield host, gpu, text, Place(series.path, event=f"{series.metric}{{gpu={gpu}}}"), lasting


def _grown(values: np.ndarray) -> float:
    """How much a counter grew; a restart sets it back to nothing."""
    steps = np.diff(values[np.isfinite(values)])
    return float(steps[steps > 0].sum())
