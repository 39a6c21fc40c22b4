"""Inputs that cannot all be true: counters that deny each other, rates beyond physics, the wrong peak."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from argosy.facts import FactError, Values
from argosy.observe import thresholds
from argosy.observe.expected import run_setting
from argosy.observe.findings.finding import Bound, Culprit, Finding
from argosy.observe.findings.throttling import who, whole_gpu
from argosy.observe.observed import Observed
from argosy.observe.records import Place, Series, TrainingLog

ID = "contradiction"
_SPARSE = 2.0  # of the dense peak: 2:4 structured sparsity
_COMPARED = 64  # logs that are held against each other
_NEAR = 0.03  # relative: within it a peak is the sparse one
_PROFILED = ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE")


def find(observed: Observed) -> list[Finding]:
    """Silent counters, bandwidth beyond the wires, MFU beyond the peak, sparse peaks, logs that disagree."""
    found = _counters(observed)
    found += [finding for path, run in observed.benchmarks for finding in _benchmark(observed, path, run)]
    found += [finding for log in observed.distinct_logs for finding in _utilisation(observed, log)]
    return found + _traces(observed) + _logs(observed) + _jobs(observed)


def _finding(title: str, advice: str, places: tuple[Place, ...], **more: Any) -> Finding:
    return Finding(ID, title, advice, thresholds.confidence(thresholds.DIRECT), evidence=places, **more)


def _counters(observed: Observed) -> list[Finding]:
    """GPU_UTIL at 100 while every profiling counter reads 0: the counters are not collected, the GPU is not idle."""
    by_gpu: dict[tuple[str, str], dict[str, Series]] = defaultdict(dict)
    for series in observed.series:
        if whole_gpu(series) and len(series.value):
            by_gpu[who(series)][series.metric] = series
    silent = []
    for (host, gpu), metrics in by_gpu.items():
        util = metrics.get("DCGM_FI_DEV_GPU_UTIL")
        profiled = [metrics[name] for name in _PROFILED if name in metrics]
        if util is None or not profiled or np.nanmedian(util.value) < 90:
            continue
        if all(float(np.nanmax(series.value)) == 0.0 for series in profiled):
            silent.append((host, gpu, Place(util.path, event=f"{profiled[0].metric}{{gpu={gpu}}}")))
    if not silent:
        return []
    return [
        _finding(
            f"{len(silent)} GPU{'s' * (len(silent) > 1)} show full utilisation and profiling counters of 0: the counters are not "
            "collected",
            "another profiler (Nsight, a second DCGM) may hold the counters, or the exporter lacks the right: do not "
            "read 0 as idle",
            tuple(place for _, _, place in silent),
            culprit=Culprit(node=silent[0][0] if len({host for host, _, _ in silent}) == 1 else None),
        )
    ]


def _benchmark(observed: Observed, path: str, run: Any) -> list[Finding]:
    """Bus bandwidth above what any schedule can reach on these wires, and elements that came out wrong."""
    from argosy.fabric.imports.bus_bandwidth import assess
    from argosy.fabric.network import KINDS

    wrong = [point for point in run.points if point.wrong]
    found = []
    if wrong:
        title = f"nccl-tests counted {sum(point.wrong for point in wrong):,.0f} wrong elements: its rates mean nothing"
        found.append(
            _finding(
                title,
                "find the GPU or link that corrupts data before anything else",
                (Place(path, wrong[0].line),),
            )
        )
    if run.collective not in KINDS or run.ranks < 2:
        return found
    try:
        answer = assess(run, run.collective, values=Values(observed.catalog.facts), **run_setting(run))
    except FactError:
        return found
    over = [
        row
        for row in answer["rows"]
        if row["bus_bytes_per_s"] > thresholds.BUS_EXCESS * row["bound_bytes_per_s"] > 0
    ]
    if over:
        row = max(over, key=lambda each: each["bus_bytes_per_s"] / each["bound_bytes_per_s"])
        found.append(
            _finding(
                f"{run.collective} shows {row['bus_bytes_per_s'] / 1e9:.4g} GB/s, more than {run.nodes} such nodes can carry",
                "in-network reduction (SHARP, NVLS) exceeds one card legitimately and is counted; otherwise the hosts "
                "are not what the "
                "log says, or the ranks shared a node",
                (Place(path, row["line"]),),
                bound=Bound(
                    row["bound_bytes_per_s"],
                    row["bus_bytes_per_s"],
                    "byte/s",
                    "bound of any schedule on these wires",
                ),
            )
        )
    return found


def _utilisation(observed: Observed, log: TrainingLog) -> list[Finding]:
    """MFU above 1, FLOP/s above the dense peak, and a peak that is twice the dense one."""
    found = []
    device = observed.device()
    dense = next(
        (
            value
            for kind in ("peak_bf16", "peak_fp16")
            if device and (value := observed.fact(f"accelerators.{device}.{kind}"))
        ),
        None,
    )
    over = np.flatnonzero(log.mfu > 1.0)
    if over.size:
        row = int(over[0])
        title = f"the log prints an MFU of {log.mfu[row]:.0%}: no work exceeds the peak"
        found.append(
            _finding(
                title,
                "check the peak, the FLOP count and the number of GPUs in its formula",
                (Place(log.path, int(log.line[row])),),
            )
        )
    if dense is None:
        return found
    # A single line may hold a glitch of the clock: the median counts.
    rate = float(np.nanmedian(log.flops_per_gpu)) if np.isfinite(log.flops_per_gpu).any() else 0.0
    if rate > dense and not over.size:
        title = f"the log counts {rate / 1e12:.4g} TFLOP/s per GPU, above the dense peak {dense / 1e12:.4g} of {device}"
        bound = Bound(dense, rate, "FLOP/s", f"dense peak of {device}")
        found.append(
            _finding(
                title,
                "recomputation or sparsity is counted as work, or the precision is FP8",
                (Place(log.path, int(log.line[0])),),
                bound=bound,
            )
        )
    both = np.isfinite(log.mfu) & np.isfinite(log.flops_per_gpu) & (log.mfu > 0)
    if both.any():
        peak = float(np.median(log.flops_per_gpu[both] / log.mfu[both]))
        if abs(peak / (_SPARSE * dense) - 1.0) < _NEAR:
            row = int(np.flatnonzero(both)[0])
            found.append(
                _finding(
                    f"the log's MFU rests on a peak of {peak / 1e12:.4g} TFLOP/s, the sparse one of {device}: the MFU "
                    f"is twice what it prints",
                    "divide by the dense peak: no training run uses 2:4 sparsity",
                    (Place(log.path, int(log.line[row])),),
                    bound=Bound(dense, peak, "FLOP/s", f"dense peak of {device}"),
                )
            )
    return found


def _traces(observed: Observed) -> list[Finding]:
    """Products whose FLOPs exceed the dense peak for the time in which the device computed."""
    device = observed.device()
    dense = (
        observed.fact(f"accelerators.{device}.peak_bf16") or observed.fact(f"accelerators.{device}.peak_fp16")
        if device
        else None
    )
    fast = observed.fact(f"accelerators.{device}.peak_fp8") if device else None
    for trace in observed.alignment.traces if observed.alignment else ():
        busy = float(np.sum(trace.activity_s.get("compute", 0.0)))
        if trace.flops and dense and busy and trace.flops / busy > max(dense, fast or 0.0):
            rate = trace.flops / busy
            title = f"the recorded shapes make {rate / 1e12:.4g} TFLOP/s while computing, above the peak of {device}"
            advice = "the trace lacks kernels (dropped buffers), or the device is another"
            bound = Bound(max(dense, fast or 0.0), rate, "FLOP/s", f"dense peak of {device}")
            return [_finding(title, advice, (Place(trace.path),), bound=bound)]
    return []


def _logs(observed: Observed) -> list[Finding]:
    """Two logs that tell of the same iterations at the same time with other losses: not one job."""
    logs = observed.logs[:_COMPARED]
    for i, a in enumerate(logs):
        for b in logs[i + 1 :]:
            _, at, bt = np.intersect1d(a.iteration, b.iteration, return_indices=True)
            if len(at) < 10 or not np.isfinite(a.time_s[at]).any() or not np.isfinite(b.time_s[bt]).any():
                continue
            if np.nanmedian(np.abs(a.time_s[at] - b.time_s[bt])) > 60.0:
                continue
            difference = np.abs(a.loss[at] - b.loss[bt])
            if np.isfinite(difference).any() and np.nanmedian(difference) > 1e-3 * np.nanmedian(
                np.abs(a.loss[at])
            ):
                title = (
                    "two logs tell other losses of the same iterations at the same time: they are not one job"
                )
                return [
                    _finding(
                        title,
                        "diagnose each job alone",
                        (Place(a.path, int(a.line[at[0]])), Place(b.path, int(b.line[bt[0]]))),
                    )
                ]
    return []


def _jobs(observed: Observed) -> list[Finding]:
    """Traces that cannot be of the job that most are of, and logs that cannot be of the traces' job: they are left out."""
    alignment, found = observed.alignment, []
    if alignment is not None and alignment.others:
        count = len(alignment.others)
        verb = "traces are" if count > 1 else "trace is"
        title = f"{count} {verb} of another job than the other {len(alignment.traces)}, and left out"
        places = tuple(Place(path, event="the whole trace") for path in alignment.others[:8])
        found.append(_finding(title, "diagnose each job alone", places))
    if logs := observed.other_logs:
        verb = "training logs tell" if len(logs) > 1 else "training log tells"
        title = f"{len(logs)} {verb} another number of GPUs than the traces: of another job, and left out"
        places = tuple(Place(log.path, int(log.line[0]) if len(log.line) else 1) for log in logs[:8])
        found.append(_finding(title, "diagnose each job alone", places))
    return found
